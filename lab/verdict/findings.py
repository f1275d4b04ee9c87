"""What can be wrong with a training, each with what was measured, the place to see it and the knob to move.

One function a finding, a cause before what it leads to: of several that hold, the first is the likeliest cause. Each
looks at what a run recorded (`History`) and returns None where nothing is wrong or nothing can be said. Thresholds
without a source were set on Emoji-7 by `scripts/studies/verdict_trials.py` and judged on other sets: docs/verdict.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlencode

import numpy as np

from lab.inference.over_classes import FEWEST
from lab.verdict.history import STORED, History


@dataclass(frozen=True)
class Place:
    """A page of the dashboard at the query or batch that shows a finding. words: what the link says."""

    page: str
    query: dict[str, str]
    words: str

    @property
    def address(self) -> str:
        """Behind the dashboard's own address: `/inspect?run=first&show=dead`."""
        return f"/{self.page}?{urlencode(self.query)}"


@dataclass(frozen=True)
class Finding:
    """Something that is wrong with a run, or worth knowing of it.

    name: of the finding, the same in every run. sentence: what is wrong, with what was measured. place: where to see
    it. knob: the one to move, `section.knob`, or nothing where it is no knob of a run.
    advice: where to move it. note: it is no fault, but limits what can be read off the run.
    """

    name: str
    sentence: str
    place: Place
    knob: str
    advice: str
    note: bool = False

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**asdict(self), "place": {**asdict(self.place), "address": self.place.address}}


@dataclass(frozen=True)
class Found:
    """What one function below says: the sentence with its numbers, the advice, and the knob where it is another one."""

    sentence: str
    advice: str
    knob: str = ""


Look = Callable[[History], Found | None]
DECLARED: dict[str, tuple[Look, Callable[[History], Place], str, bool]] = {}
"""Name to function, place, knob, and whether it is a note; in the order of causes."""


def declared(
    name: str, place: Callable[[History], Place], knob: str, note: bool = False
) -> Callable[[Look], Look]:
    """Add a finding after those before it."""

    def add(look: Look) -> Look:
        DECLARED[name] = (look, place, knob, note)
        return look

    return add


def findings(evidence: History) -> list[Finding]:
    """What is wrong with a run, the likeliest cause first, notes last; empty where nothing was found.

    Example:
        >>> import lab
        >>> batch = {"step": 1, "with_positive": 0.0, "images": 32, "classes": 32}
        >>> evidence = lab.verdict.History("one", {"loss": {"name": "smooth_ap"}}, checkups={"batch": [batch]})
        >>> [finding.name for finding in lab.verdict.findings(evidence)]
        ['no positives']
    """
    made = []
    for name, (look, place, knob, note) in DECLARED.items():
        found = look(evidence)
        if found is not None:
            where = place(evidence)
            made.append(
                Finding(name, found.sentence, where, found.knob or knob, found.advice, note)
            )
    return sorted(made, key=lambda finding: finding.note)


def in_words(found: Sequence[Finding]) -> list[str]:
    """A sentence a finding for a terminal or a text: what is wrong, what to do, and where to see it."""
    sentences = []
    for one in found:
        kind = "Note" if one.note else "Verdict"
        knob = f" Knob: {one.knob}." if "." in one.knob else ""
        place = f"{one.place.words}: {one.place.address}"
        sentences.append(f"{kind}, {one.name}: {one.sentence} {one.advice}{knob} {place}")
    return sentences


# --- places ----------------------------------------------------------------------------------------------------------


def _curve(quantity: str) -> Callable[[History], Place]:
    """One curve of the run on Watch; of the validation score it is the one that chooses the best checkpoint."""

    def place(of: History) -> Place:
        return Place(
            "watch", {"watched": of.run, "quantity": quantity}, f"See the {quantity} on Watch"
        )

    return place


def _similarities(of: History) -> Place:
    """How alike matching and other pairs are, over the steps."""
    return Place(
        "watch", {"watched": of.run, "part": "Similarities"}, "See the similarities on Watch"
    )


