"""What faces share: schemas of tools, and the base of the two commit faces.

`DescriptionFace` is the base class of `commits` and `planner`, whose tools are declared in a workflow.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from msgspec.structs import replace

from handrail.app.app import App
from handrail.app.faces import (
    TOKEN_ARGUMENT,
    Answer,
    ArgumentCheck,
    CallFailure,
    Prompt,
    Question,
    RunStatus,
    Tool,
    UnknownPrompt,
)
from handrail.app.projects import Projects
from handrail.documents.plan.grammar import COMMIT_MESSAGE, PlanConfig
from handrail.documents.plan.parse import parse_plan
from handrail.documents.plan.stages import measure_progress
from handrail.engine.facts import Kind
from handrail.engine.model import Actor, Event, Refused, Variable, Workflow
from handrail.engine.model import Tool as Declared
from handrail.mcp.faces.replies import build_run_status, load_face_texts, next_call
from handrail.runtime.comments import COMMENTS_KEY
from handrail.runtime.errors import FaultCode, Unreadable
from handrail.runtime.facts import get_template_text
from handrail.runtime.ports.open_store import CommitRun
from handrail.runtime.records import Caller
from handrail.runtime.status import inspect_run
from handrail.runtime.turn import Call, Outcome, Reply, ReplyRenderer, refuse_call, take_turn
from handrail.runtime.world import PinnedWorkflow, World
from handrail.workflows.templates import Texts

TEXT_SCHEMA: Final[Mapping[str, Any]] = {"type": "string"}
TEXTS_SCHEMA: Final[Mapping[str, Any]] = {"type": "array", "items": TEXT_SCHEMA}

REFUSAL_PROPERTIES: Final[Mapping[str, Any]] = {
    "code": TEXT_SCHEMA,
    "why": {"type": "object", "required": ["rule", "seen", "needed"]},
    "next": {"type": "array", "items": {"type": "object", "required": ["tool", "arguments", "who"]}},
}
"""The properties of a refusal in the output schema."""

COMMENTS_PROPERTY: Final[Mapping[str, Any]] = {COMMENTS_KEY: {"type": "array", "items": TEXT_SCHEMA}}
"""The property with people's comments in the output schema."""

PROJECT_ARGUMENT: Final = "project"
_JSON_TYPES: Final = {Kind.BOOL: "boolean", Kind.INT: "integer", Kind.FLOAT: "number", Kind.STRING: "string"}

_KIND_SCHEMAS: Final[Mapping[Kind, Mapping[str, Any]]] = {
    Kind.BOOL: {"type": "boolean"},
    Kind.STRING: TEXT_SCHEMA,
    Kind.STRINGS: TEXTS_SCHEMA,
}

_CONFLICT_CODE: Final = "conflict"


def parameter_schema(variable: Variable) -> dict[str, Any]:
    """Return the schema of a tool parameter as it is listed."""
    about = {"description": variable.about} if variable.about else {}
    if variable.choices:
        return {"enum": list(variable.choices), **about}
    return {"type": _JSON_TYPES[variable.type.kind], **about}


def tool_annotations(title: str, *, reads: bool) -> dict[str, Any]:
    """Return the annotations of a tool that never destroys data and touches nothing outside Handrail."""
    return {
        "title": title,
        "readOnlyHint": reads,
        "destructiveHint": False,
        "idempotentHint": reads,
        "openWorldHint": False,
    }


def load_face_workflow(projects: Projects, face: str) -> Workflow:
    """Load the built-in workflow of a face: a project cannot replace it. Raises `Unreadable`."""
    pinned = projects.definitions("").find_pinned(face)
    if not isinstance(pinned, PinnedWorkflow) or pinned.workflow is None:
        raise Unreadable(f"the workflow `{face}` cannot be read", f"handrail workflows check {face}")
    return pinned.workflow


def failure_data(tool: str, arguments: Mapping[str, Any], failed: CallFailure) -> dict[str, Any]:
    """Return the part of a reply that says why a call failed, and whether to send it again."""
    return {
        "code": failed.code,
        "why": {"rule": failed.rule, "seen": [], "needed": [failed.needed]},
        "next": [next_call(tool, Actor.AGENT, dict(arguments))] if failed.again else [],
    }


@dataclass(frozen=True, slots=True)
class OpenDescription:
    """The run in a commit description, and the world in which its turns are taken."""

    runs: CommitRun
    world: World


@dataclass(frozen=True, slots=True)
class ReplyContext:
    """What a renderer knows about one call; `here` is None if the call was not about a plan."""

    texts: Texts
    workflow: Workflow
    tool: Declared
    given: Mapping[str, Any]
    here: OpenDescription | None


def is_vcs_failure(failed: CallFailure) -> bool:
    """True if version control caused the failure."""
    return failed.code.startswith("vcs_") or failed.code is FaultCode.CONFLICT


