"""JSON that people and other programs write: read strictly, so that nothing in it is lost or guessed."""

import json
import math
import re
from typing import Final, NoReturn

from msgspec import Struct

LARGEST: Final = 1024 * 1024
"""How many bytes a document may have."""

DEEPEST: Final = 32
"""How deeply the lists and objects of a document may nest, itself included."""


_HALF = re.compile("[\ud800-\udfff]")


class Flaw(Struct, frozen=True):
    """Why bytes are not the document they should be: a code, and a sentence that says where to look."""

    code: str
    sentence: str


FLAWS: Final = {
    "too_large": f"it is larger than {LARGEST} bytes",
    "not_utf8": "it is not UTF-8 text",
    "nul": "it has a NUL character",
    "not_json": "it is not JSON",
    "duplicate_key": "a key stands twice in one object",
    "not_finite": "it has a number that is not finite",
    "nested": f"it nests deeper than {DEEPEST} levels",
    "surrogate": "a text in it has half of a character",
    "not_object": "it is JSON, but not an object",
    "wrong_type": "a key holds something of the wrong type",
}
"""Every code of a flaw, and what it means."""


class _Found(Exception):  # noqa: N818 - carries a flaw out of the parser; nobody outside sees it
    """A flaw that the parser came upon."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(code)
        self.flaw = flaw(code, detail)


def flaw(code: str, detail: str = "") -> Flaw:
    """The flaw of this code, with what is known about its place."""
    return Flaw(code, f"{FLAWS[code]}: {detail}" if detail else FLAWS[code])


def parse(data: bytes) -> dict[str, object] | Flaw:
    """The object that the bytes are, its keys in their order, or the first flaw. A BOM is passed over."""
    try:
        document = _parsed(_text(data))
    except _Found as found:
        return found.flaw
    return document if isinstance(document, dict) else flaw("not_object")


def show(document: object) -> bytes:
    """The document as people read it: two spaces for each level, and a newline at the end."""
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()


def _text(data: bytes) -> str:
    if len(data) > LARGEST:
        raise _Found("too_large")
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as wrong:
        raise _Found("not_utf8", f"see byte {wrong.start + 1}") from wrong
    if "\0" in text:
        raise _Found("nul")
    return text


def _parsed(text: str) -> object:
    try:
        document = json.loads(text, object_pairs_hook=_object, parse_float=_float, parse_constant=_constant)
    except json.JSONDecodeError as wrong:
        raise _Found("not_json", f"{wrong.msg}, line {wrong.lineno}, column {wrong.colno}") from wrong
    except RecursionError as deep:
        raise _Found("nested") from deep
    except ValueError as wrong:
        raise _Found("not_json", "a number has too many digits") from wrong
    _check_depth(document, 1)
    if "\\u" in text:
        _check_texts(document)
    return document


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise _Found("duplicate_key", json.dumps(key[:80]))
        found[key] = value
    return found


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _Found("not_finite", text[:80])
    return number


def _constant(text: str) -> NoReturn:
    raise _Found("not_finite", text)


def _check_depth(value: object, depth: int) -> None:
    if isinstance(value, (list, dict)):
        if depth > DEEPEST:
            raise _Found("nested")
        for part in value.values() if isinstance(value, dict) else value:
            _check_depth(part, depth + 1)


def _check_texts(value: object) -> None:
    """Look for what only an escape can bring into a text."""
    if isinstance(value, str):
        if "\0" in value:
            raise _Found("nul")
        if _HALF.search(value):
            raise _Found("surrogate")
    elif isinstance(value, (list, dict)):
        for part in (*value, *value.values()) if isinstance(value, dict) else value:
            _check_texts(part)
