"""Parse JSON strictly: duplicate keys, non-finite numbers, lone surrogates and deep nesting are flaws."""

import json
import math
import re
from typing import Final

from msgspec import Struct

MAX_BYTES: Final = 1024 * 1024

# The maximum nesting of lists and objects, including the document itself.
MAX_DEPTH: Final = 32
_SURROGATE = re.compile("[\ud800-\udfff]")


class JsonFlaw(Struct, frozen=True):
    """Why bytes are not a valid document: a code, and a sentence that says where to look."""

    code: str
    sentence: str


FLAW_MESSAGES: Final = {
    "too_large": f"it is larger than {MAX_BYTES} bytes",
    "not_utf8": "it is not UTF-8 text",
    "nul": "it has a NUL character",
    "not_json": "it is not JSON",
    "duplicate_key": "a key stands twice in one object",
    "not_finite": "it has a number that is not finite",
    "nested": f"it nests deeper than {MAX_DEPTH} levels",
    "surrogate": "a text in it has half of a character",
    "not_object": "it is JSON, but not an object",
    "wrong_type": "a key holds something of the wrong type",
}


class _FlawError(Exception):
    """A flaw that the parser found."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(code)
        self.flaw = build_flaw(code, detail)


def build_flaw(code: str, detail: str = "") -> JsonFlaw:
    """Return the flaw with this code; `detail` says where it is."""
    return JsonFlaw(code, f"{FLAW_MESSAGES[code]}: {detail}" if detail else FLAW_MESSAGES[code])


def parse_object(data: bytes) -> dict[str, object] | JsonFlaw:
    """Return the object in these bytes, its keys in order, or the first flaw. A BOM is skipped."""
    if len(data) > MAX_BYTES:
        return build_flaw("too_large")
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        return build_flaw("not_utf8", f"see byte {error.start + 1}")
    if "\0" in text:
        return build_flaw("nul")
    try:
        document = _parse_text(text)
    except _FlawError as error:
        return error.flaw
    return document if isinstance(document, dict) else build_flaw("not_object")


def format_document(document: object) -> bytes:
    """Return the document as readable JSON: indented by two spaces, with a newline at the end."""
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()


def _parse_text(text: str) -> object:
    try:
        document = json.loads(
            text, object_pairs_hook=_build_object, parse_float=_parse_number, parse_constant=_parse_number
        )
    except json.JSONDecodeError as error:
        raise _FlawError("not_json", f"{error.msg}, line {error.lineno}, column {error.colno}") from error
    except RecursionError as deep:
        raise _FlawError("nested") from deep
    except ValueError as error:
        raise _FlawError("not_json", "a number has too many digits") from error
    _check_depth(document, 1)
    if "\\u" in text:
        _check_texts(document)
    return document


def _build_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members: dict[str, object] = {}
    for key, value in pairs:
        if key in members:
            raise _FlawError("duplicate_key", json.dumps(key[:80]))
        members[key] = value
    return members


def _parse_number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _FlawError("not_finite", text[:80])
    return number


def _check_depth(value: object, depth: int) -> None:
    if isinstance(value, (list, dict)):
        if depth > MAX_DEPTH:
            raise _FlawError("nested")
        for part in value.values() if isinstance(value, dict) else value:
            _check_depth(part, depth + 1)


def _check_texts(value: object) -> None:
    """Raise if a text contains a NUL or a surrogate, which only an escape can put there."""
    if isinstance(value, str):
        if "\0" in value:
            raise _FlawError("nul")
        if _SURROGATE.search(value):
            raise _FlawError("surrogate")
    elif isinstance(value, (list, dict)):
        for part in (*value, *value.values()) if isinstance(value, dict) else value:
            _check_texts(part)
