"""Problems: what a person can mend in a text, with the place where it stands."""

from enum import StrEnum

from msgspec import Struct


class Severity(StrEnum):
    """How bad a problem is: an error keeps a workflow from loading or from working."""

    ERROR = "error"
    WARNING = "warning"


class Place(Struct, frozen=True):
    """Where in a text something stands: line and column count from 1, length in characters."""

    file: str
    line: int
    column: int
    length: int = 1


class Problem(Struct, frozen=True):
    """One thing to mend. `path` is the shortest way to it through the workflow, as row ids."""

    code: str
    severity: Severity
    place: Place
    message: str
    repair: str = ""
    path: tuple[str, ...] = ()


def in_reading_order(problems: list[Problem]) -> tuple[Problem, ...]:
    """The problems as a reader meets them: by file, line and column, then by code."""
    return tuple(
        sorted(problems, key=lambda p: (p.place.file, p.place.line, p.place.column, p.code, p.message))
    )


def error(code: str, place: Place, message: str, repair: str = "", path: tuple[str, ...] = ()) -> Problem:
    """A problem that must be mended before the workflow can be used."""
    return Problem(code, Severity.ERROR, place, message, repair, path)


def warning(code: str, place: Place, message: str, repair: str = "", path: tuple[str, ...] = ()) -> Problem:
    """A problem that lets the workflow run, though hardly as its author meant."""
    return Problem(code, Severity.WARNING, place, message, repair, path)
