"""The face `commits`: a commit that is planned in its own message, and every answer says what comes next.

Which tools there are, what each state recommends, asks and refuses stands in the workflow.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace

from handrail.documents.quote import bounded
from handrail.engine.facts import Value
from handrail.engine.model import Accepted, Refused, Who
from handrail.engine.model import Tool as Declared
from handrail.faces.mcp.declared import REFUSAL, REMARKS, TEXT, failure, token_of
from handrail.faces.mcp.described import PROJECT, TEXTS, TOKEN, Described, Here, Teller, of_version_control
from handrail.faces.mcp.face import Answer, Failed, Question, Tool
from handrail.faces.mcp.replies import following, reasons, told_comments, told_next, told_why
from handrail.faces.mcp.texts import Texts
from handrail.plan.data import as_data
from handrail.plan.edit import DEEPEST
from handrail.plan.grammar import COMMITS
from handrail.plan.model import Plan, State
from handrail.plan.parse import parse
from handrail.plan.stage import Phase, progress
from handrail.shell.ahead import Ahead, ahead
from handrail.shell.comments import showing
from handrail.shell.readers import QUOTED, template
from handrail.shell.records import Caller
from handrail.shell.turn import Outcome, Render, Reply
from handrail.workflows.registry import DESCRIPTION

FACE: Final = "commits"
_RAW: Final = "raw_commit_content"
_PERSON: Final = "person"
"""Where a reply says what a person may be asked, until it is told; and the part of a text for them."""

_SHORT: Final = 4 * 1024
"""How many bytes of a commit message a person is shown who is asked about it."""

_ASKS: Final = {"demands": True, "asks": False}
"""The parts of a text that ask the agent something: must it confirm?"""

_SUPERSEDED: Final = "superseded"
_SHOWS: Final = "shows"
"""What a workflow notes of a tool, if it shows a part of the plan: which."""


def _task(level: int) -> dict[str, Any]:
    """The schema of a task on a level; one that is too deep is told so by the plan itself."""
    below = _task(level + 1) if level < DEEPEST else {"type": "object"}
    return {
        "type": "object",
        "properties": {
            "summary": TEXT,
            "details": TEXT,
            "completed": {"type": "boolean", "default": False},
            "children": {"type": "array", "items": below},
            "level": {"type": "integer", "minimum": 0, "maximum": DEEPEST},
        },
        "required": ["summary", "details"],
        "additionalProperties": False,
    }


_SHAPES: Final[Mapping[str, Mapping[str, Any]]] = {"tasks": {"type": "array", "items": _task(0)}}
"""What the parameters that are JSON look like."""

_NODES: Final[Mapping[str, Any]] = {"type": "array", "items": {"type": "object"}}
_BOOL: Final[Mapping[str, Any]] = {"type": "boolean"}
_COUNT: Final[Mapping[str, Any]] = {"type": "integer"}
_STATE: Final[Mapping[str, Any]] = {
    "phase": {"enum": [str(phase) for phase in Phase]},
    "has_goal": _BOOL,
    "has_description": _BOOL,
    "has_constraints": _BOOL,
    "has_tasks": _BOOL,
    "total_tasks": _COUNT,
    "completed_tasks": _COUNT,
}
_ACTIONS: Final[Mapping[str, Any]] = {"recommended": TEXTS, "blocked": TEXTS, "available": TEXTS}
_ANSWERS: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "status": {"enum": ["success", "error"]},
        "action_taken": TEXT,
        "current_state": {
            "type": "object",
            "properties": {**_STATE, "current_task_id": TEXT},
            "required": list(_STATE),
        },
        "next_actions": {"type": "object", "properties": _ACTIONS, "required": list(_ACTIONS)},
        "alignment_check": {
            "type": "object",
            "properties": {"question": TEXT, "required_confirmation": _BOOL},
            "required": ["question", "required_confirmation"],
        },
        _RAW: TEXT,
        "plan": {"type": "object", "required": ["header", "description", "constraints", "tasks", "metadata"]},
        "constraints": TEXTS,
        "tasks": _NODES,
        TOKEN: TEXT,
        **REMARKS,
        **REFUSAL,
    },
    "required": ["status", "action_taken", "current_state", "next_actions"],
}


class Commits(Described):
    """The face over the descriptions of a server's projects, remembered in the common store."""

    SHAPES, ANSWERS, GRAMMAR = _SHAPES, _ANSWERS, COMMITS

    @property
    def instructions(self) -> str:
        """The first prompt of the workflow."""
        return self.prompt(self.prompts()[0].name, {}).rstrip("\n")

    def failed(self, tool: Tool, arguments: Mapping[str, Any], failed: Failed) -> Answer:
        """Put a failure into the shape of a refusal; after one of version control, no tool can be called."""
        critical = of_version_control(failed)
        said = {"code": failed.code, "message": failed.message, "repair": failed.needed}
        name, again = tool.names[0], [tool.names[0]] if failed.again else []
        actions: dict[str, list[str]] = {"recommended": again, "blocked": [], "available": again}
        if critical:
            stopped = [self._texts.say("stopped", tool=one, **said) for one in self._workflow.tools]
            actions = {
                "recommended": [self._texts.say("repair", **said)],
                "blocked": stopped,
                "available": [],
            }
        reply = {
            "status": "error",
            "action_taken": self._texts.say("critical" if critical else "failed", **said),
            "current_state": standing(Plan(State.EMPTY)),
            "next_actions": actions,
            **failure(name, arguments, failed),
        }
        return Answer(reply, self._markdown(reply, ""), failed=True)

    def call(self, tool: Tool, arguments: Mapping[str, Any], caller: Caller) -> Answer | Question:
        """Answer a call; where the text that is said names a parameter, a person is asked for it first."""
        answer = self._answer(tool, arguments, caller)
        if _PERSON not in answer.reply:
            return answer
        told = {name: value for name, value in answer.reply.items() if name != _PERSON}
        asks, text = answer.reply[_PERSON], str(told[_RAW])
        boundary = self._serving.world.ids.nonce().hex()
        shown = bounded(text, self._texts.say("plan_label"), boundary, _SHORT, kind="the")
        of = f"{self._root(arguments)}\n{text}".encode("utf-8", "surrogatepass")

        def answered(choice: str) -> Answer:
            return self._answer(tool, {**arguments, asks["fills"]: choice}, caller)

        return Question(
            self._texts.say("asked", shown=shown, form=asks["form"]),
            asks["fills"],
            asks["options"],
            hashlib.sha256(of).hexdigest(),
            answered,
            replace(answer, reply=told),
        )

    def _told(self, tool: Declared, given: Mapping[str, Any], here: Here | None) -> Render:
        return _Teller(self._texts, self._workflow, tool, given, here).reply

    def _shown(self, tool: Declared, given: Mapping[str, Any], here: Here) -> Reply:
        stored = here.runs.load("")
        return showing(self._told(tool, given, here)(Outcome(Accepted(stored.run), stored)), stored)

    def _markdown(self, reply: Mapping[str, Any], boundary: str) -> str:
        return "\n\n".join(_sections(self._texts, reply, boundary))


