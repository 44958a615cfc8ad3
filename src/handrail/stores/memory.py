"""Runs in memory: the twin of the real stores. It keeps every promise but one: it ends with the process."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock, RLock

from msgspec.structs import replace

from handrail.shell.comments import unheard
from handrail.shell.records import (
    REMEMBERED,
    Definition,
    Spent,
    StepStatus,
    Stored,
    Turn,
    Written,
)
from handrail.shell.view import StepRow
from handrail.telemetry.entries import Entry


@dataclass(slots=True)
class _Kept:
    stored: Stored
    spent: dict[int, Spent] = field(default_factory=dict)
    steps: dict[int, StepRow] = field(default_factory=dict)


class MemoryRuns:
    """A store of runs in this process."""

    def __init__(self) -> None:
        self._runs: dict[str, _Kept] = {}
        self._journal: list[Written] = []
        self._definitions: dict[str, Definition] = {}
        self._lock = Lock()
        self._turns = RLock()

    @contextmanager
    def held(self, run: str, attempt: int) -> Iterator[None]:  # noqa: ARG002 - one lock serves all runs here
        """Nothing on the first attempt; then the store, alone."""
        if attempt == 0:
            yield
            return
        with self._turns:
            yield

    def load(self, run: str) -> Stored | None:
        """The run as it stands, or None."""
        with self._lock:
            kept = self._runs.get(run)
            if kept is None:
                return None
            return replace(kept.stored, unheard=unheard(line for line in self._journal if line.run == run))

    def commit(self, turn: Turn) -> bool:
        """Save the whole turn, if the revision has not moved on."""
        with self._turns, self._lock:
            run, left = turn.run.id, turn.before.revision
            kept = self._runs.get(run)
            gone = turn.inherits and turn.inherits not in self._runs
            if gone or (kept.stored.revision if kept else 0) != left:
                return False
            kept = self._runs.setdefault(run, _Kept(turn.after, steps=self._inherited(turn.inherits)))
            kept.stored = turn.after
            kept.spent[left] = turn.spent
            kept.spent.pop(left - REMEMBERED, None)
            kept.steps |= _stepped(kept.steps, turn)
            if turn.definition:
                self._definitions.setdefault(turn.definition.digest, turn.definition)
            self._write(run, turn.revision, turn.at, turn.entries)
            return True

    def spent(self, run: str, revision: int) -> Spent | None:
        """What is remembered of the turn that left this revision."""
        with self._lock:
            kept = self._runs.get(run)
            return kept.spent.get(revision) if kept else None

    def renew(
        self, stored: Stored, tokens: Mapping[int, str], at: datetime, entries: tuple[Entry, ...]
    ) -> bool:
        """Replace the tokens of open steps, if nothing has moved since."""
        with self._turns, self._lock:
            kept = self._runs.get(stored.run.id)
            if kept is None or _lock_of(kept.stored) != _lock_of(stored):
                return False
            kept.stored = replace(kept.stored, tokens={**kept.stored.tokens, **tokens})
            self._seen(stored.run.id, at)
            self._write(stored.run.id, 0, at, entries)
            return True

    def note(self, run: str, at: datetime, entries: tuple[Entry, ...]) -> None:
        """Enter what belongs to no turn."""
        with self._lock:
            self._write(run if run in self._runs else "", 0, at, entries)

    def entries(self, run: str, after: int = 0, most: int = 100) -> tuple[Written, ...]:
        """The journal of a run in order."""
        with self._lock:
            found = (line for line in self._journal[after:] if run and line.run == run)
            return tuple(line for line, _ in zip(found, range(most), strict=False))

    def steps(self, run: str) -> tuple[StepRow, ...]:
        """Every step of the run in order."""
        with self._lock:
            kept = self._runs.get(run)
            return tuple(kept.steps[number] for number in sorted(kept.steps)) if kept else ()

    def definition(self, digest: str) -> Definition | None:
        """The text that runs of this digest started with."""
        return self._definitions.get(digest)

    def touch(self, run: str, at: datetime) -> None:
        """Note that somebody looks after the run."""
        with self._lock:
            self._seen(run, at)

    def _seen(self, run: str, at: datetime) -> None:
        """The run was looked after at this time; a clock that was put back makes no run older."""
        kept = self._runs.get(run)
        if kept and kept.stored.active and kept.stored.active < at:
            kept.stored = replace(kept.stored, active=at)

    def _inherited(self, run: str) -> dict[int, StepRow]:
        """What a run has finished."""
        steps = self._runs[run].steps if run else {}
        return {number: row for number, row in steps.items() if row.status is StepStatus.COMPLETED}

    def _write(self, run: str, revision: int, at: datetime, entries: tuple[Entry, ...]) -> None:
        for entry in entries:
            self._journal.append(Written(len(self._journal) + 1, run, revision, at, entry))


def _lock_of(stored: Stored) -> tuple[int, Mapping[int, str]]:
    """What must not have moved for tokens to be replaced."""
    return stored.revision, stored.tokens


def _stepped(known: Mapping[int, StepRow], turn: Turn) -> dict[int, StepRow]:
    """The steps that a turn closes and opens, as it leaves them."""
    closed = {
        step.number: replace(
            known[step.number],
            status=step.status,
            closed=turn.at,
            duration_ms=turn.before.took(step.number, turn.at),
            output=step.output,
        )
        for step in turn.closed
        if step.number in known
    }
    opened = {
        step.number: StepRow(
            step.number, step.state, step.agent, StepStatus.RUNNING, turn.at, None, None, None
        )
        for step in turn.opened
    }
    return closed | opened