def _batch(show: str) -> Callable[[History], Place]:
    """Of a batch in Inspect, once the run has embeddings that Inspect can begin with; until then its loss."""

    def place(of: History) -> Place:
        if not of.splits or not of.loss_name:
            return _curve("loss")(of)
        code = "drawn"
        if of.failed:
            code = "failure"
        elif of.batches:
            code = f"saved-{of.batches[-1]}"
        return Place(
            "inspect", {"run": of.run, "batch": code, "show": show}, "See the batch in Inspect"
        )

    return place


def _check(show: str) -> Callable[[History], Place]:
    """A list of Check, once there are embeddings; until then the loss."""

    def place(of: History) -> Place:
        if not of.splits:
            return _curve("loss")(of)
        return Place("check", {"run": of.run, "show": show}, "Look for them on Check")

    return place


def _map(of: History) -> Place:
    """The map of the validation images, or of those that there are, at the image that stands in most lists."""
    split = "validation"
    if of.splits and split not in of.splits:
        split = of.splits[0]
    query = {"run": of.run, "split": split}
    hub = of.last("validation", "hub")
    if hub is not None:
        query["query"] = str(int(hub))
    return Place("map", query, "See them on the map")


# --- the training cannot go on, or its batches cannot teach ----------------------------------------------------------


@declared("not a number", _batch("images"), "optimiser.lr")
def not_a_number(of: History) -> Found | None:
    """A loss, an embedding or a gradient became NaN or infinite."""
    lost = np.zeros(0)
    if np.isfinite(of.loss).any():  # a loop that tells no loss at all has lost none
        lost = of.steps[~np.isfinite(of.loss)]
    if not of.failed and not len(lost):
        return None
    step = 1
    if len(lost):
        step = int(lost[0])
    elif len(of.steps):
        step = int(of.steps[-1]) + 1
    return Found(
        f"The loss, an embedding or the gradient was not a finite number at step {step:,}.",
        "Lower the learning rate by a factor of 10, or set training.clip to 1.",
    )


SINGLE = 0.5
"""Share of the training classes that have one image only. Below that half of the classes teach as they should."""


@declared("one image a class", _batch("images"), "data")
def one_image_a_class(of: History) -> Found | None:
    """Most training classes have nothing to be pulled to."""
    single = of.last("data", "single")
    classes = of.last("data", "classes")
    if not classes or single is None or single / classes < SINGLE or _classifies(of):
        return None
    return Found(
        f"{single:.0f} of {classes:.0f} training classes have a single image, so there is nothing to pull it to.",
        "Give each class at least two images, or merge classes; a frozen encoder needs no training at all.",
    )


POSITIVES = 0.5
"""Share of a batch's images that have another one of their class. The others only push apart: with 0 the loss teaches
nothing, and in the trials batches with fewer than half cost more than a third of the gain."""


@declared("no positives", _batch("images"), "sampler.per_class")
def no_positives(of: History) -> Found | None:
    """Most images of a batch are the only ones of their class."""
    shares = of.values("batch", "with_positive")
    if not len(shares) or _classifies(of):
        return None
    share = float(shares.mean())
    if share >= POSITIVES:
        return None
    images = of.last("batch", "images")
    classes = of.last("batch", "classes")
    few = "No image" if share == 0 else f"Only {share:.0%} of the images"
    sentence = f"{few} of a batch has another image of its class ({images:.0f} images of {classes:.0f} classes)."
    advice = "Take at least 2 images of each class into a batch; 4 is usual."
    if of.knob("sampler", "name") == "m_per_class":
        return Found(sentence, advice)
    return Found(
        sentence,
        advice + " The sampler m_per_class does that; a larger batch helps, too.",
        "sampler.name",
    )


SATISFIED = 0.1
"""Share of the first loss by which perfect embeddings would have to lower it: at least half for each loss of the
catalogue on batches of 16 classes of 4."""

