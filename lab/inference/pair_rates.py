"""The rates of a threshold with all classes and without each of them, from the pairs of its classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lab.inference.rates import Jackknife, effective, share

if TYPE_CHECKING:
    from lab.kernels.class_reach import ClassReach


@dataclass(frozen=True)
class PairRates:
    """What `lab.inference.rates.rate` needs of each rate of a threshold."""

    reach: ClassReach

    def _of_class(self, classes: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """float64 [c], how often each class is there, or the sum of its weights."""
        return np.bincount(classes, weights, minlength=len(self.reach.queries)).astype(np.float64)

    @cached_property
    def _same(self) -> np.ndarray:
        """float64 [c]: pairs of each class that are let through."""
        inside = self.reach.first == self.reach.second
        return self._of_class(self.reach.first[inside], self.reach.pairs[inside])

    @cached_property
    def _mixed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The pairs of two classes that are let through, both ways together: the lesser class, the greater, [p] each,
        and how many pairs they have."""
        mixed = self.reach.first != self.reach.second
        first, second = self.reach.first[mixed], self.reach.second[mixed]
        return _merged(np.minimum(first, second), np.maximum(first, second), self.reach.pairs[mixed])

    @cached_property
    def _let(self) -> np.ndarray:
        """float64 [c]: pairs with another class that are let through, of queries or of items of each class."""
        less, greater, pairs = self._mixed
        return self._of_class(less, pairs) + self._of_class(greater, pairs)

    @cached_property
    def _other(self) -> np.ndarray:
        """float64 [c]: pairs with another class, of queries or of items of each class."""
        queries, items = (part.astype(np.float64) for part in (self.reach.queries, self.reach.items))
        return queries * (items.sum() - items) + items * (queries.sum() - queries)

    def false_accepts(self) -> Jackknife:
        let, whole = float(self._let.sum() / 2), float(self._other.sum() / 2)
        far = let / whole if whole else float("nan")
        less, greater, pairs = self._mixed
        queries, items = (part.astype(np.float64) for part in (self.reach.queries, self.reach.items))
        possible = queries[less] * items[greater] + queries[greater] * items[less]
        squares = np.square(queries).sum() * np.square(items).sum() + (queries @ items) ** 2
        squares -= 2 * np.square(queries) @ np.square(items)  # the sum of squares of what is possible
        among = float(np.square(pairs).sum() - 2 * far * (pairs @ possible) + far**2 * squares)
        return Jackknife.of_sums(let, whole, self._let, self._other, among)

    def false_rejects(self) -> Jackknife:
        own = self.reach.own.astype(np.float64)
        out = own - self._same
        return Jackknife.of_sums(float(out.sum()), float(own.sum()), out, own)

    def precision(self) -> Jackknife:
        """With as many pairs of one class and of two as there are: other classes change the rates of both kinds."""
        own = self.reach.own.astype(np.float64)
        right, wrong = float(self._same.sum()), float(self._let.sum() / 2)
        right_without = own.sum() * share(right - self._same, own.sum() - own)
        other = float(self._other.sum() / 2)
        wrong_without = other * share(wrong - self._let, other - self._other)
        value = float(share(right, right + wrong))
        among = float(value**2 * np.square(self._mixed[2]).sum() / max(right + wrong, 1.0) ** 2)
        weights = own if effective(own) < effective(self._other) else self._other
        return Jackknife(value, share(right_without, right_without + wrong_without), weights, among)

    def strangers(self, counts: np.ndarray) -> Jackknife:
        """Queries that no other class reaches. counts: bool [q], those that are compared with another class."""
        classes, others = self.reach.query_class[counts], self.reach.others[counts]
        alone, by_one, by_two = others[:, 0] == -1, (others[:, 0] >= 0) & (others[:, 1] < 0), others[:, 1] >= 0
        of_class = self._of_class(classes)
        gained = self._of_class(others[by_one, 0])  # without that class nothing reaches them
        # What two classes change together: a query goes with its own class, whatever reaches it; one that two classes
        # reach is rejected only without both.
        first = np.concatenate([classes[by_one], others[by_two, 0]])
        second = np.concatenate([others[by_one, 0], others[by_two, 1]])
        change = np.concatenate([-np.ones(by_one.sum()), np.ones(by_two.sum())])
        together = _merged(np.minimum(first, second), np.maximum(first, second), change)[2]
        less_part = self._of_class(classes[alone]) - gained
        among = float(np.square(together).sum())
        return Jackknife.of_sums(float(alone.sum()), float(len(classes)), less_part, of_class, among)

    def known(self, reached: np.ndarray, counts: np.ndarray) -> Jackknife:
        """Queries that their own class reaches. counts: bool [q], those whose class has another image."""
        of_class = self._of_class(self.reach.query_class[counts])
        found = self._of_class(self.reach.query_class[counts & reached])
        return Jackknife.of_sums(float(found.sum()), float(of_class.sum()), found, of_class)


def _merged(less: np.ndarray, greater: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each pair of classes once, with the sum of its values."""
    pairs, place = np.unique(np.stack([less, greater]), axis=1, return_inverse=True)
    return pairs[0], pairs[1], np.bincount(place.ravel(), values, minlength=pairs.shape[1])
