"""Which labels are probably wrong, and how probably: confident learning on features that no label has taught.

Each image is judged by a classifier that was fitted without it (out of fold). Listed are the images whose label is not
the most probable one, those that cleanlab's confident learning finds, which has a threshold of its own for each class
(images that reach the usual probability of another class), and any other that is probably enough wrong. The surest
errors come first. Where two classes are confused in both directions each gets a fair share of the probability, and such
images come late.

How probable an error is follows from a model of how labels go wrong: a label is that of the image, or, at one rate,
that of any other class by chance, or, at another, that of a class that looks alike. Both rates are fitted to the same
probabilities together with their sharpness; where labels are right they are zero, and so are the probabilities: the
list is then ordered as if both were equally rare.

An image may also be unlike everything: it has its right label, and the classifier names another class with certainty
only because all classes are far away. An image of the suggested class lies among that class's images, half of them
nearer to its mean than most; one that is unlike everything lies further out than nearly all of them. How many suspects
are of either kind is fitted, too, and where a fifth or more are unlike everything, each counts for less.

How many labels are wrong is not said where the classifier is poor: where classes are of a meaning that features do not
show, it misjudges right labels just as wrong ones. Nor is it said where the nearest image names as many labels as the
classifier, unless that names nearly all: a class is then of several kinds, as animals are, and a right label looks
wrong because it is far from the middle of its class. Wrong labels do not look like that: they mislead the nearest image
twice, by an image's own label and by that of its neighbour, and the classifier once.

Sources: Northcutt, Jiang and Chuang, Confident Learning, JAIR 2021; the rates as in Bootkrajang and Kaban, Label-Noise
Robust Logistic Regression, ECML 2012.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

FOLDS = 5
SHRINK = 0.1
"""Share of a mean variance that is added to every direction, so that few images make a covariance."""
ROUNDS = 50
"""Of the estimate of the rate; more do not change it."""
NOISE, NEAR = 0.05, np.arange(-3, 9) / 10
"""Share of wrong labels that is assumed for a first sharpness, and the steps from it among which the best is taken:
there are several good ones, and far away many errors explain a much too sharp classifier as well."""
DOUBTFUL = 0.1
"""Probability of an error from which any image is listed."""
ODD, ODD_ALIKE, MISJUDGED, FEW_ODD = 0.006, 0.5, 2.0, 3
"""What the estimates are lowered by, for labels are right in some images that are unlike their class: a share of the
images for those by chance; for those of a class that looks alike, images a class, at most so many and at most
`MISJUDGED` times the share of images whose label the classifier does not name; and at least so many images."""
FURTHER = 12.0
"""Images that are unlike everything lie at the greatest distances: the density of the rank u of a distance, 0..1, among
those of images to their own class is `FURTHER` u^(`FURTHER` - 1), and 1 for an image of that class."""
FEW_UNLIKE, BEFOREHAND = 0.2, 2.0
"""Share of the suspects that must be unlike everything before any of them counts for less, and suspects that are taken
to be errors beforehand, so that a few do not decide."""
LEAST_ACCURATE = 0.58
"""Share of images whose label the classifier names below which no number of errors is told."""
NEARLY_ALL = 0.85
"""Share of images whose label the classifier names from which a number of errors is told in any case."""
AS_MANY = 0.01
"""The nearest image names as many labels as the classifier if it names at most this share of all images fewer."""
LOOKED_UP = 2_000
"""Images whose nearest one is looked up, drawn at random where there are more."""


@dataclass(frozen=True)
class LabelErrors:
    """Images whose label may be wrong, the surest first.

    rows: int64 [s], their places among the images that were looked at.
    suggested: int64 [s], the label that they would have then.
    probability: float64 [s], how probably each label is wrong, 0..1.
    accuracy: share of all images whose label is named by a classifier that has not seen them.
    nearest: share of images whose label is that of the nearest other image.

    Example:
        >>> import numpy as np
        >>> found = LabelErrors(np.array([4, 1, 7]), np.array([0, 2, 2]), np.array([0.9, 0.6, 0.3]), accuracy=0.9)
        >>> len(found), found.expected(2)
        (3, 1.5)
    """

    rows: np.ndarray
    suggested: np.ndarray
    probability: np.ndarray
    accuracy: float
    nearest: float = 0.0

    def __len__(self) -> int:
        return len(self.rows)

    def expected(self, n: int) -> float | None:
        """About how many of the first n are wrong: the sum of their probabilities. None where the classifier names too
        few labels to tell."""
        return float(self.probability[:n].sum()) if self.counted else None

    @property
    def counted(self) -> bool:
        """Whether numbers of errors and their probabilities may be told."""
        return self.accuracy >= LEAST_ACCURATE and not self.several_kinds

    @property
    def several_kinds(self) -> bool:
        """Whether classes seem to be of several kinds, so that a right label may look wrong."""
        return self.accuracy < NEARLY_ALL and self.nearest >= self.accuracy - AS_MANY


def label_errors(vectors: np.ndarray, labels: np.ndarray, *, seed: int = 0) -> LabelErrors:
    """Look for wrong labels.

    Args:
        vectors: float32 [n d], features that no training on these labels has changed.
        labels: int64 [n]; negative where none is known, such images are left out.
        seed: of the folds.

    Raises:
        ValueError: fewer than two classes have two images each.

    Example (two clusters, and eight images of the first that have the label of the second):
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> labels = np.repeat([0, 1], 50)
        >>> vectors = rng.normal(size=(100, 8)) + 4 * labels[:, None]
        >>> labels[:8] = 1
        >>> found = label_errors(vectors.astype(np.float32), labels)
        >>> sorted(found.rows[:8].tolist()), set(found.suggested[:8].tolist())
        ([0, 1, 2, 3, 4, 5, 6, 7], {0})
    """
    known = np.flatnonzero(labels >= 0)
    known = known[np.isin(labels[known], _frequent(labels[known]))]
    judged = out_of_fold(vectors[known], labels[known], seed=seed)
    classes, given = np.unique(labels[known], return_inverse=True)
    found = doubtful(judged, given)
    return replace(
        found,
        rows=known[found.rows],
        suggested=classes[found.suggested],
        nearest=_nearest_agree(vectors[known], given, seed),
    )


def _nearest_agree(vectors: np.ndarray, given: np.ndarray, seed: int) -> float:
    """Return the share of images whose label is that of the image with the most similar direction."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = vectors / np.where(lengths > 0, lengths, 1)
    places = np.random.default_rng(seed).permutation(len(rows))[:LOOKED_UP]
    agree = 0
    for part in np.array_split(places, -(-len(places) // 256)):
        similarities = rows[part] @ rows.T
        similarities[np.arange(len(part)), part] = -np.inf
        agree += int((given[similarities.argmax(1)] == given[part]).sum())
    return agree / len(places)


@dataclass(frozen=True)
class Judged:
    """What a classifier says of images that it has not seen.

    probabilities: float64 [n c], of each class; rows sum to 1. distances: float64 [n c], to the mean of each class,
    squared, in the spread of the classes (Mahalanobis).
    """

    probabilities: np.ndarray
    distances: np.ndarray


def doubtful(judged: Judged, given: np.ndarray) -> LabelErrors:
    """Which labels given int64 [n] are probably wrong.

    Example (the third image has the label of the other class):
        >>> import numpy as np
        >>> probabilities = np.array([[0.9, 0.1], [0.2, 0.8], [0.9, 0.1]])
        >>> doubtful(Judged(probabilities, 1 - probabilities), np.array([0, 1, 1])).rows.tolist()
        [2]
    """
    from cleanlab.count import compute_confident_joint  # takes seconds to load

    probabilities = judged.probabilities
    cases, shares = _cases(probabilities, given)
    wrong, equally = cases[:, 1:] @ shares[1:] / (cases @ shares), cases[:, 1:].sum(1) / cases[:, 0]
    like = _like_the_suggested(judged, given, wrong)
    wrong, equally = like * wrong, like * equally
    _, confident = compute_confident_joint(
        given, probabilities, return_indices_of_off_diagonals=True
    )
    listed = (probabilities.argmax(1) != given) | (wrong >= DOUBTFUL)
    rows = np.union1d(np.asarray(confident, np.int64), np.flatnonzero(listed))
    rows = rows[np.lexsort((-equally[rows], -wrong[rows]))]
    others = probabilities[rows]
    others[np.arange(len(rows)), given[rows]] = -1
    return LabelErrors(
        rows, others.argmax(1), wrong[rows], float((probabilities.argmax(1) == given).mean())
    )


def _like_the_suggested(judged: Judged, given: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """How probably each suspect is like an image of the class that is suggested, and not unlike everything: float64
    [n], all 1 where few are unlike everything. wrong: float64 [n], how probably each label is wrong otherwise."""
    rows = np.arange(len(given))
    others = judged.probabilities.copy()
    others[rows, given] = -1
    right = judged.probabilities.argmax(1) == given
    of_their_own = np.sort(judged.distances[rows, given][right])
    if not len(of_their_own) or wrong.sum() < 1:
        return np.ones(len(given))
    rank = np.searchsorted(of_their_own, judged.distances[rows, others.argmax(1)]) / len(
        of_their_own
    )
    unlike = FURTHER * rank ** (FURTHER - 1)
    share = 0.9
    for _ in range(ROUNDS):
        like = share / (share + (1 - share) * unlike)
        share = float((wrong @ like + BEFOREHAND) / (wrong.sum() + BEFOREHAND))
    return like if share < 1 - FEW_UNLIKE else np.ones(len(given))


def out_of_fold(
    vectors: np.ndarray, labels: np.ndarray, folds: int = FOLDS, seed: int = 0
) -> Judged:
    """What a classifier that has not seen an image says of it.

    The columns are the classes in ascending order. The classifier is linear discriminant analysis: one mean a class and
    one covariance for all, fitted in closed form. Its sharpness (the temperature of the softmax) is the one at which
    the labels, some of them wrong, are the most probable.

    Args:
        vectors: float32 [n d]. labels: int64 [n]. folds: parts that are left out in turn, each class spread over them.

    Raises:
        ValueError: fewer than two classes have two images each.

    Example:
        >>> import numpy as np
        >>> vectors = np.array([[0], [1], [0.1], [0.9], [0.2], [0.8]], np.float32)
        >>> out_of_fold(vectors, np.array([3, 8, 3, 8, 3, 8]), folds=3).probabilities.argmax(1).tolist()
        [0, 1, 0, 1, 0, 1]
    """
    from scipy.optimize import minimize_scalar

    if len(_frequent(labels)) < 2:
        raise ValueError(
            "Label errors are found by other images of each class: two classes need two images each."
        )
    classes, given = np.unique(labels, return_inverse=True)
    x = vectors - vectors.mean(0)
    part = _parts(given, folds, seed)
    logits, lengths = np.empty((len(x), len(classes))), np.empty(len(x))
    for fold in np.unique(part):
        here = part == fold
        logits[here], lengths[here] = _discriminants(x[~here], given[~here], x[here], len(classes))
    distances = lengths[:, None] - 2 * logits
    logits -= logits.max(1, keepdims=True)

    def uniform(sharpness: float) -> float:
        own = np.take_along_axis(_softmax(logits, sharpness), given[:, None], 1)
        return -float(np.log((1 - NOISE) * own + NOISE / len(classes)).mean())

    def fitted(sharpness: float) -> float:
        cases, shares = _cases(_softmax(logits, sharpness), given)
        return -float(np.log(cases @ shares).mean())

    first = minimize_scalar(uniform, bounds=(-6, 3), method="bounded", options={"xatol": 0.02}).x
    return Judged(_softmax(logits, min(first + NEAR, key=fitted)), distances)


def _frequent(labels: np.ndarray) -> np.ndarray:
    """The labels that at least two images have."""
    names, counts = np.unique(labels, return_counts=True)
    return names[counts > 1]


def _parts(given: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """The fold of each image, int64 [n]: the images of a class go round, from where those of the last one ended."""
    order = np.random.default_rng(seed).permutation(len(given))
    order = order[np.argsort(given[order], kind="stable")]
    part = np.empty(len(given), np.int64)
    part[order] = np.arange(len(given)) % folds
    return part


def _discriminants(
    x: np.ndarray, given: np.ndarray, other: np.ndarray, classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Linear discriminants of each class for `other`, [m c], and the squared length of each, [m], in the spread of the
    classes; a class without an image here gets the lowest discriminant."""
    counts = np.bincount(given, minlength=classes)
    means = np.zeros((classes, x.shape[1]), x.dtype)
    np.add.at(means, given, x)
    means /= np.maximum(counts, 1)[:, None]
    within = x - means[given]
    covariance = within.T @ within / max(1, len(x) - (counts > 0).sum())
    covariance[np.diag_indices_from(covariance)] += (
        SHRINK * np.trace(covariance) / len(covariance) + 1e-9
    )
    solved = np.linalg.solve(covariance, np.concatenate([means, other]).T)
    weight = solved[:, :classes]
    found = other @ weight - 0.5 * np.einsum("cd,dc->c", means, weight)
    found[:, counts == 0] = found.min() - 1
    return found, np.einsum("md,dm->m", other, solved[:, classes:])


def _softmax(logits: np.ndarray, sharpness: float) -> np.ndarray:
    """Of logits [n c] whose largest is 0 in every row, times e^sharpness."""
    powers = np.exp(logits * np.exp(sharpness))
    return powers / powers.sum(1, keepdims=True)


def _cases(probabilities: np.ndarray, given: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How probable each label is if it is right, by chance, or of a class that looks alike [n 3], and the shares [3]
    of these cases by expectation-maximisation."""
    count, classes = probabilities.shape
    own = probabilities[np.arange(count), given]
    # row: the true class; column: the label that it gets by mistake
    alike = np.zeros((classes, classes))
    np.add.at(alike, given, probabilities)
    np.fill_diagonal(alike, 0)
    alike **= 2  # the most similar classes are mistaken most
    alike /= np.maximum(alike.sum(1, keepdims=True), 1e-300)
    mistaken = np.einsum("nc,nc->n", probabilities, alike.T[given])
    cases = np.stack([own, (1 - own) / (classes - 1), mistaken], 1) + 1e-300
    misjudged = float((probabilities.argmax(1) != given).mean())
    of_class = min(ODD_ALIKE, MISJUDGED * misjudged)
    odd = np.array([max(FEW_ODD, ODD * count), max(FEW_ODD, of_class * classes)])
    shares = np.array([0.94, 0.03, 0.03])
    for _ in range(ROUNDS):
        counts = (cases * shares / (cases @ shares)[:, None]).sum(0)
        counts[1:] = np.maximum(counts[1:] - odd, 0)
        shares = counts / counts.sum()
    return cases, shares
