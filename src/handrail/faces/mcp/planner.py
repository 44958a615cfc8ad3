"""The face `planner`: a goal, its details and its tasks, kept in the description of the commit.

Which tools there are, what each stage asks for and why something is refused stands in the workflow.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from handrail.documents.quote import bounded
from handrail.engine.facts import Value
from handrail.engine.model import Refused, Who
from handrail.engine.model import Tool as Declared
from handrail.faces.mcp.declared import REFUSAL, REMARKS, TEXT, failure, token_of
from handrail.faces.mcp.described import PROJECT, TEXTS, TOKEN, Described, Here, Teller, of_version_control
from handrail.faces.mcp.face import Answer, Failed, Tool
from handrail.faces.mcp.replies import following, reasons, told_comments, told_next, told_why
from handrail.faces.mcp.texts import Texts, texts
from handrail.plan.data import as_data
from handrail.plan.grammar import COMMIT_MESSAGE
from handrail.plan.model import Plan, State
from handrail.plan.parse import parse
from handrail.shell.comments import showing
from handrail.shell.plans import problems_of, state_of
from handrail.shell.ports import Changes
from handrail.shell.readers import QUOTED
from handrail.shell.standing import look
from handrail.shell.turn import Outcome, Render, Reply

FACE: Final = "planner"
KEEP: Final = "keep"
FILES: Final = 50
"""How many changed files are listed."""

_NOT_STARTED: Final = frozenset({"vcs_missing_tool", "vcs_timeout"})
_SHAPES: Final[Mapping[str, Mapping[str, Any]]] = {
    "goal": {
        "type": "object",
        "properties": {
            "type": {"enum": list(COMMIT_MESSAGE.types)},
            "scope": {**TEXT, "description": texts(FACE).say("scope")},
            "breaking": {"type": "boolean", "default": False},
            "title": {**TEXT, "description": texts(FACE).say("title", most=COMMIT_MESSAGE.max_title_length)},
        },
        "required": ["type", "scope", "title"],
        "additionalProperties": False,
    },
    "plan": {
        "type": "array",
        "items": {
            "type": "array",
            "prefixItems": [{"type": "boolean"}, TEXT, {"type": "array"}],
            "minItems": 3,
            "maxItems": 3,
        },
    },
}
"""What the parameters that are JSON look like."""

_ANSWERS: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "stage": TEXT,
        "message": TEXT,
        "plan": {"type": "object"},
        "options": TEXTS,
        "files": {"type": "array", "items": {"type": "object", "required": ["path", "status"]}},
        "files_total": {"type": "integer"},
        TOKEN: TEXT,
        "error": TEXT,
        "error_type": TEXT,
        **REMARKS,
        **REFUSAL,
    },
}


class Planner(Described):
    """The face over the descriptions of a server's projects, remembered in the common store."""

    SHAPES, ANSWERS, GRAMMAR = _SHAPES, _ANSWERS, COMMIT_MESSAGE

    @property
    def instructions(self) -> str:
        """What an agent is told about the face before its first call."""
        return self._texts.say("instructions")

    def failed(self, tool: Tool, arguments: Mapping[str, Any], failed: Failed) -> Answer:
        """Put a failure into the shape of a refusal; one of version control is told as the source does."""
        kind, error = {}, f"{failed.message}: {failed.needed}"
        if of_version_control(failed):
            type_ = "command failed" if failed.code in _NOT_STARTED else "command non zero exit"
            kind = {"error_type": type_}
            said = {"type": type_, "code": failed.code, "message": failed.message, "repair": failed.needed}
            error = self._texts.say("critical", **said)
        reply = {"error": error, **kind, **failure(tool.names[0], arguments, failed)}
        return Answer(reply, self._markdown(reply, ""), failed=True)

    def _told(self, tool: Declared, given: Mapping[str, Any], here: Here | None) -> Render:
        return _Teller(self._texts, self._workflow, tool, given, here).reply

    def _shown(self, tool: Declared, given: Mapping[str, Any], here: Here) -> Reply:
        stored, changes = here.runs.look(FILES)
        teller = _Teller(self._texts, self._workflow, tool, given, here, changes)
        return showing(teller.reply(look(here.world, stored)), stored)

    def _markdown(self, reply: Mapping[str, Any], boundary: str) -> str:
        """The same reply as text: nothing that the data says is missing from it."""
        return "\n\n".join(_sections(self._texts, reply, boundary))


