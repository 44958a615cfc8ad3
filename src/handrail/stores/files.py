"""Runs kept in files: the one run of a folder, in its state file, with what makes it safe in `.handrail`.

The state file decides. A turn is written down as an intent, then done; whoever comes next, after a crash,
finishes it first. A person's edit of the state file is taken as it stands, and said.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from threading import local
from typing import Final

from msgspec.structs import replace

from handrail.documents.statefile import Passage, Standing
from handrail.engine.model import Run
from handrail.shell.apply import keep, moved, name_of
from handrail.shell.comments import unheard
from handrail.shell.faults import DiskFull, NotWritable, Unreadable, UnsafePath
from handrail.shell.folders import HOME
from handrail.shell.ports import StateShape, Workspace
from handrail.shell.records import Definition, Origin, Spent, Stored, Turn, Written, check_effects
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
from handrail.stores.sight import look
from handrail.telemetry.entries import Entry, EntryKind

SECONDS: Final = 5.0
"""How long a turn waits for the one before it."""

_REPAIR: Final = "repair"
_REMARK: Final = b'"comment_'
"""How the kinds of all entries about comments begin, in a line of the history."""


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
        """The lock of the folder, and the folder recovered. Raises `Busy`, and `Newer`."""
        with self._locked():
            self._recovered()
            yield

    def load(self, run: str) -> Stored | None:
        """The run as it stands, or as a recovery would leave it; None for another id. Writes nothing."""
        stored = self.standing()
        return stored if run in {"", stored.run.id} else None

    def standing(self) -> Stored:
        """The run of the folder as it stands; at revision 0 if it has not begun."""
        settled = self._settled()
        stored, data = stored_of(settled, self._idle), self._workspace.read(HISTORY)
        remarks = history.mentioning(data, settled.pending, _REMARK)
        return replace(stored, unheard=unheard(_written(stored.run.id, remarks))) if remarks else stored

    def commit(self, turn: Turn) -> bool:
        """Save the whole turn. False too if a file that it changes is no longer as it was read.

        Raises `Unreadable` while the run is in a trouble that only a repair ends.
        """
        check_effects(turn, on_files=True)
        check(turn.finals, self._shape.name)
        with self._locked():
            settled = self._recovered()
            stored = stored_of(settled, self._idle)
            if stored.trouble and settled.row.action is Action.STOP:
                raise Unreadable(stored.trouble.message, stored.trouble.repair)
            if not self._stands(stored, turn.before) or moved(self._workspace, turn.finals):
                return False
            saved = saving(settled, self._change(settled, stored, turn), self._shape)
            self._save(settled, saved)
        return True

    def spent(self, run: str, revision: int) -> Spent | None:
        """What is remembered of the turn that left this revision."""
        head = self._settled().sight.head
        return head.spent.get(revision) if isinstance(head, Head) and run in {"", head.run.id} else None

    def renew(
        self,
        stored: Stored,
        tokens: Mapping[int, str],  # noqa: ARG002 - tokens are good for a revision here, and none is kept
        at: datetime,
        entries: tuple[Entry, ...],
    ) -> bool:
        """True, and the entries noted, if the revision still stands."""
        with self._locked():
            if not self._stands(stored_of(self._settled(), self._idle), stored):
                return False
            self.note(stored.run.id, at, entries)
        return True

    def note(self, run: str, at: datetime, entries: tuple[Entry, ...]) -> None:
        """Enter what belongs to no turn, behind the last one, which a crash may have left to be finished."""
        with self._locked():
            settled = self._recovered()
            base, ours = settled.sight.base, stored_of(settled, self._idle).run.id
            line = Line(0, at, entries, base.chain if base else "", stray=run not in {"", ours})
            history.append(self._workspace, seal(line))
            self._workspace.sync(HOME)

    def entries(self, run: str, after: int = 0, most: int = 100) -> tuple[Written, ...]:
        """The entries, numbered from 1 in the order of the history."""
        settled = self._settled()
        ours = stored_of(settled, self._idle).run.id
        if run not in {"", ours}:
            return ()
        found = _written(ours, history.lines(self._workspace.read(HISTORY), settled.pending))
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
        with self._locked():
            settled = self._recovered()
            if isinstance(settled.sight.standing, UnsafePath):
                raise settled.sight.standing
            stored = stored_of(settled, self._idle)
            change = self._restored(stored, at, restore) if restore else self._put(settled, stored, at, adopt)
            saved = saving(settled, change, self._shape)
            self._set_aside(settled)
            self._save(settled, saved)
            return stored_of(self._settled(), self._idle)

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

    def _restored(self, stored: Stored, at: datetime, seq: int) -> Change:
        known = history.documents(self._workspace.read(HISTORY))
        if seq not in known:
            shown = ", ".join(map(str, sorted(known)[-10:])) or "none: adopt a state instead"
            raise Unreadable(f"the history has no turn {seq}", f"name one that it has ({shown})")
        line, told = known[seq]
        document = self._shape.whole(line.body, told)
        entry = Entry(EntryKind.STATE_REPAIRED, data={"restored": seq})
        return Change(repaired(stored, line.run or stored.run, at), at, document, (entry,))

    # the folder

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """The lock, once for whoever holds it already."""
        if getattr(self._mine, "locked", False):
            yield
            return
        prepare(self._workspace)
        with self._workspace.lock(LOCK, self._seconds):
            self._mine.locked = True
            try:
                complete(self._workspace)
                yield
            finally:
                self._mine.locked = False

    def _settled(self) -> Settled:
        return settle(look(self._workspace, self._shape, self._signs), self._shape, self._states)

    def _recovered(self) -> Settled:
        settled = self._settled()
        recover(self._workspace, settled, self._shape)
        return settled

    def _save(self, settled: Settled, saved: Saving) -> None:
        intent = intend(self._workspace, saved)
        try:
            carry_out(self._workspace, self._shape.name, intent, settled.sight.head, again=False)
        except (DiskFull, NotWritable) as fault:
            raise type(fault)(
                f"the turn is saved, but not all of it could be done yet: {fault.message}",
                f"{fault.repair}; then send the same call again: it is finished first, and answered the same",
            ) from fault

    def _set_aside(self, settled: Settled) -> None:
        """Keep what a repair is about to replace."""
        if settled.sight.intent is not None and settled.trouble:
            place(self._workspace, MARK, seal(Mark(About.INTENT, settled.trouble)))
            set_intent_aside(self._workspace)
        if settled.sight.data is not None:
            self._workspace.mkdir(QUARANTINE)
            self._workspace.sync(HOME)
            keep(self._workspace, f"{QUARANTINE}/{name_of(self._shape.name)}", settled.sight.data)


def _written(run: str, lines: Iterable[Line]) -> Iterator[Written]:
    """The entries of these lines, numbered from 1."""
    found = ((line, entry) for line in lines if not line.stray for entry in line.entries)
    for number, (line, entry) in enumerate(found, start=1):
        yield Written(number, run, line.seq, line.time, entry)
