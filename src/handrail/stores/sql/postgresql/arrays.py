"""Columns of values for one statement, as PostgreSQL keeps arrays: not quoted, and of a known type.

The driver's own lists are quoted value by value; and one that is empty has no type, so that the server would
have to keep a plan for each way in which some are empty.
"""

import struct
from typing import Final

import psycopg
from psycopg.abc import AdaptContext
from psycopg.adapt import Dumper
from psycopg.pq import Format

_NOTHING: Final = struct.pack("!i", -1)
_LENGTH: Final = struct.Struct("!i")
_HEAD: Final = struct.Struct("!iiIii")
_EMPTY: Final = struct.Struct("!iiI")
_NUMBER: Final = struct.Struct("!iq")


class Texts(tuple[str | None, ...]):
    """A column of texts."""

    __slots__ = ()


class Numbers(tuple[int | None, ...]):
    """A column of whole numbers."""

    __slots__ = ()


def known(context: AdaptContext) -> None:
    """Have a connection take them."""
    if context.adapters:
        context.adapters.register_dumper(Texts, _TextsDumper)
        context.adapters.register_dumper(Numbers, _NumbersDumper)


class _TextsDumper(Dumper):
    format = Format.BINARY
    oid = 1009

    def dump(self, obj: Texts) -> bytes:
        """Raises `DataError` for a sign that PostgreSQL cannot keep, as the driver does for one text."""
        encoded = [None if text is None else text.encode() for text in obj]
        if any(text and b"\0" in text for text in encoded):
            raise psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
        return _packed(25, [_NOTHING if one is None else _LENGTH.pack(len(one)) + one for one in encoded])


class _NumbersDumper(Dumper):
    format = Format.BINARY
    oid = 1016

    def dump(self, obj: Numbers) -> bytes:
        """As `bigint[]`."""
        return _packed(20, [_NOTHING if number is None else _NUMBER.pack(8, number) for number in obj])


def _packed(element: int, items: list[bytes]) -> bytes:
    """An array of one dimension, numbered from 1."""
    if not items:
        return _EMPTY.pack(0, 0, element)
    return b"".join((_HEAD.pack(1, int(_NOTHING in items), element, len(items), 1), *items))
