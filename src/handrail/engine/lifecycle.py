"""Define which triggers a run's lifecycle allows: a table of seven lifecycles by trigger.

Every change of a run's lifecycle goes through this table. A pair that is not in it is refused.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from handrail.engine.model import Lifecycle


class LifecycleTrigger(StrEnum):
    """A trigger that changes the lifecycle of a run. `CONTINUE` stands for every trigger of a workflow."""

    START = "start"
    CONTINUE = "continue"
    PAUSE = "pause"
    RESUME = "resume"
    COMPLETE = "complete"
    FAIL = "fail"
    ABANDON = "abandon"
    DIVERGE = "diverge"


# Python 3.11 calls a function to read a member of an enum. The engine reads these in every turn.
START: Final = LifecycleTrigger.START
CONTINUE: Final = LifecycleTrigger.CONTINUE
PAUSE: Final = LifecycleTrigger.PAUSE
RESUME: Final = LifecycleTrigger.RESUME
COMPLETE: Final = LifecycleTrigger.COMPLETE
FAIL: Final = LifecycleTrigger.FAIL
ABANDON: Final = LifecycleTrigger.ABANDON
DIVERGE: Final = LifecycleTrigger.DIVERGE

LIFECYCLE_TABLE: Final[Mapping[Lifecycle, Mapping[str, Lifecycle]]] = {
    Lifecycle.IDLE: {START: Lifecycle.RUNNING},
    Lifecycle.RUNNING: {
        CONTINUE: Lifecycle.RUNNING,
        PAUSE: Lifecycle.PAUSED,
        COMPLETE: Lifecycle.COMPLETED,
        FAIL: Lifecycle.FAILED,
        ABANDON: Lifecycle.ABANDONED,
        DIVERGE: Lifecycle.DIVERGED,
    },
    Lifecycle.PAUSED: {RESUME: Lifecycle.RUNNING, ABANDON: Lifecycle.ABANDONED},
    Lifecycle.COMPLETED: {},
    Lifecycle.FAILED: {},
    Lifecycle.ABANDONED: {},
    Lifecycle.DIVERGED: {},
}

CONTROL_TRIGGERS: Final = frozenset({PAUSE, RESUME, FAIL, ABANDON, DIVERGE})  # about the run as a whole
RESERVED_TRIGGERS: Final = CONTROL_TRIGGERS | {START, COMPLETE}  # no row of a workflow may use them
TRIGGERS_NEEDING_REASON: Final = frozenset({FAIL, ABANDON, DIVERGE})


def get_next_lifecycle(lifecycle: Lifecycle, trigger: str) -> Lifecycle | None:
    """Return the lifecycle after this trigger, or None if the table has no such pair."""
    return LIFECYCLE_TABLE[lifecycle].get(trigger)


def is_terminal(lifecycle: Lifecycle) -> bool:
    """True if a run never leaves this lifecycle."""
    return not LIFECYCLE_TABLE[lifecycle]
