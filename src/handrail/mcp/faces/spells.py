"""The face `spells`: a person says a spell word, the agent passes it on, and the project's task moves.

The workflow defines the words and what each does; each becomes a tool with its name in lower case. The task
lives in the project's files.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, assert_never

import msgspec
from msgspec.structs import replace

from handrail.app.app import App
from handrail.app.faces import (
    Answer,
    ArgumentCheck,
    CallFailure,
    Prompt,
    PromptArgument,
    RunStatus,
    Tool,
    UnknownPrompt,
)
from handrail.app.run_folders import RunFolder
from handrail.app.settings import Requirement, load_settings, settings_path
from handrail.clients.permits import Permits, TakenPermit
from handrail.documents.criteria import MAX_CHARACTERS, parse_criteria
from handrail.engine.facts import Value
from handrail.engine.model import Accepted, Actor, Event, FactReading, Option, Refused, Waiting, Workflow
from handrail.engine.model import Tool as Declared
from handrail.engine.refusals import RefusalCode
from handrail.mcp.addresses import Spelling
from handrail.mcp.faces.replies import (
    build_run_status,
    format_comments,
    format_next_calls,
    format_why,
    load_face_texts,
    next_call,
    refusal_reasons,
)
from handrail.mcp.faces.shared import (
    COMMENTS_PROPERTY,
    REFUSAL_PROPERTIES,
    TEXT_SCHEMA,
    failure_data,
    load_face_workflow,
    parameter_schema,
    tool_annotations,
)
from handrail.runtime.comments import COMMENTS_KEY, add_undelivered_comments
from handrail.runtime.facts import get_template_text
from handrail.runtime.ports.open_store import FolderRuns
from handrail.runtime.records import Caller, StoredRun
from handrail.runtime.status import inspect_run
from handrail.runtime.turn import ADOPTED_ROW, Call, Outcome, Reply, refuse_call, take_turn
from handrail.runtime.world import World
from handrail.workflows.registry import PLAN_FILE_AND_TEXT
from handrail.workflows.templates import Texts

FACE: Final = "spells"
MESSAGE_FIELD: Final = "message_to_user"
INSTRUCTIONS_FIELD: Final = "instructions_to_coding_agent"

_ANSWER_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        MESSAGE_FIELD: TEXT_SCHEMA,
        INSTRUCTIONS_FIELD: TEXT_SCHEMA,
        "options": {"type": "array", "items": TEXT_SCHEMA},
        "state": TEXT_SCHEMA,
        "phase": TEXT_SCHEMA,
        "sub_state": TEXT_SCHEMA,
        "step_token": TEXT_SCHEMA,
        **COMMENTS_PROPERTY,
        **REFUSAL_PROPERTIES,
    },
    "required": [MESSAGE_FIELD, INSTRUCTIONS_FIELD, "options"],
}


@dataclass(frozen=True, slots=True)
class _SubState:
    """A part of a state: the run is in it while the fact is at least `at_least`."""

    name: str
    fact: str
    at_least: int
    message_to_user: str
    instructions_to_coding_agent: str


@dataclass(frozen=True, slots=True)
class _ProjectTask:
    """The task folder of a project, and the world in which its turns are taken."""

    runs: FolderRuns
    world: World


def build_face(app: App, names: Spelling) -> "SpellsFace":
    """Build the face over an app. Its tools have one spelling only."""
    del names
    permits = partial(_load_permits, settings_path(), app.world.key)
    return SpellsFace(app, load_face_workflow(app.projects, FACE), permits)


def _load_permits(settings: Path, key: bytes) -> Permits | None:
    """Return the permits for spells, or None if the settings do not require them.

    The settings are read at each spell, since they can change while the server runs. Most users have none.
    """
    if not os.path.lexists(settings) or load_settings().spells.permit is not Requirement.REQUIRED:
        return None
    return Permits(key)


class SpellsFace:
    """The face over the task folders of a server's projects, mirrored to the shared store."""

    def __init__(
        self,
        app: App,
        workflow: Workflow,
        permits: Callable[[], Permits | None],
    ) -> None:
        self._app, self._projects, self._workflow, self._permits = app, app.projects, workflow, permits
        self._texts = load_face_texts(FACE)
        self._tasks: dict[Path, _ProjectTask] = {}
        self.tools: Sequence[Tool] = tuple(self._list_tool(tool) for tool in workflow.tools.values())
        self._arguments = {tool.names[0]: ArgumentCheck(tool.listed["inputSchema"]) for tool in self.tools}

    @property
    def instructions(self) -> str:
        """The server instructions that an agent gets before its first call."""
        return self._texts.say("instructions", words=list(self._workflow.tools))

    def prompts(self) -> Sequence[Prompt]:
        """Return one prompt for each word, then the workflow's own prompts."""
        note = PromptArgument("note", self._texts.say("note"), required=False)
        words = [Prompt(tool_name(tool.name), tool.about, (note,)) for tool in self._workflow.tools.values()]
        return [*words, *(Prompt(one.name, one.about, ()) for one in self._workflow.prompts.values())]

    def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """Return the text of a prompt. Raises `UnknownPrompt` for an unknown name or argument."""
        if name in self._workflow.prompts and not arguments:
            return get_template_text(self._workflow, self._workflow.prompts[name].text)
        known = [tool_name(tool) for tool in self._workflow.tools]
        if name not in known or arguments.keys() - {"note"}:
            others = ", ".join(self._workflow.prompts)
            raise UnknownPrompt(f"there are {', '.join(known)}, each with an optional note, and {others}")
        note = self._texts.say("prompt_note", note=arguments["note"]) if arguments.get("note") else ""
        return self._texts.say("prompt", tool=name, note=note)

    def call(self, tool: Tool, arguments: Mapping[str, Any], caller: Caller) -> Answer:
        """Answer a call. It counts as made by whom the workflow declares, also if an agent passes it on."""
        declared = next(one for one in self._workflow.tools.values() if tool_name(one.name) in tool.names)
        reply = self._reply(declared, arguments, replace(caller, by=declared.who))
        return Answer(reply, render_reply_markdown(reply), failed="code" in reply)

    def answer_failure(self, tool: Tool, arguments: Mapping[str, Any], failed: CallFailure) -> Answer:
        """Return a failure in the form of a refusal."""
        reply = {
            MESSAGE_FIELD: f"{failed.message}: {failed.needed}",
            INSTRUCTIONS_FIELD: self._texts.say("nothing"),
            "options": [],
            **failure_data(tool.names[0], arguments, failed),
        }
        return Answer(reply, render_reply_markdown(reply), failed=True)

    def find_run_status(self, arguments: Mapping[str, Any], answer: Answer) -> RunStatus | None:
        """Return the position of the project's task and how many criteria are met; None without a project."""
        del answer
        root = self._projects.find_root(str(arguments.get("project", "")))
        if isinstance(root, Refused):
            return None
        task, (path, name) = self._project_task(root), PLAN_FILE_AND_TEXT
        with task.runs.take_snapshot():
            text = (task.runs.read(path) or b"")[:MAX_CHARACTERS]
            shown = inspect_run(task.world, task.runs.load_current())
        criteria = parse_criteria(text.decode("utf-8", "replace"), get_template_text(self._workflow, name))
        met = sum(criterion.checked for criterion in criteria)
        return build_run_status(shown, far=(met, len(criteria)))

    def _reply(self, tool: Declared, given: Mapping[str, Any], caller: Caller) -> Reply:
        wrong = self._arguments[tool_name(tool.name)].validate(given)
        root = self._projects.find_root(str(given.get("project", "")))
        if isinstance(root, Refused):
            return self._refuse(tool, caller, wrong or root, None)
        task = self._project_task(root)
        with task.runs.take_snapshot():
            if wrong:
                return self._refuse(tool, caller, wrong, task)
            return self._cast(task, root, tool, given, caller)

    def _cast(
        self, task: _ProjectTask, root: Path, tool: Declared, given: Mapping[str, Any], caller: Caller
    ) -> Reply:
        renderer = _ReplyRenderer(self._texts, self._workflow, tool, task)
        if tool.reads:
            stored = task.runs.load_current()
            return add_undelivered_comments(renderer.reply(inspect_run(task.world, stored)), stored)
        payload = {name: given[name] for name in tool.params if name in given}
        event = Event(tool.name, payload, tool.who, str(given.get("note", "")))
        call, permits = Call("", event, caller, str(given.get("step_token", ""))), self._permits()
        if permits is None or tool.who is not Actor.PERSON:
            return take_turn(task.world, call, renderer.reply)
        revision, now = task.runs.load_current().revision, task.world.clock.now().timestamp()
        with permits.take_permit(root, tool.name, revision, now) as taken:
            return _take_permitted_turn(task.world, call, renderer, taken)

    def _refuse(self, tool: Declared, caller: Caller, refused: Refused, task: _ProjectTask | None) -> Reply:
        """Refuse a call before any row is tried; the project's files do not record it."""
        renderer = _ReplyRenderer(self._texts, self._workflow, tool, task)
        call = Call("", Event(tool.name), caller)
        return refuse_call(self._app.world, call, renderer.reply, Outcome(refused, None))

    def _project_task(self, root: Path) -> _ProjectTask:
        if root not in self._tasks:
            folder = RunFolder(root, self._workflow)
            self._tasks[root] = _ProjectTask(*self._app.open_run_folder(folder))
        return self._tasks[root]

    def _list_tool(self, tool: Declared) -> Tool:
        say = self._texts.say
        described = {
            "note": {**TEXT_SCHEMA, "description": say("note")},
            "step_token": {**TEXT_SCHEMA, "description": say("step_token")},
            "project": {**TEXT_SCHEMA, "description": say(self._projects.about)},
        }
        params = {name: parameter_schema(one) for name, one in tool.params.items()}
        listed = {
            "name": tool_name(tool.name),
            "description": say("said", word=tool.name, about=tool.about),
            "inputSchema": {
                "type": "object",
                "properties": {**params, **described},
                "additionalProperties": False,
            },
            "outputSchema": _ANSWER_SCHEMA,
            "annotations": tool_annotations(tool.name, reads=tool.reads),
        }
        return Tool((tool_name(tool.name),), listed, shows=tool.reads)


