"""A workflow file as its author declared it: shapes are right, names are not yet looked up."""

from collections.abc import Mapping

from msgspec import Struct, field

from handrail.engine.model import Authority, State, Tool, Variable
from handrail.engine.problems import Place
from handrail.workflows.nodes import Node, Scalar


class DeclaredRow(Struct, frozen=True):
    """A row before its names are looked up; `what` is how problems speak of it.

    `sources` None means every state but `excepted`.
    """

    id: str
    what: str
    place: Place
    sources: tuple[Scalar, ...] | None
    excepted: tuple[Scalar, ...] = ()
    trigger: Scalar | None = None
    when: tuple[Scalar, ...] = ()
    accept: tuple[Scalar, ...] = ()
    drafts: Mapping[str, tuple[Scalar, Node]] = field(default_factory=dict)
    to: Scalar | None = None
    set: Mapping[str, tuple[Scalar, Node]] = field(default_factory=dict)
    do: tuple[Node, ...] = ()
    say: Scalar | None = None
    refuse: Scalar | None = None
    only_says: bool = False


class DeclaredPrompt(Struct, frozen=True):
    """A prompt before its text is looked up."""

    key: Scalar
    what: str
    about: str
    say: Scalar | None


class DeclaredText(Struct, frozen=True):
    """A named text: each part with the scalar it was written in, or None for a file of its own."""

    name: str
    what: str
    place: Place
    parts: Mapping[str, tuple[str, Scalar | None]]


class Ways(Struct, frozen=True):
    """States and rows, in whichever of the two forms they were written."""

    states: Mapping[str, State]
    uses: Mapping[str, Scalar]
    tasks: tuple[tuple[str, Scalar], ...]
    rows: tuple[DeclaredRow, ...]
    says: tuple[tuple[str, Scalar], ...] = ()


class Declared(Struct, frozen=True):
    """A whole file. `uses` are the states that stand for another workflow, `tasks` the texts of steps.

    `says` are the names of the texts that states say.

    The name is empty and the authority None where they could not be read.
    """

    place: Place
    name: str
    version: int
    authority: Authority | None
    folder: str
    state_file: str
    about: str
    derive: Scalar | None
    inputs: Mapping[str, Variable]
    vars: Mapping[str, Variable]
    states: Mapping[str, State]
    uses: Mapping[str, Scalar]
    tasks: tuple[tuple[str, Scalar], ...]
    says: tuple[tuple[str, Scalar], ...]
    rows: tuple[DeclaredRow, ...]
    tools: Mapping[str, Tool]
    prompts: tuple[DeclaredPrompt, ...]
    texts: Mapping[str, DeclaredText]
