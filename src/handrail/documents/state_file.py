"""Read and write the state files of runs: the state, the variables, and the history.

`StateFile` is the format of `state.json`:

`{"current_state": …, "context": {…}, "history": [{"timestamp", "transition", "trigger", "note"?}]}`

`CollabStateFile` is the format of `collab-state.json`, which has no history. People and other programs read
these files too. Keys that Handrail does not know are kept in place.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from handrail.documents.strict_json import JsonFlaw, build_flaw, format_document, parse_object
from handrail.documents.task_graph import is_batch_list

_STATE, _CONTEXT, _HISTORY = "current_state", "context", "history"


class HistoryItem(Struct, frozen=True):
    """One transition in the history of a state file: source, target, trigger, and an optional note."""

    source: str
    target: str
    trigger: str
    note: str = ""


class StateFileContent(Struct, frozen=True):
    """The content of a state file. `body` is the whole document with an empty history."""

    state: str
    variables: Mapping[str, object]
    body: Mapping[str, object]
    history: tuple[Mapping[str, object], ...]


class StateFile:
    """The format of `state.json`."""

    name = "state.json"

    def read(self, data: bytes) -> StateFileContent | JsonFlaw:
        """Return the content of the file, or why it is not a state file. Context and history are optional."""
        document = parse_object(data)
        if isinstance(document, JsonFlaw):
            return document
        state, context, history = document.get(_STATE), document.get(_CONTEXT, {}), document.get(_HISTORY, [])
        if not isinstance(state, str) or not state:
            return build_flaw("wrong_type", f"`{_STATE}` must be the name of a state")
        if not isinstance(context, dict):
            return build_flaw("wrong_type", f"`{_CONTEXT}` must be an object")
        if not isinstance(history, list) or not all(isinstance(item, dict) for item in history):
            return build_flaw("wrong_type", f"`{_HISTORY}` must be a list of objects")
        body = {**document, _HISTORY: []} if _HISTORY in document else document
        return StateFileContent(state, context, body, tuple(history))

    def write(
        self,
        old: StateFileContent | None,
        state: str,
        variables: Mapping[str, object],
        at: datetime,
        passages: Sequence[HistoryItem],
    ) -> bytes:
        """Return the file for a run in this state; `old` is kept, variables that are null are left out."""
        body = dict(old.body) if old else {_STATE: state, _CONTEXT: {}, _HISTORY: []}
        body[_STATE] = state
        context = dict(old.variables) if old else {}
        _merge_values(context, variables)
        if context or _CONTEXT in body:
            body[_CONTEXT] = context
        history = list(old.history) if old else []
        for passage in passages:
            item: dict[str, object] = {
                "timestamp": at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "transition": f"{passage.source} → {passage.target}",
                "trigger": passage.trigger,
            }
            history.append({**item, "note": passage.note} if passage.note else item)
        return self.encode_document(body, history)

    def encode_document(self, body: Mapping[str, object], history: Sequence[Mapping[str, object]]) -> bytes:
        """Return the bytes of a file with this body and history."""
        document = dict(body)
        if history or _HISTORY in document:
            document[_HISTORY] = list(history)
        return format_document(document)


def _merge_values(
    document: dict[str, object], variables: Mapping[str, object], written_when_null: Collection[str] = ()
) -> None:
    """Set the variables in a document. Those that are null are removed, if they are not null there too."""
    for name, value in variables.items():
        if value is not None or name in written_when_null:
            document[name] = value
        elif document.get(name) is not None:
            del document[name]


_SKILL_STATE, _PHASE, _ACTIVE = "state", "phase", "lastActivity"
_OWN_FIELDS: Final = (_SKILL_STATE, _PHASE, _ACTIVE)
_FIELDS_WRITTEN_WHEN_NULL: Final = frozenset({"currentItem"})


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_text_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


_FIELDS: Final[Mapping[str, tuple[Callable[[object], bool], str]]] = {
    "currentItem": (_is_count, "a number, or null"),
    "hasSnapshot": (lambda value: isinstance(value, bool), "true or false"),
    "batches": (is_batch_list, "a list of batches of tasks"),
    "currentBatch": (_is_count, "a number from 0"),
    "completedTasks": (_is_text_list, "a list of ids"),
    "pendingTasks": (_is_text_list, "a list of ids"),
    "totalItems": (_is_count, "a number"),
    "documentedItems": (_is_count, "a number"),
}


class CollabStateFile:
    """The format of `collab-state.json`. `phases` maps each state to its phase.

    `adopts` is for older files, which have a phase but no state. It maps such a phase to the state and the
    variables to continue with.
    """

    name = "collab-state.json"

    def __init__(
        self, phases: Mapping[str, str], adopts: Mapping[str, tuple[str, Mapping[str, object]]]
    ) -> None:
        self._phases, self._adopts = phases, adopts

    def read(self, data: bytes) -> StateFileContent | JsonFlaw:
        """Return the content of the file, or why it is not a collab state file."""
        document = parse_object(data)
        if isinstance(document, JsonFlaw):
            return document
        for name, (fits, needed) in _FIELDS.items():
            if document.get(name) is not None and not fits(document[name]):
                return build_flaw("wrong_type", f"`{name}` must be {needed}")
        variables = {name: value for name, value in document.items() if name not in _OWN_FIELDS}
        state, phase = document.get(_SKILL_STATE), document.get(_PHASE)
        if isinstance(state, str) and state:
            return StateFileContent(state, variables, document, ())
        if state is not None or not isinstance(phase, str) or phase not in self._adopts:
            known = ", ".join(self._adopts)
            return build_flaw(
                "wrong_type", f"`{_SKILL_STATE}` must be the name of a state, or `{_PHASE}` one of {known}"
            )
        adopted, adopted_variables = self._adopts[phase]
        return StateFileContent(adopted, {**variables, **adopted_variables}, document, ())

    def write(
        self,
        old: StateFileContent | None,
        state: str,
        variables: Mapping[str, object],
        at: datetime,
        passages: Sequence[HistoryItem],  # noqa: ARG002 - this format keeps no history
    ) -> bytes:
        """Return the file for a run in this state. Null variables are left out, except `currentItem`."""
        active = f"{at.astimezone(UTC).isoformat(timespec='milliseconds')[:23]}Z"
        own = {_SKILL_STATE: state, _PHASE: self._phases[state], _ACTIVE: active}
        body = {**(old.body if old else {}), **own}
        names = [name for name in (*_FIELDS, *variables) if name in variables and name not in _OWN_FIELDS]
        _merge_values(body, {name: variables[name] for name in names}, _FIELDS_WRITTEN_WHEN_NULL)
        return self.encode_document(body, ())

    def encode_document(
        self,
        body: Mapping[str, object],
        history: Sequence[Mapping[str, object]],  # noqa: ARG002 - the same
    ) -> bytes:
        """Return the bytes of a file with this body."""
        return format_document(dict(body))
