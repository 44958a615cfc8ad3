"""What the faces over a commit description have in common: tools from a workflow, and turns over a text."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from msgspec.structs import replace

from handrail.engine.facts import Kind
from handrail.engine.model import Event, Refused, Variable, Workflow
from handrail.engine.model import Tool as Declared
from handrail.faces.mcp.declared import TEXT, stand
from handrail.faces.mcp.face import Answer, Failed, Prompt, Question, Stand, Tool, UnknownPrompt
from handrail.faces.mcp.forms import Arguments
from handrail.faces.mcp.projects import Projects
from handrail.faces.mcp.texts import Texts, texts
from handrail.plan.grammar import COMMIT_MESSAGE, Config
from handrail.plan.parse import parse
from handrail.plan.stage import progress
from handrail.shell.opening import DescribedRun, Serving
from handrail.shell.readers import template
from handrail.shell.records import Caller
from handrail.shell.standing import look
from handrail.shell.turn import Call, Outcome, Render, Reply, refuse, take_turn
from handrail.shell.world import World

TOKEN: Final = "step_token"  # noqa: S105 - the name of an argument, no secret
PROJECT: Final = "project"
TEXTS: Final[Mapping[str, Any]] = {"type": "array", "items": TEXT}

_CONFLICT: Final = "conflict"
_KINDS: Final[Mapping[Kind, Mapping[str, Any]]] = {
    Kind.BOOL: {"type": "boolean"},
    Kind.STRING: TEXT,
    Kind.STRINGS: TEXTS,
}


@dataclass(frozen=True, slots=True)
class Here:
    """The run in a description, and the world of its turns."""

    runs: DescribedRun
    world: World


@dataclass(frozen=True, slots=True)
class Teller:
    """What is known when the outcome of one call is put into words; without `here` it was about no plan."""

    texts: Texts
    workflow: Workflow
    tool: Declared
    given: Mapping[str, Any]
    here: Here | None


def of_version_control(failed: Failed) -> bool:
    """True if it was version control that failed."""
    return failed.code.startswith("vcs_") or failed.code == _CONFLICT


class Described(ABC):
    """A face over the descriptions of a server's projects, remembered in the common store.

    `SHAPES` are the schemas of parameters that are JSON, `ANSWERS` that of what every tool answers. `GRAMMAR`
    is how its plans are written.
    """

    SHAPES: ClassVar[Mapping[str, Mapping[str, Any]]]
    ANSWERS: ClassVar[Mapping[str, Any]]
    GRAMMAR: ClassVar[Config]

    def __init__(
        self,
        serving: Serving,
        projects: Projects,
        workflow: Workflow,
        opened: Callable[[Path, World, Workflow], DescribedRun],
    ) -> None:
        self._serving, self._projects, self._workflow, self._opened = serving, projects, workflow, opened
        self._texts = texts(workflow.name)
        self.tools: Sequence[Tool] = tuple(self._listed(tool) for tool in workflow.tools.values())
        longest = COMMIT_MESSAGE.max_input_length
        self._arguments = {
            tool.names[0]: Arguments(tool.listed["inputSchema"], (), longest) for tool in self.tools
        }

    @property
    @abstractmethod
    def instructions(self) -> str:
        """What an agent is told about the face before its first call."""

    @abstractmethod
    def failed(self, tool: Tool, arguments: Mapping[str, Any], failed: Failed) -> Answer:
        """Put a failure into the shape of a refusal; one of version control is told as the source does."""

    def prompts(self) -> Sequence[Prompt]:
        """Those that the workflow has."""
        return [Prompt(one.name, one.about) for one in self._workflow.prompts.values()]

    def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """What a prompt says."""
        if name not in self._workflow.prompts or arguments:
            raise UnknownPrompt(f"there are {', '.join(self._workflow.prompts)}, without arguments")
        return template(self._workflow, self._workflow.prompts[name].text)

    def call(self, tool: Tool, arguments: Mapping[str, Any], caller: Caller) -> Answer | Question:
        """Answer a call."""
        return self._answer(tool, arguments, caller)

    def stands(self, arguments: Mapping[str, Any], answer: Answer) -> Stand | None:
        """Where the plan of the project stands, and how many of its tasks are ticked."""
        del answer
        root = self._root(arguments)
        if isinstance(root, Refused):
            return None
        here = self._in(root)
        shown = look(here.world, here.runs.load(""))
        far = progress(parse(here.runs.text, self.GRAMMAR))
        return stand(shown, here.runs.shown, (far.ticked, far.total))

    def _answer(self, tool: Tool, arguments: Mapping[str, Any], caller: Caller) -> Answer:
        declared = self._workflow.tools[tool.names[0]]
        event = Event(declared.name, {name: arguments[name] for name in declared.params if name in arguments})
        call = Call("", event, caller, str(arguments.get(TOKEN, "")))
        reply = self._reply(declared, call, arguments)
        boundary = self._serving.world.ids.nonce().hex()
        return Answer(reply, self._markdown(reply, boundary), failed="code" in reply)

    def _reply(self, tool: Declared, call: Call, given: Mapping[str, Any]) -> Reply:
        """What a call is answered with, as data."""
        root, wrong = self._root(given), self._arguments[tool.name].wrong(given)
        if isinstance(root, Refused):
            told = self._told(tool, given, None)
            return refuse(self._serving.world, call, told, Outcome(wrong or root, None))
        here = self._in(root)
        if wrong:
            return refuse(here.world, call, self._told(tool, given, here), Outcome(wrong, here.runs.load("")))
        if tool.reads:
            return self._shown(tool, given, here)
        return take_turn(here.world, call, self._told(tool, given, here))

    @abstractmethod
    def _told(self, tool: Declared, given: Mapping[str, Any], here: "Here | None") -> Render:
        """How the outcome of a call is put into words; without `here` it was about no plan."""

    @abstractmethod
    def _shown(self, tool: Declared, given: Mapping[str, Any], here: "Here") -> Reply:
        """What a tool is answered with that only reads."""

    @abstractmethod
    def _markdown(self, reply: Mapping[str, Any], boundary: str) -> str:
        """The same reply as text: nothing that the data says is missing from it."""

    def _root(self, given: Mapping[str, Any]) -> Path | Refused:
        """The project that a call is about."""
        return self._projects.named(str(given.get(PROJECT, "")))

    def _in(self, root: Path) -> "Here":
        """The run of a project, and the world of its turns."""
        runs = self._opened(root, self._serving.world, self._workflow)
        world = replace(
            self._serving.world,
            runs=runs,
            workflow_of=lambda _: self._workflow,
            workspace=runs,
            lifetime=None,
            revised=runs.revised,
        )
        return Here(runs, world)

    def _listed(self, tool: Declared) -> Tool:
        more = [PROJECT] + [TOKEN] * (not tool.reads)
        params = {name: self._schema(one) for name, one in tool.params.items()}
        about = {PROJECT: self._projects.about}
        named = {name: {**TEXT, "description": self._texts.say(about.get(name, name))} for name in more}
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
        shape = self.SHAPES[variable.name] if kind is Kind.JSON else _KINDS[kind]
        if variable.choices:
            shape = {"enum": list(variable.choices)}
        default = {} if variable.required or variable.default is None else {"default": variable.default}
        return {**shape, "description": variable.about, **default}
