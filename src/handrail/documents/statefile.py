"""The state file: where a run stands, its variables, and how it came there, for people and other programs.

`{"current_state": …, "context": {…}, "history": [{"timestamp", "transition", "trigger", "note"?}]}`. Keys
that are not ours are kept, each in its place.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from handrail.documents.strict import Flaw, flaw, parse, show

_STATE, _CONTEXT, _HISTORY = "current_state", "context", "history"


class Passage(Struct, frozen=True):
    """How a state file tells of one way that a run went: from where to where, on what, and with what note."""

    source: str
    target: str
    trigger: str
    note: str = ""


class Standing(Struct, frozen=True):
    """What a state file says. `body` is the document without what its history holds."""

    state: str
    variables: Mapping[str, object]
    body: Mapping[str, object]
    history: tuple[Mapping[str, object], ...]


class StateFile:
    """The shape of the state file."""

    name = "state.json"

    def read(self, data: bytes) -> Standing | Flaw:
        """What the file says, or why it is no state file. Context and history may be missing."""
        document = parse(data)
        if isinstance(document, Flaw):
            return document
        state, context, history = document.get(_STATE), document.get(_CONTEXT, {}), document.get(_HISTORY, [])
        if not isinstance(state, str) or not state:
            return flaw("wrong_type", f"`{_STATE}` must be the name of a state")
        if not isinstance(context, dict):
            return flaw("wrong_type", f"`{_CONTEXT}` must be an object")
        if not isinstance(history, list) or not all(isinstance(item, dict) for item in history):
            return flaw("wrong_type", f"`{_HISTORY}` must be a list of objects")
        body = {**document, _HISTORY: []} if _HISTORY in document else document
        return Standing(state, context, body, tuple(history))

    def write(
        self,
        old: Standing | None,
        state: str,
        variables: Mapping[str, object],
        at: datetime,
        passages: Sequence[Passage],
    ) -> bytes:
        """The file once the run stands in this state; what it said before is `old`.

        A variable that is null is left out; what the context holds besides variables is kept.
        """
        body = dict(old.body) if old else {_STATE: state, _CONTEXT: {}, _HISTORY: []}
        body[_STATE] = state
        context = _context(old.variables if old else {}, variables)
        if context or _CONTEXT in body:
            body[_CONTEXT] = context
        told = [_told(passage, at) for passage in passages]
        return self.whole(body, (*(old.history if old else ()), *told))

    def whole(self, body: Mapping[str, object], history: Sequence[Mapping[str, object]]) -> bytes:
        """The file of this body and history."""
        document = dict(body)
        if history or _HISTORY in document:
            document[_HISTORY] = list(history)
        return show(document)


def _context(old: Mapping[str, object], variables: Mapping[str, object]) -> dict[str, object]:
    context = dict(old)
    for name, value in variables.items():
        if value is not None:
            context[name] = value
        elif context.get(name) is not None:
            del context[name]
    return context


def _told(passage: Passage, at: datetime) -> dict[str, object]:
    told: dict[str, object] = {
        "timestamp": at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "transition": f"{passage.source} → {passage.target}",
        "trigger": passage.trigger,
    }
    return {**told, "note": passage.note} if passage.note else told
