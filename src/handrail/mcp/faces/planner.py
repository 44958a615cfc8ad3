"""The face `planner`: keep a goal, its details and its tasks in the description of the commit.

The workflow defines the tools, what each stage asks for, and why a call is refused. This module renders the
replies.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from handrail.app.app import App
from handrail.app.faces import TOKEN_ARGUMENT, Answer, CallFailure, Tool
from handrail.documents.plan.data import describe_plan
from handrail.documents.plan.grammar import COMMIT_MESSAGE
from handrail.documents.plan.model import Plan, PlanState
from handrail.documents.plan.parse import parse_plan
from handrail.engine.facts import Value
from handrail.engine.model import Actor, Refused
from handrail.engine.model import Tool as Declared
from handrail.mcp.addresses import Spelling
from handrail.mcp.faces.replies import (
    format_comments,
    format_next_calls,
    format_why,
    load_face_texts,
    next_call,
    refusal_reasons,
)
from handrail.mcp.faces.shared import (
    COMMENTS_PROPERTY,
    PROJECT_ARGUMENT,
    REFUSAL_PROPERTIES,
    TEXT_SCHEMA,
    TEXTS_SCHEMA,
    DescriptionFace,
    OpenDescription,
    ReplyContext,
    failure_data,
    is_vcs_failure,
    load_face_workflow,
)
from handrail.runtime.comments import COMMENTS_KEY, add_undelivered_comments
from handrail.runtime.errors import FaultCode
from handrail.runtime.facts import MAX_QUOTED_BYTES, describe_plan_problems, detect_plan_state
from handrail.runtime.ports.turn import Changes
from handrail.runtime.status import inspect_run
from handrail.runtime.turn import Outcome, Reply, ReplyRenderer
from handrail.workflows.templates import Texts, quote_text

FACE: Final = "planner"
KEEP_ARGUMENT: Final = "keep"

MAX_LISTED_FILES: Final = 50
"""The maximum number of changed files in a reply."""

_NOT_STARTED_CODES: Final = frozenset({FaultCode.VCS_MISSING_TOOL, FaultCode.VCS_TIMEOUT})

_PARAMETER_SCHEMAS: Final[Mapping[str, Mapping[str, Any]]] = {
    "goal": {
        "type": "object",
        "properties": {
            "type": {"enum": list(COMMIT_MESSAGE.types)},
            "scope": {**TEXT_SCHEMA, "description": load_face_texts(FACE).say("scope")},
            "breaking": {"type": "boolean", "default": False},
            "title": {
                **TEXT_SCHEMA,
                "description": load_face_texts(FACE).say("title", most=COMMIT_MESSAGE.max_title_length),
            },
        },
        "required": ["type", "scope", "title"],
        "additionalProperties": False,
    },
    "plan": {
        "type": "array",
        "items": {
            "type": "array",
            "prefixItems": [{"type": "boolean"}, TEXT_SCHEMA, {"type": "array"}],
            "minItems": 3,
            "maxItems": 3,
        },
    },
}
"""The schemas of the parameters that are JSON."""

_ANSWER_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "stage": TEXT_SCHEMA,
        "message": TEXT_SCHEMA,
        "plan": {"type": "object"},
        "options": TEXTS_SCHEMA,
        "files": {"type": "array", "items": {"type": "object", "required": ["path", "status"]}},
        "files_total": {"type": "integer"},
        TOKEN_ARGUMENT: TEXT_SCHEMA,
        "error": TEXT_SCHEMA,
        "error_type": TEXT_SCHEMA,
        **COMMENTS_PROPERTY,
        **REFUSAL_PROPERTIES,
    },
}


def build_face(app: App, names: Spelling) -> "PlannerFace":
    """Build the face over an app. Its tools have one spelling only."""
    del names
    return PlannerFace(app, load_face_workflow(app.projects, FACE))


class PlannerFace(DescriptionFace):
    """The face over the commit descriptions of a server's projects, recorded in the shared store."""

    SHAPES, ANSWERS, GRAMMAR = _PARAMETER_SCHEMAS, _ANSWER_SCHEMA, COMMIT_MESSAGE

    @property
    def instructions(self) -> str:
        """The server instructions that an agent gets before its first call."""
        return self._texts.say("instructions")

    def answer_failure(self, tool: Tool, arguments: Mapping[str, Any], failed: CallFailure) -> Answer:
        """Return a failure in the form of a refusal; those of version control as the source words them."""
        kind, error = {}, f"{failed.message}: {failed.needed}"
        if is_vcs_failure(failed):
            type_ = "command failed" if failed.code in _NOT_STARTED_CODES else "command non zero exit"
            kind = {"error_type": type_}
            values = {"type": type_, "code": failed.code, "message": failed.message, "repair": failed.needed}
            error = self._texts.say("critical", **values)
        reply = {"error": error, **kind, **failure_data(tool.names[0], arguments, failed)}
        return Answer(reply, self._markdown(reply, ""), failed=True)

    def _renderer(
        self, tool: Declared, given: Mapping[str, Any], here: OpenDescription | None
    ) -> ReplyRenderer:
        return _ReplyRenderer(self._texts, self._workflow, tool, given, here).reply

    def _reply_to_read(self, tool: Declared, given: Mapping[str, Any], here: OpenDescription) -> Reply:
        stored, changes = here.runs.load_with_changes(MAX_LISTED_FILES)
        renderer = _ReplyRenderer(self._texts, self._workflow, tool, given, here, changes)
        return add_undelivered_comments(renderer.reply(inspect_run(here.world, stored)), stored)

    def _markdown(self, reply: Mapping[str, Any], boundary: str) -> str:
        """Return the reply as Markdown, with everything that the data has."""
        return "\n\n".join(_markdown_sections(self._texts, reply, boundary))