@dataclass(frozen=True, slots=True)
class _ReplyRenderer:
    """Renders the outcome of one word; `task` is None if the call was about no project."""

    texts: Texts
    workflow: Workflow
    tool: Declared
    task: _ProjectTask | None

    def reply(self, outcome: Outcome) -> Reply:
        """Return the reply as data."""
        match outcome.decision:
            case Refused() as refused:
                return self._render_refused(outcome, refused)
            case Accepted() | Waiting():
                return self._render_accepted(outcome)
            case _:
                assert_never(outcome.decision)

    def _render_accepted(self, outcome: Outcome) -> Reply:
        names = [option.trigger for option in self._open_options(outcome)]
        position, texts = self._state_and_phase(outcome), _row_texts(outcome)
        if not any(texts.values()):
            texts = self._status_texts(outcome, position["state"])
        if outcome.stored and outcome.stored.adopted:
            texts[MESSAGE_FIELD] += "\n\n" + self.texts.say("taken", why=outcome.stored.adopted)
        return {**texts, "options": names, **position, **outcome.token_field}

    def _status_texts(self, outcome: Outcome, state: str) -> dict[str, str]:
        """Return the texts for the state; they say so if the state is only proposed or was just adopted."""
        texts = self._state_texts(state, outcome.facts or {})
        trouble = outcome.stored.trouble if outcome.stored else None
        if trouble:
            message = self.texts.say("proposed", found=trouble.message, needed=trouble.repair, state=state)
            return {**texts, MESSAGE_FIELD: message, INSTRUCTIONS_FIELD: self.texts.say("ask")}
        if isinstance(outcome.decision, Accepted) and [move.row for move in outcome.decision.moves] == [
            ADOPTED_ROW
        ]:
            message = self.texts.say("adopted", state=state)
            return {**texts, MESSAGE_FIELD: f"{message} {texts[MESSAGE_FIELD]}"}
        return texts

    def _state_texts(self, state: str, facts: Mapping[str, Value]) -> dict[str, str]:
        """Return the texts of a state, or those of the sub-state that the run is in."""
        extra = self.workflow.states[state].extra
        part = msgspec.convert(extra["sub_state"], _SubState) if "sub_state" in extra else None
        value = facts.get(part.fact) if part else None
        if part and isinstance(value, int) and value >= part.at_least:
            return {
                MESSAGE_FIELD: part.message_to_user,
                INSTRUCTIONS_FIELD: part.instructions_to_coding_agent,
                "sub_state": part.name,
            }
        return {MESSAGE_FIELD: str(extra[MESSAGE_FIELD]), INSTRUCTIONS_FIELD: str(extra[INSTRUCTIONS_FIELD])}

    def _render_refused(self, outcome: Outcome, refused: Refused) -> Reply:
        """Return the reply to a refused call: the reason, and the words that the current files allow."""
        shown = inspect_run(self.task.world, self.task.runs.load_current()) if self.task else outcome
        open_, texts = self._open_options(shown), _row_texts(outcome)
        names = [option.trigger for option in open_]
        error = self.texts.error(refused.code, refused.rule)
        none = [self.texts.say("none")]
        message = self.texts.say("refused", word=self.tool.name, error=error, options=names or none)
        trouble = outcome.stored.trouble if outcome.stored else None
        if trouble:
            message = self.texts.say(
                "trouble", word=self.tool.name, found=trouble.message, needed=trouble.repair
            )
        return {
            MESSAGE_FIELD: texts[MESSAGE_FIELD] or message,
            INSTRUCTIONS_FIELD: texts[INSTRUCTIONS_FIELD] or self.texts.say("nothing"),
            "options": names,
            **self._state_and_phase(shown),
            **(outcome.token_field or shown.token_field),
            "code": refused.code,
            "why": refusal_reasons(refused),
            "next": [next_call(tool_name(option.trigger), option.who, {}) for option in open_],
        }

    def _open_options(self, outcome: Outcome) -> list[Option]:
        """Return the words that would be accepted: those with an open row, and those that only read."""
        if isinstance(outcome.decision, Refused):
            return []
        tools = self.workflow.tools
        reading = [Option(tool.name, tool.who) for tool in tools.values() if tool.reads]
        return [*(option for option in outcome.options if option.trigger in tools), *reading]

    def _state_and_phase(self, outcome: Outcome) -> dict[str, str]:
        """Return the state and its phase; empty without a run."""
        open_ = outcome.stored.run.open if outcome.stored else ()
        state = open_[0].state if open_ else ""
        return {"state": state, "phase": self.workflow.states[state].phase} if state else {}


