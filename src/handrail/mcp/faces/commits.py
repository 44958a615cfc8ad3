"""The face `commits`: plan a commit in its own message; every answer says what comes next.

The workflow defines the tools, and what each state recommends, asks and refuses. This module renders replies.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from msgspec.structs import replace

from handrail.app.app import App
from handrail.app.faces import TOKEN_ARGUMENT, Answer, CallFailure, Question, Tool
from handrail.documents.plan.data import describe_plan
from handrail.documents.plan.edit import MAX_WRITTEN_LEVEL
from handrail.documents.plan.grammar import COMMITS
from handrail.documents.plan.model import Plan, PlanState
from handrail.documents.plan.parse import parse_plan
from handrail.documents.plan.stages import Phase, measure_progress
from handrail.engine.facts import Value
from handrail.engine.model import Accepted, Actor, Refused
from handrail.engine.model import Tool as Declared
from handrail.engine.refusals import RefusalCode
from handrail.mcp.addresses import Spelling
from handrail.mcp.faces.replies import (
    format_comments,
    format_next_calls,
    format_why,
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
from handrail.runtime.facts import MAX_QUOTED_BYTES, get_template_text
from handrail.runtime.records import Caller
from handrail.runtime.status import Outlook, build_outlook
from handrail.runtime.turn import Outcome, Reply, ReplyRenderer
from handrail.workflows.registry import DESCRIPTION_PATH
from handrail.workflows.templates import Texts, quote_text

FACE: Final = "commits"


class CommitsStatus(StrEnum):
    """The `status` of a reply."""

    SUCCESS = "success"
    ERROR = "error"


_RAW_FIELD: Final = "raw_commit_content"

_PERSON_FIELD: Final = "person"
"""The reply field with the question for a person, removed before the reply is sent; also a part of a text."""

_MAX_SHOWN_BYTES: Final = 4 * 1024
"""How many bytes of a commit message a question to a person shows."""

_QUESTION_PARTS: Final = {"demands": True, "asks": False}
"""The parts of a text that ask the agent something; true if the agent must confirm."""

_SHOWS_KEY: Final = "shows"
"""The key by which a workflow says which part of the plan a tool shows."""


def _task_schema(level: int) -> dict[str, Any]:
    """Return the schema of a task at a level. A task that is too deep is rejected by the plan, not here."""
    below = _task_schema(level + 1) if level < MAX_WRITTEN_LEVEL else {"type": "object"}
    return {
        "type": "object",
        "properties": {
            "summary": TEXT_SCHEMA,
            "details": TEXT_SCHEMA,
            "completed": {"type": "boolean", "default": False},
            "children": {"type": "array", "items": below},
            "level": {"type": "integer", "minimum": 0, "maximum": MAX_WRITTEN_LEVEL},
        },
        "required": ["summary", "details"],
        "additionalProperties": False,
    }


_PARAMETER_SCHEMAS: Final[Mapping[str, Mapping[str, Any]]] = {
    "tasks": {"type": "array", "items": _task_schema(0)}
}
"""The schemas of the parameters that are JSON."""

_TASKS_SCHEMA: Final[Mapping[str, Any]] = {"type": "array", "items": {"type": "object"}}
_BOOL_SCHEMA: Final[Mapping[str, Any]] = {"type": "boolean"}
_COUNT_SCHEMA: Final[Mapping[str, Any]] = {"type": "integer"}

_STATE_PROPERTIES: Final[Mapping[str, Any]] = {
    "phase": {"enum": [str(phase) for phase in Phase]},
    "has_goal": _BOOL_SCHEMA,
    "has_description": _BOOL_SCHEMA,
    "has_constraints": _BOOL_SCHEMA,
    "has_tasks": _BOOL_SCHEMA,
    "total_tasks": _COUNT_SCHEMA,
    "completed_tasks": _COUNT_SCHEMA,
}

_ACTION_PROPERTIES: Final[Mapping[str, Any]] = {
    "recommended": TEXTS_SCHEMA,
    "blocked": TEXTS_SCHEMA,
    "available": TEXTS_SCHEMA,
}

_ANSWER_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "status": {"enum": [str(status) for status in CommitsStatus]},
        "action_taken": TEXT_SCHEMA,
        "current_state": {
            "type": "object",
            "properties": {**_STATE_PROPERTIES, "current_task_id": TEXT_SCHEMA},
            "required": list(_STATE_PROPERTIES),
        },
        "next_actions": {
            "type": "object",
            "properties": _ACTION_PROPERTIES,
            "required": list(_ACTION_PROPERTIES),
        },
        "alignment_check": {
            "type": "object",
            "properties": {"question": TEXT_SCHEMA, "required_confirmation": _BOOL_SCHEMA},
            "required": ["question", "required_confirmation"],
        },
        _RAW_FIELD: TEXT_SCHEMA,
        "plan": {"type": "object", "required": ["header", "description", "constraints", "tasks", "metadata"]},
        "constraints": TEXTS_SCHEMA,
        "tasks": _TASKS_SCHEMA,
        TOKEN_ARGUMENT: TEXT_SCHEMA,
        **COMMENTS_PROPERTY,
        **REFUSAL_PROPERTIES,
    },
    "required": ["status", "action_taken", "current_state", "next_actions"],
}


def build_face(app: App, names: Spelling) -> "CommitsFace":
    """Build the face over an app. Its tools have one spelling only."""
    del names
    return CommitsFace(app, load_face_workflow(app.projects, FACE))


class CommitsFace(DescriptionFace):
    """The face over the commit descriptions of a server's projects, recorded in the shared store."""

    SHAPES, ANSWERS, GRAMMAR = _PARAMETER_SCHEMAS, _ANSWER_SCHEMA, COMMITS

    @property
    def instructions(self) -> str:
        """The text of the workflow's first prompt."""
        return self.prompt(self.prompts()[0].name, {}).rstrip("\n")

    def answer_failure(self, tool: Tool, arguments: Mapping[str, Any], failed: CallFailure) -> Answer:
        """Return a failure in the form of a refusal. If version control failed, no tool is available."""
        critical = is_vcs_failure(failed)
        values = {"code": failed.code, "message": failed.message, "repair": failed.needed}
        name, again = tool.names[0], [tool.names[0]] if failed.again else []
        actions: dict[str, list[str]] = {"recommended": again, "blocked": [], "available": again}
        if critical:
            stopped = [self._texts.say("stopped", tool=one, **values) for one in self._workflow.tools]
            actions = {
                "recommended": [self._texts.say("repair", **values)],
                "blocked": stopped,
                "available": [],
            }
        reply = {
            "status": CommitsStatus.ERROR,
            "action_taken": self._texts.say("critical" if critical else "failed", **values),
            "current_state": describe_plan_state(Plan(PlanState.EMPTY)),
            "next_actions": actions,
            **failure_data(name, arguments, failed),
        }
        return Answer(reply, self._markdown(reply, ""), failed=True)

    def call(self, tool: Tool, arguments: Mapping[str, Any], caller: Caller) -> Answer | Question:
        """Answer a call, or ask a person first if the text of the taken row names a parameter to fill."""
        answer = self._answer(tool, arguments, caller)
        if _PERSON_FIELD not in answer.reply:
            return answer
        reply = {name: value for name, value in answer.reply.items() if name != _PERSON_FIELD}
        question, text = answer.reply[_PERSON_FIELD], str(reply[_RAW_FIELD])
        boundary = self._app.world.ids.nonce().hex()
        shown = quote_text(text, self._texts.say("plan_label"), boundary, _MAX_SHOWN_BYTES, kind="the")
        subject = f"{self._find_root(arguments)}\n{text}".encode("utf-8", "surrogatepass")

        def answer_with(choice: str) -> Answer:
            return self._answer(tool, {**arguments, question["fills"]: choice}, caller)

        return Question(
            self._texts.say("asked", shown=shown, form=question["form"]),
            question["fills"],
            question["options"],
            hashlib.sha256(subject).hexdigest(),
            answer_with,
            replace(answer, reply=reply),
        )

    def _renderer(
        self, tool: Declared, given: Mapping[str, Any], here: OpenDescription | None
    ) -> ReplyRenderer:
        return _ReplyRenderer(self._texts, self._workflow, tool, given, here).reply

    def _reply_to_read(self, tool: Declared, given: Mapping[str, Any], here: OpenDescription) -> Reply:
        stored = here.runs.load("")
        return add_undelivered_comments(
            self._renderer(tool, given, here)(Outcome(Accepted(stored.run), stored)), stored
        )

    def _markdown(self, reply: Mapping[str, Any], boundary: str) -> str:
        return "\n\n".join(_markdown_sections(self._texts, reply, boundary))


