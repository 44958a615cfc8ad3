"""A store behind a fence: of all its runs, those of some projects are there, and no others ever were.

Whoever is given what stands behind the fence cannot reach over it: no face, no tool and no resource checks
anything itself.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from msgspec.structs import replace

from handrail.shell.opening import Serving
from handrail.shell.ports import Feed, Runs
from handrail.shell.records import Change, Definition, Spent, Stored, Turn, Written
from handrail.shell.view import Records, StepRow
from handrail.telemetry.entries import Entry

Roots: TypeAlias = Callable[[], Sequence[str]]
"""The roots of the projects inside the fence, as they are now."""


def fenced(serving: Serving, roots: Roots) -> Serving:
    """The store as it is for who may see these projects only."""
    world, records = serving.world, serving.among(roots)
    behind = replace(world, runs=FencedRuns(world.runs, roots), feed=FencedFeed(world.feed, records))
    return replace(serving, world=behind, records=records, measures=None, roots=roots)


@dataclass(frozen=True, slots=True)
class FencedRuns:
    """`Runs` in which there are only those of these projects."""

    runs: Runs
    roots: Roots

    def held(self, run: str, attempt: int) -> AbstractContextManager[None]:
        """What must be held while a turn is taken."""
        return self.runs.held(run, attempt)

    def load(self, run: str) -> Stored | None:
        """The run as it stands, if it is inside."""
        stored = self.runs.load(run)
        return stored if stored and stored.origin.project in self.roots() else None

    def commit(self, turn: Turn) -> bool:
        """Save the whole turn. Raises `ValueError` if it is of another project: no face makes such a turn."""
        if turn.before.origin.project not in self.roots():
            raise ValueError("a turn of a project outside the fence")
        if turn.inherits and self.load(turn.inherits) is None:
            return False
        return self.runs.commit(turn)

    def spent(self, run: str, revision: int) -> Spent | None:
        """What is remembered of a turn of a run inside."""
        return self.runs.spent(run, revision) if self._has(run) else None

    def renew(
        self, stored: Stored, tokens: Mapping[int, str], at: datetime, entries: tuple[Entry, ...]
    ) -> bool:
        """Replace the tokens of a run inside."""
        return self._has(stored.run.id) and self.runs.renew(stored, tokens, at, entries)

    def note(self, run: str, at: datetime, entries: tuple[Entry, ...]) -> None:
        """Enter what belongs to no turn; about a run outside, as about none."""
        self.runs.note(run if self._has(run) else "", at, entries)

    def entries(self, run: str, after: int = 0, most: int = 100) -> tuple[Written, ...]:
        """The journal of a run inside."""
        return self.runs.entries(run, after, most) if self._has(run) else ()

    def steps(self, run: str) -> tuple[StepRow, ...]:
        """Every step of a run inside."""
        return self.runs.steps(run) if self._has(run) else ()

    def definition(self, digest: str) -> Definition | None:
        """The text that runs of this digest started with; only a run inside tells a digest."""
        return self.runs.definition(digest)

    def touch(self, run: str, at: datetime) -> None:
        """Note that somebody looks after a run inside."""
        if self._has(run):
            self.runs.touch(run, at)

    def _has(self, run: str) -> bool:
        return bool(run) and self.load(run) is not None


@dataclass(frozen=True, slots=True)
class FencedFeed:
    """`Feed` that tells of what these records have, and of nothing else."""

    feed: Feed
    records: Records

    def announce(self, change: Change) -> None:
        """Tell every listener."""
        self.feed.announce(change)

    def listen(self, heard: Callable[[Change], None]) -> Callable[[], None]:
        """Call `heard` for every change inside, from now on."""

        def inside(change: Change) -> None:
            if self.records.run(change.run) is not None:
                heard(change)

        return self.feed.listen(inside)
