"""The forms of a call: which of them the arguments are, and what is wrong with them if they are none."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import jsonschema_rs

from handrail.engine.facts import flaws, sound
from handrail.engine.model import Refused, Seen

OUTPUT: Final = "model_output_so_far"
_LONGEST: Final = 10_000
_SECRET: Final = frozenset({"step_token", OUTPUT})
"""What is not repeated in a refusal: a token is somebody's, an output is long."""

COMPLETE_STEP: Final = "complete_step"
FORK: Final = "fork"
WHY: Final = "why"


@dataclass(frozen=True, slots=True)
class Form:
    """A form: what must be given, what may be, and what else is open for which action."""

    name: str
    needs: frozenset[str]
    takes: frozenset[str] = frozenset()


START: Final = Form(
    "start", frozenset({"template_name"}), frozenset({"goal", "inputs", "metadata", "project"})
)
CONTINUE: Final = Form("continue", frozenset({"step_token", OUTPUT}), frozenset({"project"}))
RECOVER: Final = Form("recover", frozenset({"execution_id"}), frozenset({"project"}))
BY_RUN: Final = Form("control", frozenset({"execution_id", "action"}), frozenset({"reason", "project"}))
BY_TOKEN: Final = Form("control", frozenset({"step_token", "action"}), frozenset({"reason", "project"}))
FORMS: Final = (START, CONTINUE, RECOVER, BY_RUN, BY_TOKEN)

_MORE: Final[Mapping[str, frozenset[str]]] = {
    FORK: frozenset({"step_name"}),
    COMPLETE_STEP: frozenset({OUTPUT}),
}


class Arguments:
    """Checks what a call brings against the schema that the tool is listed with, and nothing is coerced."""

    def __init__(self, schema: Mapping[str, Any], forms: tuple[str, ...]) -> None:
        shallow = {**schema["properties"], OUTPUT: {"type": "object"}}
        self._schema = jsonschema_rs.Draft202012Validator({**schema, "properties": shallow}, mask="it")
        self._forms = forms

    def wrong(self, given: Mapping[str, Any]) -> Refused | None:
        """Why these are no arguments of the tool; the output of a step is looked at when it is handed in."""
        found = dict(self._problems(given))
        if not found:
            return None
        seen = tuple(Seen(name, _shown(name, given.get(name))) for name in found)
        return Refused("arguments", "arguments", seen, tuple(f"{n}: {why}" for n, why in found.items()))

    def form(self, given: Mapping[str, Any]) -> Form | Refused:
        """The form that these arguments are."""
        names = frozenset(given)
        more = _MORE.get(str(given.get("action")), frozenset())
        for form in FORMS:
            if form.needs <= names <= form.needs | form.takes | more:
                return form
        return Refused("form", "forms", (Seen("arguments", sorted(names)),), self._forms)

    def _problems(self, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        for name, value in given.items():
            if not sound(value) and name != OUTPUT:
                yield name, "; ".join(f"{path} {why}".strip() for path, why in flaws(value))
            elif isinstance(value, str) and len(value) > _LONGEST:
                yield name, f"must be a text of at most {_LONGEST} characters"
        if sound({name: value for name, value in given.items() if name != OUTPUT}):
            plain = {
                name: {} if name == OUTPUT and isinstance(value, dict) else value
                for name, value in given.items()
            }
            for fault in self._schema.iter_errors(plain):
                path = [str(part) for part in fault.instance_path]
                yield ".".join(path) or "arguments", fault.message.removeprefix("it ")


def _shown(name: str, value: Any) -> Any:  # noqa: ANN401 - whatever was sent
    if name in _SECRET:
        return f"<{type(value).__name__}>"
    return value
