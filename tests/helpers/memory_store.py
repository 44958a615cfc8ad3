"""Store runs in memory, for tests.

It behaves like the other stores, except that its runs are lost when the process ends.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock, RLock

from msgspec.structs import replace

from handrail.runtime.comments import find_undelivered_comments
from handrail.runtime.entries import Entry
from handrail.runtime.journal import get_run_after, measure_step
from handrail.runtime.ports.queries import StepRow
from handrail.runtime.records import (
    MAX_RECORDED_CALLS,
    Definition,
    JournalEntry,
    RecordedCall,
    StepStatus,
    StoredRun,
    Turn,
)


@dataclass(slots=True)
class _MemoryRun:
    """One run with its recorded calls by revision and its steps by number."""

    stored: StoredRun
    spent: dict[int, RecordedCall] = field(default_factory=dict)
    steps: dict[int, StepRow] = field(default_factory=dict)


class MemoryRuns:
    """A store of runs in this process."""

    def __init__(self) -> None:
        self._runs: dict[str, _MemoryRun] = {}
        self._journal: list[JournalEntry] = []
        self._definitions: dict[str, Definition] = {}
        self._lock = Lock()
        self._turns = RLock()

    @contextmanager
    def hold_lock(self, run: str, attempt: int) -> Iterator[None]:  # noqa: ARG002 - one lock serves all runs here
        """Lock nothing on the first attempt; lock the whole store on later attempts."""
        if attempt == 0:
            yield
            return
        with self._turns:
            yield

    def load(self, run: str) -> StoredRun | None:
        """Return the run, or None if the store does not have it."""
        with self._lock:
            stored = self._runs.get(run)
            if stored is None:
                return None
            return replace(
                stored.stored,
                undelivered=find_undelivered_comments(line for line in self._journal if line.run == run),
            )

    def commit(self, turn: Turn) -> bool:
        """Save the whole turn. Return False if the revision has changed since the run was loaded.

        Also False if the run that it inherits from is gone.
        """
        with self._turns, self._lock:
            run, revision = turn.run.id, turn.before.revision
            stored = self._runs.get(run)
            parent_missing = turn.inherits and turn.inherits not in self._runs
            if parent_missing or (stored.stored.revision if stored else 0) != revision:
                return False
            stored = self._runs.setdefault(
                run, _MemoryRun(get_run_after(turn), steps=self._completed_steps(turn.inherits))
            )
            stored.stored = get_run_after(turn)
            stored.spent[revision] = turn.spent
            stored.spent.pop(revision - MAX_RECORDED_CALLS, None)
            stored.steps |= _update_steps(stored.steps, turn)
            if turn.definition:
                self._definitions.setdefault(turn.definition.digest, turn.definition)
            self._write(run, turn.before.revision + 1, turn.at, turn.entries)
            return True

    def find_recorded_call(self, run: str, revision: int) -> RecordedCall | None:
        """Return the recorded call of the turn that started from this revision, or None."""
        with self._lock:
            stored = self._runs.get(run)
            return stored.spent.get(revision) if stored else None

    def renew_tokens(
        self, stored: StoredRun, tokens: Mapping[int, str], at: datetime, entries: tuple[Entry, ...]
    ) -> bool:
        """Replace the tokens of open steps. Return False if the revision or the tokens have changed."""
        with self._turns, self._lock:
            saved = self._runs.get(stored.run.id)
            if saved is None or _token_state(saved.stored) != _token_state(stored):
                return False
            saved.stored = replace(saved.stored, tokens={**saved.stored.tokens, **tokens})
            self._move_last_use(stored.run.id, at)
            self._write(stored.run.id, 0, at, entries)
            return True

    def note(self, run: str, at: datetime, entries: tuple[Entry, ...]) -> None:
        """Add journal entries that belong to no turn."""
        with self._lock:
            self._write(run if run in self._runs else "", 0, at, entries)

    def entries(self, run: str, after: int = 0, most: int = 100) -> tuple[JournalEntry, ...]:
        """Return journal entries of a run in order."""
        with self._lock:
            found = (line for line in self._journal[after:] if run and line.run == run)
            return tuple(line for line, _ in zip(found, range(most), strict=False))

    def steps(self, run: str) -> tuple[StepRow, ...]:
        """Return every step of the run in order."""
        with self._lock:
            stored = self._runs.get(run)
            return tuple(stored.steps[number] for number in sorted(stored.steps)) if stored else ()

    def definition(self, digest: str) -> Definition | None:
        """Return the workflow text with this digest, or None."""
        return self._definitions.get(digest)

    def touch(self, run: str, at: datetime) -> None:
        """Record that the run was used at this time."""
        with self._lock:
            self._move_last_use(run, at)

    def _move_last_use(self, run: str, at: datetime) -> None:
        """Move the time of last use forward. A clock that was set back never makes a run look older."""
        stored = self._runs.get(run)
        if stored and stored.stored.active and stored.stored.active < at:
            stored.stored = replace(stored.stored, active=at)

    def _completed_steps(self, run: str) -> dict[int, StepRow]:
        """Return the completed steps of a run; none for the empty id."""
        steps = self._runs[run].steps if run else {}
        return {number: row for number, row in steps.items() if row.status is StepStatus.COMPLETED}

    def _write(self, run: str, revision: int, at: datetime, entries: tuple[Entry, ...]) -> None:
        for entry in entries:
            self._journal.append(JournalEntry(len(self._journal) + 1, run, revision, at, entry))


def _token_state(stored: StoredRun) -> tuple[int, Mapping[int, str]]:
    """Return what must be unchanged when tokens are replaced."""
    return stored.revision, stored.tokens


def _update_steps(known: Mapping[int, StepRow], turn: Turn) -> dict[int, StepRow]:
    """Return the steps that a turn closes and opens, with their new values."""
    closed = {
        step.number: replace(
            known[step.number],
            status=step.status,
            closed=turn.at,
            duration_ms=measure_step(turn.before, step.number, turn.at),
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
