"""Recovery: row after row of the table until the folder is as it should be, or a person must look.

Worked out on paper first, so that whoever only reads sees the run as a recovery would leave it.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

from handrail.documents.strict import Flaw
from handrail.shell.faults import Newer, UnsafePath
from handrail.shell.ports import StateShape
from handrail.shell.records import ORPHANED, Trouble
from handrail.shell.snapshot import Snapshot
from handrail.stores import history
from handrail.stores.intent import carry_out, finish, forget
from handrail.stores.layout import (
    HEAD,
    INTENT,
    MARK,
    QUARANTINE,
    STAGE,
    About,
    Head,
    Intent,
    Mark,
    place,
    quarantine,
    sweep,
)
from handrail.stores.recovery import LAST, Action, Row, row
from handrail.stores.sealed import seal, sum_of
from handrail.stores.sight import Sight, find, redone


@dataclass(frozen=True, slots=True)
class Settled:
    """Where a recovery leads: what will be there, the last row, and the rows on the way with their sights."""

    sight: Sight
    row: Row
    way: tuple[tuple[Row, Sight], ...] = ()
    trouble: Trouble | None = None

    @property
    def pending(self) -> bytes:
        """The line of a turn that is committed and not yet done everywhere; empty if there is none."""
        for _, sight in self.way:
            if isinstance(sight.intent, Intent) and isinstance(self.sight.head, Head):
                line = sight.intent.line.encode()
                return line if sum_of(line) == self.sight.head.chain else b""
        return b""


def settle(sight: Sight, shape: StateShape, states: Collection[str]) -> Settled:
    """Where a recovery of this sight leads; nothing is written."""
    way: list[tuple[Row, Sight]] = []
    while (found := row(find(sight, states))).action not in LAST:
        way.append((found, sight))
        sight = _after(found, sight, shape)
    told = found.action is not Action.SWEEP
    return Settled(sight, found, tuple(way), _trouble(found, sight, shape.name) if told else None)


def recover(workspace: Snapshot, settled: Settled, shape: StateShape) -> None:
    """Do what was worked out. Raises `Newer`, and writes nothing, where a newer program was."""
    if settled.row.action is Action.REFUSE:
        raise Newer(_NEWER.message, _NEWER.repair)
    for taken, sight in settled.way:
        _perform(workspace, taken, sight, shape)
    if settled.row.action in {Action.SWEEP, Action.TELL}:
        sweep(workspace)


def _after(taken: Row, sight: Sight, shape: StateShape) -> Sight:
    match taken.action, sight.intent:
        case Action.SET_HEAD_ASIDE, _:
            return replace(sight, head=None)
        case Action.SET_INTENT_ASIDE, _:
            return replace(
                sight, intent=None, staged=True, mark=Mark(About.INTENT, _trouble(taken, sight, shape.name))
            )
        case Action.SET_STATE_ASIDE, _:
            mark = Mark(About.STATE, _trouble(taken, sight, shape.name))
            return replace(sight, data=None, standing=None, mark=mark)
        case Action.REDO, Intent() as intent:
            return redone(sight, intent, shape)
        case Action.FINISH, _:
            return replace(sight, intent=None, mark=None)
        case _:
            return replace(sight, mark=None)


def _perform(workspace: Snapshot, taken: Row, sight: Sight, shape: StateShape) -> None:
    match taken.action, sight.intent:
        case Action.SET_HEAD_ASIDE, _:
            quarantine(workspace, HEAD)
        case Action.SET_INTENT_ASIDE, _:
            place(workspace, MARK, seal(Mark(About.INTENT, _trouble(taken, sight, shape.name))))
            set_intent_aside(workspace)
        case Action.SET_STATE_ASIDE, _:
            place(workspace, MARK, seal(Mark(About.STATE, _trouble(taken, sight, shape.name))))
            quarantine(workspace, shape.name)
        case Action.REDO, Intent() as intent:
            carry_out(workspace, shape.name, intent, sight.head, again=True)
        case Action.FINISH, Intent() as intent:
            history.ensure(workspace, intent.line.encode())
            finish(workspace)
        case _:
            forget(workspace)


def set_intent_aside(workspace: Snapshot) -> None:
    """Move an intent that cannot be carried out into quarantine, behind the bytes that were staged for it."""
    for name in workspace.names(STAGE):
        quarantine(workspace, f"{STAGE}/{name}")
    quarantine(workspace, INTENT)


_NEWER = Trouble(
    "newer",
    "a newer Handrail has been at work in this folder",
    "update Handrail here; until then the run can be read, and nothing is changed",
)


def _trouble(taken: Row, sight: Sight, name: str) -> Trouble:
    """What is told about a row that a person must look at."""
    if taken.action is Action.REFUSE:
        return _NEWER
    if sight.mark is not None and taken.id in {"diverged", "damaged"}:
        return sight.mark.trouble
    if isinstance(sight.standing, UnsafePath) and taken.id == "unsafe":
        return Trouble("damaged", sight.standing.message, sight.standing.repair)
    code, message = _SAID[taken.id]
    return Trouble(code, message.format(name=name, why=_why(sight)), _repair(sight))


_ASIDE = f"nothing is lost: the first call that acts moves it to `{QUARANTINE}` and touches nothing else"
"""What becomes of what is damaged. True before and after: whoever only looks moves nothing."""

_SAID = {
    "bad_intent": (
        "diverged",
        f"the intent of an unfinished turn was damaged; {_ASIDE}",
    ),
    "stale_intent": (
        "diverged",
        f"an unfinished turn does not follow the last one: files were put back from elsewhere; {_ASIDE}",
    ),
    "stage_gone": (
        "diverged",
        (
            f"a turn is unfinished, and for a file that it writes the bytes staged in `{STAGE}` are gone: "
            "they were removed, or the file was edited since; nothing was overwritten"
        ),
    ),
    "malformed": ("damaged", f"`{{name}}` was damaged ({{why}}); {_ASIDE}"),
    "unknown": ("diverged", f"`{{name}}` {{why}}; {_ASIDE}"),
    "orphaned": (ORPHANED, "`{name}` is gone, but files or a history of a run are there"),
}


def _why(sight: Sight) -> str:
    if isinstance(sight.standing, Flaw):
        return sight.standing.sentence
    if sight.standing is None or isinstance(sight.standing, UnsafePath):
        return "cannot be read"
    return f"names the state {sight.standing.state!a}, which the workflow does not have"


def _repair(sight: Sight) -> str:
    adopt = "run `handrail repair --adopt STATE` with the state that the files are in"
    if sight.base is None:
        return adopt
    return f"run `handrail repair --restore {sight.base.revision}` to go back to the last turn, or {adopt}"
