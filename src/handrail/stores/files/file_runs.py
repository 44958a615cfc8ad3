"""Store the one run of a folder in its files; `FileRuns` is the store.

Every call reads the folder once, works out the recovery that a crash or an edit may need, and builds the run
from the result. Only calls that write take the folder's lock.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from threading import local
from typing import Final

from msgspec.structs import replace

from handrail.documents.state_file import HistoryItem, StateFileContent
from handrail.documents.strict_json import JsonFlaw
from handrail.engine.facts import Value
from handrail.engine.model import Lifecycle, Run, Step
from handrail.runtime import records
from handrail.runtime.comments import find_undelivered_comments
from handrail.runtime.entries import Entry, EntryKind
from handrail.runtime.errors import DiskFull, NotWritable, Unreadable, UnsafePath
from handrail.runtime.journal import get_run_after
from handrail.runtime.ports.queries import StepRow
from handrail.runtime.ports.turn import Mirror, RunCopier, StateFileFormat, Workspace
from handrail.runtime.records import StoredRun, Turn
from handrail.runtime.resolve import hash_content
from handrail.stores.files import recovery, redo_log
from handrail.stores.files.recovery import RecoveryAction, RecoveryPlan
from handrail.stores.files.snapshot import Snapshot, base_name

# What the caller reads when the run is not as the last turn left it, by recovery row.
_ADOPTION_TEXTS = {
    "edited": "the state file was changed since the last turn; it is taken as it stands",
    "found": "the state file was there without a history of its own; it is taken as it stands",
    "rebuilt": "what Handrail knew of the run was gone or damaged; it goes on from the history",
}
LOCK_TIMEOUT_SECONDS: Final = 5.0
# How the kinds of all comment entries begin in a line of the history.
_COMMENT_KIND_PREFIX: Final = b'"comment_'


@dataclass(frozen=True, slots=True)
class InitialRun:
    """The run before its first turn, and the states in which it is over."""

    run: Run
    origin: records.Origin
    ends: Collection[str]


def build_stored_run(plan: RecoveryPlan, idle: InitialRun) -> StoredRun:
    """Build the folder's run: as of the last turn, or as an edited state file describes it."""
    head, base, content = plan.snapshot.head, plan.snapshot.base, plan.snapshot.content
    run = base.run if base else idle.run
    if plan.row.action is RecoveryAction.TELL:
        run = replace(idle.run, id=run.id, steps=run.steps)
    elif plan.row.id in {"edited", "found"} and isinstance(content, StateFileContent):
        run = adopt_state(run, idle, content.state, content.variables)
    adopted = _ADOPTION_TEXTS.get(plan.row.id, "")
    revision = base.revision if base else 0
    stored = StoredRun(run, idle.origin, revision, trouble=plan.trouble, adopted=adopted)
    if not isinstance(head, redo_log.Head):
        return stored
    at = head.updated
    opened = {step.number: head.opened[step.number] for step in run.open if step.number in head.opened}
    return replace(stored, origin=head.origin, started=head.started, updated=at, active=at, opened=opened)


def adopt_state(run: Run, idle: InitialRun, state: str, given: Mapping[str, Value]) -> Run:
    """Return the run moved to a state. It keeps a step that is open there, else it opens a new one."""
    variables = {**idle.run.vars, **given}
    if state in idle.ends:
        return replace(run, lifecycle=Lifecycle.COMPLETED, open=(), vars=variables)
    lifecycle = Lifecycle.PAUSED if run.lifecycle is Lifecycle.PAUSED else Lifecycle.RUNNING
    moved = replace(run, lifecycle=lifecycle, vars=variables)
    if [step.state for step in run.open] == [state]:
        return moved
    number, attempt = run.steps + 1, run.attempts.get(state, 0) + 1
    step, attempts = Step(number, state, attempt), {**run.attempts, state: attempt}
    return replace(moved, open=(step,), steps=number, attempts=attempts, reason="")


@dataclass(frozen=True, slots=True)
class FolderChange:
    """What a turn or a repair changes: the run afterwards, and what is written with it."""

    after: StoredRun
    at: datetime
    document: bytes
    entries: tuple[Entry, ...]
    spent: records.RecordedCall | None = None


