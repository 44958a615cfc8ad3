"""Whether a run may start, go on, rest or end: the table of seven lifecycles by trigger.

Everything that changes a run's lifecycle goes through this table; a pair that is not in it is refused.
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

TABLE: Final[Mapping[Lifecycle, Mapping[str, Lifecycle]]] = {
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

CONTROLS: Final = frozenset({PAUSE, RESUME, FAIL, ABANDON, DIVERGE})
"""Triggers that act on the run as a whole."""

RESERVED: Final = CONTROLS | {START, COMPLETE}
"""Triggers that no row of a workflow may use."""

NEEDS_REASON: Final = frozenset({FAIL, ABANDON, DIVERGE})


def after(lifecycle: Lifecycle, trigger: str) -> Lifecycle | None:
    """The lifecycle after this trigger, or None where the table has no such pair."""
    return TABLE[lifecycle].get(trigger)


def terminal(lifecycle: Lifecycle) -> bool:
    """True if a run with this lifecycle is never left again."""
    return not TABLE[lifecycle]
