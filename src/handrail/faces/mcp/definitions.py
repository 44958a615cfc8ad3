"""What the face asks of the definitions of a project: its personas, guardrails and workflows."""

from collections.abc import Sequence
from typing import Final, Protocol

from handrail.shell.definitions import Pinned

OWN: Final = "project"
"""The origin of a file that the project brought."""


class TextFile(Protocol):
    """A guardrail or a persona: its name, its text, and whose it is."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def text(self) -> str:
        """What it says, without its front matter."""
        ...

    @property
    def origin(self) -> str:
        """Whose it is."""
        ...


class PersonaFile(TextFile, Protocol):
    """A persona."""

    @property
    def about(self) -> str:
        """What it is for, in a line."""
        ...


class WorkflowFile(Protocol):
    """A workflow file: its name, whose it is, and whether one found earlier hides it."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def origin(self) -> str:
        """Whose it is."""
        ...

    @property
    def hidden(self) -> bool:
        """True if it is not used."""
        ...


class UntrustedFile(Protocol):
    """A file that hides another and that nobody has trusted."""

    @property
    def path(self) -> object:
        """Where it is."""
        ...

    @property
    def hides(self) -> object:
        """Where the one is that it hides."""
        ...


class Shelf(Protocol):
    """The definitions as seen from a project."""

    def personas(self) -> Sequence[PersonaFile]:
        """Every persona that is used."""
        ...

    def persona(self, name: str) -> PersonaFile | None:
        """The persona of this name; `default` is one of them."""
        ...

    def guardrails(self) -> Sequence[TextFile]:
        """Every guardrail that is used."""
        ...

    def workflows(self) -> Sequence[WorkflowFile]:
        """Every workflow file, by name; a hidden one stands after the one that hides it."""
        ...

    def pinned(self, name: str) -> Pinned | UntrustedFile | None:
        """The workflow of this name, with what a run of it keeps; or the file that is not trusted."""
        ...
