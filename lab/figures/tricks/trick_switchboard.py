"""002: the tricks of the trade as switches, on toy images made of regions; a waterfall of what each one adds."""

from typing import Any

import numpy as np
import torch

from lab import losses
from lab.core import style
from lab.figures import _toy
from lab.figures._base import Figure, Numbers, PlotlyFigure, knob
from lab.figures._kept import once
from lab.figures._toy import Split, Toy
from lab.figures.neighbourhoods.reranking_blend import blended
from lab.figures.points import mean_metrics, ranked
from lab.figures.tricks.tricks import add_waterfall

REGIONS = 8


class TrickSwitchboard(Figure):
    """MAP@R on unseen classes as tricks are switched on one after the other: four retrain, three only infer."""

    title = "Tricks switched on one by one"
    source = "DML deck, slides on tricks to improve performance; a toy"
    tier = "toy_training"
    question = "Which tricks help without retraining, and could an older loss have had them too?"
    stops = dict.fromkeys(("wider", "gem", "cooler", "flip", "beta_normalise", "rerank"), (False, True))

    wider: bool = knob("Use wider embeddings.", default=True)
    dim: int = knob("Width of the wider embeddings; the baseline has 4.", default=16, ge=4, le=64)
    gem: bool = knob("Use generalised mean pooling instead of the average over regions.", default=True)
    p: float = knob(
        "Exponent of the pooling: 1 is the average, large values approach the maximum.", default=4.0, ge=1, le=20
    )
    cooler: bool = knob("Lower the temperature of the loss.", default=True)
    temperature: float = knob("Lower temperature; the baseline has 1.", default=0.1, ge=0.02, le=1, scale="log")
    flip: bool = knob("Average the embeddings of two views at test time.", default=True)
    beta_normalise: bool = knob("Add beta times the unnormalised embedding at test time.", default=True)
    beta: float = knob("Weight of the unnormalised embedding.", default=0.05, ge=0, le=1)
    rerank: bool = knob("Re-rank by contextual similarity.", default=True, source="Contextual, appendix I.5")
    blend: float = knob("Weight of the contextual similarity.", default=0.3, ge=0, le=1)
    steps: int = knob("Training steps.", default=60, ge=1, le=120)
    seed: int = knob("Random seed.", default=0, ge=0, le=99)

    def training_steps(self) -> int:
        return (1 + self.knobs.wider + self.knobs.gem + self.knobs.cooler) * self.knobs.steps

    def numbers(self) -> Numbers:
        k = self.knobs
        recipe: dict[str, Any] = {"dim": 4, "p": 1.0, "temperature": 1.0}
        trained: tuple[tuple[str, bool, dict[str, Any]], ...] = (
            ("base", True, {}),
            (f"{k.dim}-wide", k.wider, {"dim": k.dim}),
            (f"GeM, p {k.p:g}", k.gem, {"p": k.p}),
            (f"temperature {k.temperature:g}", k.cooler, {"temperature": k.temperature}),
        )
        names, scores = [], []
        for name, on, change in trained:
            if not on:
                continue
            recipe |= change
            views, labels = once(_embed, k.seed, k.steps, *recipe.values())
            names.append(name)
            scores.append(_map_at_r(_cosines(views[:1]), labels))
        used = views[:1]
        if k.flip:
            used = views
            names.append("two views")
            scores.append(_map_at_r(_cosines(used), labels))
        beta = 0.0
        if k.beta_normalise:
            beta = k.beta
            names.append(f"β-normalised, {beta:g}")
            scores.append(_map_at_r(_cosines(used, beta), labels))
        if k.rerank:
            names.append(f"re-ranked, {k.blend:g}")
            similarities = _cosines(used, beta)
            similarities = (similarities / similarities.abs().max()).clamp(-1, 1)
            scores.append(_map_at_r(blended(similarities, k.blend, k=8), labels))  # 004, appendix I.5, eq. 15 and 16
        return {"names": names, "scores": np.array(scores)}

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        names, scores = numbers["names"], 100 * numbers["scores"]
        steps = [scores[0], *np.diff(scores)]
        figure = self.canvas(
            f"together <b>{scores[-1] - scores[0]:+.1f} points</b>; the loss, NT-Xent, never changed",
            x="tricks, added from left to right",
            y="MAP@R on unseen classes (%)",
        )
        gains = [f"{style.RIGHT if step >= 0 else style.WRONG} {step:+.1f}" for step in steps[1:]]
        add_waterfall(figure, names, steps, [f"{scores[0]:.1f}", *gains])
        return figure.update_yaxes(range=[0, max(scores) * 1.15])

    def alt(self, numbers: Numbers) -> str:
        rows = zip(numbers["names"], numbers["scores"], strict=True)
        return "MAP@R on unseen classes as tricks are added: " + ", ".join(f"{n} {s:.3f}" for n, s in rows) + "."


def _embed(
    seed: int, steps: int, dim: int, p: float, temperature: float
) -> tuple[list[torch.Tensor], np.ndarray]:  # fmt: skip
    """Unnormalised embeddings of two views of the test images, after training; and their labels."""
    random = np.random.default_rng(seed)
    mixing = random.normal(size=(4, 24))
    labels = np.repeat(np.arange(10), 10)

    def images() -> np.ndarray:
        """[2 views, n, regions, 24]: the class shows in two of the regions, the others hold clutter."""
        core = random.normal(size=(10, 4))[labels] + 0.3 * random.normal(size=(len(labels), 4))
        objects = np.maximum(core @ mixing, 0)[None, :, None, :] * (np.arange(REGIONS) < 2)[None, None, :, None]
        clutter = 0.8 * random.normal(size=(1, len(labels), REGIONS, 24))
        return np.maximum(objects + clutter + 0.4 * random.normal(size=(2, len(labels), REGIONS, 24)), 0)

    def pooled(regions: np.ndarray) -> torch.Tensor:
        return torch.from_numpy((np.mean((regions + 1e-6) ** p, axis=-2)) ** (1 / p)).float()

    train, test = pooled(images()), pooled(images())
    classes = torch.from_numpy(labels)
    toy = Toy(Split(train[0], classes), Split(test[0], classes), classes)
    trace = _toy.train(losses.create("nt_xent", temperature=temperature), toy, dim=dim, steps=steps, seed=seed)
    net: Any = trace.net
    with torch.no_grad():
        return [net(view) for view in test], labels


def _cosines(views: list[torch.Tensor], beta: float = 0.0) -> torch.Tensor:
    """[n n] from embeddings whose views are normalised and averaged, plus beta times what they were."""
    mixed: Any = sum(torch.nn.functional.normalize(v.double(), dim=1) + beta * v.double() for v in views)
    return mixed @ mixed.T if beta else torch.nn.functional.cosine_similarity(mixed[:, None], mixed[None], dim=2)


def _map_at_r(similarities: torch.Tensor, labels: np.ndarray) -> float:
    return mean_metrics(ranked(similarities.numpy()), labels)["MAP@R"]
