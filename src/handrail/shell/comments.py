"""Comments: what a person writes to a run, and how its agent learns of it.

A comment is no turn: it moves nothing and uses up no token. The next answer to the agent tells it, once: that
it was told is entered with the same turn or refusal. What was written meanwhile the answer after that tells.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from handrail.engine.facts import Value, sound
from handrail.engine.model import Refused, Run, Seen
from handrail.shell.journal import who
from handrail.shell.records import Caller, Change, Stored, Written
from handrail.shell.unfit import unknown
from handrail.telemetry.entries import Entry, EntryKind
from handrail.workflows.characters import safe

if TYPE_CHECKING:
    from handrail.shell.world import World

LONGEST: Final = 4000
"""How many characters a comment may have."""

TOLD: Final = "comments"
"""Where an answer has what it tells of them, and an entry which were told."""

CODES: Final = {
    "no_comment": "a comment has a text, at most 4000 characters of it, and none that cannot be shown",
}
"""Every code of a refusal that is about a comment."""

_SHORT: Final = 500
_MOST: Final = 5
_COMMENT: Final = "comment"
_TEXT: Final = "text"


class Comment(Struct, frozen=True):
    """What somebody wrote to a run; `told` is when an answer told it to the agent, if one has."""

    id: str
    at: datetime
    principal: str
    text: str
    told: datetime | None = None


def write(world: "World", run: str, text: str, caller: Caller) -> Refused | None:
    """Enter a comment, at whatever lifecycle the run is, and tell whoever listens; or why it cannot be.

    Raises the faults of the store; then there is no comment.
    """
    given = text.strip()
    stored = world.runs.load(run)
    if stored is None or not stored.revision:
        return unknown(run)
    if refused := _unfit(given):
        return refused
    data: dict[str, Value] = {_COMMENT: world.ids.nonce().hex(), _TEXT: given, **who(caller)}
    world.runs.note(
        run, world.clock.now(), (Entry(EntryKind.COMMENT_WRITTEN, _state(stored.run), data=data),)
    )
    if world.mirror:
        world.mirror(run)
    world.feed.announce(Change(run, stored.revision))
    return None


def comments(remarks: Iterable[Written]) -> tuple[Comment, ...]:
    """The comments among these entries of a run, in order."""
    found: dict[str, tuple[Written, datetime | None]] = {}
    for one in remarks:
        data = one.entry.data
        if one.entry.kind is EntryKind.COMMENT_WRITTEN:
            found[str(data.get(_COMMENT))] = one, None
        elif one.entry.kind is EntryKind.COMMENT_TOLD:
            for name in _ids(data.get(TOLD)):
                if name in found:
                    found[name] = found[name][0], found[name][1] or one.at
    return tuple(
        Comment(
            name, one.at, str(one.entry.data.get("principal", "")), str(one.entry.data.get(_TEXT, "")), told
        )
        for name, (one, told) in found.items()
    )


def unheard(remarks: Iterable[Written]) -> tuple[Written, ...]:
    """The entries of those comments that no answer has told yet, in order."""
    known = tuple(remarks)
    told = {
        name
        for one in known
        if one.entry.kind is EntryKind.COMMENT_TOLD
        for name in _ids(one.entry.data.get(TOLD))
    }
    return tuple(
        one
        for one in known
        if one.entry.kind is EntryKind.COMMENT_WRITTEN and one.entry.data.get(_COMMENT) not in told
    )


def telling(new: Sequence[Written]) -> tuple[Entry, list[Value]]:
    """What is entered of an answer that tells these comments, and the few short lines in which it does."""
    found = comments(new)
    lines = [_line(one) for one in found[-_MOST:]]
    if len(found) > _MOST or any(line.endswith("…") for line in lines):
        more = f"{len(found) - _MOST} more before these; " if len(found) > _MOST else ""
        lines.append(f"{more}in full: workflow-status://{new[0].run} or `handrail runs show {new[0].run}`")
    return Entry(EntryKind.COMMENT_TOLD, data={TOLD: [one.id for one in found]}), [*lines]


def showing(reply: Mapping[str, Value], stored: Stored) -> Mapping[str, Value]:
    """The answer to somebody who only looks, with what the agent was not told yet; it stays so."""
    return {**reply, TOLD: telling(stored.unheard)[1]} if stored.unheard else reply


def _unfit(text: str) -> Refused | None:
    seen = (Seen("comment.length", len(text)),)
    if not text or len(text) > LONGEST:
        return Refused("no_comment", "comment", seen, (f"a text of 1 to {LONGEST} characters",))
    if not sound(text):
        return Refused("no_comment", "comment", seen, ("a text without control characters",))
    return None


def _line(comment: Comment) -> str:
    """A comment in one line that can give no orders to a terminal; cut, if it is long."""
    text = safe(" ".join(comment.text.split()))
    whole = f"{safe(comment.principal) or 'somebody'}: {text}"
    return whole if len(whole) <= _SHORT else f"{whole[: _SHORT - 1]}…"


def _state(run: Run) -> str:
    return run.open[0].state if len(run.open) == 1 else ""


def _ids(value: Value) -> list[str]:
    return [str(name) for name in value] if isinstance(value, list) else []