def run_after_repair(stored: StoredRun, run: Run, at: datetime) -> StoredRun:
    """Return the run as it is loaded after a repair. Steps opened by the repair are opened at `at`."""
    known = {**stored.opened, **{step.number: at for step in run.open if step not in stored.run.open}}
    opened = {step.number: known[step.number] for step in run.open if step.number in known}
    return replace(stored, run=run, revision=stored.revision + 1, opened=opened)


def build_intent(plan: RecoveryPlan, change: FolderChange, shape: StateFileFormat) -> redo_log.Intent:
    """Build the intent of a turn. Raises `Unreadable` if the new state file could not be read back."""
    old, new = plan.snapshot.content, shape.read(change.document)
    if isinstance(new, JsonFlaw):
        raise Unreadable(
            f"`{shape.name}` could not be read again with what this turn writes into it: {new.sentence}",
            f"make `{shape.name}` smaller or simpler, or do without what this call brings",
        )
    sha, before = str(hash_content(change.document)), hash_content(plan.snapshot.data)
    base, after, at = plan.snapshot.base, change.after, change.at
    unchanged = base is not None and base.sha == before
    known = old.history if isinstance(old, StateFileContent) and unchanged else ()
    kept = len(known) if new.history[: len(known)] == known else 0
    chain, added = base.chain if base else "", new.history[kept:]
    turn = redo_log.HistoryLine(
        after.revision, at, change.entries, chain, after.run, sha, new.body, kept, added
    )
    line = redo_log.seal_record(turn)
    chain, started = redo_log.read_checksum(line), after.started or at
    spent = {} if change.spent is None else {after.revision - 1: change.spent}
    head = redo_log.Head(
        after.revision, sha, after.run, after.origin, started, at, chain, after.opened, spent
    )
    return redo_log.Intent(head, line.decode(), change.document.decode(), before)


@dataclass(slots=True)
class _View:
    """What a thread has read of the folder during one call, and the recovery plan once it was worked out."""

    snapshot: Snapshot
    locked: bool = False
    plan: RecoveryPlan | None = None
    recovered: bool = False


@dataclass(frozen=True, slots=True)
class CapturedRun:
    """The run of a folder and its history, read together. `pending` is a line that the history lacks."""

    stored: StoredRun
    history: bytes | None
    pending: bytes

    def load(self, run: str) -> StoredRun | None:
        """Return the run, or None for another id."""
        return self.stored if run in {"", self.stored.run.id} else None

    def entries(self, run: str, after: int = 0, most: int = 100) -> tuple[records.JournalEntry, ...]:
        """Return entries, numbered from 1 in the order of the history."""
        ours = self.stored.run.id
        if run not in {"", ours}:
            return ()
        found = _number_entries(ours, redo_log.read_lines(self.history, self.pending))
        return tuple(islice(found, after, after + most))


