"""Facts: something true of the world, read before deciding; each declared once, with its type and domain."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final, TypeAlias

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


@dataclass(frozen=True, slots=True)
class Type:
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


@dataclass(frozen=True, slots=True)
class Fact:
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
    awaits: str = ""


_PYTHON: Mapping[Kind, tuple[type, ...]] = {
    Kind.BOOL: (bool,),
    Kind.INT: (int,),
    Kind.FLOAT: (int, float),
    Kind.STRING: (str,),
    Kind.STATE: (str,),
    Kind.STRINGS: (list,),
    Kind.JSON: (object,),
}


def fits(value: Value, kind: Type, states: Mapping[str, object]) -> bool:
    """True if the value is of this type; a state is the name of one of `states`."""
    if value is None:
        return kind.optional
    if isinstance(value, bool) and kind.kind not in {Kind.BOOL, Kind.JSON}:
        return False
    if not isinstance(value, _PYTHON[kind.kind]):
        return False
    if kind.kind is Kind.STATE:
        return value in states
    if isinstance(value, list) and kind.kind is Kind.STRINGS:
        return all(isinstance(item, str) for item in value)
    return True
