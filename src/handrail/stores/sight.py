"""What lies in a folder, as it was read; and what it will be once a row of the recovery table is done."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

from handrail.documents.statefile import Standing
from handrail.documents.strict import Flaw
from handrail.shell.apply import digest, ready
from handrail.shell.faults import Busy, UnsafePath
from handrail.shell.folders import HOME
from handrail.shell.ports import StateShape
from handrail.shell.records import Trouble
from handrail.shell.snapshot import Snapshot
from handrail.stores import history
from handrail.stores.history import Kept
from handrail.stores.layout import HEAD, HISTORY, INTENT, MARK, About, Head, Intent, Mark
from handrail.stores.recovery import Found, HeadFound, IntentFound, MarkFound, StateFound
from handrail.stores.sealed import Damage, unseal

_TRIES = 100

UNREADABLE_MARK = Mark(
    About.INTENT,
    Trouble(
        "diverged",
        f"`{MARK}`, which says what was wrong here, is damaged itself",
        "look at the files, then run `handrail repair --adopt STATE` with the state they are in",
    ),
)
"""What is gone by when a trouble is remembered and cannot be read."""


@dataclass(frozen=True, slots=True)
class Sight:
    """The files of a folder, read. `last` is the last turn in the history, if there is no head to say it."""

    head: Head | Damage | None
    intent: Intent | Damage | None
    data: bytes | None
    standing: Standing | Flaw | UnsafePath | None
    mark: Mark | None
    last: Kept | None
    others: bool
    staged: bool

    @property
    def base(self) -> Head | Kept | None:
        """What is known of the last turn."""
        return self.head if isinstance(self.head, Head) else self.last


PARTS: Final = (INTENT, HEAD, MARK)
"""The files of which each turn changes one."""


def look(workspace: Snapshot, shape: StateShape, signs: Collection[str] | None) -> Sight:
    """What lies in the folder, all of one moment; nothing is written. `signs`: see `FileRuns`.

    Without the lock another process may take a turn meanwhile. Each turn changes one of the parts.
    """
    for _ in range(_TRIES):
        sight = examine(workspace, shape, signs)
        if [*map(workspace.read, PARTS)] == [*map(workspace.reread, PARTS)]:
            return sight
        workspace.forget()
    raise Busy("the run moved all the time while it was read", "send the same call again")


def examine(workspace: Snapshot, shape: StateShape, signs: Collection[str] | None) -> Sight:
    """What lies in the folder, for a caller that holds the lock."""
    raw_intent, raw_head, raw_mark = map(workspace.read, PARTS)
    intent = None if raw_intent is None else unseal(raw_intent, Intent)
    head = None if raw_head is None else unseal(raw_head, Head)
    mark = None if raw_mark is None else unseal(raw_mark, Mark)
    data, standing = _state(workspace, shape)
    names = set(workspace.names("")) - {HOME, shape.name}
    return Sight(
        head,
        intent,
        data,
        standing,
        UNREADABLE_MARK if isinstance(mark, Damage) else mark,
        None if isinstance(head, Head) else history.last(workspace.read(HISTORY)),
        bool(names if signs is None else names & set(signs)),
        not isinstance(intent, Intent) or ready(workspace, intent.finals),
    )


def _state(
    workspace: Snapshot, shape: StateShape
) -> tuple[bytes | None, Standing | Flaw | UnsafePath | None]:
    try:
        data = workspace.read(shape.name)
    except UnsafePath as unsafe:
        return None, unsafe
    return data, None if data is None else shape.read(data)


def find(sight: Sight, states: Collection[str]) -> Found:
    """The findings of a sight, in the words of the table."""
    return Found(
        _intent(sight),
        _head(sight),
        _standing(sight, states),
        MarkFound.NONE if sight.mark is None else MarkFound(sight.mark.about),
        sight.others or sight.base is not None,
        sight.staged,
    )


def _intent(sight: Sight) -> IntentFound:
    if sight.intent is None:
        return IntentFound.ABSENT
    if isinstance(sight.intent, Damage):
        return IntentFound(sight.intent.value)
    revision, base = sight.intent.head.revision, sight.base
    if base is None or revision == base.revision + 1:
        return IntentFound.NEXT
    if revision != base.revision:
        return IntentFound.OTHER
    return IntentFound.SAME if isinstance(base, Head) else IntentFound.NEXT


def _head(sight: Sight) -> HeadFound:
    if isinstance(sight.head, Damage):
        return HeadFound(sight.head.value)
    return HeadFound.ABSENT if sight.head is None else HeadFound.VALID


def _standing(sight: Sight, states: Collection[str]) -> StateFound:
    if sight.standing is None:
        return StateFound.ABSENT
    if isinstance(sight.standing, UnsafePath):
        return StateFound.UNSAFE
    if isinstance(sight.standing, Flaw):
        return StateFound.MALFORMED
    if sight.standing.state not in states:
        return StateFound.UNKNOWN
    same = sight.base is not None and sight.base.sha == digest(sight.data)
    return StateFound.SAME if same else StateFound.OTHER


def redone(sight: Sight, intent: Intent, shape: StateShape) -> Sight:
    """The sight once an intent is carried out."""
    data, head = intent.document.encode(), intent.head.remembering(sight.head)
    return replace(sight, head=head, intent=None, data=data, standing=shape.read(data), mark=None)
