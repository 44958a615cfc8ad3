r"""The two dialects of plan documents as data: patterns, line forms, limits, words and presets.

The patterns were written for a language in which `.` does not match `\r`, U+2028 and U+2029 and `\s` matches
a byte order mark; here both are spelled out. Every pattern is matched against a whole line.

A new dialect or preset is a `PlanConfig`. `compile_rules` turns it into what the parser uses.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Final, Protocol, TypeAlias

_ANY_CHARACTER: Final = r"[^\n\r\u2028\u2029]"

# The characters that the grammar treats as spaces. A line has no line feeds.
SPACE: Final = r"[\t\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]"
_SCOPE_CHARACTER: Final = r"[^)\n\t\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]"


class Dialect(StrEnum):
    """The two layouts of a plan document."""

    PLANNER = "planner"
    COMMITS = "commits"


@dataclass(frozen=True, slots=True)
class HeaderPatterns:
    """The patterns of the first line, tried in this order; groups `type`, `scope`, `breaking` and `title`."""

    complete: str
    type_scope_breaking: str
    type_scope: str
    type: str


@dataclass(frozen=True, slots=True)
class LineForms:
    """How each kind of line is written; `{name}` is a group of the matching pattern."""

    complete: str = "{type}({scope}){breaking}: {title}"
    type_scope: str = "{type}({scope}){breaking}:"
    type: str = "{type}:{ignored}"
    constraint: str = "- {key}: {value}"
    task: str = "{indent}- [{box}]: {text}"


# Header ::= Type ( "(" Scope ")" )? Breaking? ":" ( " " Title )?
# Type   ::= [a-z]+      Scope ::= [^)\s]+      Breaking ::= "!"      Title ::= .+
# Where this rule and the original patterns differ, the patterns win.
_TYPE_SCOPE: Final = rf"(?P<type>[a-z]+)\((?P<scope>{_SCOPE_CHARACTER}+)\)"

# `:\s*(.+)` without its quadratic worst case: all spaces before a title, or all but one if there is no title.
_SPACE_BEFORE_TITLE: Final = rf"(?:{SPACE}*+(?!{SPACE}|\Z)|{SPACE}*(?={SPACE}\Z))"

HEADER_PATTERNS: Final = HeaderPatterns(
    complete=rf"{_TYPE_SCOPE}(?P<breaking>!)?:{_SPACE_BEFORE_TITLE}(?P<title>{_ANY_CHARACTER}+)",
    type_scope_breaking=rf"{_TYPE_SCOPE}(?P<breaking>!):",
    type_scope=rf"{_TYPE_SCOPE}:",
    type=rf"(?P<type>[a-z]+):(?P<ignored>{_ANY_CHARACTER}*)",
)

# Task ::= Indent "- [" CheckBox "]: " TaskText      CheckBox ::= "x" | " "      TaskText ::= .+
_TASK: Final = rf"(?P<indent>{SPACE}*)- \[(?P<box>[x ])\]: (?P<text>{_ANY_CHARACTER}+)"

# Lines that a person would take for a task: a box with or without a bullet, but not `[1]:` or `[x](address)`.
_NEAR_TASK: Final = rf"(?:{SPACE}*(?:[-*+]{SPACE}*)?\[[xX ]\](?![(\[])|{SPACE}*[-*+]{SPACE}*\[\](?![(\[])).*"

# Constraint ::= "- " ConstraintKey ": " ConstraintValue
# ConstraintKey ::= [A-Z][a-z ]*      ConstraintValue ::= [a-z].*
_CONSTRAINT: Final = rf"- (?P<key>[A-Z][a-z ]*): (?P<value>[a-z]{_ANY_CHARACTER}*)"
_NEAR_CONSTRAINT: Final = r"- [^:]*(?::(?! )[^:]*)*: .*"
_BULLET: Final = r"- .*"

# The last line of a direction may be a marker, which contains the directive.
MARKER_PATTERN: Final = rf"~~~ (?P<directive>(?:[A-Z]|{SPACE})+) ~~~"
SCOPE_PATTERN: Final = "[a-z][a-z0-9-]*"

# A scope pattern for monorepos, to opt into: `create_config({"scope_pattern": SCOPE_WITH_PATHS})`.
SCOPE_WITH_PATHS: Final = "[a-z][a-z0-9/.-]*"
CONSTRAINT_PREFIXES: Final = ("Do not", "Never", "Avoid", "Decide against", "Must not", "Cannot", "Forbidden")


@dataclass(frozen=True, slots=True)
class PlanConfig:
    """A dialect, or a preset of one, as data. An empty pattern matches nothing; empty `types` allow any type.

    Lines that nearly match a pattern are not text: a near task stops parsing, and a near constraint is
    skipped. A bullet may not begin a body.
    """

    dialect: Dialect = Dialect.PLANNER
    header_patterns: HeaderPatterns = HEADER_PATTERNS
    task_pattern: str = _TASK
    near_task_pattern: str = _NEAR_TASK
    constraint_pattern: str = _CONSTRAINT
    near_constraint_pattern: str = _NEAR_CONSTRAINT
    bullet_pattern: str = _BULLET
    scope_pattern: str = SCOPE_PATTERN
    forms: LineForms = field(default_factory=LineForms)
    types: tuple[str, ...] = ("feat", "fix", "refactor", "build", "chore", "docs", "lint", "infra", "spec")
    prefixes: tuple[str, ...] = CONSTRAINT_PREFIXES
    max_title_length: int = 120
    max_nesting_depth: int = 4
    max_task_count: int = 1000
    max_input_length: int = 100_000
    indent_size: int = 2
    direction_halt_length: int | None = 3

    def __hash__(self) -> int:
        """Hash one pattern only: every parse looks up its rules by this hash, so it must be cheap."""
        return hash(self.task_pattern)


# The dialect `planner` with its default settings.
COMMIT_MESSAGE: Final = PlanConfig()

# The dialect `planner` with narrow limits.
STRICT: Final = replace(
    COMMIT_MESSAGE,
    max_title_length=50,
    max_nesting_depth=3,
    max_task_count=50,
    max_input_length=10_000,
    direction_halt_length=1,
)

# A preset with a Markdown heading, quoted constraints, and Markdown task lists.
MARKDOWN_TASKS: Final = replace(
    COMMIT_MESSAGE,
    header_patterns=HeaderPatterns(rf"# (?P<title>{_ANY_CHARACTER}+)", "", "", ""),
    task_pattern=rf"(?P<indent>{SPACE}*)- \[(?P<box>[x ])\] (?P<text>{_ANY_CHARACTER}+)",
    constraint_pattern=rf"> (?P<key>[A-Z][a-z ]*): (?P<value>{_ANY_CHARACTER}+)",
    near_constraint_pattern=r"> .*",
    bullet_pattern="",
    forms=LineForms("# {title}", "", "", "> {key}: {value}", "{indent}- [{box}] {text}"),
    types=(),
    direction_halt_length=None,
)

# A preset with keys and values, and the box at the end of each task.
YAML_LIKE: Final = replace(
    COMMIT_MESSAGE,
    header_patterns=HeaderPatterns(rf"title: (?P<title>{_ANY_CHARACTER}+)", "", "", ""),
    task_pattern=rf"(?P<indent>{SPACE}*)- task: (?P<text>{_ANY_CHARACTER}+) \((?P<box>[x ])\)",
    near_task_pattern=rf"{SPACE}*-{SPACE}*task:.*",
    constraint_pattern=rf"(?P<key>[a-z][a-z_ ]*): (?P<value>{_ANY_CHARACTER}+)",
    near_constraint_pattern=r"[A-Za-z_]+:.*",
    forms=LineForms("title: {title}", "", "", "{key}: {value}", "{indent}- task: {text} ({box})"),
    types=(),
    prefixes=(),
    indent_size=4,
)

PRESETS: Final = {
    "COMMIT_MESSAGE": COMMIT_MESSAGE,
    "MARKDOWN_TASKS": MARKDOWN_TASKS,
    "YAML_LIKE": YAML_LIKE,
    "STRICT": STRICT,
}

# The dialect `commits`. The order of its types decides the type of a commit with several.
# type(scope)!: summary / blank / description / blank / Constraints: list / blank / Tasks [ ]: list
COMMITS: Final = PlanConfig(
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
    forms=LineForms(
        "{type}({scope}){breaking}: {title}",
        "",
        "{type}{breaking}: {title}",
        "- {key}: {value}",
        "{indent}- [{box}] {text}: {details}",
    ),
    types=("feat", "fix", "refactor", "ci", "build", "docs", "chore", "lint"),
    max_nesting_depth=3,
)

CONSTRAINTS_LINE: Final = "Constraints:"
NO_CONSTRAINTS_LINE: Final = "Constraints: none"
OPEN_TASKS_LINE: Final = "Tasks [ ]:"
FINISHED_TASKS_LINE: Final = "Tasks [X]:"

# Lines that a person would take for the first line of a section of `commits`.
NEAR_SECTION_PATTERN: Final = r"Constraints\s*:.*|Constraints\b.*:\s*|Tasks \[.*"
NamedGroups: TypeAlias = dict[str, str | None]
GroupPicker: TypeAlias = Callable[[tuple[str | None, ...]], tuple[str | None, ...]]
HEADER_GROUPS: Final = ("type", "scope", "breaking", "title", "ignored")
_MATCH_NOTHING: Final = "(?!)"

_OPENING_LINE: Final = re.compile(
    r"\n[\t\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*(?:[-*+\[]|~~~ )"
)

_LEAD_CHARACTERS: Final = "-*+[~\ufeff"


class Match(Protocol):
    """A match of either regex engine, `re` or RE2."""

    def groups(self) -> tuple[str | None, ...]:
        """Return all groups."""

    def group(self, first: str, second: str, /, *others: str) -> tuple[str | None, ...]:
        """Return the groups with these names."""

    def groupdict(self) -> NamedGroups:
        """Return the named groups; a group that did not match is None."""


class Pattern(Protocol):
    """A compiled pattern of either regex engine, `re` or RE2."""

    @property
    def groupindex(self) -> Mapping[str, int]:
        """The numbers of the named groups, from 1."""

    def fullmatch(self, string: str, /) -> Match | None:
        """Match the whole string."""


@dataclass(frozen=True, slots=True)
class Rules:
    """A configuration compiled for the parser.

    The last four fields are a fast path for the built-in patterns. `opening_pattern` finds the next line that
    may be more than text; `lead_characters` are the characters such a line begins with after its indentation.
    Every line near a task contains `task_sign`, every line near a constraint `constraint_sign`. For custom
    patterns, these fields let every line through.
    """

    config: PlanConfig
    headers: tuple[tuple[Pattern, GroupPicker], ...]
    task: Pattern
    near_task: Pattern
    constraint: Pattern
    near_constraint: Pattern
    bullet: Pattern
    marker: Pattern
    opening_pattern: re.Pattern[str] | None
    lead_characters: str
    task_sign: str
    constraint_sign: str


@lru_cache(maxsize=32)
def compile_rules(config: PlanConfig) -> Rules:
    """Compile a configuration that `validate_config` has accepted."""
    body = _get_body_patterns(config)
    built_in = body == _get_body_patterns(COMMIT_MESSAGE)
    task, near_task, constraint, near_constraint, bullet = map(compile_pattern, body)
    headers = [compile_pattern(pattern) for pattern in astuple(config.header_patterns) if pattern]
    # A picker takes the header parts out of the groups of a match. The parser appends a None to the groups;
    # it is picked for parts that the pattern does not have.
    pickers = [itemgetter(*(each.groupindex.get(name, 0) - 1 for name in HEADER_GROUPS)) for each in headers]
    return Rules(
        config,
        tuple(zip(headers, pickers, strict=True)),
        task,
        near_task,
        constraint,
        near_constraint,
        bullet,
        compile_pattern(MARKER_PATTERN),
        _OPENING_LINE if built_in else None,
        _LEAD_CHARACTERS if built_in else "",
        "[" if built_in else "",
        ": " if built_in else "",
    )


def format_task_examples(config: PlanConfig) -> tuple[str, str]:
    """Return an example of an open task and one of a completed task."""
    form = config.forms.task.replace("{indent}", "").replace("{text}: {details}", "summary: details")
    form = form.replace("{text}", "text")
    return form.replace("{box}", " "), form.replace("{box}", "x")


@lru_cache(maxsize=64)
def compile_pattern(pattern: str) -> Pattern:
    """Compile a pattern: built-in ones with `re`, custom ones with RE2. Raise ValueError if it is invalid."""
    if pattern in _BUILT_IN_PATTERNS:
        return re.compile(pattern or _MATCH_NOTHING)
    import re2  # noqa: PLC0415 - only users with their own patterns pay for this import

    options = re2.Options()
    options.log_errors = False
    try:
        compiled: Pattern = re2.compile(pattern, options)
    except re2.error as error:
        message = error.args[0] if error.args else error
        text = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
        raise ValueError(text) from None
    return compiled


_get_body_patterns: Final[Callable[[PlanConfig], tuple[str, ...]]] = attrgetter(
    "task_pattern", "near_task_pattern", "constraint_pattern", "near_constraint_pattern", "bullet_pattern"
)

_BUILT_IN_PATTERNS: Final = frozenset(
    pattern
    for config in (COMMITS, *PRESETS.values(), replace(COMMIT_MESSAGE, scope_pattern=SCOPE_WITH_PATHS))
    for pattern in (
        *astuple(config.header_patterns),
        config.scope_pattern,
        *_get_body_patterns(config),
        MARKER_PATTERN,
    )
)
