"""The interface between a server and a face: tools, answers, questions, prompts, and the texts they use.

A face is one set of tools for agents; `Face` is what a server needs from it. The message catalogue of a
language is one YAML file in `languages/`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any, Final, Protocol

import msgspec.yaml
from msgspec import Struct, field

from handrail.engine.facts import Value
from handrail.engine.model import Run, Workflow
from handrail.engine.refusals import RefusalCode
from handrail.runtime.errors import FaultCode
from handrail.runtime.records import Caller
from handrail.workflows.templates import MessageCatalog, render_template

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
        ...

    @property
    def tools(self) -> Sequence[Tool]:
        """The tools, in listing order."""
        ...

    def call(self, tool: Tool, arguments: Mapping[str, Any], caller: Caller) -> Answer | Question:
        """Answer a call, or return a question. A refusal is an answer too.

        Raises `Fault` if the environment failed, such as a disk or a store.
        """
        ...

    def answer_failure(self, tool: Tool, arguments: Mapping[str, Any], failed: CallFailure) -> Answer:
        """Render a failure in the form of a refusal."""
        ...

    def find_standing(self, arguments: Mapping[str, Any], answer: Answer) -> RunStatus | None:
        """Return the state of the run that a successful call was about; None if it was not about a run.

        Raises `Fault` if the environment failed, such as a disk or a store.
        """
        ...

    def prompts(self) -> Sequence[Prompt]:
        """List the current prompts."""
        ...

    def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """Render a prompt. Raises `UnknownPrompt`."""
        ...


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


class Texts(Struct, frozen=True):
    """Named texts with placeholders. `errors` are the sentences of refusals, by code."""

    said: Mapping[str, str]
    errors: Mapping[str, str]
    needed: Mapping[str, tuple[str, ...]]

    def say(self, name: str, /, **values: Value) -> str:
        """Fill the placeholders of a text and strip its trailing line break."""
        return render_template(self.said[name], values).rstrip("\n")

    def error(self, code: str, rule: str) -> str:
        """Return the sentence of a refusal. For an unknown code, such as a store's own, it names the rule."""
        return self.errors.get(code) or self.say("other", rule=rule)


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
