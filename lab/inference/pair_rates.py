"""The rates of a threshold with all classes and without each of them, from the pairs of its classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lab.inference.rates import Jackknife, effective, share

if TYPE_CHECKING:
    from lab.kernels.class_reach import ClassReach


TAKEN_AWAY = 0.5
"""Of rates of pairs, the part of what is counted once too often that is taken away; `lab.inference.rates` has why."""


@dataclass(frozen=True)
class PairRates:
    """What `lab.inference.rates.rate` needs of each rate of a threshold.

    Arrays have one number a class, float64 [c], unless said otherwise.
    """

    reach: ClassReach

    def _of_class(self, classes: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """How often each class is among these, or the sum of its weights."""
        return np.bincount(classes, weights, minlength=len(self.reach.queries)).astype(np.float64)

    @cached_property
    def _queries(self) -> np.ndarray:
        return self.reach.queries.astype(np.float64)

    @cached_property
    def _items(self) -> np.ndarray:
        return self.reach.items.astype(np.float64)

    @cached_property
    def _own(self) -> np.ndarray:
        """Pairs within each class."""
        return self.reach.own.astype(np.float64)

    @cached_property
    def _same(self) -> np.ndarray:
        """Pairs within each class that are let through."""
        inside = self.reach.first == self.reach.second
        return self._of_class(self.reach.first[inside], self.reach.pairs[inside])

    @cached_property
    def _mixed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The pairs of two classes that are let through, both ways together: the lesser class, the greater, [p] each,
        and how many pairs they have."""
        mixed = self.reach.first != self.reach.second
        first = self.reach.first[mixed]
        second = self.reach.second[mixed]
        return _merged(
            np.minimum(first, second), np.maximum(first, second), self.reach.pairs[mixed]
        )

    @cached_property
    def _let(self) -> np.ndarray:
        """Pairs with another class that are let through, of queries or of items of each class."""
        less, greater, pairs = self._mixed
        return self._of_class(less, pairs) + self._of_class(greater, pairs)

    @cached_property
    def _other(self) -> np.ndarray:
        """Pairs with another class, of queries or of items of each class."""
        as_queries = self._queries * (self._items.sum() - self._items)
        as_items = self._items * (self._queries.sum() - self._queries)
        return as_queries + as_items

    def false_accepts(self) -> Jackknife:
        """Pairs of two classes that are let through, among all of them."""
        let = float(self._let.sum() / 2)
        whole = float(self._other.sum() / 2)
        far = let / whole if whole else float("nan")

        # Sum over pairs of classes of the square of (pairs let through - far * pairs there are).
        less, greater, pairs = self._mixed
        there_are = (
            self._queries[less] * self._items[greater] + self._queries[greater] * self._items[less]
        )
        among = (
            np.square(pairs).sum()
            - 2 * far * (pairs @ there_are)
            + far**2 * self._squares_of_pairs()
        )
        return Jackknife.of_sums(let, whole, self._let, self._other, TAKEN_AWAY * float(among))

    def _squares_of_pairs(self) -> float:
        """The sum over pairs of classes of the square of how many pairs they have."""
        squared_queries = np.square(self._queries)
        squared_items = np.square(self._items)
        all_classes = (
            squared_queries.sum() * squared_items.sum() + (self._queries @ self._items) ** 2
        )
        return float(all_classes - 2 * squared_queries @ squared_items)

    def false_rejects(self) -> Jackknife:
        """Pairs of one class that are kept out, among all of them."""
        out = self._own - self._same
        return Jackknife.of_sums(float(out.sum()), float(self._own.sum()), out, self._own)

    def precision(self) -> Jackknife:
        """Pairs of one class among those that are let through.

        Without a class there are as many pairs of one class and of two as before: other classes change the rates of
        both kinds, not how they are mixed.
        """
        right = float(self._same.sum())
        wrong = float(self._let.sum() / 2)
        value = float(share(right, right + wrong))

        pairs_of_one = self._own.sum()
        pairs_of_two = float(self._other.sum() / 2)
        right_without = pairs_of_one * share(right - self._same, pairs_of_one - self._own)
        wrong_without = pairs_of_two * share(wrong - self._let, pairs_of_two - self._other)
        without = share(right_without, right_without + wrong_without)

        among = float(value**2 * np.square(self._mixed[2]).sum() / max(right + wrong, 1.0) ** 2)
        fewer_classes = effective(self._own) < effective(self._other)
        weights = self._own if fewer_classes else self._other
        # classes without a pair that is let through say nothing
        independent = effective(self._same + self._let)
        return Jackknife(value, without, weights, TAKEN_AWAY * among, independent)

    def strangers(self, counts: np.ndarray) -> Jackknife:
        """Queries that no other class reaches. counts: bool [q], those that are compared with another class."""
        classes = self.reach.query_class[counts]
        first_other, second_other = self.reach.others[counts].T  # -1 for none, -2 for more than two
        alone = first_other == -1
        by_one = (first_other >= 0) & (second_other < 0)
        by_two = second_other >= 0
        of_class = self._of_class(classes)

        # Without a class its own queries are gone, and what it alone reaches is reached by nothing.
        less_part = self._of_class(classes[alone]) - self._of_class(first_other[by_one])

        # What two classes change together: a query goes with its own class, whatever reaches it; one that two classes
        # reach is rejected only without both.
        first = np.concatenate([classes[by_one], first_other[by_two]])
        second = np.concatenate([first_other[by_one], second_other[by_two]])
        change = np.concatenate([-np.ones(by_one.sum()), np.ones(by_two.sum())])
        together = _merged(np.minimum(first, second), np.maximum(first, second), change)[2]
        among = float(np.square(together).sum())
        return Jackknife.of_sums(
            float(alone.sum()), float(len(classes)), less_part, of_class, among
        )

    def known(self, reached: np.ndarray, counts: np.ndarray) -> Jackknife:
        """Queries that their own class reaches. counts: bool [q], those whose class has another image."""
        of_class = self._of_class(self.reach.query_class[counts])
        found = self._of_class(self.reach.query_class[counts & reached])
        return Jackknife.of_sums(float(found.sum()), float(of_class.sum()), found, of_class)


def _merged(
    less: np.ndarray, greater: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each pair of classes once, with the sum of its values."""
    both = np.stack([less, greater])
    pairs, place = np.unique(both, axis=1, return_inverse=True)
    return pairs[0], pairs[1], np.bincount(place.ravel(), values, minlength=pairs.shape[1])
