"""A block of ours in a text of somebody else's: marked, of a version, put in anew or taken out again.

What stands around it stays to the byte.
"""

import re
from typing import Final

from handrail.documents.jsontree import Problem

_START: Final = re.compile(r"<!-- HANDRAIL START v([0-9A-Za-z.+-]+)( joined)? -->")
_END: Final = "<!-- HANDRAIL END -->"
_WHOLE: Final = re.compile(
    rf"(?:(?<=\n)\r?\n)?(?P<start>{_START.pattern})(?P<inside>.*?){re.escape(_END)}(?:\r?\n)?", re.DOTALL
)


def with_block(text: str, version: str, inside: str) -> str | Problem:
    """The text with this block: in the place of the one that is there, or behind all else."""
    if problem := _problem(text):
        return problem
    found = _WHOLE.search(text)
    if found:
        newline, joined = _newline(found["inside"]), found[3] or ""
    else:
        newline, joined = _newline(text), " joined" if text and not text.endswith("\n") else ""
    lines = (f"<!-- HANDRAIL START v{version}{joined} -->", *inside.strip("\n").split("\n"), _END)
    block = newline.join(lines)
    if found:
        return text[: found.start("start")] + block + text[found.end("inside") + len(_END) :]
    apart = (newline * 2 if joined else newline) if text else ""
    return f"{text}{apart}{block}{newline}"


def without_block(text: str) -> str | Problem:
    """The text without the block, and without the empty line that was put before it."""
    if problem := _problem(text):
        return problem
    found = _WHOLE.search(text)
    if not found:
        return text
    before, after = text[: found.start()], text[found.end() :]
    if found[3]:
        before = before.removesuffix(_newline(found["inside"]))
    return before + after


def _newline(text: str) -> str:
    """How the lines of a text end."""
    return "\r\n" if "\r\n" in text else "\n"


def _problem(text: str) -> Problem | None:
    """Why it is not clear what is ours."""
    starts, ends = list(_START.finditer(text)), [found.start() for found in re.finditer(_END, text)]
    if not starts and not ends:
        return None
    if len(starts) == len(ends) == 1 and starts[0].start() < ends[0]:
        return None
    place = min([found.start() for found in starts] + ends)
    line = text.count("\n", 0, place) + 1
    sentence = f"where Handrail's block begins and ends is not clear: one start and one `{_END}` are needed"
    return Problem(line, 1, sentence, "remove the marks that are too many, and what is between them")