NEXT_TO_NOTHING = 1e-3
"""By how much the loss of untrained embeddings, and of all images at one point, has to be above that of perfect ones;
losses of the catalogue are of the order of 1. A recall@64 in a batch of 64 is perfect whatever the order."""

STEEP = 0.5
"""Share of its value by which a loss could fall at a smaller temperature: so much is left to learn in the batch."""


@declared("temperature too wide", _batch("images"), "loss.tau")
def temperature_too_wide(of: History) -> Found | None:
    """The loss hardly tells right from wrong, and a smaller temperature would."""
    now = of.first("batch", "loss_range")
    sharper = of.first("batch", "loss_sharper")
    if now is None or sharper is None or now >= SATISFIED or sharper < STEEP:
        return None
    knob, value, narrower = _temperature(of)
    direction = "smaller" if narrower < 1 else "larger"
    return Found(
        f"Perfect embeddings of the first batch would lower the loss by {max(now, 0):.1%} of its value; with a smaller "
        f"temperature it would be {sharper:.0%}. The loss hardly tells right from wrong.",
        f"Make {knob} {direction}{value}, tenfold at first.",
        _knob_of_loss(of, knob),
    )


WRONG_WAY = 0.02
"""Share of the untrained loss by which that of perfect embeddings is above it; rounding is 1e-7."""


@declared("wrong sign or labels", _batch("images"), "loss")
def wrong_sign(of: History) -> Found | None:
    """The loss asks for something else than its labels."""
    now = of.first("batch", "loss_now")
    perfect = of.first("batch", "loss_perfect")
    followed = of.first("batch", "loss_followed")
    if now is None or perfect is None:
        return None
    away = perfect - now > WRONG_WAY * abs(now)
    elsewhere = followed is not None and now - followed > max(
        SATISFIED * abs(now), 3 * (now - perfect)
    )
    elsewhere = elsewhere and now - perfect <= SATISFIED * abs(now)
    if not away and not elsewhere:
        return None
    sentence = f"Perfect embeddings of the first batch would have a loss of {perfect:.3g}, "
    if away:
        sentence += f"above the {now:.3g} of untrained ones: training leads away from them."
    else:
        sentence += f"like the {now:.3g} of untrained ones, but other embeddings would have {followed:.3g}: the loss "
        sentence += "follows other labels."
    return Found(
        sentence,
        "Look at the sign of the loss, at similarity taken for distance, and whether labels are in the order of the "
        "embeddings.",
    )


@declared("a batch that cannot teach", _batch("images"), "sampler.batch_size")
def cannot_teach(of: History) -> Found | None:
    """A single class in a batch, or a loss that is perfect whatever the embeddings are."""
    if of.last("batch", "classes") == 1:
        return Found(
            "All images of a batch are of one class, so nothing is pushed apart.",
            "Make the batch several times as large as sampler.per_class.",
        )
    now = of.first("batch", "loss_now")
    perfect = of.first("batch", "loss_perfect")
    equal = of.first("batch", "loss_equal")
    if now is None or perfect is None:
        return None
    least = now if equal is None else min(now, equal)  # of embeddings that are not perfect
    tiny = of.loss_class is not None and least - perfect < NEXT_TO_NOTHING
    if now - perfect > SATISFIED * abs(now) and not tiny:
        return None
    sentence = (
        f"Perfect embeddings of the first batch would have a loss of {perfect:.3g}, and untrained ones have {now:.3g}: "
        "this batch can teach the loss next to nothing."
    )
    if not of.loss_name:
        advice = "Look at what the loss does with the labels, at its temperature, and at the size of the batch."
        return Found(sentence, advice, "loss")
    return Found(
        sentence,
        "Make the batch larger than what the loss looks at (its k, its neighbours), and per_class what the loss wants.",
    )


# --- steps that overwrite the weights: what is seen of later batches may come from these -----------------------------

FAST = 0.1
"""Median over weight matrices of |change of a step| / |weights|. 0.001 is usual (Karpathy, CS231n, "Ratio of
weights:updates"); small networks take 0.03 in their first steps. From 0.1 on ten steps replace the weights."""