@dataclass(frozen=True, slots=True)
class _ReplyRenderer(ReplyContext):
    """Renders the outcome of one call; `changes` are the changed files, if the reply lists them."""

    changes: Changes | None = None

    def reply(self, outcome: Outcome) -> Reply:
        """Return the reply as data."""
        row_texts = {name: part.rstrip("\n") for text in outcome.texts for name, part in text.items()}
        if isinstance(outcome.decision, Refused):
            return self._render_refused(outcome, outcome.decision, row_texts)
        stage = self._stage_data(outcome)
        pieces = (row_texts.get("message", ""), row_texts.get("notes", ""), str(stage["message"]))
        return {**stage, "message": "\n\n".join(piece for piece in pieces if piece)}

    def _stage_data(self, outcome: Outcome) -> dict[str, Value]:
        """Return the stage of the plan after the call, and what that stage asks for."""
        if self.here is None:
            return {}
        text = self.here.runs.text if outcome.describes is None else outcome.describes
        plan = parse_plan(text)
        extra = self.workflow.states[detect_plan_state(plan)].extra
        refused = isinstance(outcome.decision, Refused)
        shown = outcome
        if refused and outcome.stored and not outcome.tokens:
            shown = inspect_run(self.here.world, outcome.stored)
        open_ = shown.decision.next if isinstance(shown.decision, Refused) else shown.options
        reply: dict[str, Value] = {
            "stage": str(extra["stage"]),
            **({} if refused else {"message": str(extra["guidance"]).rstrip("\n")}),
            "plan": _plan_data(plan, text),
            "options": [option.trigger for option in open_],
            **shown.token_field,
        }
        if self.changes:
            reply["files"] = [{"path": one.path, "status": one.status} for one in self.changes.files]
            reply["files_total"] = self.changes.total
        return reply

    def _render_refused(self, outcome: Outcome, refused: Refused, row_texts: Mapping[str, str]) -> Reply:
        error = row_texts.get("error") or self.texts.error(refused.code, refused.rule)
        why = refusal_reasons(refused)
        return {
            **self._stage_data(outcome),
            "error": error,
            **({"error_type": row_texts["error_type"]} if "error_type" in row_texts else {}),
            "code": refused.code,
            "why": why if refused.needed else {**why, "needed": [error]},
            "next": list(self._next_calls()),
        }

    def _next_calls(self) -> Iterator[Mapping[str, Value]]:
        """Yield the call that keeps a text that is not a plan, and the call that reads the current state."""
        unread = self.here is not None and parse_plan(self.here.runs.text).state in {
            PlanState.UNKNOWN,
            PlanState.HALTED,
        }
        if unread and KEEP_ARGUMENT in self.tool.params and self.given.get(KEEP_ARGUMENT) is not True:
            given = {name: self.given[name] for name in self.tool.params if name in self.given}
            yield next_call(self.tool.name, Actor.AGENT, {**given, KEEP_ARGUMENT: True})
        named = (
            {PROJECT_ARGUMENT: self.given[PROJECT_ARGUMENT]}
            if self.here and PROJECT_ARGUMENT in self.given
            else {}
        )
        for tool in self.workflow.tools.values():
            if tool.reads:
                yield next_call(tool.name, Actor.AGENT, named)


def _plan_data(plan: Plan, text: str) -> Mapping[str, Value]:
    """Return the text, the parts of its plan, and notes; if it is not a plan, what is wrong with it."""
    data = describe_plan(plan, COMMIT_MESSAGE)
    read = plan.state in {PlanState.EMPTY, PlanState.PARSED}
    parts = ("header", "description", "constraints", "tasks", "direction") if read else ()
    notes = [one.message for one in plan.warnings] if read else describe_plan_problems(plan)
    shown = {name: data[name] for name in parts if name in data}
    return {"text": text, **shown, **({"notes" if read else "problems": notes} if notes else {})}


def _markdown_sections(texts: Texts, reply: Mapping[str, Any], boundary: str) -> Iterator[str]:
    yield str(reply.get("error") or reply["message"])
    named = [
        f"{name}: {reply[name]}" for name in ("stage", "error_type", "code", TOKEN_ARGUMENT) if name in reply
    ]
    options = [f"options: {', '.join(reply['options']) or texts.say('none')}"] if "options" in reply else []
    yield "\n".join([*named, *options])
    if COMMENTS_KEY in reply:
        yield format_comments(reply[COMMENTS_KEY])
    if "why" in reply:
        yield format_why(reply["why"])
    if reply.get("next"):
        yield format_next_calls(reply["next"])
    if reply.get("files_total"):
        files = [f"- {one['status']}: {one['path']}" for one in reply["files"]]
        shown = texts.say("files", shown=len(files), total=reply["files_total"])
        label = texts.say("files_label")
        yield f"{shown}\n" + quote_text("\n".join(files), label, boundary, MAX_QUOTED_BYTES, kind="the")
    plan = reply.get("plan", {})
    for line in (*plan.get("notes", ()), *plan.get("problems", ())):
        yield f"- {line}"
    if plan.get("text"):
        yield quote_text(plan["text"], texts.say("plan_label"), boundary, MAX_QUOTED_BYTES, kind="the")
