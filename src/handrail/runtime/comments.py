"""Comments that a person writes to a run, and their delivery to the agent.

A comment is not a turn: it moves nothing and spends no token. The next reply to the agent delivers it, once.
The delivery is journaled with the same turn or refusal. A comment written meanwhile goes with a later reply.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

from handrail.documents.text import escape_for_terminal
from handrail.engine.facts import Value, is_valid_value
from handrail.engine.model import FactReading, Refused
from handrail.engine.refusals import RefusalCode
from handrail.runtime.entries import Entry, EntryKind
from handrail.runtime.journal import describe_caller
from handrail.runtime.records import Caller, JournalEntry, RunChange, StoredRun, refuse_unknown_run

if TYPE_CHECKING:
    from handrail.runtime.world import World


MAX_COMMENT_CHARACTERS: Final = 4000
# The key of the comment lines in a reply, and of the delivered ids in a journal entry.
COMMENTS_KEY: Final = "comments"
"""The key of the comment lines in a reply, and of the delivered ids in a journal entry."""

COMMENT_REFUSAL_CODES: Final[Mapping[RefusalCode, str]] = {
    RefusalCode.NO_COMMENT: (
        "a comment has a text, at most 4000 characters of it, and none that cannot be shown"
    ),
}
_MAX_LINE_CHARACTERS: Final = 500
_MAX_LINES: Final = 5
_ID_KEY: Final = "comment"
_TEXT_KEY: Final = "text"


class Comment(Struct, frozen=True):
    """A comment on a run. `delivered_at` is when a reply delivered it to the agent, or None."""

    id: str
    at: datetime
    principal: str
    text: str
    delivered_at: datetime | None = field(default=None, name="told")


def write_comment(world: "World", run: str, text: str, caller: Caller) -> Refused | None:
    """Journal a comment, in any lifecycle of the run, and notify listeners. Return a refusal or None.

    Raises the faults of the store; then the comment was not saved.
    """
    stripped = text.strip()
    stored = world.runs.load(run)
    if stored is None or not stored.revision:
        return refuse_unknown_run(run)
    seen = (FactReading("comment.length", len(stripped)),)
    if not stripped or len(stripped) > MAX_COMMENT_CHARACTERS:
        needed = f"a text of 1 to {MAX_COMMENT_CHARACTERS} characters"
        return Refused(RefusalCode.NO_COMMENT, "comment", seen, (needed,))
    if not is_valid_value(stripped):
        return Refused(RefusalCode.NO_COMMENT, "comment", seen, ("a text without control characters",))
    data = {_ID_KEY: world.ids.nonce().hex(), _TEXT_KEY: stripped, **describe_caller(caller)}
    state = stored.run.open[0].state if len(stored.run.open) == 1 else ""
    entry = Entry(EntryKind.COMMENT_WRITTEN, state, data=data)
    world.runs.note(run, world.clock.now(), (entry,))
    publish = world.mirror or world.feed.announce
    publish(RunChange(run, stored.revision))
    return None


def collect_comments(remarks: Iterable[JournalEntry]) -> tuple[Comment, ...]:
    """Return the comments in these journal entries, in order."""
    comments: dict[str, Comment] = {}
    for remark in remarks:
        data = remark.entry.data
        if remark.entry.kind is EntryKind.COMMENT_WRITTEN:
            name, principal = str(data.get(_ID_KEY)), str(data.get("principal", ""))
            comments[name] = Comment(name, remark.at, principal, str(data.get(_TEXT_KEY, "")))
        elif remark.entry.kind is EntryKind.COMMENT_TOLD:
            for name in _read_ids(data.get(COMMENTS_KEY)):
                if name in comments:
                    comments[name] = replace(
                        comments[name], delivered_at=comments[name].delivered_at or remark.at
                    )
    return tuple(comments.values())


def find_undelivered_comments(remarks: Iterable[JournalEntry]) -> tuple[JournalEntry, ...]:
    """Return the entries of comments that no reply has delivered yet, in order."""
    entries = tuple(remarks)
    undelivered = {comment.id for comment in collect_comments(entries) if comment.delivered_at is None}
    written = (remark for remark in entries if remark.entry.kind is EntryKind.COMMENT_WRITTEN)
    return tuple(remark for remark in written if str(remark.entry.data.get(_ID_KEY)) in undelivered)


def prepare_delivery(new: Sequence[JournalEntry]) -> tuple[Entry, list[Value]]:
    """Return the journal entry of the delivery, and the few short lines for the reply."""
    comments = collect_comments(new)
    lines = [_comment_line(comment) for comment in comments[-_MAX_LINES:]]
    if len(comments) > _MAX_LINES or any(line.endswith("…") for line in lines):
        more = f"{len(comments) - _MAX_LINES} more before these; " if len(comments) > _MAX_LINES else ""
        lines.append(f"{more}in full: workflow-status://{new[0].run} or `handrail runs show {new[0].run}`")
    return Entry(EntryKind.COMMENT_TOLD, data={COMMENTS_KEY: [comment.id for comment in comments]}), [*lines]


def _comment_line(comment: Comment) -> str:
    """Format a comment as one line without terminal control sequences; cut if it is long."""
    text = escape_for_terminal(" ".join(comment.text.split()))
    whole = f"{escape_for_terminal(comment.principal) or 'somebody'}: {text}"
    return whole if len(whole) <= _MAX_LINE_CHARACTERS else f"{whole[: _MAX_LINE_CHARACTERS - 1]}…"


def add_undelivered_comments(reply: Mapping[str, Value], stored: StoredRun) -> Mapping[str, Value]:
    """Add undelivered comments to the reply of a read-only call. They stay undelivered."""
    return {**reply, COMMENTS_KEY: prepare_delivery(stored.undelivered)[1]} if stored.undelivered else reply


def _read_ids(value: Value) -> list[str]:
    return [str(name) for name in value] if isinstance(value, list) else []