@declared("rate too high", _curve("loss"), "optimiser.lr")
def rate_too_high(of: History) -> Found | None:
    """Steps overwrite the weights."""
    moved = of.values("batch", "moved")
    if len(moved) < 2:
        return None
    fastest = float(np.sort(moved)[-2])  # a single step may be an accident
    if fastest < FAST:
        return None
    return Found(
        f"A step changes the weights by {fastest:.0%} of their size, so that what was learnt is overwritten.",
        "Lower the learning rate by a factor of 10; a change of 0.1 % to 1 % a step is usual.",
    )


# --- what the loss is given, and what it gives back ------------------------------------------------------------------

SPREAD = 0.05
"""Standard deviation of the lengths of embeddings over their mean: 1e-7 where they are normalised."""
SCALED = 0.01
"""Share of the loss by which it changes when all embeddings are made twice as long; 0 for a loss of cosines."""


@declared("lengths left free", _similarities, "encoder.normalise")
def lengths_free(of: History) -> Found | None:
    """The loss reads lengths that a search by cosine ignores."""
    spread = of.last("batch", "length_spread")
    now = of.first("batch", "loss_now")
    scaled = of.first("batch", "loss_scaled")
    if spread is None or spread < SPREAD or getattr(of.loss_class, "lengths_matter", False):
        return None
    if now is None or scaled is None or abs(scaled - now) <= SCALED * max(abs(now), 1e-12):
        return None
    length = of.last("batch", "length") or 0.0
    return Found(
        f"Embeddings have lengths of {length:.3g} ± {spread * length:.2g}, and the loss depends on them; a search by "
        "cosine does not. The loss can fall by changing lengths, and the ranking stays.",
        "Give embeddings unit length: encoder.normalise true, or torch.nn.functional.normalize before the loss.",
    )


DEAD = 0.6
"""Share of the positives behind a negative that get less than 1 % of the largest pull."""

WOKEN = 0.75
"""The part of these that still gets none at a wider temperature."""

BEHIND = 0.3
"""Share of the positives that are behind a negative: where nearly all is ranked right, the few that are not say nothing
of the temperature."""


@declared("out of the temperature's reach", _batch("dead"), "loss.tau")
def out_of_reach(of: History) -> Found | None:
    """A surrogate of the step that is flat where the wrong pairs are: its temperature is too small.

    Positives that a wider temperature does not wake are left alone on purpose: beyond a margin, or beyond the k of a
    recall@k.
    """
    if of.loss_class is not None and of.loss_class.family != "ranking":
        return None  # a loss with a margin leaves pairs beyond it alone on purpose
    shares = of.values("batch", "out_of_reach")
    woken = of.values("batch", "woken")
    if len(shares) < 2 or not len(woken):
        return None
    share = float(np.median(shares))
    behind = float(np.median(of.values("batch", "behind")))
    if share < DEAD or behind < BEHIND or float(np.median(woken)) > WOKEN * share:
        return None
    knob, value, narrower = _temperature(of)
    direction = "larger" if narrower < 1 else "smaller"
    return Found(
        f"{share:.0%} of the positives that stand behind a negative get next to no pull: the loss is flat where they "
        "are.",
        f"Make {knob} {direction}{value}, tenfold at first.",
        _knob_of_loss(of, knob),
    )


VANISHED = 1e-6
"""Norm of the gradient below which a step is lost: float32 adds 1e-7 of a weight at the least, and weights are some
0.1. Adam divides by the norm, but adds 1e-8 to it first, for each weight."""


@declared("no gradient", _batch("dead"), "loss")
def no_gradient(of: History) -> Found | None:
    """Steps are below what float32 can add to a weight."""
    known = of.gradient[np.isfinite(of.gradient)]
    if len(known) < 4:
        return None
    late = float(np.median(known[-10:]))
    if late >= VANISHED or (of.learnt or 0) > 0.9:
        return None
    return Found(
        f"The gradient has a norm of {late:.1e}: a step changes nothing, and the loss stays at {of.late_loss:.3g}.",
        "Look at what multiplies the loss (weight, temperature, margin): make it larger, or the temperature wider.",
    )


