"""Stores for tests of the turn, and some that misbehave in ways that no real store can be made to."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace

from handrail.engine.refusals import TroubleCode
from handrail.runtime.entries import Entry
from handrail.runtime.ports.turn import Runs
from handrail.runtime.records import StoredRun, Trouble, Turn
from helpers.memory_store import MemoryRuns
from helpers.stores import PLACES, StorePlace

STORES = tuple(name for name, place in PLACES.items() if place.tokens)
"""Those whose tokens have a lifetime."""


@contextmanager
def open_place(kind: str, folder: Path) -> Iterator[StorePlace]:
    place = PLACES[kind](folder)
    yield place
    place.close()


class Recording(MemoryRuns):
    """Keeps every turn that was saved."""

    def __init__(self) -> None:
        super().__init__()
        self.turns: list[Turn] = []

    def commit(self, turn: Turn) -> bool:
        self.turns.append(turn)
        return super().commit(turn)


class AlwaysMoved(MemoryRuns):
    """Says of every turn, and of every token, that somebody else was faster."""

    def __init__(self) -> None:
        super().__init__()
        self.held_at: list[int] = []
        self.moved = True

    @contextmanager
    def hold_lock(self, run: str, attempt: int) -> Iterator[None]:
        self.held_at.append(attempt)
        with super().hold_lock(run, attempt):
            yield

    def commit(self, turn: Turn) -> bool:
        return not self.moved and super().commit(turn)

    def renew_tokens(
        self, stored: StoredRun, tokens: Mapping[int, str], at: datetime, entries: tuple[Entry, ...]
    ) -> bool:
        return not self.moved and super().renew_tokens(stored, tokens, at, entries)


class MovedOnce(MemoryRuns):
    """Lets somebody else take a turn just before the first one it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.other: Turn | None = None

    def commit(self, turn: Turn) -> bool:
        other, self.other = self.other, None
        if other is not None:
            assert super().commit(other)
        return super().commit(turn)


class Troubled(MemoryRuns):
    """Finds something wrong with every run."""

    def load(self, run: str) -> StoredRun | None:
        stored = super().load(run)
        trouble = Trouble(TroubleCode.DAMAGED, "half of it is missing", "restore the backup")
        return replace(stored, trouble=trouble) if stored else None


def read_whole_run(runs: Runs, run: str) -> tuple[object, ...]:
    """Everything a store tells of a run, but what it enters of refusals."""
    stored = runs.load(run)
    revision = stored.revision if stored else 0
    lines = tuple(line for line in runs.entries(run, 0, 10_000) if line.revision)
    return stored, lines, tuple(runs.find_recorded_call(run, number) for number in range(revision))
