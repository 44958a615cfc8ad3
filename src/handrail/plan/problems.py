"""What is wrong with a plan document, and what was read otherwise than meant; the sentences stand in tables.

A text is read far more often than its problems are told: so a problem holds what was seen and where, and its
sentences are made when somebody asks for them.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

_WIDEST: Final = 100
_AHEAD: Final = 40

SENTENCES: Final = {
    "body_opens_with_bullet": (
        "the body begins with a bullet that is neither a constraint nor a task",
        "write `- Key: value`, or `- [ ]: task`, or begin with a sentence, or use `* ` for bullets",
    ),
    "boxes_contradict": (
        "this is ticked, and a task below it is open",
        "tick what is below it, or open it",
    ),
    "breaking_without_scope": (
        "a `!` needs a scope ahead of it",
        "name a scope: `{0}(scope)!:`",
    ),
    "constraint_malformed": (
        "this is no constraint",
        "write `- Prefix: value` with one of {0}",
    ),
    "constraints_empty": (
        "there is no constraint below this",
        "list some below it, or write `Constraints: none`",
    ),
    "description_missing": (
        "files were changed, and the commit has no description",
        "begin the plan with a header such as `feat(scope): summary`",
    ),
    "direction_too_short": (
        "a direction has more than {0} characters",
        "write it out, or take it out",
    ),
    "finished_too_soon": (
        "the tasks are marked as complete, and some are open",
        "write `Tasks [ ]:`, or tick the open ones",
    ),
    "header_line_not_alone": (
        "the line below the header is not empty",
        "put an empty line below the header",
    ),
    "header_malformed": (
        "the first line is no header",
        "begin with `{0}`",
    ),
    "input_too_long": (
        "the text has {0} characters; {1} are read",
        "shorten it",
    ),
    "mixed_dialects": (
        "line {0} is of one dialect, and this line of the other",
        "write the whole text in one of them",
    ),
    "section_malformed": (
        "this looks like the first line of a section and is not written as one",
        "write `Constraints:`, `Constraints: none`, `Tasks [ ]:` or `Tasks [X]:`",
    ),
    "section_order": (
        "this stands behind a section that it belongs ahead of",
        "put the constraints first, then the tasks, then the rest, each section once",
    ),
    "task_id_missing": (
        "no id can be made of this summary",
        "give it a letter or a digit",
    ),
    "task_id_taken": (
        "another task beside this one is called `{0}`",
        "give it a summary of its own",
    ),
    "task_indentation": (
        "the indentation skips a level, or half of one",
        "indent it by {0} spaces more than the task it belongs to",
    ),
    "task_malformed": (
        "this looks like a task and is not written as one",
        "write `{0}`, or `{1}` if it is done; a bullet that is no task begins with `* `",
    ),
    "task_too_deep": (
        "this task is on level {0}; the deepest is {1}",
        "indent it less",
    ),
    "tasks_empty": (
        "there is no task below this",
        "list some below it, or take it out",
    ),
    "text_after_end": (
        "text stands where the document has ended",
        "put it ahead of this section, or into the description",
    ),
    "title_too_long": (
        "the title has {0} characters; {1} are read",
        "shorten it, and say the rest below",
    ),
    "too_many_tasks": (
        "there are more than {0} tasks",
        "join some, or make two plans of it",
    ),
    "type_unknown": (
        "`{0}` is no type",
        "take one of {1}",
    ),
    "unsafe_character": (
        "the character {0} cannot stand in a commit",
        "take it out",
    ),
}
"""Of each code that a text is not read for: what is wrong, and the repair; `{0}` is the first thing seen."""

WARNINGS: Final = {
    "box_opened": ("tasks", "the plan was complete: its box is open again"),
    "completion_propagated": ("tasks", "`{0}` is read as ticked: all below it is"),
    "constraint_skipped": (
        "constraints",
        "`{0}` is kept and not read: a constraint is `- Key: value`, its value in small letters",
    ),
    "crlf_normalised": ("", "lines that end in CRLF are read as if they ended in LF"),
    "marker_removed": (
        "direction",
        "the plan was complete and has an open task again: its marker was taken away",
    ),
    "scope_lowercased": ("header.scope", "the scope `{0}` is read in small letters"),
    "title_ignored": (
        "header.title",
        "`{0}` is kept and not read as a title, which needs a scope ahead of the colon",
    ),
}
"""Of each code that a reading or an edit warns with: the field it is about, and what is said."""

REFUSALS: Final = {
    "constraint_not_representable": (
        "a constraint would not be read as one",
        "begin its key with a capital letter and its value with a small one",
    ),
    "direction_not_representable": (
        "the direction would be read as a part of the description",
        "leave a constraint or a task ahead of it",
    ),
    "goal_missing": (
        "the plan has no goal yet",
        "set the goal first: `type(scope): title`",
    ),
    "no_tasks_found": (
        "the plan has no tasks",
        "set the tasks first",
    ),
    "not_all_tasks_complete": (
        "{0} of {1} tasks are open: {2}",
        "complete and mark them first",
    ),
    "plan_unread": (
        "the text is no whole plan",
        "mend what is reported of it first",
    ),
    "skipped_not_representable": (
        "a line that was skipped before would be read as a part of the description",
        "leave a constraint or a task ahead of it, or mend the line in the text first",
    ),
    "task_ambiguous": (
        "`{0}` may mean {1} tasks: {2}",
        "name one of them whole, or by its path",
    ),
    "task_has_others_below": (
        "`{0}` only groups the tasks below it",
        "mark those; it is complete when they are",
    ),
    "task_not_found": (
        "no task is called `{0}`",
        "name one of {1}",
    ),
    "description_not_representable": (
        "this line of the description would be read as another section",
        "begin it with `* `, or say it in a sentence",
    ),
    "header_not_representable": (
        "the header would be read as something else",
        "a title needs a scope, and a `!` too; neither has spaces around it or a line break",
    ),
    "not_representable": (
        "the text would be read as something else",
        "look for line breaks in constraints and tasks, and for what stands twice",
    ),
}
"""Of each code that a plan is not written or changed for: what is wrong, and the repair."""

_ALL: Final = SENTENCES | REFUSALS


class Problem(Struct, frozen=True, gc=False):
    """One thing to mend: line and column count from 1, the span in characters; `text` is the line."""

    code: str
    line: int = 0
    column: int = 0
    span: int = 0
    text: str = ""
    seen: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """What is wrong, in a sentence."""
        return _ALL[self.code][0].format(*self.seen)

    @property
    def repair(self) -> str:
        """How it is mended, in a sentence."""
        return _ALL[self.code][1].format(*self.seen)

    @property
    def shown(self) -> str:
        """The line, or the part of it around the spot if it is long."""
        return self.text[self._begin : self._begin + _WIDEST]

    @property
    def carets(self) -> str:
        """The line to print below the one shown, with carets under the spot."""
        ahead = self.text[self._begin : max(self.column - 1, 0)]
        indent = "".join("\t" if character == "\t" else " " for character in ahead)
        return indent + "^" * max(1, min(self.span, len(self.shown) - len(indent)))

    @property
    def _begin(self) -> int:
        return max(0, self.column - 1 - _AHEAD) if len(self.text) > _WIDEST else 0


class Warned(Struct, frozen=True, gc=False):
    """What was read otherwise than its author may have meant; nothing has to be mended."""

    code: str
    line: int = 0
    seen: str = ""

    @property
    def field(self) -> str:
        """The field it is about, or nothing if it is about the whole text."""
        return WARNINGS[self.code][0]

    @property
    def message(self) -> str:
        """What was read how, in a sentence."""
        return WARNINGS[self.code][1].format(self.seen.strip())


def at_line(code: str, lines: Sequence[str], number: int, *seen: str) -> Problem:
    """A problem of a whole line, behind its indentation."""
    line = lines[number - 1]
    column = len(line) - len(line.lstrip()) + 1
    return Problem(code, number, min(column, len(line) + 1), max(1, len(line.strip())), line, seen)