def describe_plan_state(plan: Plan) -> dict[str, Value]:
    """Return the `current_state` of a reply: the phase of the plan and its progress."""
    progress = measure_progress(plan)
    return {
        "phase": str(progress.phase),
        "has_goal": progress.has_goal,
        "has_description": progress.has_description,
        "has_constraints": progress.has_constraints,
        "has_tasks": progress.has_tasks,
        **({"current_task_id": progress.current} if progress.current else {}),
        "total_tasks": progress.total,
        "completed_tasks": progress.ticked,
    }


@dataclass(frozen=True, slots=True)
class _ReplyRenderer(ReplyContext):
    """Renders the outcome of one call."""

    def reply(self, outcome: Outcome) -> Reply:
        """Return the reply as data."""
        row_texts = {name: part.rstrip("\n") for text in outcome.texts for name, part in text.items()}
        refused = outcome.decision if isinstance(outcome.decision, Refused) else None
        text = (
            outcome.describes if outcome.describes is not None else self.here.runs.text if self.here else ""
        )
        plan, outlook = parse_plan(text, COMMITS), self._outlook(outcome)
        error = row_texts.get("error") or self.texts.error(refused.code, refused.rule) if refused else ""
        done = [
            row_texts.get("action") or (outlook.says.get("action", "") if outlook else ""),
            row_texts.get("notes", ""),
        ]
        raw = outlook is not None and outlook.state.extra.get("raw") is True
        return {
            "status": CommitsStatus.ERROR if refused else CommitsStatus.SUCCESS,
            "action_taken": error or "\n".join(part.rstrip("\n") for part in done if part),
            "current_state": describe_plan_state(plan),
            "next_actions": self._actions(outlook, error),
            **self._question(row_texts, outlook),
            **(self._person_question(row_texts, outlook) if "fills" in row_texts and outlook else {}),
            **({_RAW_FIELD: text} if raw else self._plan_part(plan, refused)),
            **(outcome.token_field or (outlook.shown.token_field if outlook else {})),
            **(self._refusal(refused, error, row_texts) if refused else {}),
        }

    def _outlook(self, outcome: Outcome) -> Outlook | None:
        """Return the state after the call and what is possible from there; None without a run."""
        if self.here is None or outcome.stored is None:
            return None
        text = outcome.describes
        left = {} if text is None else {DESCRIPTION_PATH: text.encode("utf-8", "surrogatepass")}
        return build_outlook(self.here.world, outcome.stored, left)

    def _actions(self, outlook: Outlook | None, error: str) -> dict[str, Value]:
        """Return the recommended tools, the blocked ones with the reason, and those that can be called."""
        if outlook is None:
            blocked = [f"{name}: {error}" for name in self.workflow.tools]
            return {"recommended": [], "blocked": blocked, "available": []}
        tools, says = self.workflow.tools, outlook.says
        unsaid, open_ = self.texts.say("nothing_said"), {one.trigger for one in outlook.shown.options}
        return {
            "recommended": [f"{name}: {part}" for name, part in says.items() if name in tools],
            "blocked": [f"{name}: {text.get('blocked', unsaid)}" for name, text in outlook.closed.items()],
            "available": [name for name, tool in tools.items() if tool.reads or name in open_],
        }

    def _question(self, row_texts: Mapping[str, str], outlook: Outlook | None) -> dict[str, Value]:
        """Return the question to the agent: from the row that was taken, or else from the state."""
        source, form = row_texts, ""
        if outlook is not None and not row_texts.keys() & _QUESTION_PARTS.keys():
            source, form = (
                outlook.says,
                get_template_text(self.workflow, str(outlook.state.extra.get("form", ""))),
            )
        for kind, confirmed in _QUESTION_PARTS.items():
            if kind in source:
                question = f"{source[kind]}\n{form}".rstrip("\n")
                return {"alignment_check": {"question": question, "required_confirmation": confirmed}}
        return {}

    def _person_question(self, row_texts: Mapping[str, str], outlook: Outlook) -> dict[str, Value]:
        """Return the question to a person: which parameter to fill, and its choices with their titles."""
        choices = self.tool.params[row_texts["fills"]].choices
        form = self.workflow.texts[str(outlook.state.extra["form"])].parts[_PERSON_FIELD]
        options: dict[str, Value] = {str(choice): row_texts[str(choice)] for choice in choices}
        return {_PERSON_FIELD: {"fills": row_texts["fills"], "options": options, "form": form}}

    def _plan_part(self, plan: Plan, refused: Refused | None) -> dict[str, Value]:
        """Return the part of the plan that the tool shows; the whole plan if the call was superseded."""
        superseded = refused is not None and refused.code is RefusalCode.SUPERSEDED
        what = "plan" if superseded else str(self.tool.extra.get(_SHOWS_KEY, "")) if refused is None else ""
        data = describe_plan(plan, COMMITS)
        whole = {"description": "", "constraints": [], "tasks": [], **data}
        if what == "plan":
            parts = ("header", "description", "constraints", "tasks", "metadata")
            return {"plan": {name: whole[name] for name in parts}} if plan.header else {}
        return {what: whole[what]} if what else {}

    def _refusal(self, refused: Refused, error: str, row_texts: Mapping[str, str]) -> dict[str, Value]:
        why = refusal_reasons(refused)
        return {
            "code": refused.code,
            "why": why if refused.needed else {**why, "needed": [error]},
            "next": list(self._next_calls(row_texts.get("again", ""))),
        }

    def _next_calls(self, missing: str) -> Iterator[Mapping[str, Value]]:
        """Yield the same call with the flag it lacks, and the call that reads the current state."""
        if missing:
            given = {name: value for name, value in self.given.items() if name != TOKEN_ARGUMENT}
            yield next_call(self.tool.name, Actor.AGENT, {**given, missing: True})
        named = (
            {PROJECT_ARGUMENT: self.given[PROJECT_ARGUMENT]}
            if self.here and PROJECT_ARGUMENT in self.given
            else {}
        )
        reads = next(tool for tool in self.workflow.tools.values() if tool.reads)
        yield next_call(reads.name, Actor.AGENT, named)


