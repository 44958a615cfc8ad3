"""How often somebody may call: arithmetic over a time that is passed in, and a memory that stays small.

Of everybody one number is kept: when all calls made so far would be through, had they come evenly. Times are
nanoseconds of a clock that never goes back.
"""

from collections import OrderedDict
from typing import Final

from msgspec import Struct

SECOND: Final = 1_000_000_000
MINUTE: Final = 60 * SECOND


class Rate(Struct, frozen=True):
    """So many calls a minute, each of them one of so many at once."""

    calls: int = 1200
    burst: int = 1200

    @property
    def gap(self) -> int:
        """The time from one call to the next, if they came evenly."""
        return MINUTE // self.calls

    def wait(self, through: int, at: int) -> int:
        """How long until the next call may be made; 0 if it may be made at this time."""
        return max(0, max(through, at) + self.gap - at - self.burst * self.gap)

    def called(self, through: int, at: int) -> int:
        """When all calls are through, with one more that is made at this time."""
        return max(through, at) + self.gap


class Rates:
    """Who has called how often lately: of `most` of them, those who were heard of last."""

    def __init__(self, rate: Rate, most: int) -> None:
        self.rate, self._most = rate, most
        self._through: OrderedDict[str, int] = OrderedDict()

    def __len__(self) -> int:
        """Of how many anything is remembered."""
        return len(self._through)

    def call(self, who: str, at: int) -> int:
        """Count a call; if it is one too many, how long to wait, and it is not counted."""
        through = self._through.get(who, at)
        wait = self.rate.wait(through, at)
        if not wait:
            self._through[who] = self.rate.called(through, at)
            self._through.move_to_end(who)
            if len(self._through) > self._most:
                self._through.popitem(last=False)
        return wait

    def give_back(self, who: str) -> None:
        """Let a call that was counted not have been one."""
        if who in self._through:
            self._through[who] -= self.rate.gap
