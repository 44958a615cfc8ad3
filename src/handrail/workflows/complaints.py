"""What CEL says about an expression, said so that the author of a workflow can mend it."""

import re

from msgspec import Struct

_TYPES = {
    "double": "a float",
    "dyn": "any JSON value",
    "int": "an int",
    "list(string)": "a list of texts",
    "null_type": "null",
    "string": "a text",
    "bool": "a yes-or-no",
}
_OVERLOAD = re.compile(r"found no matching overload for '(.+?)' applied to '\((.*)\)'")
_STRAY = re.compile(r"Syntax error: .*?'(.*)'(?: expecting .*)?")
_SYNTAX = "Syntax error: "
_SELECTED = re.compile(r"expression of type '(.+)' cannot be the operand of a select operation")
_OPERATOR = re.compile(r"_?(\W+)_?|@(in)")
_REPAIRS = {
    "=": "write `==` to compare",
    "&": "write `&&` for and",
    "|": "write `||` for or",
    "and": "write `&&`",
    "or": "write `||`",
    "not": "write `!` before what must not hold",
    "'": "close the quote",
    '"': "close the quote",
    ")": "close the bracket, or drop one",
    "]": "close the bracket, or drop one",
}
_WORDS = {"True": "true", "False": "false", "None": "null", "yes": "true", "no": "false"}


class Explained(Struct, frozen=True):
    """A complaint in plain words, its code, its repair, and how many characters it is about (0: all)."""

    code: str
    message: str
    repair: str
    length: int = 1


def explain(complaint: str) -> Explained:
    """A complaint about anything but a name that is not known."""
    overload = _OVERLOAD.fullmatch(complaint)
    if overload:
        return _unfit(overload[1], overload[2])
    stray = _STRAY.fullmatch(complaint)
    if stray:
        return _stray(stray[1])
    selected = _SELECTED.fullmatch(complaint)
    if selected:
        message = f"{_type(selected[1])} has nothing behind a dot"
        return Explained("guard-type", message, "call a function, such as `size(task.name)`")
    if complaint.startswith(_SYNTAX):
        message = "this is too long, or nests too deeply"
        return Explained("guard-syntax", message, "make it shorter, or split it into several lines", 0)
    return Explained("guard-type", complaint, "compare it with a value, such as `criteria.total > 0`", 0)


def name_repair(name: str) -> str:
    """What to write instead of a word of another language; nothing for any other name."""
    return f"write `{_WORDS[name]}`" if name in _WORDS else ""


def _unfit(function: str, types: str) -> Explained:
    operator = _OPERATOR.fullmatch(function)
    given = [_type(each) for each in re.split(r", (?![^(]*\))", types)]
    if operator is None or len(given) != 2:
        word = operator[1].strip("_") if operator else function
        message = f"`{word}` does not go with {' and '.join(given)}"
        return Explained("guard-type", message, "compare with a value first, or use a fact that fits")
    word = operator[1] or operator[2]
    message = f"`{word}` does not go between {given[0]} and {given[1]}"
    return Explained("guard-type", message, _repair(given), len(word))


def _type(name: str) -> str:
    wrapped = re.fullmatch(r"wrapper\((.*)\)", name)
    if wrapped:
        return f"{_type(wrapped[1])} or null"
    return _TYPES.get(name, name)


def _repair(given: list[str]) -> str:
    if sorted(given) == ["a float", "an int"]:
        return "a float is compared with a float: write 1.0, not 1"
    if "null" in given:
        return "only what is declared with `?` can be null"
    return "compare two values of one type"


def _stray(token: str) -> Explained:
    word = token.strip()
    if word.endswith("<EOF>"):
        return Explained("guard-syntax", "the guard ends too early", "finish it, or close what is open")
    repair = _REPAIRS.get(word) or _REPAIRS.get(word[:1]) or "mend the expression here"
    return Explained("guard-syntax", f"`{word}` cannot stand here", repair, len(word))
