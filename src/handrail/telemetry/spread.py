"""Spreads: how long many things took, kept to the first two digits, so that any two can be added.

A bucket holds the durations, in milliseconds, with the same two first digits and as many behind them. Its
number is a hundred for each digit behind, and the two; so numbers stand in the order of durations.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

_DIGITS: Final = 100


class Spread(Struct, frozen=True):
    """How many durations lie in each bucket that has any, in the order of the buckets."""

    counts: tuple[tuple[int, int], ...] = ()

    @property
    def total(self) -> int:
        """How many durations there are."""
        return sum(count for _, count in self.counts)

    def quantile(self, share: int) -> int | None:
        """What so many of a hundred durations do not exceed, in milliseconds; None without any.

        It is the duration at that rank, with all but its first two digits zero: the true one is at most a
        tenth longer.
        """
        rank, passed = -(-self.total * share // 100), 0
        for bucket, count in self.counts:
            passed += count
            if passed >= rank:
                return least(bucket)
        return None


def bucket_of(milliseconds: int) -> int:
    """The bucket of a duration."""
    digits = str(milliseconds)
    return _DIGITS * max(len(digits) - 2, 0) + int(digits[:2])


def least(bucket: int) -> int:
    """The shortest duration in a bucket."""
    behind, first = divmod(bucket, _DIGITS)
    return first * int(10**behind)


def spread(counts: Mapping[int, int]) -> Spread:
    """The spread with so many durations in each of these buckets."""
    return Spread(tuple(sorted((bucket, count) for bucket, count in counts.items() if count)))


def together(spreads: Iterable[Spread]) -> Spread:
    """All these durations as one spread."""
    found = Counter[int]()
    for one in spreads:
        for bucket, count in one.counts:
            found[bucket] += count
    return spread(found)
