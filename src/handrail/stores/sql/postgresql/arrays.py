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

_TEXT: Final = 25
_BIGINT: Final = 20
_HEAD: Final = struct.Struct("!iiIii").pack
_NUMBER: Final = struct.Struct("!iq").pack
_LENGTH: Final = struct.Struct("!i").pack
_NOTHING: Final = _LENGTH(-1)
_NO_TEXTS, _NO_NUMBERS = (struct.pack("!iiI", 0, 0, element) for element in (_TEXT, _BIGINT))


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
        if not obj:
            return _NO_TEXTS
        parts = [_HEAD(1, None in obj, _TEXT, len(obj), 1)]
        for text in obj:
            if text is None:
                parts.append(_NOTHING)
                continue
            if "\0" in text:
                raise psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
            encoded = text.encode()
            parts += (_LENGTH(len(encoded)), encoded)
        return b"".join(parts)


class _NumbersDumper(Dumper):
    format = Format.BINARY
    oid = 1016

    def dump(self, obj: Numbers) -> bytes:
        """As `bigint[]`."""
        if not obj:
            return _NO_NUMBERS
        items = [_NOTHING if number is None else _NUMBER(8, number) for number in obj]
        return b"".join((_HEAD(1, None in obj, _BIGINT, len(obj), 1), *items))
