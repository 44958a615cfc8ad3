"""The run that a commit description is: the text says where it stands, the common store what it remembers.

The commit point of a turn is the guarded replacement of the text. What the common store could not be told
of it is lost to the journal, and to nothing else: whoever comes later goes on from the text.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from msgspec.structs import replace

from handrail.engine.model import Authority, Lifecycle, Run, Step, Workflow
from handrail.shell.faults import Fault, Overtaken, SyncFailed
from handrail.shell.journal import lifecycle_entry
from handrail.shell.ports import ChangedFile, Changes, Description, Descriptions, Runs
from handrail.shell.records import (
    REMEMBERED,
    Closed,
    Definition,
    Opened,
    Origin,
    Spent,
    StepStatus,
    Stored,
    Turn,
    Written,
)
from handrail.shell.resolve import Resolved
from handrail.shell.turn import ATTEMPTS
from handrail.shell.view import StepRow
from handrail.telemetry.entries import Entry
from handrail.workflows.registry import CHANGED, DESCRIPTION

_TRIES: Final = 5
_COMPLETE: Final = "complete"
"""What a workflow notes of a state, for faces to read, if a run that has come to it is complete."""


class DescribedRuns:
    """`Runs` of one description, for one call: what `load` has seen is what is decided on and replaced.

    Also the `Files` that facts are read from. The run has the id of its place, which is known before there is
    a text: what a token names does not change with the first one, or with a new plan. A revision stands for
    the text and for how many turns the common store has of it, so that a text that comes back is not taken
    for the one that was.
    """

    __slots__ = (
        *("_changed", "_common", "_descriptions", "_folder", "_known"),
        *("_last", "_run", "_seen", "_workflow"),
    )

    def __init__(self, descriptions: Descriptions, common: Runs, folder: Path, workflow: Workflow) -> None:
        self._descriptions, self._common = descriptions, common
        self._folder, self._workflow = folder, workflow
        self._run = _named(f"{folder.as_uri()}#{workflow.name}")
        self._seen, self._last = Description("", "", ""), False
        self._known: Stored | None = None
        self._changed: tuple[ChangedFile, ...] | None = None

    @property
    def text(self) -> str:
        """The description as it was last seen."""
        return self._seen.text

    def look(self, most: int) -> tuple[Stored, Changes]:
        """The run as it stands, and at most so many of the changed files."""
        found = self._descriptions.changes(most)
        self._seen, self._changed = found.description, found.files
        return self._stored(), found

    def read(self, path: str) -> bytes | None:
        """The description by its path, or the first of the changed files; there is nothing else."""
        if path == CHANGED:
            return self._first()
        return self._seen.text.encode("utf-8", "surrogatepass") if path == DESCRIPTION else None

    def _first(self) -> bytes | None:
        """The path of the first changed file; the disk is asked once, and only if somebody wants to know."""
        if self._changed is None:
            self._changed = self._descriptions.changes(1).files
        return self._changed[0].path.encode("utf-8", "surrogatepass") if self._changed else None

    def names(self, folder: str) -> tuple[str, ...]:
        """The description, which alone can be listed."""
        return () if folder else (DESCRIPTION,)

    @contextmanager
    def held(self, run: str, attempt: int) -> Iterator[None]:  # noqa: ARG002 - there is one only
        """Nothing on the first attempt; then the lock of the repository, and nothing of the common store.

        So other runs of that store go on while jj or git takes its time. Whoever is overtaken on the last
        attempt, by somebody who does not ask for that lock, is told so.
        """
        self._last = attempt == ATTEMPTS - 1
        with self._descriptions.alone() if attempt else nullcontext():
            yield

    def load(self, run: str) -> Stored:  # noqa: ARG002 - there is one only
        """The run as the text has it now."""
        self._seen, self._changed = self._descriptions.read(), None
        return self._stored()

    def revised(self, stored: Stored, resolved: Resolved) -> int:  # noqa: ARG002 - it was seen
        """The revision that a turn leaves which makes this of the world."""
        text = self._seen.text if resolved.describes is None else resolved.describes
        return _revision(text, 1 if resolved.anew else _turns(self._known) + 1)

    def commit(self, turn: Turn) -> bool:
        """Replace the text, if it is still the one that was seen; then have the turn remembered.

        A text that is complete is archived. What fails of that is made good by whoever begins another.
        """
        text = self._seen.text if turn.describes is None else turn.describes
        try:
            self._replace(text, anew=turn.anew)
        except Overtaken:
            if self._last:
                raise
            return False
        try:
            self._remember(turn)
            if self._completes(turn):
                self._descriptions.archive(self._seen)
        except SyncFailed:
            raise
        except Fault:
            return True
        return True

    def _replace(self, text: str, *, anew: bool) -> None:
        with self._descriptions.alone():
            if anew:
                self._seen = self._descriptions.renew(self._seen)
            self._seen = self._descriptions.swap(self._seen, text)

    def spent(self, run: str, revision: int) -> Spent | None:  # noqa: ARG002 - there is one only
        """What is remembered of the turn that left this revision."""
        known, mark = _turns(self._common.load(self.shown)), f"{revision:08x}:"
        for number in range(known - 1, max(known - REMEMBERED, 0) - 1, -1):
            found = self._common.spent(self.shown, number)
            if found and found.token.startswith(mark):
                return replace(found, token=found.token.removeprefix(mark))
        return None

    def renew(
        self, stored: Stored, tokens: Mapping[int, str], at: datetime, entries: tuple[Entry, ...]
    ) -> bool:
        """Note the entries: tokens are good for a revision."""
        del tokens
        self.note(stored.run.id, at, entries)
        return self._stored().revision == stored.revision

    def note(self, run: str, at: datetime, entries: tuple[Entry, ...]) -> None:
        """Enter what belongs to no turn."""
        self._common.note(self.shown if run else "", at, entries)

    def entries(self, run: str, after: int = 0, most: int = 100) -> tuple[Written, ...]:  # noqa: ARG002 - one only
        """The journal of the run, as far as the common store has it."""
        return self._common.entries(self.shown, after, most)

    def steps(self, run: str) -> tuple[StepRow, ...]:  # noqa: ARG002 - there is one only
        """Every stage that the common store has seen."""
        return self._common.steps(self.shown)

    def definition(self, digest: str) -> Definition | None:  # noqa: ARG002 - no texts are kept
        """None: the run follows the workflow that is installed."""
        return None

    def touch(self, run: str, at: datetime) -> None:
        """Nothing: no sweep looks after it."""

    @property
    def shown(self) -> str:
        """The id of the run in the common store: by its change, so that it is the same in every clone."""
        change = self._seen.change
        return _named(f"change:{self._workflow.name}:{change}") if change else self._run

    def _stored(self) -> Stored:
        known = self._known = self._common.load(self.shown)
        flow = self._workflow
        origin = Origin(flow.name, Authority.DESCRIPTION, str(self._folder))
        new = Run(self._run, flow.name, flow.digest)
        revision = _revision(self._seen.text, _turns(known))
        if known is None:
            return Stored(new, origin, revision)
        run = replace(new, lifecycle=Lifecycle.RUNNING, steps=known.run.steps)
        return Stored(run, known.origin, revision, known.started, known.updated, unheard=known.unheard)

    def _remember(self, turn: Turn) -> None:
        """Have the common store take the turn behind those it has, whoever else told it of one meanwhile.

        What `load` has seen of it is tried first: the store compares.
        """
        spent = replace(turn.spent, token=f"{turn.before.revision:08x}:{turn.spent.token}")
        origin = replace(turn.before.origin, goal=self._seen.text.partition("\n")[0])
        told = replace(turn, run=replace(turn.run, id=self.shown), spent=spent, tokens={}, describes=None)
        known = self._known
        for attempt in range(_TRIES):
            if attempt or known is None or known.run.id != told.run.id:
                known = self._common.load(told.run.id)
            before = known or Stored(told.run, origin)
            staged = self._staged(replace(told, before=before))
            if before.run.lifecycle is not staged.run.lifecycle:
                passed = lifecycle_entry(before, staged.run, turn.at, turn.caller)
                staged = replace(staged, entries=(*staged.entries, passed))
            if self._common.commit(staged):
                return

    def _completes(self, turn: Turn) -> bool:
        """True if the text that a turn leaves is complete."""
        return self._workflow.states[turn.passages[-1].target].extra.get(_COMPLETE) is True

    def _staged(self, turn: Turn) -> Turn:
        """The turn with the stage that it leads to as the step that is open, for those who look at runs."""
        target, before = turn.passages[-1].target, turn.before.run
        if before.open and before.open[0].state == target:
            return replace(turn, run=replace(turn.run, open=before.open, steps=before.steps))
        closed = tuple(Closed(step.number, step.state, StepStatus.COMPLETED) for step in before.open)
        if self._completes(turn):
            run = replace(turn.run, steps=before.steps, lifecycle=Lifecycle.COMPLETED)
            return replace(turn, run=run, closed=closed)
        number = before.steps + 1
        run = replace(turn.run, open=(Step(number, target, 1),), steps=number)
        return replace(turn, run=run, closed=closed, opened=(Opened(number, target, ""),))


def _turns(known: Stored | None) -> int:
    """How many turns the common store has of a run."""
    return known.revision if known else 0


def _named(what: str) -> str:
    return str(uuid5(NAMESPACE_URL, what))


def _revision(text: str, turns: int) -> int:
    """What stands for a text after so many turns; 0 for none after none."""
    if not text and not turns:
        return 0
    told = hashlib.sha256(f"{turns}\0{text}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(told[:4], "big") | 1
