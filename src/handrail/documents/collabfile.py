"""The state file of a session of skills: flat, with the fields that older programs read too.

`{"state", "phase", "lastActivity", "currentItem", "hasSnapshot", …}`: besides the first three, every field is
a variable of the run. Fields that are not ours are kept, each in its place. A file without `state` is of an
older program: its `phase` says where the run stands.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from handrail.documents.statefile import Passage, Standing
from handrail.documents.strict import Flaw, flaw, parse, show
from handrail.documents.taskgraph import sound

_STATE, _PHASE, _ACTIVE = "state", "phase", "lastActivity"
_OWN: Final = (_STATE, _PHASE, _ACTIVE)
_KEPT: Final = frozenset({"currentItem"})
"""What is written even if it is null."""


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


_FIELDS: Final[Mapping[str, tuple[Callable[[object], bool], str]]] = {
    "currentItem": (_is_count, "a number, or null"),
    "hasSnapshot": (lambda value: isinstance(value, bool), "true or false"),
    "batches": (sound, "a list of batches of tasks"),
    "currentBatch": (_is_count, "a number from 0"),
    "completedTasks": (_is_texts, "a list of ids"),
    "pendingTasks": (_is_texts, "a list of ids"),
    "totalItems": (_is_count, "a number"),
    "documentedItems": (_is_count, "a number"),
}


class CollabFile:
    """The shape of that file. `phases` gives the phase of each state.

    `adopts` gives, for each phase that an older file may be in, the state and what its variables are there.
    """

    name = "collab-state.json"

    def __init__(
        self, phases: Mapping[str, str], adopts: Mapping[str, tuple[str, Mapping[str, object]]]
    ) -> None:
        self._phases, self._adopts = phases, adopts

    def read(self, data: bytes) -> Standing | Flaw:
        """What the file says, or why it is no such file."""
        document = parse(data)
        if isinstance(document, Flaw):
            return document
        for name, (fits, needed) in _FIELDS.items():
            if document.get(name) is not None and not fits(document[name]):
                return flaw("wrong_type", f"`{name}` must be {needed}")
        variables = {name: value for name, value in document.items() if name not in _OWN}
        state, phase = document.get(_STATE), document.get(_PHASE)
        if isinstance(state, str) and state:
            return Standing(state, variables, document, ())
        if state is not None or not isinstance(phase, str) or phase not in self._adopts:
            known = ", ".join(self._adopts)
            return flaw("wrong_type", f"`{_STATE}` must be the name of a state, or `{_PHASE}` one of {known}")
        adopted, there = self._adopts[phase]
        return Standing(adopted, {**variables, **there}, document, ())

    def write(
        self,
        old: Standing | None,
        state: str,
        variables: Mapping[str, object],
        at: datetime,
        passages: Sequence[Passage],  # noqa: ARG002 - the shape of a state file has it; this one tells no history
    ) -> bytes:
        """The file once the run stands in this state; a variable that is null is left out, but one."""
        active = f"{at.astimezone(UTC).isoformat(timespec='milliseconds')[:23]}Z"
        own = {_STATE: state, _PHASE: self._phases[state], _ACTIVE: active}
        body = {**(old.body if old else {}), **own}
        for name in (*_FIELDS, *variables):
            value = variables.get(name)
            if name in _OWN or name not in variables:
                continue
            if value is not None or name in _KEPT:
                body[name] = value
            elif body.get(name) is not None:
                del body[name]
        return self.whole(body, ())

    def whole(self, body: Mapping[str, object], history: Sequence[Mapping[str, object]]) -> bytes:  # noqa: ARG002 - the same
        """The file of this body."""
        return show(dict(body))
