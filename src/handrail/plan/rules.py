"""A configuration made ready: its patterns compiled, ours by `re`, those of others by RE2: it never hangs."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Final, Protocol, TypeAlias

from handrail.plan import grammar
from handrail.plan.grammar import COMMIT_MESSAGE, COMMITS, PRESETS, Config

Named: TypeAlias = dict[str, str | None]
Parts: TypeAlias = Callable[[tuple[str | None, ...]], tuple[str | None, ...]]

HEADER_GROUPS: Final = ("type", "scope", "breaking", "title", "ignored")
"""The groups that the pattern of a header may have."""

_NOTHING: Final = "(?!)"
_OPENS: Final = re.compile(
    r"\n[\t\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*(?:[-*+\[]|~~~ )"
)
_LEADS: Final = "-*+[~\ufeff"


class Found(Protocol):
    """A match, of either engine."""

    def groups(self) -> tuple[str | None, ...]:
        """All groups."""

    def group(self, first: str, second: str, /, *others: str) -> tuple[str | None, ...]:
        """The groups of these names."""

    def groupdict(self) -> Named:
        """The named groups; those that took no part are None."""


class Pattern(Protocol):
    """A compiled pattern, of either engine."""

    @property
    def groupindex(self) -> Mapping[str, int]:
        """The numbers of the named groups, from 1."""

    def fullmatch(self, string: str, /) -> Found | None:
        """The match of the whole string."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What a reading asks of a configuration.

    What our own patterns need is known, and looked for first: `opens` finds the next line that may be more
    than text, `leads` are the characters such a line begins with behind its indentation, `boxed` is in every
    line near a task and `keyed` in every one near a constraint. For other patterns all lines pass.
    """

    config: Config
    headers: tuple[tuple[Pattern, Parts], ...]
    task: Pattern
    near_task: Pattern
    constraint: Pattern
    near_constraint: Pattern
    bullet: Pattern
    marker: Pattern
    opens: re.Pattern[str] | None
    leads: str
    boxed: str
    keyed: str


@lru_cache(maxsize=32)
def rules_of(config: Config) -> Rules:
    """The rules of a configuration; `validate_config` has found nothing wrong with it."""
    headers = config.header_patterns
    ordered = (headers.complete, headers.type_scope_breaking, headers.type_scope, headers.type)
    ours = _body(config) == _body(COMMIT_MESSAGE)
    return Rules(
        config,
        tuple((found, _parts(found)) for found in map(compiled, filter(None, ordered))),
        compiled(config.task_pattern),
        compiled(config.near_task_pattern),
        compiled(config.constraint_pattern),
        compiled(config.near_constraint_pattern),
        compiled(config.bullet_pattern),
        compiled(grammar.MARKER),
        _OPENS if ours else None,
        _LEADS if ours else "",
        "[" if ours else "",
        ": " if ours else "",
    )


def task_examples(config: Config) -> tuple[str, str]:
    """How a task is written that is open, and one that is complete."""
    form = config.forms.task.replace("{indent}", "").replace("{text}: {details}", "summary: details")
    form = form.replace("{text}", "text")
    return form.replace("{box}", " "), form.replace("{box}", "x")


def compiled(pattern: str) -> Pattern:
    """A pattern ready to match; ValueError if it is no pattern."""
    if pattern in _OURS:
        return re.compile(pattern or _NOTHING)
    import re2  # noqa: PLC0415 - only who brings patterns of their own pays for it

    options = re2.Options()
    options.log_errors = False
    try:
        found: Pattern = re2.compile(pattern, options)
    except re2.error as fault:
        raise ValueError(_said(fault)) from None
    return found


def _parts(header: Pattern) -> Parts:
    """Picks the parts of a header out of its groups, behind which stands a None for what it has not."""
    return itemgetter(*(header.groupindex.get(name, 0) - 1 for name in HEADER_GROUPS))


def _said(fault: Exception) -> str:
    said = fault.args[0] if fault.args else fault
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)


def _body(config: Config) -> tuple[str, ...]:
    return (
        config.task_pattern,
        config.near_task_pattern,
        config.constraint_pattern,
        config.near_constraint_pattern,
        config.bullet_pattern,
    )


def _patterns(config: Config) -> Iterable[str]:
    headers = config.header_patterns
    return (
        headers.complete,
        headers.type_scope_breaking,
        headers.type_scope,
        headers.type,
        config.scope_pattern,
        *_body(config),
    )


_OURS: Final = frozenset(
    [
        grammar.MARKER,
        grammar.SCOPE_WITH_PATHS,
        *(pattern for config in (COMMITS, *PRESETS.values()) for pattern in _patterns(config)),
    ]
)
