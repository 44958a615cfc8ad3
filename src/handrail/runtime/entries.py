"""Journal entries and their kinds. Telemetry counts these kinds, and stores refuse any other."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from handrail.engine.facts import Value


class EntryKind(StrEnum):
    """The kind of a journal entry; a store refuses any other value."""

    WORKFLOW_CREATED = "workflow_created"
    WORKFLOW_STATE_TRANSITION = "workflow_state_transition"
    WORKFLOW_ABANDONED = "workflow_abandoned"
    STEP_STARTED = "step_started"
    STEP_COMPLETED = "step_completed"
    STEP_FAILED = "step_failed"
    STEP_STAYED = "step_stayed"
    STEP_WAITING = "step_waiting"
    STEP_OVERRIDDEN = "step_overridden"
    TOKEN_GENERATED = "token_generated"  # noqa: S105 - the name of an entry, not a secret
    TOKEN_VALIDATED = "token_validated"  # noqa: S105 - the name of an entry, not a secret
    TOKEN_EXPIRED = "token_expired"  # noqa: S105 - the name of an entry, not a secret
    ARTIFACT_STORED = "artifact_stored"
    ERROR_OCCURRED = "error_occurred"
    STATE_ADOPTED = "state_adopted"
    STATE_REPAIRED = "state_repaired"
    COMMENT_WRITTEN = "comment_written"
    COMMENT_TOLD = "comment_told"


ENTRY_KIND_MEANINGS: Mapping[EntryKind, str] = {
    EntryKind.WORKFLOW_CREATED: "a run was started, or forked from one that has ended, its `parent`",
    EntryKind.WORKFLOW_STATE_TRANSITION: "the lifecycle of a run changed",
    EntryKind.WORKFLOW_ABANDONED: "a run gone quiet was given up by the sweep",
    EntryKind.STEP_STARTED: "a step was opened",
    EntryKind.STEP_COMPLETED: "a step was closed: its output was good, and a row was taken",
    EntryKind.STEP_FAILED: "a step was closed without a good output",
    EntryKind.STEP_STAYED: "a row was taken that stays in its step",
    EntryKind.STEP_WAITING: "a step received what it asked for, and waits for something else",
    EntryKind.STEP_OVERRIDDEN: "a person went past a step that an agent could not have skipped",
    EntryKind.TOKEN_GENERATED: "a step token was issued",
    EntryKind.TOKEN_VALIDATED: "a step token was presented and found good",
    EntryKind.TOKEN_EXPIRED: "a step token was presented too late, and replaced",
    EntryKind.ARTIFACT_STORED: "an artifact of a step output was stored",
    EntryKind.ERROR_OCCURRED: "a call was refused, or failed; `error_type` says why",
    EntryKind.STATE_ADOPTED: "a state that a person wrote, or that came with a clone, was taken as it stood",
    EntryKind.STATE_REPAIRED: "damage was found and mended, or a person mended it",
    EntryKind.COMMENT_WRITTEN: "a person wrote a comment to a run: its `text`, under the id `comment`",
    EntryKind.COMMENT_TOLD: "an answer has told the agent of a run these `comments`, by their ids",
}


class Entry(Struct, frozen=True):
    """One journal entry: what happened, in which state, under which persona, with details."""

    kind: EntryKind
    step: str = ""
    agent: str = ""
    data: Mapping[str, Value] = field(default_factory=dict)