# --- steps that change next to nothing --------------------------------------------------------------------------------

SLOW = 1e-4
"""As `FAST`: a tenth of what is usual, while validation is no better than the first one, whose batch normalisation has
settled."""

STILL = 0.1
"""Share of its first value by which the loss has changed; asked before the second validation."""


@declared("rate too low", _curve("loss"), "optimiser.lr")
def rate_too_low(of: History) -> Found | None:
    """Steps are too small to be seen."""
    moved = of.values("batch", "moved")
    if len(moved) < 3:
        return None
    fastest = float(moved.max())
    if fastest >= SLOW:
        return None
    gain = of.gain("first")
    if gain is not None and gain.classes >= FEWEST:
        moves = gain.low > 0
    else:
        moves = abs(of.late_loss - of.early_loss) > STILL * abs(of.early_loss)
    if moves:
        return None
    return Found(
        f"A step changes the weights by {fastest:.1e} of their size at most, and the loss stays where it began.",
        "Raise the learning rate by a factor of 10; a change of 0.1 % to 1 % a step is usual.",
    )


# --- the data --------------------------------------------------------------------------------------------------------

COPIES = 0.02
"""Share of the validation images that are training images, too: beyond that scores of 0.01 are moved. It is estimated
from the part of the training images that is looked at."""

ONCE = 1
"""Copies that say little of the images that were not looked at."""


@declared("duplicates across splits", _check("leaks"), "data.corrections")
def duplicates(of: History) -> Found | None:
    """The same pictures in training and in validation."""
    checkups = of.checkups.get("pixels")
    if not checkups:
        return None
    sampled = len(checkups[-1].get("precisions") or ())
    found = of.last("pixels", "copies")
    compared = of.last("pixels", "compared")
    every = of.last("pixels", "training_images")
    if not found or not sampled or not compared or found <= ONCE:
        return None
    unseen = max(1, (every or 0) / compared)  # how many times as many training images there are
    if found / sampled * unseen < COPIES:
        return None
    rest = ""
    if compared != every:
        rest = f" {compared:.0f} of {every:.0f} training images were looked at: there are more."
    return Found(
        f"{found:.0f} of {sampled} validation images are training images, too, so validation is better than it should "
        f"be.{rest}",
        "Mark them on Check (Leakage) and train without them.",
    )


NOISE = 0.75
"""Mean average precision of training images over that of validation images, in lists of the same length. Healthy runs
stay above 0.85 as far as 256 images tell; 30 % of wrong labels make half of all pairs wrong, and it falls to 0.6."""

TWICE = 0.8
"""The same where the encoder that was not trained yet tells the same: no training can be the cause then."""


@declared("label noise", _check("labels"), "data.corrections")
def label_noise(of: History) -> Found | None:
    """What is learnt ranks worse than what was never seen."""
    gap = _gap(of)
    if gap is None:
        return None
    seen, unseen = gap
    before = _gap(of, "untrained")
    from_the_start = before is not None and before[0] < TWICE * before[1] and seen < TWICE * unseen
    gain = of.gain("untrained")
    # losses of classes begin by getting worse
    learns = not _classifies(of) or (gain is not None and gain.low > 0)
    if not from_the_start and not (learns and seen < NOISE * unseen):
        return None
    return Found(
        f"Training images rank worse (average precision {seen:.2f}) than images of validation ({unseen:.2f}), though "
        "they are what is learnt: many of their labels are probably wrong.",
        "Look at the label errors on Check, and train with their corrections; or use a loss that bears noise.",
    )


# --- what came out ---------------------------------------------------------------------------------------------------

ONE_POINT = 0.998
"""Mean cosine of a batch. In the trials collapsed ones have 0.999; untrained networks begin at 0.7 to 0.99, and losses
of many classes keep 0.99 for their first hundred steps."""
DIRECTIONS = 2.0
"""Effective rank of a batch in fewer directions than which classes cannot lie apart."""


