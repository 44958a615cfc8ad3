"""A turn taken on the run as this process left it: nothing is asked of the store but to save it.

Most calls come to the process that answered the one before. What it remembers is a guess all the same: others
may have moved the run, renewed its token, or written to it. A store saves a turn that was taken on a guess
only if the guess was right. Whatever else a turn comes to is held back until the run has been looked at.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from handrail.shell.ports import Runs
from handrail.shell.records import Definition, Spent, Stored, Turn, Written
from handrail.shell.view import StepRow
from handrail.telemetry.entries import Entry

if TYPE_CHECKING:
    from handrail.shell.turn import Call, Reply
    from handrail.shell.world import World


class Elsewhere(Exception):  # noqa: N818 - no error: the run is looked at, and the turn taken again
    """The run is no longer as this process left it."""


def foreseen(world: "World", call: "Call", taken: "Callable[[World], Reply | None]") -> "Reply | None":
    """What comes of the call if the run is as this process left it; None if that is not known, or not so.

    A call that is answered without asking the store is not guessed at: nobody would look whether it is right.
    """
    if not call.token or call.only_if or call.answered:
        return None
    guess = world.runs.recalled(call.run)
    if guess is None:
        return None
    try:
        return taken(replace(world, runs=Foreseen(world.runs, guess)))
    except Elsewhere:
        return None


class Foreseen:
    """`Runs` in which one run stands as it is remembered; `Elsewhere` if it is looked at and does not."""

    def __init__(self, runs: Runs, guess: Stored) -> None:
        self._runs, self._guess, self._sure = runs, guess, False

    def _seen(self) -> Runs:
        """The store, once it has been seen that the guess is right."""
        if not self._sure and self._runs.load(self._guess.run.id) != replace(self._guess, recalled=False):
            raise Elsewhere
        self._sure = True
        return self._runs

    def held(self, run: str, attempt: int) -> AbstractContextManager[None]:
        """What must be held while a turn is taken."""
        return self._runs.held(run, attempt)

    def recalled(self, run: str) -> Stored | None:
        """The guess."""
        return self.load(run)

    def load(self, run: str) -> Stored | None:
        """The run as it is remembered; another one as it stands."""
        return self._guess if run == self._guess.run.id else self._runs.load(run)

    def commit(self, turn: Turn) -> bool:
        """Save the whole turn, if the guess was right."""
        return self._runs.commit(turn)

    def spent(self, run: str, revision: int) -> Spent | None:
        """What is remembered of a turn."""
        return self._seen().spent(run, revision)

    def renew(
        self, stored: Stored, tokens: Mapping[int, str], at: datetime, entries: tuple[Entry, ...]
    ) -> bool:
        """Replace the tokens of open steps."""
        return self._seen().renew(stored, tokens, at, entries)

    def note(self, run: str, at: datetime, entries: tuple[Entry, ...]) -> None:
        """Enter what belongs to no turn."""
        self._seen().note(run, at, entries)

    def entries(self, run: str, after: int = 0, most: int = 100) -> tuple[Written, ...]:
        """The journal of a run."""
        return self._runs.entries(run, after, most)

    def steps(self, run: str) -> tuple[StepRow, ...]:
        """Every step of a run; whoever moves it meanwhile is noticed at the commit."""
        return self._runs.steps(run)

    def definition(self, digest: str) -> Definition | None:
        """The text that runs of this digest started with."""
        return self._runs.definition(digest)

    def touch(self, run: str, at: datetime) -> None:
        """Note that somebody looks after a run."""
        self._runs.touch(run, at)