class FileRuns:
    """`Runs` for the one run of a folder.

    `run` and `origin` describe a new run. `states` are the states of the workflow, `ends` those in which a
    run is over. `signs` are the files that show, without a state file, that a run was here; None means any
    file. The empty id means the folder's run, whatever its id is.
    """

    def __init__(  # noqa: PLR0913 - the optional ones are keyword-only
        self,
        workspace: Workspace,
        shape: StateFileFormat,
        run: Run,
        origin: records.Origin,
        states: Collection[str],
        *,
        ends: Collection[str] = (),
        signs: Collection[str] | None = None,
        seconds: float = LOCK_TIMEOUT_SECONDS,
    ) -> None:
        self._workspace, self._shape, self._seconds = workspace, shape, seconds
        self._idle = InitialRun(run, origin, frozenset(ends))
        self._states, self._signs = frozenset(states), signs
        self._thread = local()

    @contextmanager
    def hold_lock(self, run: str, attempt: int) -> Iterator[None]:  # noqa: ARG002 - one run, and always locked
        """Lock and recover the folder for the block, in which everything is read from one snapshot."""
        with self._lock_folder() as view:
            self._recover(view)
            yield

    @contextmanager
    def take_snapshot(self) -> Iterator[None]:
        """Read each file of the folder at most once in this block. Locks and writes nothing."""
        with self._view():
            yield

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a file in the folder, or None if it does not exist."""
        with self._view() as view:
            return view.snapshot.read(path)

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the sorted names in a folder below the run's own; empty if it does not exist."""
        with self._view() as view:
            return view.snapshot.names(folder)

    def load(self, run: str) -> StoredRun | None:
        """Return the run as a recovery would leave it, or None for another id. Writes nothing."""
        stored = self.load_current()
        return stored if run in {"", stored.run.id} else None

    def load_current(self) -> StoredRun:
        """Return the folder's run; at revision 0 if it has not begun."""
        with self._view() as view:
            plan = self._recovery_plan(view)
            stored, data = build_stored_run(plan, self._idle), view.snapshot.read(redo_log.HISTORY_FILE)
        comments = tuple(redo_log.read_lines(data, plan.pending, _COMMENT_KIND_PREFIX))
        if not comments:
            return stored
        return replace(
            stored, undelivered=find_undelivered_comments(_number_entries(stored.run.id, comments))
        )

    def commit(self, turn: Turn) -> bool:
        """Save the whole turn. Return False if the run or a file that it writes has changed."""
        if turn.describes is not None:
            raise ValueError("the workflow of this run acts on a description, and its store does not")
        if turn.inherits:
            raise ValueError("a folder has one run only, and there is none that it could inherit from")
        paths = [final.path for final in turn.finals]
        for path in paths:
            ours = path == self._shape.name or path.partition("/")[0] == redo_log.PRIVATE_FOLDER
            if ours or paths.count(path) > 1:
                raise UnsafePath(
                    f"`{path}` cannot be written by a turn: it is the store's own, or written twice",
                    "name another file in the workflow",
                )
        with self._lock_folder() as view:
            plan = self._recover_current(view)
            stored = build_stored_run(plan, self._idle)
            if stored.trouble and plan.row.action is RecoveryAction.STOP:
                raise Unreadable(stored.trouble.message, stored.trouble.repair)
            if not self._is_unchanged(stored, turn.before):
                return False
            if any(hash_content(view.snapshot.reread(final.path)) != final.before for final in turn.finals):
                return False
            change = self._turn_change(plan, stored, turn)
            self._save(view, plan, build_intent(plan, change, self._shape), turn.finals)
        return True

    def find_recorded_call(self, run: str, revision: int) -> records.RecordedCall | None:
        """Return the recorded call of the turn that started from this revision, or None."""
        with self._view() as view:
            head = self._recovery_plan(view).snapshot.head
        if isinstance(head, redo_log.Head) and run in {"", head.run.id}:
            return head.spent.get(revision)
        return None

    def renew_tokens(
        self, stored: StoredRun, tokens: Mapping[int, str], at: datetime, entries: tuple[Entry, ...]
    ) -> bool:
        """Add the entries and return True if the run is unchanged; else return False."""
        del tokens  # they are valid for a revision and not stored
        with self._lock_folder() as view:
            if not self._is_unchanged(build_stored_run(self._recovery_plan(view), self._idle), stored):
                return False
            self.note(stored.run.id, at, entries)
        return True

    def note(self, run: str, at: datetime, entries: tuple[Entry, ...]) -> None:
        """Add entries that belong to no turn, after finishing a turn that a crash interrupted."""
        with self._lock_folder() as view:
            plan = self._recover(view)
            base, ours = plan.snapshot.base, build_stored_run(plan, self._idle).run.id
            line = redo_log.HistoryLine(
                0, at, entries, base.chain if base else "", stray=run not in {"", ours}
            )
            redo_log.append_line(view.snapshot, redo_log.seal_record(line))
            view.snapshot.sync(redo_log.PRIVATE_FOLDER)

    def entries(self, run: str, after: int = 0, most: int = 100) -> tuple[records.JournalEntry, ...]:
        """Return entries, numbered from 1 in the order of the history."""
        return self.capture().entries(run, after, most)

    def mirror_with(self, copy: RunCopier) -> Mirror:
        """Return a function that copies the run as it is at that moment; `copy` may work later."""
        return lambda change, papers=(): copy(self.capture(), change, papers)

    def capture(self) -> "CapturedRun":
        """Return the run and its journal as they are now. Reading them later opens no file."""
        with self._view() as view:
            plan = self._recovery_plan(view)
            stored = build_stored_run(plan, self._idle)
            return CapturedRun(stored, view.snapshot.read(redo_log.HISTORY_FILE), plan.pending)

    def steps(self, run: str) -> tuple[StepRow, ...]:  # noqa: ARG002 - required by `Runs`
        """Return nothing: the state file has only the open step."""
        return ()

    def definition(self, digest: str) -> records.Definition | None:  # noqa: ARG002 - required by `Runs`
        """Return None: a run in files follows the installed workflow."""
        return None

    def touch(self, run: str, at: datetime) -> None:
        """Do nothing: no sweep abandons runs in files."""

    def repair(self, at: datetime, *, adopt: str = "", restore: int = 0) -> StoredRun:
        """Move the run to a state, or back to an earlier turn, as a turn. The old state file is quarantined.

        Raises `Unreadable` for an unknown state or turn, `UnsafePath` if the state file is not a plain file.
        """
        with self._lock_folder() as view:
            plan = self._recover_current(view)
            if isinstance(plan.snapshot.content, UnsafePath):
                raise plan.snapshot.content
            stored = build_stored_run(plan, self._idle)
            if restore:
                change = self._restore_change(view.snapshot.read(redo_log.HISTORY_FILE), stored, at, restore)
            else:
                change = self._adopt_change(plan, stored, at, adopt)
            intent = build_intent(plan, change, self._shape)
            # Keep copies of what is about to be replaced.
            if plan.snapshot.intent is not None and plan.trouble:
                mark = redo_log.TroubleMark(redo_log.TroubleSubject.INTENT, plan.trouble)
                redo_log.replace_file(view.snapshot, redo_log.TROUBLE_FILE, redo_log.seal_record(mark))
                recovery.quarantine_intent(view.snapshot)
            if plan.snapshot.data is not None:
                view.snapshot.mkdir(redo_log.QUARANTINE_FOLDER)
                view.snapshot.sync(redo_log.PRIVATE_FOLDER)
                copy = f"{redo_log.QUARANTINE_FOLDER}/{base_name(self._shape.name)}"
                redo_log.write_numbered_copy(view.snapshot, copy, plan.snapshot.data)
            self._save(view, plan, intent)
            return build_stored_run(self._recovery_plan(view), self._idle)

    def _is_unchanged(self, stored: StoredRun, before: StoredRun) -> bool:
        """True if it is the same run at the same revision, and no person has edited it."""
        now, then = stored.run, before.run
        current = (now.id, stored.revision, now.open, now.vars)
        return current == (then.id, before.revision, then.open, then.vars)

    def _turn_change(self, plan: RecoveryPlan, stored: StoredRun, turn: Turn) -> FolderChange:
        found = plan.snapshot.content
        old = found if isinstance(found, StateFileContent) else None
        if turn.run.open:
            state = turn.run.open[0].state
        elif turn.passages:
            state = turn.passages[-1].target
        elif old:
            state = old.state
        else:
            raise ValueError("a turn that opens no step and goes no way leaves nothing to write down")
        entries = turn.entries
        if old and plan.row.id in _ADOPTION_TEXTS:
            kind = EntryKind.STATE_REPAIRED if plan.row.id == "rebuilt" else EntryKind.STATE_ADOPTED
            data = {"why": plan.row.id, "revision": stored.revision}
            entries = (Entry(kind, step=old.state, data=data), *entries)
        document = self._shape.write(old, state, turn.run.vars, turn.at, turn.passages)
        return FolderChange(get_run_after(turn), turn.at, document, entries, turn.spent)

    def _adopt_change(self, plan: RecoveryPlan, stored: StoredRun, at: datetime, state: str) -> FolderChange:
        if state not in self._states:
            known = ", ".join(sorted(self._states))
            raise Unreadable(f"the workflow has no state {state!a}", f"name one of {known}")
        found = plan.snapshot.content
        old = found if isinstance(found, StateFileContent) else None
        variables = old.variables if old else stored.run.vars
        run = adopt_state(stored.run, self._idle, state, variables)
        passage = HistoryItem(old.state if old else state, state, "repair")
        document = self._shape.write(old, state, run.vars, at, (passage,))
        entry = Entry(EntryKind.STATE_REPAIRED, step=state, data={"adopted": state})
        return FolderChange(run_after_repair(stored, run, at), at, document, (entry,))

    def _restore_change(self, data: bytes | None, stored: StoredRun, at: datetime, seq: int) -> FolderChange:
        known = redo_log.collect_turns(data)
        if seq not in known:
            shown = ", ".join(map(str, sorted(known)[-10:])) or "none: adopt a state instead"
            raise Unreadable(f"the history has no turn {seq}", f"name one that it has ({shown})")
        line, history = known[seq]
        document = self._shape.encode_document(line.body, history)
        entry = Entry(EntryKind.STATE_REPAIRED, data={"restored": seq})
        return FolderChange(run_after_repair(stored, line.run or stored.run, at), at, document, (entry,))

    @contextmanager
    def _view(self) -> Iterator[_View]:
        """Yield what this thread has read: the outer block's view, or a new one."""
        known: _View | None = getattr(self._thread, "view", None)
        if known is not None:
            yield known
            return
        self._thread.view = view = _View(Snapshot(self._workspace))
        try:
            yield view
        finally:
            self._thread.view = None

    @contextmanager
    def _lock_folder(self) -> Iterator[_View]:
        """Hold the lock, once per thread, and yield what is read under it."""
        with self._view() as view:
            if view.locked:
                yield view
                return
            redo_log.prepare_folder(self._workspace)
            with self._workspace.lock(redo_log.LOCK_FILE, self._seconds):
                if not view.snapshot.refresh():
                    view.plan = None
                view.locked = True
                try:
                    redo_log.complete_folder(view.snapshot)
                    yield view
                finally:
                    view.locked = view.recovered = False

    def _recovery_plan(self, view: _View) -> RecoveryPlan:
        if view.plan is None:
            read = recovery.read_locked_folder if view.locked else recovery.read_folder
            found = read(view.snapshot, self._shape, self._signs)
            view.plan = recovery.plan_recovery(found, self._shape, self._states)
        return view.plan

    def _recover(self, view: _View) -> RecoveryPlan:
        """Carry out the recovery, once per view, and return its plan."""
        plan = self._recovery_plan(view)
        if not view.recovered:
            recovery.perform_recovery(view.snapshot, plan, self._shape)
            view.recovered = True
        return plan

    def _recover_current(self, view: _View) -> RecoveryPlan:
        """Recover again if a file has changed since it was read: a person may have edited the state file."""
        own, snapshot = (*recovery.TURN_FILES_ON_DISK, self._shape.name), view.snapshot
        try:
            same = [*map(snapshot.read, own)] == [*map(snapshot.reread, own)]
        except UnsafePath:
            same = False
        if not same:
            view.plan, view.recovered = None, False
        return self._recover(view)

    def _save(
        self,
        view: _View,
        plan: RecoveryPlan,
        intent: redo_log.Intent,
        finals: Sequence[records.ChangedContent] = (),
    ) -> None:
        view.plan, view.recovered = None, False
        intent = redo_log.write_intent(view.snapshot, intent, finals)
        try:
            redo_log.carry_out_intent(
                view.snapshot, self._shape.name, intent, plan.snapshot.head, again=False
            )
        except (DiskFull, NotWritable) as fault:
            raise type(fault)(
                f"the turn is saved, but not all of it could be done yet: {fault.message}",
                f"{fault.repair}; then send the same call again: it is finished first, and answered the same",
            ) from fault


def _number_entries(run: str, lines: Iterable[redo_log.HistoryLine]) -> Iterator[records.JournalEntry]:
    found = ((line, entry) for line in lines if not line.stray for entry in line.entries)
    for number, (line, entry) in enumerate(found, start=1):
        yield records.JournalEntry(number, run, line.seq, line.time, entry)