@dataclass(frozen=True, slots=True)
class _Teller(Teller):
    """Puts the outcome of one call into words."""

    changes: Changes | None = None

    def reply(self, outcome: Outcome) -> Reply:
        """The reply, as data."""
        said = {name: part.rstrip("\n") for text in outcome.texts for name, part in text.items()}
        if isinstance(outcome.decision, Refused):
            return self._refused(outcome, outcome.decision, said)
        standing = self._standing(outcome)
        pieces = (said.get("message", ""), said.get("notes", ""), str(standing["message"]))
        return {**standing, "message": "\n\n".join(piece for piece in pieces if piece)}

    def _standing(self, outcome: Outcome) -> dict[str, Value]:
        """Where the plan stands once the call is answered, and what it asks for there."""
        if self.here is None:
            return {}
        text = self.here.runs.text if outcome.describes is None else outcome.describes
        plan = parse(text)
        extra = self.workflow.states[state_of(plan)].extra
        refused = isinstance(outcome.decision, Refused)
        shown = outcome
        if refused and outcome.stored and not outcome.tokens:
            shown = look(self.here.world, outcome.stored)
        open_ = shown.decision.next if isinstance(shown.decision, Refused) else shown.options
        reply: dict[str, Value] = {
            "stage": str(extra["stage"]),
            **({} if refused else {"message": str(extra["guidance"]).rstrip("\n")}),
            "plan": _data(plan, text),
            "options": [option.trigger for option in open_],
            **token_of(shown),
        }
        if self.changes:
            reply["files"] = [{"path": one.path, "status": one.status} for one in self.changes.files]
            reply["files_total"] = self.changes.total
        return reply

    def _refused(self, outcome: Outcome, refused: Refused, said: Mapping[str, str]) -> Reply:
        error = said.get("error") or self.texts.error(refused.code, refused.rule)
        why = reasons(refused)
        return {
            **self._standing(outcome),
            "error": error,
            **({"error_type": said["error_type"]} if "error_type" in said else {}),
            "code": refused.code,
            "why": why if refused.needed else {**why, "needed": [error]},
            "next": list(self._next()),
        }

    def _next(self) -> Iterator[Mapping[str, Value]]:
        """The call that would keep a text that is no plan, and the question where things stand."""
        unread = self.here is not None and parse(self.here.runs.text).state in {State.UNKNOWN, State.HALTED}
        if unread and KEEP in self.tool.params and self.given.get(KEEP) is not True:
            given = {name: self.given[name] for name in self.tool.params if name in self.given}
            yield following(self.tool.name, Who.AGENT, {**given, KEEP: True})
        named = {PROJECT: self.given[PROJECT]} if self.here and PROJECT in self.given else {}
        for tool in self.workflow.tools.values():
            if tool.reads:
                yield following(tool.name, Who.AGENT, named)


def _data(plan: Plan, text: str) -> Mapping[str, Value]:
    """The text, what the plan in it says, and what was noted of it; if it is none, what is wrong with it."""
    told = as_data(plan, COMMIT_MESSAGE)
    read = plan.state in {State.EMPTY, State.PARSED}
    parts = ("header", "description", "constraints", "tasks", "direction") if read else ()
    notes = [one.message for one in plan.warnings] if read else problems_of(plan)
    found = {name: told[name] for name in parts if name in told}
    return {"text": text, **found, **({"notes" if read else "problems": notes} if notes else {})}


def _sections(texts_: Texts, reply: Mapping[str, Any], boundary: str) -> Iterator[str]:
    yield str(reply.get("error") or reply["message"])
    named = [f"{name}: {reply[name]}" for name in ("stage", "error_type", "code", TOKEN) if name in reply]
    options = [f"options: {', '.join(reply['options']) or texts_.say('none')}"] if "options" in reply else []
    yield "\n".join([*named, *options])
    yield from told_comments(reply)
    if "why" in reply:
        yield told_why(reply["why"])
    if reply.get("next"):
        yield told_next(reply["next"])
    if reply.get("files_total"):
        files = [f"- {one['status']}: {one['path']}" for one in reply["files"]]
        shown = texts_.say("files", shown=len(files), total=reply["files_total"])
        label = texts_.say("files_label")
        yield f"{shown}\n" + bounded("\n".join(files), label, boundary, QUOTED, kind="the")
    plan = reply.get("plan", {})
    for line in (*plan.get("notes", ()), *plan.get("problems", ())):
        yield f"- {line}"
    if plan.get("text"):
        yield bounded(plan["text"], texts_.say("plan_label"), boundary, QUOTED, kind="the")
