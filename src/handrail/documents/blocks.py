"""Markdown read line by line: which lines are text, and what stands in fences; comments do not count."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_COMMENT: Final = re.compile(r" {0,3}<!--")
_OPEN: Final = "<!--"
_CLOSE: Final = "-->"
_MARK: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text: its number from 1, where it begins, what it says, and how it ends (empty: not at all).

    Within what it says, comments are blanks.
    """

    number: int
    start: int
    text: str
    end: str


@dataclass(frozen=True, slots=True)
class Fence:
    """What stands in a fence: the first word behind its mark, its text, and the number of its first line."""

    word: str
    text: str
    number: int


@dataclass(frozen=True, slots=True)
class Blocks:
    """A text taken apart. What nobody closes goes on to the end: `unclosed` is where it begins, or 0."""

    lines: tuple[Line, ...]
    fences: tuple[Fence, ...]
    unclosed: int = 0


def blocks(text: str) -> Blocks:
    """The lines of a text that are neither in a fence nor in a comment, and the fences."""
    walk = _lines(text)
    lines: list[Line] = []
    fences: list[Fence] = []
    for line in walk:
        fence = _FENCE.fullmatch(line.text)
        if fence and not (fence[1][0] == "`" and "`" in fence[2]):
            inside = _until(walk, fence[1])
            word = next(iter(fence[2].split()), "")
            fences.append(Fence(word, "".join(one.text + one.end for one in inside[1]), line.number + 1))
            if not inside[0]:
                return Blocks(tuple(lines), tuple(fences), line.number)
            continue
        shown = _without_comments(line.text)
        if not _COMMENT.match(shown):
            lines.append(Line(line.number, line.start, shown, line.end))
        elif not any(_CLOSE in one.text for one in walk):
            return Blocks(tuple(lines), tuple(fences), line.number)
    return Blocks(tuple(lines), tuple(fences))


def _lines(text: str) -> Iterator[Line]:
    for number, found in enumerate(_LINE.finditer(text), start=1):
        whole = found[0]
        body = whole.rstrip("\r\n")
        if whole:
            shown = " " + body[1:] if number == 1 and body.startswith(_MARK) else body
            yield Line(number, found.start(), shown, whole[len(body) :])


def _without_comments(text: str) -> str:
    """The line with blanks for the comments that begin and end in it."""
    pieces, done = [], 0
    while (begins := text.find(_OPEN, done)) >= 0:
        ends = text.find(_CLOSE, begins + len(_OPEN)) + len(_CLOSE)
        if ends < len(_CLOSE):
            break
        pieces += [text[done:begins], " " * (ends - begins)]
        done = ends
    return "".join([*pieces, text[done:]])


def _until(walk: Iterator[Line], mark: str) -> tuple[bool, list[Line]]:
    """Whether a line closes the fence of this mark, and the lines before it."""
    inside: list[Line] = []
    for line in walk:
        found = _FENCE.fullmatch(line.text)
        if found and found[1].startswith(mark) and not found[2].strip():
            return True, inside
        inside.append(line)
    return False, inside