def _batch_or_map(of: History) -> Place:
    return _map(of) if of.checkups.get(STORED) else _similarities(of)


@declared("collapsed", _batch_or_map, "loss")
def collapsed(of: History) -> Found | None:
    """All embeddings at one point."""
    about = STORED if of.checkups.get(STORED) else "batch"
    cosine = of.last(about, "mean_cosine")
    rank = of.last(about, "effective_rank")
    if cosine is None or rank is None or not (cosine > ONE_POINT or rank < DIRECTIONS):
        return None
    sentence = (
        f"All images lie nearly at one point: their mean cosine is {cosine:.3f}, "
        f"and they use {rank:.1f} directions."
    )
    if about == STORED:
        return Found(
            sentence,
            "Look at the model that made these vectors, and at how they were exported.",
            "encoder",
        )
    if of.step("batch") < 16:
        return None
    return Found(
        sentence,
        "Push apart more: a larger margin or weight of negatives, easier negatives at first, or a lower learning rate.",
    )


AT_MARGIN = 0.03
"""Share of the way from the loss of equal embeddings to that of perfect ones."""


@declared("stuck at the margin", _curve("loss"), "optimiser.lr")
def stuck(of: History) -> Found | None:
    """The value of equal embeddings is where the loss stays; of a triplet loss that is its margin."""
    equal = of.first("batch", "loss_equal")
    precisions = of.values("batch", "precision")
    if (
        of.learnt is None
        or equal is None
        or abs(of.learnt) > AT_MARGIN
        or len(of.loss) < 20
        or len(precisions) < 3
    ):
        return None
    if precisions[-2:].mean() > precisions[0] + 0.05:
        return None  # a loss that averages over its active triplets stays near its margin while the ranking improves
    return Found(
        f"The loss stays at {of.late_loss:.3g}, which is its value when all images lie at one point ({equal:.3g}).",
        "Lower the learning rate or take easier negatives at first: the hardest ones pull everything together.",
    )


MEMORISED = 0.35
"""The first less the second of these two average precisions; healthy runs here have up to 0.2."""


@declared("memorising", _curve("MAP@R"), "data")
def memorising(of: History) -> Found | None:
    """Training images are known by heart, new ones are not."""
    gap = _gap(of)
    if gap is None:
        return None
    seen, unseen = gap
    since_best = of.gain("best")
    falls = since_best is not None and since_best.high < 0
    if seen - unseen < MEMORISED and not (seen > 0.9 and falls):
        return None
    return Found(
        f"Training images rank far better (average precision {seen:.2f}) than new ones ({unseen:.2f}): the network "
        "knows its training images by heart.",
        "Train on more classes or images, change images more (augmentation), or train for fewer steps.",
        "augmentation.scale_low",
    )


def _worse(of: History, than: str, words: str, advice: str) -> Found | None:
    gain = of.gain(than)
    if gain is None or not gain.high < 0:
        return None
    return Found(
        f"Validation images rank worse than {words}: average precision {gain.mean:+.3f} "
        f"({gain.interval}; {gain.classes} classes).",
        advice,
    )


@declared("worse than before", _curve("MAP@R"), "optimiser.lr")
def worse_than_before(of: History) -> Found | None:
    """Training took away what the encoder could do."""
    advice = "Lower the learning rate, train a head only, or keep the encoder as it came."
    return _worse(of, "untrained", "by the encoder as it came", advice)


HUBS = 4.0
"""Skewness of the 10-occurrence. Radovanovic et al. find 1.4 to 6 in data of many dimensions; healthy runs stay below 3
on 256 images."""


@declared("hubs", _map, "loss")
def hubs(of: History) -> Found | None:
    """A few images that are everybody's neighbour."""
    skewness = of.last(STORED if of.checkups.get(STORED) else "validation", "hubness")
    if skewness is None or skewness < HUBS:
        return None
    return Found(
        f"A few images are among the nearest neighbours of very many others (skewness {skewness:.1f}).",
        "Look at the images in the middle of the map; center the embeddings, or search with --rerank.",
    )


