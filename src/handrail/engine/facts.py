"""Facts: something true of the world, read before deciding; each declared once, with its type and domain."""

import json
import math
from collections.abc import Container, Iterator, Mapping
from enum import Enum, StrEnum
from typing import Final, TypeAlias

from msgspec import Struct

Value: TypeAlias = object
"""A JSON value (None, bool, int, float, str, list, dict), or `PENDING` for a fact not yet known."""


class _Pending(Enum):
    PENDING = "pending"


PENDING: Final = _Pending.PENDING
"""Stands for a measured fact that a check, a person or another branch has yet to give."""


class Kind(StrEnum):
    """The kinds of value a fact, a variable or an input can have."""

    BOOL = "bool"
    INT = "int"
    FLOAT = "float"
    STRING = "string"
    STATE = "state"
    STRINGS = "strings"
    JSON = "json"


class Type(Struct, frozen=True):
    """A kind, and whether null is a value too (written `string?`)."""

    kind: Kind
    optional: bool = False

    def __str__(self) -> str:
        """The type as it is written in a workflow."""
        return f"{self.kind}?" if self.optional else str(self.kind)


class Provenance(StrEnum):
    """Who stands behind a fact.

    `measured`: the server ran it, keeps it, or a person signed it. `observed`: files and commits, true now,
    but an agent can write them. `claimed`: the agent says so.
    """

    MEASURED = "measured"
    OBSERVED = "observed"
    CLAIMED = "claimed"


class Fact(Struct, frozen=True):
    """A declared fact: how it is called, typed and read, and which values `check` tries for it.

    A closed domain lists every value; an open one gives samples. `reader` names who reads it (a function of
    the shell, or the engine itself) and `of` what it is read from.
    """

    name: str
    type: Type
    provenance: Provenance
    about: str
    domain: tuple[Value, ...] = ()
    closed: bool = False
    reader: str = "engine"
    of: tuple[str, ...] = ()


_PYTHON: Mapping[Kind, tuple[type, ...]] = {
    Kind.BOOL: (bool,),
    Kind.INT: (int,),
    Kind.FLOAT: (int, float),
    Kind.STRING: (str,),
    Kind.STATE: (str,),
    Kind.STRINGS: (list,),
    Kind.JSON: (object,),
}


DEEPEST: Final = 32
"""How deeply the lists and objects of a value may nest."""

LONGEST: Final = 500
"""How long a value may be, as JSON, to be shown in a refusal: whoever sent it need not read it again."""

_LARGE: Final = 2**53
_MANY: Final = 10_000
"""How many parts of one level are taken down at once: a list in memory may hold itself, and that twice."""


def fits(value: Value, kind: Type, states: Container[str] | None = None) -> bool:
    """True if the value is of this type and has no flaw; a state is one of `states`, where they are given."""
    if value is None:
        return kind.optional
    if isinstance(value, bool):
        return kind.kind is Kind.BOOL or kind.kind is Kind.JSON
    if not isinstance(value, _PYTHON[kind.kind]) or not sound(value):
        return False
    if kind.kind is Kind.STATE:
        return states is None or value in states
    if isinstance(value, list) and kind.kind is Kind.STRINGS:
        return all(isinstance(item, str) for item in value)
    return True


def sound(value: Value) -> bool:
    """True if a value has no flaw. Most have none, and that is told faster than by looking for one."""
    if isinstance(value, str):
        return _good(value)
    if isinstance(value, (list, dict)):
        return _plain(value) or not any(flaws(value))
    return not _flaw(value)


def _plain(value: Value) -> bool:
    """True only if all parts, level by level, are plainly good; where it is not plain, `flaws` decides."""
    texts: list[str] = []
    level = [value]
    for _ in range(DEEPEST):
        below: list[Value] = []
        for part in level:
            if isinstance(part, str):
                texts.append(part)
            elif isinstance(part, dict):
                texts += part
                below += part.values()
            elif isinstance(part, list):
                below += part
            elif part is not None and not (isinstance(part, (int, float)) and -_LARGE < part < _LARGE):
                return False
        if not below:
            return _all_good(texts)
        if len(below) > _MANY:
            return False
        level = below
    return False


def _all_good(texts: list[str]) -> bool:
    """True if all are good texts, and keys are texts at all."""
    try:
        return _good("".join(texts))
    except TypeError:
        return False


def _good(text: str) -> bool:
    return "\0" not in text and _whole(text)


def _whole(text: str) -> bool:
    """True if a text has no half of a character; it could not be written down."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def flaws(value: Value, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Why a value cannot be kept and compared: the path of each part that cannot, and what it must be."""
    if isinstance(value, (list, dict)):
        if depth == DEEPEST:
            yield path, f"must not nest deeper than {DEEPEST} levels"
            return
        for name, item in _parts(value):
            yield from flaws(item, path + name, depth + 1) if name else ((path, "must have texts as keys"),)
    elif flaw := _flaw(value):
        yield path, flaw


def _parts(value: list[Value] | dict[Value, Value]) -> Iterator[tuple[str, Value]]:
    """The parts of a list or an object, each with its step of a path, or with none if its key is no text."""
    if isinstance(value, list):
        yield from ((f"[{number}]", item) for number, item in enumerate(value))
        return
    for key, item in value.items():
        yield ("" if _flaw(key) or not isinstance(key, str) else f".{key}"), item


def _flaw(value: Value) -> str:
    match value:
        case int() if not -(2**63) <= value < 2**63:
            return "must be a number of at most 64 bits"
        case float() if not math.isfinite(value):
            return "must be a finite number"
        case str() if "\0" in value:
            return "must be a text without NUL"
        case str() if not _whole(value):
            return "must be a text without halves of characters"
        case None | bool() | int() | float() | str():
            return ""
        case _:
            return "must be a JSON value"


def writable(value: Value) -> Value:
    """The value, or words in its place if it cannot be written down or is too long to be told again."""
    if value is PENDING:
        return value
    if not sound(value):
        return f"<{type(value).__name__} that cannot be written down>"
    length = len(json.dumps(value))
    return value if length <= LONGEST else f"<{type(value).__name__} of {length} bytes>"