def _take_permitted_turn(
    world: World, call: Call, renderer: _ReplyRenderer, taken: TakenPermit | None
) -> Reply:
    """Take the turn of a word that needs a permit. Without one, refuse it, unless it was answered before.

    Only an accepted turn uses up the permit; a repeated or refused call does not.
    """
    reached = False

    def refuse_without_permit(stored: StoredRun) -> Reply | None:
        nonlocal reached
        reached = True
        if taken is not None:
            return None
        needed = (f"event.by = {Actor.PERSON}",)
        refused = Refused(
            RefusalCode.NOT_YOURS, call.event.trigger, (FactReading("event.by", str(Actor.AGENT)),), needed
        )
        return refuse_call(world, call, renderer.reply, Outcome(refused, stored, renderer.workflow))

    reply = take_turn(world, replace(call, find_earlier_reply=refuse_without_permit), renderer.reply)
    if taken is not None:
        taken.used = reached and "code" not in reply
    return reply


def tool_name(word: str) -> str:
    """Return the tool name of a spell word."""
    return word.lower()


def _row_texts(outcome: Outcome) -> dict[str, str]:
    """Return the texts of the taken rows for the person and for the agent."""
    parts = (MESSAGE_FIELD, INSTRUCTIONS_FIELD)
    return {
        part: "\n\n".join(text[part].rstrip("\n") for text in outcome.texts if part in text) for part in parts
    }


def render_reply_markdown(reply: Mapping[str, Any]) -> str:
    """Return the reply as Markdown, with everything that the data has."""
    return "\n\n".join(_markdown_sections(reply))


def _markdown_sections(reply: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {MESSAGE_FIELD}\n\n{reply[MESSAGE_FIELD]}"
    yield f"## {INSTRUCTIONS_FIELD}\n\n{reply[INSTRUCTIONS_FIELD]}"
    named = [
        f"{name}: {reply[name]}"
        for name in ("state", "sub_state", "phase", "step_token", "code")
        if name in reply
    ]
    yield "\n".join([f"options: {', '.join(reply['options'])}", *named])
    if COMMENTS_KEY in reply:
        yield format_comments(reply[COMMENTS_KEY])
    if "why" in reply:
        yield format_why(reply["why"])
    if reply.get("next"):
        yield format_next_calls(reply["next"])
