"""The forms of a call: which of them the arguments are, and what is wrong with them if they are none."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import jsonschema_rs
from msgspec import Struct

from handrail.engine.facts import flaws, sound, writable
from handrail.engine.model import Refused, Seen

OUTPUT: Final = "model_output_so_far"
_LONGEST: Final = 10_000
_SECRET: Final = frozenset({"step_token", OUTPUT})
"""What is not repeated in a refusal: a token is somebody's, an output is long."""

_UNKNOWN: Final = "must be left out: there is no such argument"

COMPLETE_STEP: Final = "complete_step"
FORK: Final = "fork"
WHY: Final = "why"


class Form(Struct, frozen=True):
    """A form: what must be given, and what may be."""

    needs: frozenset[str]
    takes: frozenset[str] = frozenset()


START: Final = Form(frozenset({"template_name"}), frozenset({"goal", "inputs", "metadata", "project"}))
CONTINUE: Final = Form(frozenset({"step_token", OUTPUT}), frozenset({"project"}))
RECOVER: Final = Form(frozenset({"execution_id"}), frozenset({"project"}))
BY_RUN: Final = Form(frozenset({"execution_id", "action"}), frozenset({"reason", "project"}))
BY_TOKEN: Final = Form(frozenset({"step_token", "action"}), frozenset({"reason", "project"}))
FORMS: Final = (START, CONTINUE, RECOVER, BY_RUN, BY_TOKEN)

_MORE: Final[Mapping[str, frozenset[str]]] = {
    FORK: frozenset({"step_name"}),
    COMPLETE_STEP: frozenset({OUTPUT}),
}


class _Problem(Struct, frozen=True):
    """An argument that is not as it should be: where, what was sent, and what is asked for."""

    name: str
    value: Any
    needed: str


class Arguments:
    """Checks what a call brings against the schema that the tool is listed with, and nothing is coerced."""

    def __init__(self, schema: Mapping[str, Any], forms: tuple[str, ...], longest: int = _LONGEST) -> None:
        shallow = {**schema["properties"], OUTPUT: {"type": "object"}}
        self._schema = jsonschema_rs.Draft202012Validator({**schema, "properties": shallow}, mask="it")
        self._forms, self._longest = forms, longest

    def wrong(self, given: Mapping[str, Any]) -> Refused | None:
        """Why these are no arguments of the tool; the output of a step is looked at when it is handed in."""
        found = tuple(self._problems(given))
        if not found:
            return None
        seen = tuple(Seen(one.name, _shown(one)) for one in found)
        return Refused("arguments", "arguments", seen, tuple(f"{one.name}: {one.needed}" for one in found))

    def form(self, given: Mapping[str, Any]) -> Form | Refused:
        """The form that these arguments are."""
        names = frozenset(given)
        more = _MORE.get(str(given.get("action")), frozenset())
        for form in FORMS:
            if form.needs <= names <= form.needs | form.takes | more:
                return form
        return Refused("form", "forms", (Seen("arguments", sorted(names)),), self._forms)

    def _problems(self, given: Mapping[str, Any]) -> Iterator[_Problem]:
        flawed = False
        for name, value in given.items():
            for problem in _flaws(name, value, self._longest):
                flawed = True
                yield problem
        if not flawed:
            plain = {
                n: {} if n == OUTPUT and isinstance(value, dict) else value for n, value in given.items()
            }
            for fault in self._schema.iter_errors(plain):
                yield from _told(fault)


def _flaws(name: str, value: object, longest: int) -> Iterator[_Problem]:
    """Why an argument could not even be looked at."""
    if not sound(name):
        yield _Problem(str(writable(name)), value, _UNKNOWN)
    elif name != OUTPUT and not sound(value):
        yield _Problem(name, value, "; ".join(f"{path} {why}".strip() for path, why in flaws(value)))
    elif isinstance(value, str) and len(value) > longest:
        yield _Problem(name, value, f"must be a text of at most {longest} characters")


def _told(fault: jsonschema_rs.ValidationError) -> Iterator[_Problem]:
    """What the schema refuses, told as what it asks for."""
    name, value = ".".join(map(str, fault.instance_path)), fault.instance
    match fault.kind:
        case jsonschema_rs.ValidationErrorKind.AdditionalProperties(unexpected) if isinstance(value, dict):
            for one in unexpected:
                yield _Problem(one, value[one], _UNKNOWN)
        case jsonschema_rs.ValidationErrorKind.Required(missing):
            yield _Problem(f"{name}.{missing}".removeprefix("."), None, "must be given")
        case jsonschema_rs.ValidationErrorKind.Enum(options):
            yield _Problem(name, value, f"must be one of {', '.join(map(str, options))}")
        case jsonschema_rs.ValidationErrorKind.Type(types):
            yield _Problem(name, value, f"must be of the JSON type {' or '.join(types)}")
        case _:
            yield _Problem(name, value, fault.message.removeprefix("it "))


def _shown(problem: _Problem) -> Any:  # noqa: ANN401 - whatever was sent
    return f"<{type(problem.value).__name__}>" if problem.name in _SECRET else problem.value
