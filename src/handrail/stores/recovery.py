"""The recovery table: from what is found in a folder to the one row that says what it means. Pure data."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class IntentFound(StrEnum):
    """How the intent stands to the head: the turn after it, the same turn, or neither."""

    ABSENT = "absent"
    NEXT = "next"
    SAME = "same"
    OTHER = "other"
    BAD = "bad"
    NEWER = "newer"


class HeadFound(StrEnum):
    """Whether there is a head."""

    ABSENT = "absent"
    VALID = "valid"
    BAD = "bad"
    NEWER = "newer"


class StateFound(StrEnum):
    """What the state file is: as the last turn left it, other but good, or nothing to go on."""

    ABSENT = "absent"
    SAME = "same"
    OTHER = "other"
    UNKNOWN = "unknown"
    MALFORMED = "malformed"
    UNSAFE = "unsafe"


class MarkFound(StrEnum):
    """Whether an earlier trouble is remembered, and what it is about."""

    NONE = "none"
    STATE = "state"
    INTENT = "intent"


@dataclass(frozen=True, slots=True)
class Found:
    """What is found in a folder. `traces`: something says that a run was here. `staged`: no byte is gone."""

    intent: IntentFound
    head: HeadFound
    state: StateFound
    mark: MarkFound = MarkFound.NONE
    traces: bool = True
    staged: bool = True


class Action(StrEnum):
    """What is done about a row. The last four end the recovery; the others are followed by another row."""

    SET_HEAD_ASIDE = "set_head_aside"
    SET_INTENT_ASIDE = "set_intent_aside"
    SET_STATE_ASIDE = "set_state_aside"
    REDO = "redo"
    FINISH = "finish"
    FORGET = "forget"
    SWEEP = "sweep"
    TELL = "tell"
    STOP = "stop"
    REFUSE = "refuse"


LAST: Final = frozenset({Action.SWEEP, Action.TELL, Action.STOP, Action.REFUSE})
"""The actions after which the folder is as it should be, or a person must look.

`SWEEP` removes litter and goes on; `TELL` does so too, and says what is missing; `STOP` lets nothing be
saved before a repair; `REFUSE` lets nothing be written at all.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: which findings it is for (an empty column means any), what they mean, and what is done."""

    id: str
    means: str
    action: Action
    intent: Collection[IntentFound] = ()
    head: Collection[HeadFound] = ()
    state: Collection[StateFound] = ()
    mark: Collection[MarkFound] = ()
    traces: bool | None = None
    staged: bool | None = None

    def fits(self, found: Found) -> bool:
        """True if the row is for these findings."""
        columns = (
            (self.intent, found.intent),
            (self.head, found.head),
            (self.state, found.state),
            (self.mark, found.mark),
        )
        flags = ((self.traces, found.traces), (self.staged, found.staged))
        return all(not wanted or seen in wanted for wanted, seen in columns) and all(
            wanted is None or seen is wanted for wanted, seen in flags
        )


_NEXT = (IntentFound.NEXT,)
_GOOD = (StateFound.SAME, StateFound.OTHER)
_GONE = (StateFound.ABSENT, StateFound.MALFORMED, StateFound.UNKNOWN)
_VALID, _NO_HEAD = (HeadFound.VALID,), (HeadFound.ABSENT,)

TABLE: Final = (
    Row("newer_intent", "a newer program was here", Action.REFUSE, intent=(IntentFound.NEWER,)),
    Row("newer_head", "a newer program was here", Action.REFUSE, head=(HeadFound.NEWER,)),
    Row("bad_head", "the head is damaged", Action.SET_HEAD_ASIDE, head=(HeadFound.BAD,)),
    Row("bad_intent", "the intent is damaged", Action.SET_INTENT_ASIDE, intent=(IntentFound.BAD,)),
    Row(
        "stale_intent",
        "the files were put back under an unfinished turn",
        Action.SET_INTENT_ASIDE,
        intent=(IntentFound.OTHER,),
    ),
    Row("finish", "a crash before the intent was removed", Action.FINISH, intent=(IntentFound.SAME,)),
    Row("unsafe", "the state file is no plain file", Action.STOP, state=(StateFound.UNSAFE,)),
    Row("stage_gone", "staged bytes are gone", Action.STOP, intent=_NEXT, staged=False),
    Row("redo_state", "a crash or damage while a turn was done", Action.REDO, intent=_NEXT, state=_GONE),
    Row("redo", "a crash while a turn was done", Action.REDO, intent=_NEXT),
    Row("diverged", "an earlier trouble has not been mended", Action.STOP, mark=(MarkFound.INTENT,)),
    Row(
        "malformed",
        "the state file is damaged",
        Action.SET_STATE_ASIDE,
        state=(StateFound.MALFORMED,),
    ),
    Row(
        "unknown",
        "the state is none of the workflow",
        Action.SET_STATE_ASIDE,
        state=(StateFound.UNKNOWN,),
    ),
    Row("mended", "a good state file is back", Action.FORGET, state=_GOOD, mark=(MarkFound.STATE,)),
    Row("damaged", "the state file lies in quarantine", Action.STOP, mark=(MarkFound.STATE,)),
    Row("clean", "nothing happened", Action.SWEEP, head=_VALID, state=(StateFound.SAME,)),
    Row("rebuilt", "the head is gone, the history is not", Action.SWEEP, state=(StateFound.SAME,)),
    Row("edited", "a person changed the state file", Action.SWEEP, head=_VALID, state=(StateFound.OTHER,)),
    Row("found", "the state file came without us", Action.SWEEP, head=_NO_HEAD, state=(StateFound.OTHER,)),
    Row("orphaned", "the state file is gone, the rest is not", Action.TELL, traces=True),
    Row("new", "nothing was here before", Action.SWEEP, traces=False),
)
"""The first row that fits is the one."""


def row(found: Found) -> Row:
    """The row for these findings: there is always one."""
    return next(candidate for candidate in TABLE if candidate.fits(found))