# --- notes: what cannot be read off the run --------------------------------------------------------------------------


@declared("worse than pixels", _curve("MAP@R"), "training.steps", note=True)
def worse_than_pixels(of: History) -> Found | None:
    """A small network that was not trained long enough yet, as a rule."""
    if not of.ended and of.planned and of.step("validation") < 0.5 * of.planned:
        return None  # small networks begin below pixels and overtake them
    return _worse(
        of, "pixels", "by their raw pixels", "Train longer, or start from a pretrained encoder."
    )


@declared("validation too small", _curve("MAP@R"), "data.validation", note=True)
def validation_too_small(of: History) -> Found | None:
    """Differences that are read off validation and mean nothing."""
    gain = of.gain("untrained")
    if gain is None:
        return None
    sentence = f"On {gain.queries} validation images of {gain.classes} classes the change of {gain.mean:+.3f} since "
    if gain.classes < FEWEST:
        sentence += (
            f"the start is uncertain by more than can be said: an interval takes {FEWEST} classes."
        )
    elif of.ended and gain.low < 0 < gain.high:
        half = (gain.high - gain.low) / 2
        sentence += f"the start is uncertain by ± {half:.3f} (95 % over classes): smaller differences between steps "
        sentence += "mean nothing."
    else:
        return None
    return Found(
        sentence, "Validate on more classes; compare runs by intervals, not by the third digit."
    )


@declared("best at the first validation", _curve("MAP@R"), "optimiser.lr", note=True)
def best_at_first(of: History) -> Found | None:
    """Training made it worse from the first validation on."""
    if not _is_best(of, 0):
        return None
    step, first = of.scores[0]
    _, last = of.scores[-1]
    return Found(
        f"The best checkpoint is that of the first validation ({first:.3f} at step {step:,}); the last has {last:.3f}.",
        "Validate more often, and lower the learning rate.",
    )


RISING = 0.1
"""Share of the whole gain that came with the last validation."""


@declared("best at the last validation", _curve("MAP@R"), "training.steps", note=True)
def best_at_last(of: History) -> Found | None:
    """Training ended before it was done."""
    if not _is_best(of, -1):
        return None
    last = of.scores[-1][1]
    whole = last - of.scores[0][1]
    late = last - of.scores[-2][1]
    if whole <= 0 or late < RISING * whole:
        return None
    return Found(
        f"The score was still rising at the end: {late / whole:.0%} of its gain came with the last validation.",
        "Train for more steps.",
    )


def _is_best(of: History, place: int) -> bool:
    """Whether a run has ended whose best validation is at this place; the first of equal ones is the best."""
    if len(of.scores) < 4 or not of.ended:
        return False
    return max(of.scores, key=lambda score: score[1]) == of.scores[place]


def _temperature(of: History) -> tuple[str, str, float]:
    """Return the name of the loss's temperature, the words on its value, and the factor that makes it steeper."""
    knob = "the temperature"
    factor = 0.1
    for name, steeper in getattr(of.loss_class, "temperatures", {}).items():
        knob = name
        factor = steeper
        break  # the first is the main one
    value = of.knob("loss", knob)
    words = f" than {value:g}" if isinstance(value, int | float) else ""
    return knob, words, factor


def _knob_of_loss(of: History, knob: str) -> str:
    """`loss.KNOB` where the configuration has that knob, else `loss`."""
    return "loss" if of.knob("loss", knob) is None else f"loss.{knob}"


def _classifies(of: History) -> bool:
    """Whether the loss compares images with weights of classes, and needs no positives; no, where it is unknown."""
    return of.loss_class is not None and not of.loss_class.needs_positives


def _gap(of: History, about: str = "validation") -> tuple[float, float] | None:
    """Average precision of training and of validation images in lists of one length; None before it was measured."""
    seen = of.last(about, "seen")
    unseen = of.last(about, "unseen")
    if seen is None or unseen is None:
        return None
    return seen, unseen
