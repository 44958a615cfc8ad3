"""What the server needs of a face: its tools, its prompts, and an answer to each call. No SDK in here."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct, field

from handrail.engine.facts import Value
from handrail.engine.model import Run, Workflow
from handrail.shell.records import Caller


class Tool(Struct, frozen=True):
    """A tool as clients are told of it: `listed` is the whole entry of `tools/list`.

    `names` are all that it answers to; the one that is listed stands first. `shows` if its answers tell where
    a run stands, so that a client that can may show a picture of that.
    """

    names: tuple[str, ...]
    listed: Mapping[str, Any]
    shows: bool = False


class Answer(Struct, frozen=True):
    """What a call is answered with, in two forms that each say everything."""

    reply: Mapping[str, Any]
    text: str
    failed: bool


class Question(Struct, frozen=True):
    """What a person is asked before a call is answered: to choose one of `options`, each with its title.

    `about` stands for exactly what is asked and is never empty: what was said to one question is not taken
    for another. `answered` goes on with the choice, blocks as a call does, and sees to what must still hold
    by then. `otherwise` is the answer if nobody can be asked, or nobody chooses. Nothing is held meanwhile.
    """

    text: str
    name: str
    options: Mapping[str, str]
    about: str
    answered: Callable[[str], Answer]
    otherwise: Answer


class Stand(Struct, frozen=True):
    """Where a run stands once a call is answered; `id` is what the common store calls it.

    `done` of `total` is how far the plan of the run has come, if it has one.
    """

    id: str
    workflow: Workflow
    run: Run
    facts: Mapping[str, Value]
    done: int = 0
    total: int = 0


class Failed(Struct, frozen=True):
    """A call that failed through no fault of the caller; `again` if the same call may be sent again."""

    code: str
    rule: str
    message: str
    needed: str
    again: bool


class Argument(Struct, frozen=True):
    """An argument of a prompt; `choices` are what it may be, if that is known."""

    name: str
    about: str
    required: bool
    choices: tuple[str, ...] = ()


class Prompt(Struct, frozen=True):
    """Something a person picks from a menu, and that puts the right words into the chat."""

    name: str
    about: str
    arguments: tuple[Argument, ...] = field(default=())


class UnknownPrompt(Exception):  # noqa: N818 - no error of ours: somebody asked for what there is not
    """There is no prompt of this name, or it was given what it does not take."""


class Face(Protocol):
    """A way in for agents. Its methods block: the server calls them in threads."""

    @property
    def instructions(self) -> str:
        """What an agent is told about the face before its first call."""
        ...

    @property
    def tools(self) -> Sequence[Tool]:
        """The tools, in the order they are listed."""
        ...

    def call(self, tool: Tool, arguments: Mapping[str, Any], caller: Caller) -> Answer | Question:
        """Answer a call, or ask: what is wrong with it is an answer too.

        Raises `Fault` for what the world did.
        """
        ...

    def failed(self, tool: Tool, arguments: Mapping[str, Any], failed: Failed) -> Answer:
        """Put a failure into the shape of a refusal."""
        ...

    def stands(self, arguments: Mapping[str, Any], answer: Answer) -> Stand | None:
        """Where the run stands that a call was about which was answered well; None if it was about none.

        Raises `Fault` for what the world did.
        """
        ...

    def prompts(self) -> Sequence[Prompt]:
        """The prompts there are now."""
        ...

    def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """What a prompt says. Raises `UnknownPrompt`."""
        ...
