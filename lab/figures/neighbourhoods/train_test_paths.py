"""004, figures 2 and 14: how training and test scores move together, loss by loss."""

from typing import Any

from lab import losses
from lab.core import style
from lab.figures import _toy
from lab.figures._base import DOTTED, Figure, Numbers, PlotlyFigure, curve, knob, once

RECIPES = {
    "contextual": ("contextual", {"lam": 1.0, "gamma": 0.0}),
    "contextual + contrastive": ("contextual", {}),
    "contrastive": ("contextual", {"lam": 0.0, "gamma": 0.0}),
    "ROADMAP": ("roadmap", {}),
    "RS@k": ("recall_at_k", {}),
    "triplet": ("triplet_margin", {}),
}
"""What the figures of 004 compare; the contrastive part of 004 is its loss at lambda 0."""


def check_recipes(figure: Figure) -> None:
    """Check the losses that a figure is to train.

    Raises:
        ValueError: a loss has no recipe; the message lists the losses that have one.
    """
    unknown = set(figure.knobs.losses) - set(RECIPES)
    if unknown:
        name = type(figure).__name__
        listed = ", ".join(RECIPES)
        raise ValueError(f"{name}: losses must be among {listed}, got {', '.join(unknown)}.")


class TrainTestPaths(Figure):
    """Test against training r@1 along the way; above another path means less overfitting."""

    title = "The same training score, different test scores"
    source = "Contextual, figures 2 and 14"
    tier = "toy_training"
    question = "At an equal training score, which loss knows more about unseen classes?"
    stops = {
        "snapshot": (0, 10, 20, 30, 40, 50, 60, 70, 80, 90),
        "wrong_labels": (0.0, 0.1, 0.2, 0.4),
    }

    losses: tuple[str, ...] = knob(
        "Paths to draw.", default=("contextual + contrastive", "contrastive", "ROADMAP")
    )
    steps: int = knob("Training steps.", default=90, ge=10, le=200)
    snapshot: int = knob("Last step of the paths that are drawn.", default=90, ge=0, le=200)
    every: int = knob("Steps between two marks.", default=10, ge=2, le=50)
    noise: float = knob("Spread of each class (noise).", default=0.5, ge=0.1, le=2)
    wrong_labels: float = knob("Share of wrong training labels.", default=0.0, ge=0, le=0.5)
    seed: int = knob("Random seed.", default=0, ge=0, le=99)

    def idle(self, runs: object = None) -> set[str]:
        if self.knobs.snapshot < self.knobs.steps:
            return {"steps"}
        return set()

    def training_steps(self) -> int:
        return len(self.knobs.losses) * self.knobs.steps

    def numbers(self) -> Numbers:
        k = self.knobs
        check_recipes(self)
        raw = _toy.untrained(
            _toy.hidden_classes(noise=k.noise, wrong_labels=k.wrong_labels, seed=k.seed).test
        )["r@1"]
        paths = {
            n: once(_path, n, k.steps, k.every, k.noise, k.wrong_labels, k.seed) for n in k.losses
        }
        return {"paths": paths, "raw": raw}

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        above = sum(path["test"][-1] > numbers["raw"] for path in numbers["paths"].values())
        figure = self.canvas(
            f"up to step {min(self.knobs.snapshot, self.knobs.steps)}; the star is where a path stands; "
            f"{above} of {len(numbers['paths'])} paths end above the raw points",
            x="r@1 on the training classes",
            y="r@1 on unseen classes",
        )
        for index, (name, path) in enumerate(numbers["paths"].items()):
            visible = self._drawn(path)
            curve(
                figure,
                index,
                name,
                path["train"][:visible],
                path["test"][:visible],
                size=7,
                customdata=path["steps"][:visible],
                hovertemplate="step %{customdata}<br>train %{x:.3f}<br>test %{y:.3f}",
            )
            figure.add_scatter(
                x=path["train"][visible - 1 : visible],
                y=path["test"][visible - 1 : visible],
                mode="markers",
                showlegend=False,
                hoverinfo="skip",
                marker={
                    "symbol": "star",
                    "size": 17,
                    "color": style.COLOURS[index],
                    "line": {"width": 1.5},
                },
            )
        figure.add_hline(
            y=numbers["raw"], line=DOTTED, annotation_text="no training: the raw points"
        )
        return figure.update_layout(legend={"x": 0.01, "y": 0.99})

    def alt(self, numbers: Numbers) -> str:
        k = self.knobs
        ends = []
        for name, path in numbers["paths"].items():
            last = self._drawn(path) - 1
            ends.append(f"{name} {path['train'][last]:.3f} / {path['test'][last]:.3f}")
        return (
            f"Paths of training and test r@1 up to step {min(k.snapshot, k.steps)}. At the last mark, training / test: "
            f"{'; '.join(ends)}. Without training the raw points reach {numbers['raw']:.3f} in test."
        )

    def _drawn(self, path: dict[str, Any]) -> int:
        """Return the number of marks of a path to draw: those up to `snapshot`, always with the start."""
        return sum(step <= self.knobs.snapshot for step in path["steps"])


def _path(
    name: str, steps: int, every: int, noise: float, wrong_labels: float, seed: int
) -> dict[str, Any]:
    """Train once; return the steps of its marks, and r@1 of both sets there."""
    toy = _toy.hidden_classes(noise=noise, wrong_labels=wrong_labels, seed=seed)
    recipe, knobs = RECIPES[name]
    trace = _toy.train(losses.create(recipe, **knobs), toy, steps=steps, every=every, seed=seed)
    return {
        "steps": trace.steps,
        "train": trace.curve("train", "r@1"),
        "test": trace.curve("test", "r@1"),
    }
