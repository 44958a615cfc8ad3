"""Define which triggers a run's lifecycle allows: a table of seven lifecycles by trigger.

Every change of a run's lifecycle goes through this table. A pair that is not in it is refused.
"""

from collections.abc import Mapping
from typing import Final

from handrail.engine.model import Lifecycle

START: Final = "start"
CONTINUE: Final = "continue"
PAUSE: Final = "pause"
RESUME: Final = "resume"
COMPLETE: Final = "complete"
FAIL: Final = "fail"
ABANDON: Final = "abandon"
DIVERGE: Final = "diverge"

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
