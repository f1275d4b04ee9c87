"""000, figure 4 right: the batch size, for the recall surrogate with and without SiMix and for SmoothAP."""

from lab import losses
from lab.figures import _toy
from lab.figures._base import Numbers, knob
from lab.figures._toy_sweep import Axis, Data, ToySweep, data_knob

RECIPES = {
    "RS@k": ("recall_at_k", {}),
    "RS@k with SiMix": ("recall_at_k", {"simix": True}),
    "SmoothAP": ("smooth_ap", {}),
}


class BatchSizeSweep(ToySweep):
    """Test scores of three ranking losses by batch size, at an equal number of steps."""

    title = "Large batches for ranking losses"
    source = "RS@k, figure 4 right"
    question = "Where does SiMix help: with small batches or with large ones?"
    axes = {
        "batch": Axis(
            "batch size (images, log scale)", (), ("batch_size", "batch size", "r@1"), "log"
        )
    }
    note = "{steps} steps each, mean and deviation over {seeds} seeds"
    words = "Test r@1 for batches of {first} to {last} images"
    place = "batch"
    measured = ("simix", "smooth_ap")

    data: Data = data_knob()
    classes: tuple[int, ...] = knob(
        "Classes per batch, with four images each.", default=(2, 4, 8, 16), ge=2, le=24
    )
    simix: bool = knob("Also train RS@k with SiMix.", default=True, source="RS@k, eq. 8")
    smooth_ap: bool = knob("Also train SmoothAP.", default=True)
    steps: int = knob("Training steps.", default=40, ge=1, le=100)
    noise: float = knob("Spread of each class (noise).", default=0.5, ge=0.1, le=2)
    seeds: int = knob("Number of seeds.", default=2, ge=1, le=3)

    @property
    def axis(self) -> Axis:
        return super().axis._replace(settings=[4 * count for count in self.knobs.classes])

    def lines(self) -> dict[str, tuple[str, str]]:
        left_out = {"RS@k with SiMix": not self.knobs.simix, "SmoothAP": not self.knobs.smooth_ap}
        return {name: (name, "r@1") for name in RECIPES if not left_out.get(name)}

    def toy(self, setting: float, seed: int) -> _toy.Toy:
        return _toy.hidden_classes(classes=24, per_class=6, noise=self.knobs.noise, seed=seed)

    def scores(self, loss: str, setting: float, seed: int) -> dict[str, float]:
        k = self.knobs
        (name, knobs) = RECIPES[loss]
        toy = self.toy(setting, seed)
        made = losses.create(name, **knobs)
        return _toy.train(made, toy, steps=k.steps, classes=int(setting) // 4, seed=seed).test[-1]

    def numbers(self) -> Numbers:
        numbers = super().numbers()
        shown = self.lines()
        return numbers | {
            "curves": {name: curve for name, curve in numbers["curves"].items() if name in shown}
        }
