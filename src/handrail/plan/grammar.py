r"""The two dialects of plan documents as data: patterns, forms, limits and words, and the presets.

The patterns were written for a language whose `.` takes no `\r`, U+2028 and U+2029 and whose `\s` takes a
byte order mark; here both are spelled out. Every pattern is matched against a whole line.
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

_ANY: Final = r"[^\n\r\u2028\u2029]"
SPACE: Final = r"[\t\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]"
"""What the grammar takes for a space; there are no line feeds in a line."""

_NO_SCOPE: Final = r"[^)\n\t\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]"


class Dialect(StrEnum):
    """The two ways to lay a plan document out."""

    PLANNER = "planner"
    COMMITS = "commits"


@dataclass(frozen=True, slots=True)
class HeaderPatterns:
    """The first line, in order of priority; groups `type`, `scope`, `breaking` and `title`."""

    complete: str
    type_scope_breaking: str
    type_scope: str
    type: str


@dataclass(frozen=True, slots=True)
class Forms:
    """How each kind of line is written: `{name}` stands for a group of its pattern."""

    complete: str = "{type}({scope}){breaking}: {title}"
    type_scope: str = "{type}({scope}){breaking}:"
    type: str = "{type}:{ignored}"
    constraint: str = "- {key}: {value}"
    task: str = "{indent}- [{box}]: {text}"


# Header ::= Type ( "(" Scope ")" )? Breaking? ":" ( " " Title )?
# Type   ::= [a-z]+      Scope ::= [^)\s]+      Breaking ::= "!"      Title ::= .+
# Where the rule and the patterns of its author differ, the patterns win.
_TYPE_SCOPE: Final = rf"(?P<type>[a-z]+)\((?P<scope>{_NO_SCOPE}+)\)"

# `:\s*(.+)` without its quadratic worst case: all spaces ahead of a title, or all but one if there is none.
_AHEAD: Final = rf"(?:{SPACE}*+(?!{SPACE}|\Z)|{SPACE}*(?={SPACE}\Z))"
HEADERS: Final = HeaderPatterns(
    complete=rf"{_TYPE_SCOPE}(?P<breaking>!)?:{_AHEAD}(?P<title>{_ANY}+)",
    type_scope_breaking=rf"{_TYPE_SCOPE}(?P<breaking>!):",
    type_scope=rf"{_TYPE_SCOPE}:",
    type=rf"(?P<type>[a-z]+):(?P<ignored>{_ANY}*)",
)

# Task ::= Indent "- [" CheckBox "]: " TaskText      CheckBox ::= "x" | " "      TaskText ::= .+
_TASK: Final = rf"(?P<indent>{SPACE}*)- \[(?P<box>[x ])\]: (?P<text>{_ANY}+)"

# What a person takes for a task: a box with or without a bullet; `[1]:` and `[x](address)` are none.
_NEAR_TASK: Final = rf"(?:{SPACE}*(?:[-*+]{SPACE}*)?\[[xX ]\](?![(\[])|{SPACE}*[-*+]{SPACE}*\[\](?![(\[])).*"

# Constraint ::= "- " ConstraintKey ": " ConstraintValue
# ConstraintKey ::= [A-Z][a-z ]*      ConstraintValue ::= [a-z].*
_CONSTRAINT: Final = rf"- (?P<key>[A-Z][a-z ]*): (?P<value>[a-z]{_ANY}*)"
_NEAR_CONSTRAINT: Final = r"- [^:]*(?::(?! )[^:]*)*: .*"
_BULLET: Final = r"- .*"

# The last line of a direction may be a marker, which holds the directive.
MARKER: Final = rf"~~~ (?P<directive>(?:[A-Z]|{SPACE})+) ~~~"

SCOPE: Final = "[a-z][a-z0-9-]*"
SCOPE_WITH_PATHS: Final = "[a-z][a-z0-9/.-]*"
"""The scope of a monorepo, for those who want it: `create_config({"scope_pattern": SCOPE_WITH_PATHS})`."""

PREFIXES: Final = ("Do not", "Never", "Avoid", "Decide against", "Must not", "Cannot", "Forbidden")


@dataclass(frozen=True, slots=True)
class Config:
    """A dialect, or a preset of one, as data. An empty pattern matches nothing; no types are any types.

    Lines that only come near a pattern are not text: what is near a task halts the reading, what is near a
    constraint is skipped, and a bullet may not open a body.
    """

    dialect: Dialect = Dialect.PLANNER
    header_patterns: HeaderPatterns = HEADERS
    task_pattern: str = _TASK
    near_task_pattern: str = _NEAR_TASK
    constraint_pattern: str = _CONSTRAINT
    near_constraint_pattern: str = _NEAR_CONSTRAINT
    bullet_pattern: str = _BULLET
    scope_pattern: str = SCOPE
    forms: Forms = field(default_factory=Forms)
    types: tuple[str, ...] = ("feat", "fix", "refactor", "build", "chore", "docs", "lint", "infra", "spec")
    prefixes: tuple[str, ...] = PREFIXES
    max_title_length: int = 120
    max_nesting_depth: int = 4
    max_task_count: int = 1000
    max_input_length: int = 100_000
    indent_size: int = 2
    direction_halt_length: int | None = 3

    def __hash__(self) -> int:
        """Cheap, since every reading looks its rules up by it; equal configurations have equal patterns."""
        return hash(self.task_pattern)


COMMIT_MESSAGE: Final = Config()
"""The dialect `planner` as it is."""

STRICT: Final = replace(
    COMMIT_MESSAGE,
    max_title_length=50,
    max_nesting_depth=3,
    max_task_count=50,
    max_input_length=10_000,
    direction_halt_length=1,
)
"""The same with narrow limits."""

MARKDOWN_TASKS: Final = replace(
    COMMIT_MESSAGE,
    header_patterns=HeaderPatterns(rf"# (?P<title>{_ANY}+)", "", "", ""),
    task_pattern=rf"(?P<indent>{SPACE}*)- \[(?P<box>[x ])\] (?P<text>{_ANY}+)",
    constraint_pattern=rf"> (?P<key>[A-Z][a-z ]*): (?P<value>{_ANY}+)",
    near_constraint_pattern=r"> .*",
    bullet_pattern="",
    forms=Forms("# {title}", "", "", "> {key}: {value}", "{indent}- [{box}] {text}"),
    types=(),
    direction_halt_length=None,
)
"""A heading, quoted constraints, and tasks as Markdown writes them."""

YAML_LIKE: Final = replace(
    COMMIT_MESSAGE,
    header_patterns=HeaderPatterns(rf"title: (?P<title>{_ANY}+)", "", "", ""),
    task_pattern=rf"(?P<indent>{SPACE}*)- task: (?P<text>{_ANY}+) \((?P<box>[x ])\)",
    near_task_pattern=rf"{SPACE}*-{SPACE}*task:.*",
    constraint_pattern=rf"(?P<key>[a-z][a-z_ ]*): (?P<value>{_ANY}+)",
    near_constraint_pattern=r"[A-Za-z_]+:.*",
    forms=Forms("title: {title}", "", "", "{key}: {value}", "{indent}- task: {text} ({box})"),
    types=(),
    prefixes=(),
    indent_size=4,
)
"""Keys and values, and tasks with their boxes at the end."""

PRESETS: Final = {
    "COMMIT_MESSAGE": COMMIT_MESSAGE,
    "MARKDOWN_TASKS": MARKDOWN_TASKS,
    "YAML_LIKE": YAML_LIKE,
    "STRICT": STRICT,
}

# type(scope)!: summary / blank / description / blank / Constraints: list / blank / Tasks [ ]: list
COMMITS: Final = Config(
    dialect=Dialect.COMMITS,
    header_patterns=HeaderPatterns(
        r"(?P<type>[a-z]+)(?:\((?P<scope>[A-Za-z][A-Za-z0-9-]*)\))?(?P<breaking>!)?: (?P<title>\S(?:.*\S)?)",
        "",
        "",
        "",
    ),
    task_pattern=r"(?P<indent> *)- \[(?P<box>[x ])\] (?P<text>\S.*)",
    near_task_pattern="",
    constraint_pattern=r"- (?P<key>[A-Z][a-z ]*): (?P<value>\S.*)",
    near_constraint_pattern="",
    bullet_pattern="",
    forms=Forms(
        "{type}({scope}){breaking}: {title}",
        "",
        "{type}{breaking}: {title}",
        "- {key}: {value}",
        "{indent}- [{box}] {text}: {details}",
    ),
    types=("feat", "fix", "refactor", "ci", "build", "docs", "chore", "lint"),
    max_nesting_depth=3,
)
"""The dialect `commits`. Its types stand in the order in which they decide for a commit of several."""

CONSTRAINTS_LINE: Final = "Constraints:"
NO_CONSTRAINTS_LINE: Final = "Constraints: none"
OPEN_TASKS_LINE: Final = "Tasks [ ]:"
FINISHED_TASKS_LINE: Final = "Tasks [X]:"

NEAR_SECTION: Final = r"Constraints\s*:.*|Constraints\b.*:\s*|Tasks \[.*"
"""What a person takes for the first line of a section of `commits`."""