def standing(plan: Plan) -> dict[str, Value]:
    """The `PlanState` of a plan."""
    found = progress(plan)
    return {
        "phase": str(found.phase),
        "has_goal": found.has_goal,
        "has_description": found.has_description,
        "has_constraints": found.has_constraints,
        "has_tasks": found.has_tasks,
        **({"current_task_id": found.current} if found.current else {}),
        "total_tasks": found.total,
        "completed_tasks": found.ticked,
    }


@dataclass(frozen=True, slots=True)
class _Teller(Teller):
    """Puts the outcome of one call into words."""

    def reply(self, outcome: Outcome) -> Reply:
        """The reply, as data."""
        said = {name: part.rstrip("\n") for text in outcome.texts for name, part in text.items()}
        refused = outcome.decision if isinstance(outcome.decision, Refused) else None
        text = (
            outcome.describes if outcome.describes is not None else self.here.runs.text if self.here else ""
        )
        plan, here = parse(text, COMMITS), self._ahead(outcome)
        error = said.get("error") or self.texts.error(refused.code, refused.rule) if refused else ""
        done = [said.get("action") or (here.says.get("action", "") if here else ""), said.get("notes", "")]
        raw = here is not None and here.state.extra.get("raw") is True
        return {
            "status": "error" if refused else "success",
            "action_taken": error or "\n".join(part.rstrip("\n") for part in done if part),
            "current_state": standing(plan),
            "next_actions": self._actions(here, error),
            **self._question(said, here),
            **(self._person(said, here) if "fills" in said and here else {}),
            **({_RAW: text} if raw else self._shown(plan, refused)),
            **(token_of(outcome) or (token_of(here.shown) if here else {})),
            **(self._refusal(refused, error, said) if refused else {}),
        }

    def _ahead(self, outcome: Outcome) -> Ahead | None:
        """Where things stand once the call is answered."""
        if self.here is None or outcome.stored is None:
            return None
        text = outcome.describes
        left = {} if text is None else {DESCRIPTION: text.encode("utf-8", "surrogatepass")}
        return ahead(self.here.world, outcome.stored, left)

    def _actions(self, here: Ahead | None, error: str) -> dict[str, Value]:
        """What is recommended, what is blocked and why, and what can be called."""
        if here is None:
            blocked = [f"{name}: {error}" for name in self.workflow.tools]
            return {"recommended": [], "blocked": blocked, "available": []}
        tools, says = self.workflow.tools, here.says
        unsaid, open_ = self.texts.say("nothing_said"), {one.trigger for one in here.shown.options}
        return {
            "recommended": [f"{name}: {part}" for name, part in says.items() if name in tools],
            "blocked": [f"{name}: {text.get('blocked', unsaid)}" for name, text in here.closed.items()],
            "available": [name for name, tool in tools.items() if tool.reads or name in open_],
        }

    def _question(self, said: Mapping[str, str], here: Ahead | None) -> dict[str, Value]:
        """What the agent is asked: by the row that was taken, or else by the state."""
        asking, form = said, ""
        if here is not None and not said.keys() & _ASKS.keys():
            asking, form = here.says, template(self.workflow, str(here.state.extra.get("form", "")))
        for kind, confirmed in _ASKS.items():
            if kind in asking:
                question = f"{asking[kind]}\n{form}".rstrip("\n")
                return {"alignment_check": {"question": question, "required_confirmation": confirmed}}
        return {}

    def _person(self, said: Mapping[str, str], here: Ahead) -> dict[str, Value]:
        """What a person is asked: to fill in a parameter, whose choices have their titles in the text."""
        choices = self.tool.params[said["fills"]].choices
        form = self.workflow.texts[str(here.state.extra["form"])].parts[_PERSON]
        options: dict[str, Value] = {str(one): said[str(one)] for one in choices}
        return {_PERSON: {"fills": said["fills"], "options": options, "form": form}}

    def _shown(self, plan: Plan, refused: Refused | None) -> dict[str, Value]:
        """The part of the plan that the tool shows; all of it to somebody who was overtaken."""
        overtaken = refused is not None and refused.code == _SUPERSEDED
        what = "plan" if overtaken else str(self.tool.extra.get(_SHOWS, "")) if refused is None else ""
        found = as_data(plan, COMMITS)
        whole = {"description": "", "constraints": [], "tasks": [], **found}
        if what == "plan":
            parts = ("header", "description", "constraints", "tasks", "metadata")
            return {"plan": {name: whole[name] for name in parts}} if plan.header else {}
        return {what: whole[what]} if what else {}

    def _refusal(self, refused: Refused, error: str, said: Mapping[str, str]) -> dict[str, Value]:
        why = reasons(refused)
        return {
            "code": refused.code,
            "why": why if refused.needed else {**why, "needed": [error]},
            "next": list(self._next(said.get("again", ""))),
        }

    def _next(self, missing: str) -> Iterator[Mapping[str, Value]]:
        """The same call with the word that it lacks, and the question where things stand."""
        if missing:
            given = {name: value for name, value in self.given.items() if name != TOKEN}
            yield following(self.tool.name, Who.AGENT, {**given, missing: True})
        named = {PROJECT: self.given[PROJECT]} if self.here and PROJECT in self.given else {}
        reads = next(tool for tool in self.workflow.tools.values() if tool.reads)
        yield following(reads.name, Who.AGENT, named)


