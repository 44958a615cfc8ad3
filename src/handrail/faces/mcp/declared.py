"""What the faces have in common whose tools stand in a workflow: lists, failures, the world of a folder."""

from collections.abc import Mapping
from typing import Any, Final

from handrail.engine.facts import Kind
from handrail.engine.model import Refused, Variable, Who
from handrail.faces.mcp.face import Failed, Stand
from handrail.faces.mcp.replies import following
from handrail.shell.comments import TOLD
from handrail.shell.turn import Outcome

TEXT: Final[Mapping[str, Any]] = {"type": "string"}
REFUSAL: Final[Mapping[str, Any]] = {
    "code": TEXT,
    "why": {"type": "object", "required": ["rule", "seen", "needed"]},
    "next": {"type": "array", "items": {"type": "object", "required": ["tool", "arguments", "who"]}},
}
"""What the schema of an answer says of a refusal."""

REMARKS: Final[Mapping[str, Any]] = {TOLD: {"type": "array", "items": TEXT}}
"""What it says of the comments of people."""

_TYPES: Final = {Kind.BOOL: "boolean", Kind.INT: "integer", Kind.FLOAT: "number", Kind.STRING: "string"}


def parameter(variable: Variable) -> dict[str, Any]:
    """A parameter of a tool as it is listed."""
    about = {"description": variable.about} if variable.about else {}
    if variable.choices:
        return {"enum": list(variable.choices), **about}
    return {"type": _TYPES[variable.type.kind], **about}


def annotations(title: str, *, reads: bool) -> dict[str, Any]:
    """What a client is told of a tool that only ever adds, and nowhere but here."""
    return {
        "title": title,
        "readOnlyHint": reads,
        "destructiveHint": False,
        "idempotentHint": reads,
        "openWorldHint": False,
    }


def failure(tool: str, arguments: Mapping[str, Any], failed: Failed) -> dict[str, Any]:
    """The part of a reply that says why a call failed, and which may be sent again."""
    return {
        "code": failed.code,
        "why": {"rule": failed.rule, "seen": [], "needed": [failed.needed]},
        "next": [following(tool, Who.AGENT, dict(arguments))] if failed.again else [],
    }


def token_of(outcome: Outcome) -> dict[str, str]:
    """The token to go on with, if there is one."""
    token = next(iter((outcome.tokens or {}).values()), "")
    return {"step_token": token} if token else {}


def stand(outcome: Outcome, shown: str = "", far: tuple[int, int] = (0, 0)) -> Stand | None:
    """Where a run stands that was looked at; `shown` is its name in the common store, if it has another."""
    stored, workflow = outcome.stored, outcome.workflow
    if isinstance(outcome.decision, Refused) or stored is None or workflow is None:
        return None
    return Stand(shown or stored.run.id, workflow, stored.run, outcome.facts or {}, *far)
