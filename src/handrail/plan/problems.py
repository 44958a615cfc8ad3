"""How problems of plan documents are made: the line, cut if it is long, with carets under the spot."""

from collections.abc import Sequence
from typing import Final

from handrail.plan.model import Problem

_WIDEST: Final = 100
_AHEAD: Final = 40

CODES: Final = {
    "body_opens_with_bullet": "the body begins with a bullet that is neither a constraint nor a task",
    "breaking_without_scope": "the header has a `!` and no scope",
    "constraint_malformed": "a line below `Constraints:` is no constraint",
    "constraints_empty": "the section `Constraints:` is empty",
    "description_missing": "files were changed, and nothing describes the change",
    "direction_too_short": "what stands behind the last section is too short to be a direction",
    "header_line_not_alone": "the line below the header is not empty",
    "header_malformed": "the first line is no header",
    "input_too_long": "the text is longer than is read",
    "mixed_dialects": "the text has sections of both dialects",
    "section_malformed": "a line looks like the first one of a section and is not written as one",
    "section_order": "a line stands behind a section that it belongs ahead of",
    "task_malformed": "a line looks like a task and is not written as one",
    "task_too_deep": "a task is nested deeper than is read",
    "tasks_empty": "the section of tasks is empty",
    "text_after_end": "text stands where the document has ended",
    "title_too_long": "the title is longer than is read",
    "too_many_tasks": "there are more tasks than are read",
    "unsafe_character": "the text holds a character that no commit can",
}
"""Every code that a text is not read for."""


def problem(
    code: str, message: str, repair: str, lines: Sequence[str], number: int, column: int = 1, span: int = 0
) -> Problem:
    """A problem of the line with this number; without a span it is of the rest of the line."""
    line = lines[number - 1]
    span = span or max(1, len(line) - column + 1)
    begin = max(0, column - 1 - _AHEAD) if len(line) > _WIDEST else 0
    shown = line[begin : begin + _WIDEST]
    indent = "".join("\t" if character == "\t" else " " for character in shown[: column - 1 - begin])
    carets = indent + "^" * max(1, min(span, len(shown) - len(indent)))
    return Problem(code, message, repair, number, column, span, shown, carets)
