"""The interface between a server and a face: tools and their arguments, answers, questions, prompts.

A face is one set of tools for agents; `Face` is what a server needs from it. `ArgumentCheck` validates the
arguments of a call against the tool's schema. The message catalogue of a language is one YAML file in
`languages/`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any, Final, Protocol

import jsonschema_rs
import msgspec.yaml
from msgspec import Struct, field

from handrail.engine.facts import Value, find_value_flaws, is_valid_value, to_printable
from handrail.engine.model import FactReading, Refused, Run, Workflow
from handrail.engine.refusals import RefusalCode
from handrail.runtime.errors import FaultCode
from handrail.runtime.records import Caller
from handrail.workflows.templates import MessageCatalog

FACES: Final = ("commits", "planner", "skills", "spells", "steps")
"""The names of all faces."""


class Tool(Struct, frozen=True):
    """A tool of a face. `listed` is its whole entry in `tools/list`.

    `names` are all names it accepts, the listed one first. `shows` is true if its answers report the state of
    a run, so that a client can show a picture of the run.
    """

    names: tuple[str, ...]
    listed: Mapping[str, Any]
    shows: bool = False


class Answer(Struct, frozen=True):
    """The answer to a call, as data and as text. Each form is complete."""

    reply: Mapping[str, Any]
    text: str
    failed: bool


class Question(Struct, frozen=True):
    """A question to a person before a call is answered: choose one of `options`, given with their titles.

    `about` identifies exactly this question and is never empty, so a choice cannot be taken for the answer to
    another one. `answer_with` continues with the choice. It blocks like a call and checks again what must
    still hold. `fallback` is the answer if no person can be asked or none chooses. No lock is held meanwhile.
    """

    text: str
    name: str
    options: Mapping[str, str]
    about: str
    answer_with: Callable[[str], Answer]
    fallback: Answer


class RunStatus(Struct, frozen=True):
    """The state of a run after a call. `id` is its id in the common store.

    `done` of `total` is the progress of its plan; both are 0 without a plan.
    """

    id: str
    workflow: Workflow
    run: Run
    facts: Mapping[str, Value]
    done: int = 0
    total: int = 0


class CallFailure(Struct, frozen=True):
    """A call that failed and not because of the caller. `again` is true if it may be sent again."""

    code: RefusalCode | FaultCode
    rule: str
    message: str
    needed: str
    again: bool


class PromptArgument(Struct, frozen=True):
    """An argument of a prompt. `choices` are its possible values, if they are known."""

    name: str
    about: str
    required: bool
    choices: tuple[str, ...] = ()


class Prompt(Struct, frozen=True):
    """A menu item that puts a prepared text into the chat."""

    name: str
    about: str
    arguments: tuple[PromptArgument, ...] = field(default=())


class UnknownPrompt(Exception):  # noqa: N818 - not our error: the client asked for something that does not exist
    """There is no prompt of this name, or its arguments are wrong."""


class Face(Protocol):
    """A set of tools for agents. Its methods block, so the server calls them in threads."""

    @property
    def instructions(self) -> str:
        """The instructions that an agent gets before its first call."""

    @property
    def tools(self) -> Sequence[Tool]:
        """The tools, in listing order."""

    def call(self, tool: Tool, arguments: Mapping[str, Any], caller: Caller) -> Answer | Question:
        """Answer a call, or return a question. A refusal is an answer too.

        Raises `Fault` if the environment failed, such as a disk or a store.
        """

    def answer_failure(self, tool: Tool, arguments: Mapping[str, Any], failed: CallFailure) -> Answer:
        """Render a failure in the form of a refusal."""

    def find_run_status(self, arguments: Mapping[str, Any], answer: Answer) -> RunStatus | None:
        """Return the state of the run that a successful call was about; None if it was not about a run.

        Raises `Fault` if the environment failed, such as a disk or a store.
        """

    def prompts(self) -> Sequence[Prompt]:
        """List the current prompts."""

    def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """Render a prompt. Raises `UnknownPrompt`."""


MAX_TEXT_CHARACTERS: Final = 10_000
"""The longest text that an argument may be, unless the face allows more."""

TOKEN_ARGUMENT: Final = "step_token"  # noqa: S105 - the name of an argument, not a secret
_UNKNOWN_ARGUMENT_TEXT: Final = "must be left out: there is no such argument"


class _ArgumentProblem(Struct, frozen=True):
    """An invalid argument: its name, the value that was sent, and what is needed instead."""

    name: str
    value: Any
    needed: str


class ArgumentCheck:
    """Checks the arguments of a call against the tool's listed schema, without coercing values.

    `longest` limits a text, in characters. `output` names the argument that holds the output of a step: what
    is in it is checked against the contract of the step, not here.
    """

    def __init__(
        self, schema: Mapping[str, Any], longest: int = MAX_TEXT_CHARACTERS, output: str = ""
    ) -> None:
        shallow = {**schema["properties"], **({output: {"type": "object"}} if output else {})}
        self._schema = jsonschema_rs.Draft202012Validator({**schema, "properties": shallow}, mask="it")
        self._longest, self._output = longest, output

    def validate(self, given: Mapping[str, Any]) -> Refused | None:
        """Return a refusal if the arguments are invalid."""
        shallow = {**given, self._output: {}} if isinstance(given.get(self._output), dict) else dict(given)
        too_long = any(isinstance(value, str) and len(value) > self._longest for value in shallow.values())
        if not too_long and is_valid_value(shallow) and self._schema.is_valid(shallow):
            return None
        problems = [*self._find_flaws(shallow)] or [
            problem for error in self._schema.iter_errors(shallow) for problem in _describe_violation(error)
        ]
        if not problems:
            return None
        # A token is secret and an output is long: a refusal does not repeat them.
        hidden = {TOKEN_ARGUMENT, self._output}
        seen = tuple(
            FactReading(p.name, f"<{type(p.value).__name__}>" if p.name in hidden else p.value)
            for p in problems
        )
        return Refused(
            RefusalCode.ARGUMENTS, "arguments", seen, tuple(f"{p.name}: {p.needed}" for p in problems)
        )

    def _find_flaws(self, given: Mapping[str, Any]) -> Iterator[_ArgumentProblem]:
        """Yield the arguments that no schema can judge: not valid Unicode data, or too long."""
        for name, value in given.items():
            if not is_valid_value(name):
                yield _ArgumentProblem(str(to_printable(name)), value, _UNKNOWN_ARGUMENT_TEXT)
            elif not is_valid_value(value):
                flaws = "; ".join(f"{path} {why}".strip() for path, why in find_value_flaws(value))
                yield _ArgumentProblem(name, value, flaws)
            elif isinstance(value, str) and len(value) > self._longest:
                yield _ArgumentProblem(name, value, f"must be a text of at most {self._longest} characters")


def _describe_violation(fault: jsonschema_rs.ValidationError) -> Iterator[_ArgumentProblem]:
    """Turn a schema violation into problems that say what the schema asks for."""
    name, value = ".".join(map(str, fault.instance_path)), fault.instance
    match fault.kind:
        case jsonschema_rs.ValidationErrorKind.AdditionalProperties(unexpected) if isinstance(value, dict):
            for unexpected_name in unexpected:
                yield _ArgumentProblem(unexpected_name, value[unexpected_name], _UNKNOWN_ARGUMENT_TEXT)
        case jsonschema_rs.ValidationErrorKind.Required(missing):
            yield _ArgumentProblem(f"{name}.{missing}".removeprefix("."), None, "must be given")
        case jsonschema_rs.ValidationErrorKind.Enum(options):
            yield _ArgumentProblem(name, value, f"must be one of {', '.join(map(str, options))}")
        case jsonschema_rs.ValidationErrorKind.Type(types):
            yield _ArgumentProblem(name, value, f"must be of the JSON type {' or '.join(types)}")
        case _:
            yield _ArgumentProblem(name, value, fault.message.removeprefix("it "))


CALL_CODES: Mapping[RefusalCode, str] = {
    RefusalCode.FORM: "the arguments are none of the forms that a call has",
    RefusalCode.NO_PROJECT: "the server was started where there is no project, and given none",
    RefusalCode.WHICH_PROJECT: "the server has several projects, and the call names none, or more than one",
    RefusalCode.UNKNOWN_PROJECT: "the server was not started with that project",
    RefusalCode.FORBIDDEN: "the token that was shown does not have the scope that the call needs",
    RefusalCode.INTERNAL: "Handrail failed; its log tells more under the number of the incident",
}
"""All codes of refusals that are about the call itself. The engine uses `arguments` too."""

SESSION_CODES: Mapping[RefusalCode, str] = {
    RefusalCode.SESSION_NAME: "no session can be called so",
    RefusalCode.UNKNOWN_SESSION: "the project has no session of that name, and this call begins none",
    RefusalCode.OTHER_GRAPH: "a session keeps the skill graph that it began with",
    RefusalCode.UNFIT_GRAPH: "the workflow is no skill graph for sessions",
}
"""All codes of refusals that are about a skills session."""


class StepsStatus(StrEnum):
    """The `status` of a reply of the face `steps`."""

    OK = "ok"
    TASK_CLOSED = "task_closed"
    WAITING = "waiting"
    ERROR = "error"


DEFAULT_LANGUAGE: Final = "en"


@cache
def load_message_catalog(language: str = DEFAULT_LANGUAGE) -> MessageCatalog:
    """Load the message catalogue of a language."""
    text = files(__package__).joinpath("languages", f"{language}.yaml").read_bytes()
    return MessageCatalog(dict(_flatten_texts(msgspec.yaml.decode(text, type=dict[str, Any]))))


def _flatten_texts(texts: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in texts.items():
        if isinstance(value, Mapping):
            yield from _flatten_texts(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", msgspec.convert(value, str)
