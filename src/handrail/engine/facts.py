"""Declare facts: their types, domains and provenance, and which values can be stored and compared.

A fact is something true of the world that is read before a decision. Each fact is declared once.
"""

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
"""The value of a measured fact that a check, a person or another branch has yet to give."""


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
    """A kind, and whether null is allowed too (written `string?`)."""

    kind: Kind
    optional: bool = False

    def __str__(self) -> str:
        """Return the type as it is written in a workflow."""
        return f"{self.kind}?" if self.optional else str(self.kind)


class Provenance(StrEnum):
    """Who vouches for a fact.

    `measured`: the server ran it, keeps it, or a person signed it. `observed`: files and commits, true now,
    but an agent can write them. `claimed`: the agent says so.
    """

    MEASURED = "measured"
    OBSERVED = "observed"
    CLAIMED = "claimed"


class Fact(Struct, frozen=True):
    """A declared fact: its name, its type, how it is read, and which values `check` tries for it.

    A closed domain lists every value; an open one gives samples. `reader` names the function that reads the
    fact, or the engine itself; `of` is what it is read from.
    """

    name: str
    type: Type
    provenance: Provenance
    about: str
    domain: tuple[Value, ...] = ()
    closed: bool = False
    reader: str = "engine"
    of: tuple[str, ...] = ()


_PYTHON_TYPES: Mapping[Kind, tuple[type, ...]] = {
    Kind.BOOL: (bool,),
    Kind.INT: (int,),
    Kind.FLOAT: (int, float),
    Kind.STRING: (str,),
    Kind.STATE: (str,),
    Kind.STRINGS: (list,),
    Kind.JSON: (object,),
}

MAX_DEPTH: Final = 32
"""How deeply the lists and objects of a value may nest."""

MAX_SHOWN_BYTES: Final = 500
"""The longest value, as JSON, that a refusal repeats. The caller sent it and knows it."""

_SAFE_NUMBER_LIMIT: Final = 2**53

_MAX_LEVEL_PARTS: Final = 10_000
"""The most parts of one level that are checked at once.

A list in memory may contain itself, even twice, so a level can grow without end.
"""


def has_type(value: Value, kind: Type, states: Container[str] | None = None) -> bool:
    """True if the value has this type and no flaw; a state must be in `states`, if they are given."""
    if value is None:
        return kind.optional
    if isinstance(value, bool):
        return kind.kind is Kind.BOOL or kind.kind is Kind.JSON
    if not isinstance(value, _PYTHON_TYPES[kind.kind]) or not is_valid_value(value):
        return False
    if kind.kind is Kind.STATE:
        return states is None or value in states
    if isinstance(value, list) and kind.kind is Kind.STRINGS:
        return all(isinstance(item, str) for item in value)
    return True


def is_valid_value(value: Value) -> bool:
    """True if a value has no flaw. Tries a fast check first, because most values have none."""
    if isinstance(value, str):
        return _is_valid_text(value)
    if isinstance(value, (list, dict)):
        return _is_plainly_valid(value) or not any(find_value_flaws(value))
    return not _describe_flaw(value)


def _is_plainly_valid(value: Value) -> bool:
    """True only if all parts are valid, checked level by level.

    If this is not obvious, return False: then `find_value_flaws` decides.
    """
    texts: list[str] = []
    level = [value]
    for _ in range(MAX_DEPTH):
        below: list[Value] = []
        for part in level:
            if isinstance(part, str):
                texts.append(part)
            elif isinstance(part, dict):
                texts += part
                below += part.values()
            elif isinstance(part, list):
                below += part
            elif part is not None and not (
                isinstance(part, (int, float)) and -_SAFE_NUMBER_LIMIT < part < _SAFE_NUMBER_LIMIT
            ):
                return False
        if not below:
            return _are_valid_texts(texts)
        if len(below) > _MAX_LEVEL_PARTS:
            return False
        level = below
    return False


def _are_valid_texts(texts: list[str]) -> bool:
    """True if all texts are valid. False if a key is not a text."""
    try:
        return _is_valid_text("".join(texts))
    except TypeError:
        return False


def _is_valid_text(text: str) -> bool:
    return "\0" not in text and _is_encodable(text)


def _is_encodable(text: str) -> bool:
    """True if a text has no lone surrogate, so that it can be encoded and written."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def find_value_flaws(value: Value, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield why a value cannot be stored and compared: the path of each bad part, and what it must be."""
    if isinstance(value, (list, dict)):
        if depth == MAX_DEPTH:
            yield path, f"must not nest deeper than {MAX_DEPTH} levels"
            return
        for name, item in _iterate_parts(value):
            yield from (
                find_value_flaws(item, path + name, depth + 1)
                if name
                else ((path, "must have texts as keys"),)
            )
    elif flaw := _describe_flaw(value):
        yield path, flaw


def _iterate_parts(value: list[Value] | dict[Value, Value]) -> Iterator[tuple[str, Value]]:
    """Yield the parts of a list or an object with their path segments; empty if the key is not a text."""
    if isinstance(value, list):
        yield from ((f"[{number}]", item) for number, item in enumerate(value))
        return
    for key, item in value.items():
        yield ("" if _describe_flaw(key) or not isinstance(key, str) else f".{key}"), item


def _describe_flaw(value: Value) -> str:
    match value:
        case int() if not -(2**63) <= value < 2**63:
            return "must be a number of at most 64 bits"
        case float() if not math.isfinite(value):
            return "must be a finite number"
        case str() if "\0" in value:
            return "must be a text without NUL"
        case str() if not _is_encodable(value):
            return "must be a text without halves of characters"
        case None | bool() | int() | float() | str():
            return ""
        case _:
            return "must be a JSON value"


def to_printable(value: Value) -> Value:
    """Return the value, or a description in its place if it cannot be encoded or is too long to repeat."""
    if value is PENDING:
        return value
    if not is_valid_value(value):
        return f"<{type(value).__name__} that cannot be written down>"
    length = len(json.dumps(value))
    return value if length <= MAX_SHOWN_BYTES else f"<{type(value).__name__} of {length} bytes>"
