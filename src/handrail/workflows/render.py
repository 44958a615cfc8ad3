"""Templates: `{{name}}` and `{{name|filter}}`, nothing else. No logic, and no text is ever evaluated.

What is put in is never looked at again: braces in a value stay braces.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from handrail.engine.facts import Value


_PLACEHOLDER = re.compile(r"\{\{([^{}]*)\}\}")
_NAME = re.compile(r"\s*([A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*)\s*(?:\|\s*(\w+)\s*)?")
_STRAY = re.compile(r"\{\{|\{[\w.| -]*\}\}")
_TICKS = re.compile(r"`+")
_BREAK = re.compile(r"\r\n|\r|\n")


class Placeholder(Struct, frozen=True):
    """A name to be put in, how it is shown, and where it stands in the template."""

    name: str
    filter: str
    start: int
    length: int


class Misplaced(Struct, frozen=True):
    """Braces that are no placeholder, and where they stand."""

    text: str
    start: int

    @property
    def length(self) -> int:
        """How many characters."""
        return len(self.text)


def placeholders(template: str) -> tuple[Placeholder | Misplaced, ...]:
    """Every placeholder of a template, and every pair of braces that seems meant as one, in order."""
    found: list[Placeholder | Misplaced] = []
    rest = list(template)
    for match in _PLACEHOLDER.finditer(template):
        rest[match.start() : match.end()] = " " * len(match[0])
        named = _NAME.fullmatch(match[1])
        if named:
            found.append(_placeholder(match, named))
        else:
            found.append(Misplaced(match[0], match.start()))
    found += [Misplaced(stray[0], stray.start()) for stray in _STRAY.finditer("".join(rest))]
    return tuple(sorted(found, key=lambda item: item.start))


def render(template: str, values: "Mapping[str, Value]") -> str:
    """The template with its placeholders filled. Raises `KeyError` for a name that has no value."""
    return "".join(
        part if isinstance(part, str) else FILTERS[part.filter](values[part.name])
        for part in _parts(template)
    )


@lru_cache(maxsize=256)
def _parts(template: str) -> tuple[str | Placeholder, ...]:
    """The template as what stands in it and what is put in; what is no placeholder stays as it is."""
    parts: list[str | Placeholder] = []
    end = 0
    for match in _PLACEHOLDER.finditer(template):
        named = _NAME.fullmatch(match[1])
        if named:
            parts += (template[end : match.start()], _placeholder(match, named))
            end = match.end()
    return (*parts, template[end:])


def _placeholder(match: re.Match[str], named: re.Match[str]) -> Placeholder:
    return Placeholder(named[1], named[2] or "", match.start(), len(match[0]))


def _plain(value: "Value") -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    return _json(value)


def _lines(value: "Value") -> list[str]:
    """The lines of a value as Markdown sees them."""
    return _BREAK.split(_plain(value))


def _bullets(value: "Value") -> str:
    items = value if isinstance(value, list) else [] if value is None else [value]
    return "\n".join("- " + "\n  ".join(_lines(item)) for item in items)


def _fence(value: "Value") -> str:
    text = _plain(value)
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _quote(value: "Value") -> str:
    return "\n".join(f"> {line}" if line else ">" for line in _lines(value))


def _count(value: "Value") -> str:
    if value is None:
        return "0"
    return str(len(value)) if isinstance(value, (list, dict)) else str(len(_plain(value).split()))


def _path(value: "Value") -> str:
    text = " ".join(_lines(value))
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    ticks = "`" * (longest + 1)
    pad = "" if text and not longest else " "
    return f"{ticks}{pad}{text}{pad}{ticks}"


_json: "Callable[[Value], str]" = json.JSONEncoder(ensure_ascii=False).encode


FILTERS: "Mapping[str, Callable[[Value], str]]" = {
    "": _plain,
    "bullets": _bullets,
    "fence": _fence,
    "quote": _quote,
    "count": _count,
    "path": _path,
    "json": _json,
}
"""How a value is shown: as it is, as a list, fenced, quoted, counted, as code, as JSON."""
