"""The SQL of this store, read from the files beside the code; and how times and JSON stand in it."""

import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_HERE = Path(__file__).parent
_decoder = msgspec.json.Decoder(dict[str, Any])

encoded: Final = msgspec.json.Encoder().encode
"""A value as JSON, in bytes."""


@cache
def queries(file: str = "queries.sql") -> Mapping[str, str]:
    """The statements of a file, by name."""
    return _statements(_HERE / file)


@cache
def migrations(folder: str = "migrations") -> tuple[str, ...]:
    """The migrations, in order; the schema version is how many of them have been run."""
    found = sorted((_HERE / folder).iterdir())
    return tuple(file.read_text("utf-8") for file in found if file.name.endswith(".sql"))


def _statements(file: Path) -> dict[str, str]:
    parts = _NAME.split(file.read_text("utf-8"))
    return {name: text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def stamp(at: datetime) -> str:
    """A time as SQL compares it: UTC, a blank, milliseconds, no Z."""
    return at.isoformat(" ", "milliseconds")[:23]


def time(text: str) -> datetime:
    """The time a stamp stands for."""
    return datetime.fromisoformat(f"{text}+00:00")


def asked(text: str) -> str:
    """A name as a database can be asked for it: one with halves of characters is nobody's name."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def dumped(value: object) -> str:
    """A value as JSON text."""
    return encoded(value).decode()


def parsed(text: str | bytes) -> dict[str, Any]:
    """The JSON object of a text."""
    return _decoder.decode(text)
