"""The floor of the plan parser: the grammar of `planner` in one bare loop over lines, dicts out, no rules as data.

It does the whole job: header, limits, sections and their order, nesting, skipped lines, the code and the line
of what halts it. It has no configuration, no carets and no sentences.
"""

import re
from typing import Any, Final

_COMPLETE: Final = re.compile(r"([a-z]+)\(([^)\s]+)\)(!)?:\s*(.+)")
_SCOPED: Final = re.compile(r"([a-z]+)\(([^)\s]+)\)(!)?:")
_TYPED: Final = re.compile(r"([a-z]+):(.*)")
_TASK: Final = re.compile(r"(\s*)- \[([x ])\]: (.+)")
_NEAR_TASK: Final = re.compile(r"\s*(?:[-*+]\s*)?\[[xX ]\](?![(\[])|\s*[-*+]\s*\[\](?![(\[])")
_CONSTRAINT: Final = re.compile(r"- ([A-Z][a-z ]*): ([a-z].*)")
_MARKER: Final = re.compile(r"~~~ [A-Z\s]+ ~~~")


def scan(text: str) -> dict[str, Any]:  # noqa: C901, PLR0911, PLR0912, PLR0915 - one bare loop is the point
    """What the text says, in the shape of the source."""
    if len(text) > 100_000 or "\0" in text:
        return {"state": "halted", "problems": [("unread", 0)]}
    text = text.replace("\r\n", "\n")
    if not text.strip():
        return {"state": "empty"}
    lines = text.split("\n")
    out = _header(lines[0])
    if out["state"] != "parsed":
        return out
