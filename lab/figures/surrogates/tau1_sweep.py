"""000, figure 4 left: the temperature on ranks, on a toy that trains in seconds."""

from lab import losses
from lab.figures import _toy
from lab.figures._base import Numbers, knob
from lab.figures._toy_sweep import Axis, Data, ToySweep, data_knob

SIMIX = " with SiMix"


class Tau1Sweep(ToySweep):
    """Test scores of the recall surrogate by its temperature tau1, mean and spread over seeds."""

    title = "How much does the temperature on ranks matter?"
    source = "RS@k, figure 4 left"
    question = "Over which range of τ₁ is the result flat?"
    axes = {
        "tau1": Axis("temperature τ₁ (ranks, log scale)", "tau1", ("tau1", "tau1", None), "log")
    }
    note = "test classes, mean and deviation over {seeds} seeds, {steps} steps"
    place = "tau1"

    data: Data = data_knob()
    tau1: tuple[float, ...] = knob(
        "Temperatures to compare.",
        default=(0.1, 0.3, 1.0, 3.0, 10.0),
        ge=0.01,
        le=100,
        unit="ranks",
    )
    steps: int = knob("Training steps.", default=60, ge=1, le=150)
    simix: bool = knob("Also train with SiMix.", default=False, source="RS@k, eq. 8")
    lr: float = knob("Learning rate.", default=0.01, ge=0.001, le=0.1, scale="log")
    noise: float = knob("Spread of each class (noise).", default=0.5, ge=0.1, le=2)
    seeds: int = knob("Number of seeds.", default=2, ge=1, le=4)

    def lines(self) -> dict[str, tuple[str, str]]:
        trained = ("", SIMIX) if self.knobs.simix else ("",)
        return {score + loss: (loss, score) for loss in trained for score in ("r@1", "MAP@R")}

    def toy(self, setting: float, seed: int) -> _toy.Toy:
        return _toy.hidden_classes(noise=self.knobs.noise, seed=seed)

    def scores(self, loss: str, setting: float, seed: int) -> dict[str, float]:
        k = self.knobs
        made = losses.create("recall_at_k", tau1=setting, simix=loss == SIMIX)
        return _toy.train(made, self.toy(setting, seed), steps=k.steps, lr=k.lr, seed=seed).test[-1]

    def score_title(self) -> str:
        if self.knobs.data == "Emoji-7":
            return "r@1 on unseen classes"
        return "score on unseen classes"

    def alt(self, numbers: Numbers) -> str:
        best = [
            f"{m} at τ₁ = {numbers['tau1'][int(mean.argmax())]:g}"
            for m, (mean, _) in numbers["curves"].items()
        ]
        return f"Test scores for τ₁ of {', '.join(f'{t:g}' for t in numbers['tau1'])} ranks; best {', '.join(best)}."