class DescriptionFace(ABC):
    """A face over the commit descriptions of a server's projects, recorded in the shared store.

    `SHAPES` are the schemas of parameters that are JSON, `ANSWERS` is the output schema of all its tools, and
    `GRAMMAR` is the grammar of its plans.
    """

    SHAPES: ClassVar[Mapping[str, Mapping[str, Any]]]
    ANSWERS: ClassVar[Mapping[str, Any]]
    GRAMMAR: ClassVar[PlanConfig]

    def __init__(self, app: App, workflow: Workflow) -> None:
        self._app, self._projects, self._workflow = app, app.projects, workflow
        self._texts = load_face_texts(workflow.name)
        self.tools: Sequence[Tool] = tuple(self._list_tool(tool) for tool in workflow.tools.values())
        longest = COMMIT_MESSAGE.max_input_length
        self._arguments = {
            tool.names[0]: ArgumentCheck(tool.listed["inputSchema"], longest) for tool in self.tools
        }

    @property
    @abstractmethod
    def instructions(self) -> str:
        """The server instructions that an agent gets before its first call."""

    @abstractmethod
    def answer_failure(self, tool: Tool, arguments: Mapping[str, Any], failed: CallFailure) -> Answer:
        """Return a failure in the form of a refusal; those of version control as the source words them."""

    def prompts(self) -> Sequence[Prompt]:
        """Return the prompts of the workflow."""
        return [Prompt(prompt.name, prompt.about) for prompt in self._workflow.prompts.values()]

    def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """Return the text of a prompt. Raises `UnknownPrompt` if there is none, or it got arguments."""
        if name not in self._workflow.prompts or arguments:
            raise UnknownPrompt(f"there are {', '.join(self._workflow.prompts)}, without arguments")
        return get_template_text(self._workflow, self._workflow.prompts[name].text)

    def call(self, tool: Tool, arguments: Mapping[str, Any], caller: Caller) -> Answer | Question:
        """Answer a call."""
        return self._answer(tool, arguments, caller)

    def find_run_status(self, arguments: Mapping[str, Any], answer: Answer) -> RunStatus | None:
        """Return the current position of the project's plan and how many tasks are ticked, or None."""
        del answer
        root = self._find_root(arguments)
        if isinstance(root, Refused):
            return None
        here = self._open_project(root)
        shown = inspect_run(here.world, here.runs.load(""))
        progress = measure_progress(parse_plan(here.runs.text, self.GRAMMAR))
        return build_run_status(shown, here.runs.mirror_id, (progress.ticked, progress.total))

    def _answer(self, tool: Tool, arguments: Mapping[str, Any], caller: Caller) -> Answer:
        declared = self._workflow.tools[tool.names[0]]
        event = Event(declared.name, {name: arguments[name] for name in declared.params if name in arguments})
        call = Call("", event, caller, str(arguments.get(TOKEN_ARGUMENT, "")))
        reply = self._reply(declared, call, arguments)
        boundary = self._app.world.ids.nonce().hex()
        return Answer(reply, self._markdown(reply, boundary), failed="code" in reply)

    def _reply(self, tool: Declared, call: Call, given: Mapping[str, Any]) -> Reply:
        """Check a call, take the turn or read, and return the reply as data."""
        root, wrong = self._find_root(given), self._arguments[tool.name].validate(given)
        if isinstance(root, Refused):
            render = self._renderer(tool, given, None)
            return refuse_call(self._app.world, call, render, Outcome(wrong or root, None))
        here = self._open_project(root)
        if wrong:
            return refuse_call(
                here.world, call, self._renderer(tool, given, here), Outcome(wrong, here.runs.load(""))
            )
        if tool.reads:
            return self._reply_to_read(tool, given, here)
        return take_turn(here.world, call, self._renderer(tool, given, here))

    @abstractmethod
    def _renderer(
        self, tool: Declared, given: Mapping[str, Any], here: "OpenDescription | None"
    ) -> ReplyRenderer:
        """Return the function that renders an outcome; `here` is None if the call was not about a plan."""

    @abstractmethod
    def _reply_to_read(self, tool: Declared, given: Mapping[str, Any], here: "OpenDescription") -> Reply:
        """Return the reply of a tool that only reads."""

    @abstractmethod
    def _markdown(self, reply: Mapping[str, Any], boundary: str) -> str:
        """Return the reply as Markdown, with everything that the data has."""

    def _find_root(self, given: Mapping[str, Any]) -> Path | Refused:
        """Return the root of the project that a call names, or a refusal."""
        return self._projects.find_root(str(given.get(PROJECT_ARGUMENT, "")))

    def _open_project(self, root: Path) -> "OpenDescription":
        """Open the run of a project, with the world in which its turns are taken."""
        runs = self._app.project_runs.open_commit_run(root, self._app.world, self._workflow)
        world = replace(
            self._app.world,
            runs=runs,
            workflow=self._workflow,
            workspace=runs,
            lifetime=None,
            next_revision=runs.next_revision,
        )
        return OpenDescription(runs, world)

    def _list_tool(self, tool: Declared) -> Tool:
        more = [PROJECT_ARGUMENT] + [TOKEN_ARGUMENT] * (not tool.reads)
        params = {name: self._schema(one) for name, one in tool.params.items()}
        about = {PROJECT_ARGUMENT: self._projects.about}
        named = {
            name: {**TEXT_SCHEMA, "description": self._texts.say(about.get(name, name))} for name in more
        }
        listed = {
            "name": tool.name,
            "description": tool.about,
            "inputSchema": {
                "type": "object",
                "properties": {**params, **named},
                "required": [name for name, one in tool.params.items() if one.required],
                "additionalProperties": False,
            },
            "outputSchema": self.ANSWERS,
            "annotations": {
                "title": tool.name.replace("_", " ").title(),
                "readOnlyHint": tool.reads,
                "destructiveHint": not tool.reads,
                "idempotentHint": True,
                "openWorldHint": False,
            },
        }
        return Tool((tool.name,), listed, shows=tool.reads)

    def _schema(self, variable: Variable) -> dict[str, Any]:
        kind = variable.type.kind
        shape = self.SHAPES[variable.name] if kind is Kind.JSON else _KIND_SCHEMAS[kind]
        if variable.choices:
            shape = {"enum": list(variable.choices)}
        default = {} if variable.required or variable.default is None else {"default": variable.default}
        return {**shape, "description": variable.about, **default}
