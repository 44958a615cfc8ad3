"""Split Markdown into its text lines and its fenced blocks, line by line. HTML comments are left out."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_COMMENT_START: Final = re.compile(r" {0,3}<!--")
_COMMENT_OPEN: Final = "<!--"
_COMMENT_CLOSE: Final = "-->"
_BOM: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class Line:
    """A line: its number from 1, offset, text (comments are blanks), and line end (empty at the very end)."""

    number: int
    start: int
    text: str
    end: str


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block: the first word after its mark, its text, and the number of its first line."""

    word: str
    text: str
    number: int


@dataclass(frozen=True, slots=True)
class Blocks:
    """The text lines and fences. `unclosed` is the line of a fence or comment that never ends, or 0."""

    lines: tuple[Line, ...]
    fences: tuple[Fence, ...]
    unclosed: int = 0


def parse_blocks(text: str) -> Blocks:
    """Return the lines that are neither in a fence nor in a comment, and the fences."""
    walk = _split_lines(text)
    lines: list[Line] = []
    fences: list[Fence] = []
    for line in walk:
        fence = _FENCE.fullmatch(line.text)
        if fence and not (fence[1][0] == "`" and "`" in fence[2]):
            closed, inside = _read_fence(walk, fence[1])
            word = next(iter(fence[2].split()), "")
            fences.append(Fence(word, inside, line.number + 1))
            if not closed:
                return Blocks(tuple(lines), tuple(fences), line.number)
            continue
        visible = _blank_comments(line.text)
        if not _COMMENT_START.match(visible):
            lines.append(Line(line.number, line.start, visible, line.end))
        elif not any(_COMMENT_CLOSE in inner.text for inner in walk):
            return Blocks(tuple(lines), tuple(fences), line.number)
    return Blocks(tuple(lines), tuple(fences))


def _split_lines(text: str) -> Iterator[Line]:
    for number, match in enumerate(_LINE.finditer(text), start=1):
        whole = match[0]
        body = whole.rstrip("\r\n")
        if whole:
            visible = " " + body[1:] if number == 1 and body.startswith(_BOM) else body
            yield Line(number, match.start(), visible, whole[len(body) :])


def _blank_comments(text: str) -> str:
    """Replace comments that begin and end on this line by blanks."""
    pieces, copied = [], 0
    while (start := text.find(_COMMENT_OPEN, copied)) >= 0:
        end = text.find(_COMMENT_CLOSE, start + len(_COMMENT_OPEN)) + len(_COMMENT_CLOSE)
        if end < len(_COMMENT_CLOSE):
            break
        pieces += [text[copied:start], " " * (end - start)]
        copied = end
    return "".join([*pieces, text[copied:]])


def _read_fence(walk: Iterator[Line], mark: str) -> tuple[bool, str]:
    """Return whether a line closes the fence with this mark, and the text before that line."""
    inside: list[str] = []
    for line in walk:
        match = _FENCE.fullmatch(line.text)
        if match and match[1].startswith(mark) and not match[2].strip():
            return True, "".join(inside)
        inside.append(line.text + line.end)
    return False, "".join(inside)
