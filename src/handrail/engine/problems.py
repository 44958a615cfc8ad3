"""Define problems: what an author must fix in a workflow file, with its place in the text."""

from enum import StrEnum

from msgspec import Struct


class Severity(StrEnum):
    """How bad a problem is: an error keeps a workflow from loading or from working."""

    ERROR = "error"
    WARNING = "warning"


class Place(Struct, frozen=True):
    """A place in a text: line and column count from 1, length in characters."""

    file: str
    line: int
    column: int
    length: int = 1


class Problem(Struct, frozen=True):
    """One thing to fix. `path` is the shortest way to it through the workflow, as row ids."""

    code: str
    severity: Severity
    place: Place
    message: str
    repair: str = ""
    path: tuple[str, ...] = ()


def sort_problems(problems: list[Problem]) -> tuple[Problem, ...]:
    """Return the problems in reading order: by file, line and column, then by code and message."""
    return tuple(
        sorted(problems, key=lambda p: (p.place.file, p.place.line, p.place.column, p.code, p.message))
    )


def build_error(
    code: str, place: Place, message: str, repair: str = "", path: tuple[str, ...] = ()
) -> Problem:
    """Build a problem that must be fixed before the workflow can be used."""
    return Problem(code, Severity.ERROR, place, message, repair, path)


def build_warning(
    code: str, place: Place, message: str, repair: str = "", path: tuple[str, ...] = ()
) -> Problem:
    """Build a problem that lets the workflow run, but probably not as its author meant."""
    return Problem(code, Severity.WARNING, place, message, repair, path)
