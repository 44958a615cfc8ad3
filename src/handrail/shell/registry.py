"""Which projects are served over HTTP: each by a name that people gave it, and never by its path."""

import re
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct

from handrail.shell.vcs import NONE, nearest

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""What projects are called."""


class Registered(Struct, frozen=True):
    """A project, by the name that clients call it and the folder that it is."""

    name: str
    root: str
    created: datetime


class Registry(Protocol):
    """The part of a store that knows the projects."""

    def add(self, project: Registered) -> bool:
        """Have it served from now on; False, and nothing changed, if the name or the folder is taken."""
        ...

    def projects(self) -> tuple[Registered, ...]:
        """All of them, by name."""
        ...

    def remove(self, name: str) -> bool:
        """Serve it no longer; False if there is none of this name. What was done in it stays."""
        ...


def shared(root: Path, other: Path) -> str:
    """In words, what two projects have in common that each must have for itself; empty if nothing is.

    A folder inside another is read by whoever may read that one, and a repository has one commit
    description, which is one plan.
    """
    if root == other:
        return "it is the same folder"
    if root.is_relative_to(other) or other.is_relative_to(root):
        return "one is inside the other"
    kind, above = nearest(root)
    return "they are in one repository" if kind != NONE and nearest(other) == (kind, above) else ""
