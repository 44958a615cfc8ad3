"""The codes of refusals: why a call was refused, or why its run must be repaired first.

Agents and programs read these codes, so a code never changes its spelling. What a code means is said where
its refusals are made; the meanings of the engine's own codes are here.
"""

from collections.abc import Mapping
from enum import StrEnum


class RefusalCode(StrEnum):
    """Why a call was refused."""

    # by the rows of a workflow, or by the lifecycle of a run
    ARGUMENTS = "arguments"
    ATTEMPTS_SPENT = "attempts_spent"
    CONTRACT = "contract"
    GUARD_ERROR = "guard_error"
    KEPT_ELSEWHERE = "kept_elsewhere"
    LATER_STEP = "later_step"
    NO_ROW = "no_row"
    NO_TARGET = "no_target"
    NOT_ACCEPTED = "not_accepted"
    NOT_ENDED = "not_ended"
    NOT_NOW = "not_now"
    NOT_RUNNING = "not_running"
    NOT_YOURS = "not_yours"
    REASON = "reason"
    REFUSED = "refused"
    ROUTER_LOOP = "router_loop"
    ROUTER_STUCK = "router_stuck"
    UNKNOWN_STATE = "unknown_state"
    UNKNOWN_STEP = "unknown_step"
    WHICH_STEP = "which_step"
    WRONG_VALUE = "wrong_value"

    # about a step token
    ALREADY_USED = "already_used"
    EXPIRED = "expired"
    FORGED = "forged"
    MALFORMED = "malformed"
    SUPERSEDED = "superseded"

    # about a run
    MOVED_ON = "moved_on"
    UNKNOWN_RUN = "unknown_run"

    # about a comment
    NO_COMMENT = "no_comment"

    # about the call itself
    FORBIDDEN = "forbidden"
    FORM = "form"
    INTERNAL = "internal"
    NO_PROJECT = "no_project"
    UNKNOWN_PROJECT = "unknown_project"
    WHICH_PROJECT = "which_project"

    # about a session of skills
    OTHER_GRAPH = "other_graph"
    SESSION_NAME = "session_name"
    UNFIT_GRAPH = "unfit_graph"
    UNKNOWN_SESSION = "unknown_session"

    # about a workflow to start
    BROKEN_WORKFLOW = "broken_workflow"
    PERSONA_MISSING = "persona_missing"
    UNKNOWN_WORKFLOW = "unknown_workflow"
    UNTRUSTED = "untrusted"


class TroubleCode(StrEnum):
    """Why every call to a run is refused until a person repairs its files."""

    DAMAGED = "damaged"
    DIVERGED = "diverged"
    NEWER = "newer"
    ORPHANED = "orphaned"


REFUSAL_CODES: Mapping[RefusalCode, str] = {
    RefusalCode.ARGUMENTS: "an input or a parameter is unknown, missing or of the wrong type",
    RefusalCode.ATTEMPTS_SPENT: "the step has been tried as often as the workflow lets an agent try it",
    RefusalCode.CONTRACT: "the step output breaks the step's contract",
    RefusalCode.GUARD_ERROR: (
        "a guard could not be evaluated; nothing moves until the workflow or the fact is mended"
    ),
    RefusalCode.KEPT_ELSEWHERE: (
        "the run lives in files or in a commit, where there is one only: it cannot be forked"
    ),
    RefusalCode.LATER_STEP: "an agent forks a run where it stood or where it has been, not further on",
    RefusalCode.NO_ROW: "this state does not know the trigger",
    RefusalCode.NO_TARGET: "the row goes to the state a variable holds, and the variable holds none",
    RefusalCode.NOT_ACCEPTED: "a row is open, but what came with the event does not meet its `accept`",
    RefusalCode.NOT_ENDED: "only a run that has ended can be forked",
    RefusalCode.NOT_NOW: "the state knows the trigger, but no row's `when` holds",
    RefusalCode.NOT_RUNNING: "the run's lifecycle does not allow it",
    RefusalCode.NOT_YOURS: "the trigger is the word of somebody else",
    RefusalCode.REASON: "a reason must be given",
    RefusalCode.REFUSED: "a row of the workflow refuses this",
    RefusalCode.ROUTER_LOOP: "a router was reached twice in one turn",
    RefusalCode.ROUTER_STUCK: "no row of a router holds",
    RefusalCode.UNKNOWN_STATE: "the workflow has no such state",
    RefusalCode.UNKNOWN_STEP: "the workflow has no such step to fork the run at",
    RefusalCode.WHICH_STEP: "several steps are open, or none with this number",
    RefusalCode.WRONG_VALUE: "a row would set a variable to a value that it may not hold",
}
"""What the codes of the engine's refusals mean."""