def _sections(texts: Texts, reply: Mapping[str, Any], boundary: str) -> Iterator[str]:
    yield str(reply["action_taken"])
    state = ", ".join(f"{name} {_plain(value)}" for name, value in reply["current_state"].items())
    named = [f"{name}: {reply[name]}" for name in ("status", "code", TOKEN) if name in reply]
    yield "\n".join([*named, f"current_state: {state}"])
    actions = reply["next_actions"]
    for name in ("recommended", "blocked"):
        yield "\n".join([f"{name}:", *(f"- {one}" for one in actions[name] or [texts.say("none")])])
    yield f"available: {', '.join(actions['available']) or texts.say('none')}"
    if "alignment_check" in reply:
        asked = reply["alignment_check"]
        confirmed = _plain(asked["required_confirmation"])
        yield f"alignment_check (required_confirmation {confirmed}):\n{asked['question']}"
    yield from told_comments(reply)
    if "why" in reply:
        yield told_why(reply["why"])
    if reply.get("next"):
        yield told_next(reply["next"])
    lines = list(_lines(reply))
    if lines:
        yield bounded("\n".join(lines), texts.say("plan_label"), boundary, QUOTED, kind="the")


def _lines(reply: Mapping[str, Any]) -> Iterator[str]:
    """What is shown of the plan, line by line; each task behind its id."""
    plan = reply.get("plan", {})
    if plan:
        header = ", ".join(f"{name} {_plain(value)}" for name, value in plan["header"].items())
        counted = ", ".join(f"{name} {_plain(value)}" for name, value in plan["metadata"].items())
        yield from (header, counted, plan["description"])
    for constraint in plan.get("constraints", reply.get("constraints", ())):
        yield f"- {constraint}"
    waiting: list[Mapping[str, Any]] = list(reversed(plan.get("tasks", reply.get("tasks", ()))))
    while waiting:
        task = waiting.pop()
        box = "x" if task["completed"] else " "
        yield f"{'  ' * task['level']}- [{box}] ({task['id']}) {task['summary']}: {task['details']}"
        waiting += reversed(task["children"])


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
