"""Runs kept in files: the one run of a folder, in its state file, with what makes it safe in `.handrail`.

The state file decides. A turn is written down as an intent, then done; whoever comes next, after a crash,
finishes it first. A person's edit of the state file is taken as it stands, and said.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from threading import local
from typing import Final

from msgspec.structs import replace

from handrail.documents.statefile import Passage, Standing
from handrail.engine.model import Run
from handrail.shell.apply import keep, moved
from handrail.shell.comments import unheard
from handrail.shell.faults import DiskFull, NotWritable, Unreadable, UnsafePath
from handrail.shell.folders import HOME
from handrail.shell.ports import StateShape, Workspace
from handrail.shell.records import Definition, Origin, Spent, Stored, Turn, Written, check_effects
from handrail.shell.snapshot import Snapshot, name_of
from handrail.shell.view import StepRow
from handrail.stores import adopt, history
from handrail.stores.adopt import Idle, stored_of
from handrail.stores.intent import Saving, carry_out, intend
from handrail.stores.layout import (
    HISTORY,
    LOCK,
    MARK,
    QUARANTINE,
    About,
    Head,
    Line,
    Mark,
    complete,
    place,
    prepare,
)
from handrail.stores.mend import Settled, recover, set_intent_aside, settle
from handrail.stores.recovery import Action
from handrail.stores.saving import Change, check, repaired, saving, standing_state
from handrail.stores.sealed import seal
from handrail.stores.sight import PARTS, examine, look
from handrail.telemetry.entries import Entry, EntryKind

SECONDS: Final = 5.0
"""How long a turn waits for the one before it."""

_REPAIR: Final = "repair"
_REMARK: Final = b'"comment_'
"""How the kinds of all entries about comments begin, in a line of the history."""


@dataclass(slots=True)
class _View:
    """What a thread has read of the folder in one call, and what follows from that.

    `settled` is where a recovery leads, once that was worked out; `recovered` says that it was done.
    """

    snapshot: Snapshot
    locked: bool = False
    settled: Settled | None = None
    recovered: bool = False


class FileRuns:
    """`Runs` for the one run of a folder.

    `run` and `origin` are those of a run that is new; `states` are those of the workflow, and `ends` those in
    which a run is over. `signs` are the files that say, where there is no state file, that a run was here;
    None means any file. The empty id stands for the run of the folder, whatever its id.
    """

    def __init__(  # noqa: PLR0913 - what each folder has, and by name what only some have
        self,
        workspace: Workspace,
        shape: StateShape,
        run: Run,
        origin: Origin,
        states: Collection[str],
        *,
        ends: Collection[str] = (),
        signs: Collection[str] | None = None,
        seconds: float = SECONDS,
    ) -> None:
        self._workspace, self._shape = workspace, shape
        self._idle = Idle(run, origin, frozenset(ends))
        self._states, self._signs = frozenset(states), signs
        self._seconds = seconds
        self._mine = local()

    @contextmanager
    def held(self, run: str, attempt: int) -> Iterator[None]:  # noqa: ARG002 - one lock for the one run, always
        """The lock of the folder, and the folder recovered. Raises `Busy`, and `Newer`.

        All that is read meanwhile comes from one snapshot of the folder.
        """
        with self._locked() as view:
            self._recovered(view)
            yield

    @contextmanager
    def take_snapshot(self) -> Iterator[None]:
        """Read each file of the folder at most once in this block. Nothing is locked or written."""
        with self._viewed():
            yield

    def read(self, path: str) -> bytes | None:
        """The bytes of a file of the folder, or None if there is none."""
        with self._viewed() as view:
            return view.snapshot.read(path)

    def names(self, folder: str) -> tuple[str, ...]:
        """The sorted names in a folder below that of the run; none if it is not there."""
        with self._viewed() as view:
            return view.snapshot.names(folder)

    def load(self, run: str) -> Stored | None:
        """The run as it stands, or as a recovery would leave it; None for another id. Writes nothing."""
        stored = self.standing()
        return stored if run in {"", stored.run.id} else None

    def standing(self) -> Stored:
        """The run of the folder as it stands; at revision 0 if it has not begun."""
        with self._viewed() as view:
            settled = self._settled(view)
            stored, data = stored_of(settled, self._idle), view.snapshot.read(HISTORY)
        remarks = history.mentioning(data, settled.pending, _REMARK)
        return replace(stored, unheard=unheard(_written(stored.run.id, remarks))) if remarks else stored

    def commit(self, turn: Turn) -> bool:
        """Save the whole turn. False too if a file that it changes is no longer as it was read.

        Raises `Unreadable` while the run is in a trouble that only a repair ends.
        """
        check_effects(turn, on_files=True)
        check(turn.finals, self._shape.name)
        with self._locked() as view:
            settled = self._rechecked(view)
            stored = stored_of(settled, self._idle)
            if stored.trouble and settled.row.action is Action.STOP:
                raise Unreadable(stored.trouble.message, stored.trouble.repair)
            if not self._stands(stored, turn.before) or moved(view.snapshot, turn.finals):
                return False
            saved = saving(settled, self._change(settled, stored, turn), self._shape)
            self._save(view, settled, saved)
        return True

    def spent(self, run: str, revision: int) -> Spent | None:
        """What is remembered of the turn that left this revision."""
        with self._viewed() as view:
            head = self._settled(view).sight.head
        return head.spent.get(revision) if isinstance(head, Head) and run in {"", head.run.id} else None

    def renew(
        self,
        stored: Stored,
        tokens: Mapping[int, str],  # noqa: ARG002 - tokens are good for a revision here, and none is kept
        at: datetime,
        entries: tuple[Entry, ...],
    ) -> bool:
        """True, and the entries noted, if the revision still stands."""
        with self._locked() as view:
            if not self._stands(stored_of(self._settled(view), self._idle), stored):
                return False
            self.note(stored.run.id, at, entries)
        return True

    def note(self, run: str, at: datetime, entries: tuple[Entry, ...]) -> None:
        """Enter what belongs to no turn, behind the last one, which a crash may have left to be finished."""
        with self._locked() as view:
            settled = self._recovered(view)
            base, ours = settled.sight.base, stored_of(settled, self._idle).run.id
            line = Line(0, at, entries, base.chain if base else "", stray=run not in {"", ours})
            history.append(view.snapshot, seal(line))
            view.snapshot.sync(HOME)

    def entries(self, run: str, after: int = 0, most: int = 100) -> tuple[Written, ...]:
        """The entries, numbered from 1 in the order of the history."""
        with self._viewed() as view:
            settled = self._settled(view)
            data = view.snapshot.read(HISTORY)
        ours = stored_of(settled, self._idle).run.id
        if run not in {"", ours}:
            return ()
        found = _written(ours, history.lines(data, settled.pending))
        return tuple(islice(found, after, after + most))

    def steps(self, run: str) -> tuple[StepRow, ...]:  # noqa: ARG002 - the contract has it
        """None: only the open step is told in the state file."""
        return ()

    def definition(self, digest: str) -> Definition | None:  # noqa: ARG002 - the contract has it
        """None: a run in files follows the workflow that is installed."""
        return None

    def touch(self, run: str, at: datetime) -> None:
        """Nothing is written: no sweep looks after files."""

    def repair(self, at: datetime, *, adopt: str = "", restore: int = 0) -> Stored:
        """Put the run into a state, or back to where a turn of the history left it; entered as a turn is.

        What the state file held is kept in quarantine. Raises `Unreadable` for a state or a turn that is not
        known, and `UnsafePath` if something that is no file is in the state file's place.
        """
        with self._locked() as view:
            settled = self._rechecked(view)
            if isinstance(settled.sight.standing, UnsafePath):
                raise settled.sight.standing
            stored = stored_of(settled, self._idle)
            if restore:
                change = self._restored(view.snapshot.read(HISTORY), stored, at, restore)
            else:
                change = self._put(settled, stored, at, adopt)
            saved = saving(settled, change, self._shape)
            self._set_aside(view.snapshot, settled)
            self._save(view, settled, saved)
            return stored_of(self._settled(view), self._idle)

    # what a turn and a repair make of the run

    def _stands(self, stored: Stored, before: Stored) -> bool:
        """True if it is this run, still as it was loaded: at its revision, as no person has changed it."""
        now, then = stored.run, before.run
        standing = (now.id, stored.revision, now.open, now.vars)
        return standing == (then.id, before.revision, then.open, then.vars)

    def _change(self, settled: Settled, stored: Stored, turn: Turn) -> Change:
        found = settled.sight.standing
        old = found if isinstance(found, Standing) else None
        state = standing_state(turn.run, turn.passages, old)
        return Change(
            turn.after,
            turn.at,
            self._shape.write(old, state, turn.run.vars, turn.at, turn.passages),
            (*adopt.entries(settled, stored), *turn.entries),
            turn.spent,
            turn.finals,
        )

    def _put(self, settled: Settled, stored: Stored, at: datetime, state: str) -> Change:
        if state not in self._states:
            raise Unreadable(
                f"the workflow has no state {state!a}", f"name one of {', '.join(sorted(self._states))}"
            )
        found = settled.sight.standing
        old = found if isinstance(found, Standing) else None
        variables = old.variables if old else stored.run.vars
        run = adopt.taken(stored.run, self._idle, state, variables)
        passage = Passage(old.state if old else state, state, _REPAIR)
        document = self._shape.write(old, state, run.vars, at, (passage,))
        entry = Entry(EntryKind.STATE_REPAIRED, step=state, data={"adopted": state})
        return Change(repaired(stored, run, at), at, document, (entry,))

    def _restored(self, data: bytes | None, stored: Stored, at: datetime, seq: int) -> Change:
        known = history.documents(data)
        if seq not in known:
            shown = ", ".join(map(str, sorted(known)[-10:])) or "none: adopt a state instead"
            raise Unreadable(f"the history has no turn {seq}", f"name one that it has ({shown})")
        line, told = known[seq]
        document = self._shape.whole(line.body, told)
        entry = Entry(EntryKind.STATE_REPAIRED, data={"restored": seq})
        return Change(repaired(stored, line.run or stored.run, at), at, document, (entry,))

    # the folder

    @contextmanager
    def _viewed(self) -> Iterator[_View]:
        """What this thread has read of the folder: in its outermost block already, or from now on."""
        known: _View | None = getattr(self._mine, "view", None)
        if known is not None:
            yield known
            return
        self._mine.view = view = _View(Snapshot(self._workspace))
        try:
            yield view
        finally:
            self._mine.view = None

    @contextmanager
    def _locked(self) -> Iterator[_View]:
        """The lock, taken by the outermost block of a thread, and what is read under it."""
        with self._viewed() as view:
            if view.locked:
                yield view
                return
            prepare(self._workspace)
            with self._workspace.lock(LOCK, self._seconds):
                if not view.snapshot.refresh():
                    view.settled = None
                view.locked = True
                try:
                    complete(view.snapshot)
                    yield view
                finally:
                    view.locked = view.recovered = False

    def _settled(self, view: _View) -> Settled:
        if view.settled is None:
            seen = (examine if view.locked else look)(view.snapshot, self._shape, self._signs)
            view.settled = settle(seen, self._shape, self._states)
        return view.settled

    def _recovered(self, view: _View) -> Settled:
        settled = self._settled(view)
        if not view.recovered:
            recover(view.snapshot, settled, self._shape)
            view.recovered = True
        return settled

    def _rechecked(self, view: _View) -> Settled:
        """The folder recovered, as it is now: a person may have changed the state file since it was read."""
        own, snapshot = (*PARTS, self._shape.name), view.snapshot
        try:
            same = [*map(snapshot.read, own)] == [*map(snapshot.reread, own)]
        except UnsafePath:
            same = False
        if not same:
            view.settled, view.recovered = None, False
        return self._recovered(view)

    def _save(self, view: _View, settled: Settled, saved: Saving) -> None:
        view.settled, view.recovered = None, False
        intent = intend(view.snapshot, saved)
        try:
            carry_out(view.snapshot, self._shape.name, intent, settled.sight.head, again=False)
        except (DiskFull, NotWritable) as fault:
            raise type(fault)(
                f"the turn is saved, but not all of it could be done yet: {fault.message}",
                f"{fault.repair}; then send the same call again: it is finished first, and answered the same",
            ) from fault

    def _set_aside(self, snapshot: Snapshot, settled: Settled) -> None:
        """Keep what a repair is about to replace."""
        if settled.sight.intent is not None and settled.trouble:
            place(snapshot, MARK, seal(Mark(About.INTENT, settled.trouble)))
            set_intent_aside(snapshot)
        if settled.sight.data is not None:
            snapshot.mkdir(QUARANTINE)
            snapshot.sync(HOME)
            keep(snapshot, f"{QUARANTINE}/{name_of(self._shape.name)}", settled.sight.data)


def _written(run: str, lines: Iterable[Line]) -> Iterator[Written]:
    """The entries of these lines, numbered from 1."""
    found = ((line, entry) for line in lines if not line.stray for entry in line.entries)
    for number, (line, entry) in enumerate(found, start=1):
        yield Written(number, run, line.seq, line.time, entry)