def _markdown_sections(texts: Texts, reply: Mapping[str, Any], boundary: str) -> Iterator[str]:
    yield str(reply["action_taken"])
    state = ", ".join(f"{name} {_format_value(value)}" for name, value in reply["current_state"].items())
    named = [f"{name}: {reply[name]}" for name in ("status", "code", TOKEN_ARGUMENT) if name in reply]
    yield "\n".join([*named, f"current_state: {state}"])
    actions = reply["next_actions"]
    for name in ("recommended", "blocked"):
        yield "\n".join([f"{name}:", *(f"- {one}" for one in actions[name] or [texts.say("none")])])
    yield f"available: {', '.join(actions['available']) or texts.say('none')}"
    if "alignment_check" in reply:
        check = reply["alignment_check"]
        confirmed = _format_value(check["required_confirmation"])
        yield f"alignment_check (required_confirmation {confirmed}):\n{check['question']}"
    if COMMENTS_KEY in reply:
        yield format_comments(reply[COMMENTS_KEY])
    if "why" in reply:
        yield format_why(reply["why"])
    if reply.get("next"):
        yield format_next_calls(reply["next"])
    lines = list(_plan_lines(reply))
    if lines:
        yield quote_text("\n".join(lines), texts.say("plan_label"), boundary, MAX_QUOTED_BYTES, kind="the")


def _plan_lines(reply: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that show the plan; each task is preceded by its id."""
    plan = reply.get("plan", {})
    if plan:
        header = ", ".join(f"{name} {_format_value(value)}" for name, value in plan["header"].items())
        counted = ", ".join(f"{name} {_format_value(value)}" for name, value in plan["metadata"].items())
        yield from (header, counted, plan["description"])
    for constraint in plan.get("constraints", reply.get("constraints", ())):
        yield f"- {constraint}"
    waiting: list[Mapping[str, Any]] = list(reversed(plan.get("tasks", reply.get("tasks", ()))))
    while waiting:
        task = waiting.pop()
        box = "x" if task["completed"] else " "
        yield f"{'  ' * task['level']}- [{box}] ({task['id']}) {task['summary']}: {task['details']}"
        waiting += reversed(task["children"])


def _format_value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
