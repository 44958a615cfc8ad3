"""Records under a seal: one line of JSON that says by a checksum whether it is still what was written.

The envelope is the same in every format, so that a record of a newer one is told from a damaged one.
"""

import hashlib
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeVar

import msgspec

FORMAT: Final = 1
"""The format of every record that this program writes."""

_START, _MIDDLE, _END = b'{"sum":"', b'","body":', b"}"
_SUM = 64
_BODY = len(_START) + _SUM + len(_MIDDLE)

Record = TypeVar("Record")


class Damage(Enum):
    """Why bytes are no record of ours."""

    BAD = "bad"
    NEWER = "newer"


@dataclass(frozen=True, slots=True)
class _Format:
    format: int


def seal(record: object) -> bytes:
    """The record on one line, under its checksum."""
    body = msgspec.json.encode(record)
    return b"".join((_START, hashlib.sha256(body).hexdigest().encode(), _MIDDLE, body, _END))


def sum_of(sealed: bytes) -> str:
    """The checksum that a sealed record carries."""
    return sealed[len(_START) : len(_START) + _SUM].decode("ascii")


def unseal(data: bytes, kind: type[Record]) -> Record | Damage:
    """The record under the seal, or why there is none."""
    sealed = data.rstrip(b"\n")
    body = sealed[_BODY:-1]
    expected = (_START, hashlib.sha256(body).hexdigest().encode(), _MIDDLE, body, _END)
    if sealed != b"".join(expected):
        return Damage.BAD
    try:
        if msgspec.json.decode(body, type=_Format).format > FORMAT:
            return Damage.NEWER
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, RecursionError):
        return Damage.BAD
