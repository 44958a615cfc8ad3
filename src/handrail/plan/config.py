"""Configurations of one's own: overrides merged over a preset, and whether a configuration can be used."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, Final

from handrail.plan.check import Verdict
from handrail.plan.findings import Finding
from handrail.plan.grammar import COMMIT_MESSAGE, Config, Forms, HeaderPatterns
from handrail.plan.rules import HEADER_GROUPS, compiled

_LIMITS: Final = {
    "max_title_length": 1,
    "max_nesting_depth": 0,
    "max_task_count": 1,
    "max_input_length": 1,
    "indent_size": 1,
    "direction_halt_length": 0,
}
"""The least that each limit may be."""

_GROUPS: Final = {
    "task_pattern": ("indent", "box", "text"),
    "near_task_pattern": (),
    "constraint_pattern": ("key", "value"),
    "near_constraint_pattern": (),
    "bullet_pattern": (),
    "scope_pattern": (),
}
"""The groups that each pattern must have."""

_MERGED: Final = {"header_patterns": HeaderPatterns, "forms": Forms}
"""What is merged part by part."""

_WORDS: Final = ("types", "prefixes")


def create_config(overrides: Mapping[str, Any], base: Config = COMMIT_MESSAGE) -> Config | Verdict:
    """The base with the overrides, header patterns and forms one by one; or why they are no configuration.

    Patterns are matched against a whole line and name their groups. Those that are not ours run in RE2.
    """
    wrong = tuple(_misshapen(overrides))
    if wrong:
        return Verdict(wrong)
    changed: dict[str, Any] = dict(overrides)
    for name in _MERGED.keys() & changed.keys():
        changed[name] = replace(getattr(base, name), **changed[name])
    for name in changed.keys() & set(_WORDS):
        changed[name] = tuple(changed[name])
    config = replace(base, **changed)
    verdict = validate_config(config)
    return config if verdict.is_valid else verdict


def validate_config(config: Config) -> Verdict:
    """What is wrong with a configuration: limits below their least, and patterns that cannot be used."""
    return Verdict((*_limits(config), *_headers(config.header_patterns), *_patterns(config)))


def _misshapen(overrides: Mapping[str, Any]) -> Iterator[Finding]:
    """What cannot be merged at all: names that mean nothing, and values of another type."""
    for name, value in overrides.items():
        if name in _MERGED:
            yield from _parts(name, value, {one.name for one in fields(_MERGED[name])})
        elif name in _WORDS:
            if not (isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)):
                yield Finding(name, "this is a list of texts", "INVALID_TYPE")
        elif name in _LIMITS:
            endless = name == "direction_halt_length" and value is None
            if not endless and (isinstance(value, bool) or not isinstance(value, int)):
                yield Finding(name, "this is a whole number", "INVALID_TYPE")
        elif name in _GROUPS:
            if not isinstance(value, str):
                yield Finding(name, "a pattern is a text", "INVALID_TYPE")
        else:
            known = ", ".join([*_MERGED, *_WORDS, *_LIMITS, *_GROUPS])
            yield Finding(name, f"there is no such setting; there are {known}", "INVALID_VALUE")


def _parts(name: str, value: object, known: set[str]) -> Iterator[Finding]:
    if not isinstance(value, Mapping):
        yield Finding(name, f"this holds some of {', '.join(sorted(known))}", "INVALID_TYPE")
        return
    for part, text in value.items():
        if part not in known:
            message = f"there is no such part; there are {', '.join(sorted(known))}"
            yield Finding(f"{name}.{part}", message, "INVALID_VALUE")
        elif not isinstance(text, str):
            yield Finding(f"{name}.{part}", "this is a text", "INVALID_TYPE")


def _limits(config: Config) -> Iterator[Finding]:
    for name, least in _LIMITS.items():
        value = getattr(config, name)
        if value is not None and value < least:
            yield Finding(name, f"{value} is too small; the least is {least}", "TOO_SMALL")


def _headers(patterns: HeaderPatterns) -> Iterator[Finding]:
    for part in fields(HeaderPatterns):
        pattern = getattr(patterns, part.name)
        if pattern:
            field = f"header_patterns.{part.name}"
            yield from _pattern(field, pattern, (), HEADER_GROUPS)
        elif part.name == "complete":
            yield Finding("header_patterns.complete", "there must be a pattern", "TOO_SMALL")


def _patterns(config: Config) -> Iterator[Finding]:
    for name, needed in _GROUPS.items():
        pattern = getattr(config, name)
        if pattern:
            yield from _pattern(name, pattern, needed, None)
        elif needed:
            yield Finding(name, "there must be a pattern", "TOO_SMALL")


def _pattern(
    field: str, pattern: str, needed: tuple[str, ...], known: tuple[str, ...] | None
) -> Iterator[Finding]:
    try:
        names = set(compiled(pattern).groupindex)
    except ValueError as fault:
        yield Finding(field, f"this is no pattern that RE2 takes: {fault}", "INVALID_FORMAT")
        return
    if missing := [name for name in needed if name not in names]:
        message = f"the pattern has no group {', '.join(f'`(?P<{name}>…)`' for name in missing)}"
        yield Finding(field, message, "INVALID_FORMAT")
    if known is not None and not names & set(known):
        message = f"the pattern has none of the groups {', '.join(f'`(?P<{name}>…)`' for name in known)}"
        yield Finding(field, message, "INVALID_FORMAT")
