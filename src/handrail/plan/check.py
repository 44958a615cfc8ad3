"""Whether a plan keeps to the words and limits of its dialect: every error with its field, message and code.

What is checked is a plain value in the shape of the dialect, whoever made it, so that the arguments of a tool
are checked by the same rules as a text.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from msgspec import Struct

from handrail.plan.check_tasks import LISTS, check_tasks
from handrail.plan.data import as_data
from handrail.plan.findings import Finding
from handrail.plan.grammar import COMMIT_MESSAGE, Config, Dialect
from handrail.plan.model import Plan, State
from handrail.plan.rules import Pattern, compiled

CODES: Final = {
    "INVALID_TYPE": "a field is missing, or holds a value of another type",
    "INVALID_VALUE": "a value is none of those that are allowed",
    "TOO_BIG": "a text is too long, or a task too deep",
    "TOO_SMALL": "a text or a list is empty",
    "INVALID_FORMAT": "a text is not written as it must be",
    "CUSTOM": "a text has spaces around it, or begins with a capital letter",
}
"""Every code of an error."""

_COMMITS: Final = Dialect.COMMITS
_PARSED: Final = State.PARSED

SCOPE_CASE: Final = "SCOPE_CASE"
"""The code of the warning about a scope in capital letters."""


class Verdict(Struct, frozen=True, gc=False):
    """What a check found; warnings do not make a plan invalid."""

    errors: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()

    @property
    def is_valid(self) -> bool:
        """True if there is no error."""
        return not self.errors

    def as_data(self) -> dict[str, object]:
        """The verdict as a plain value."""
        return {
            "isValid": self.is_valid,
            "errors": [_finding(one) for one in self.errors],
            "warnings": [_finding(one) for one in self.warnings],
        }


def validate(plan: Plan | Mapping[str, object], config: Config = COMMIT_MESSAGE) -> Verdict:
    """What is wrong with a plan, or with a value in its shape; only what was read whole can be valid."""
    data = as_data(plan, config) if isinstance(plan, Plan) else plan
    if _unread(data, config):
        return Verdict((Finding("state", _why(plan), "INVALID_VALUE"),))
    header = data.get("header")
    if not isinstance(header, Mapping):
        return Verdict((Finding("header", "there is no header; set the goal first", "INVALID_TYPE"),))
    errors = [*_header(header, config), *_texts(data)]
    errors += check_constraints(data.get("constraints"), config)
    errors += check_tasks(data.get("tasks"), config)
    return Verdict(tuple(errors), tuple(_warnings(header)))


def is_validated(plan: Plan, verdict: Verdict) -> bool:
    """True if the plan was read whole and found valid."""
    return verdict.is_valid and plan.state is _PARSED


def _finding(found: Finding) -> dict[str, object]:
    return {"field": found.field, "message": found.message, "code": found.code}


def _unread(data: Mapping[str, object], config: Config) -> bool:
    if config.dialect is _COMMITS:
        return data.get("ok", True) is not True or data.get("phase") == "uninitialized"
    return data.get("state", _PARSED) != _PARSED


def _why(plan: Plan | Mapping[str, object]) -> str:
    if not isinstance(plan, Plan) or not plan.problems:
        return "there is no whole plan; begin with a header such as `feat(scope): title`"
    first = plan.problems[0]
    return f"line {max(first.line, 1)}: {first.message}; {first.repair}"


def _header(header: Mapping[str, object], config: Config) -> Iterator[Finding]:
    kind, scope, breaking = header.get("type"), header.get("scope"), header.get("breaking", False)
    if not isinstance(kind, str):
        yield Finding("header.type", "the type is a text", "INVALID_TYPE")
    elif config.types and kind not in config.types:
        yield Finding(
            "header.type", f"`{kind}` is no type; take one of {', '.join(config.types)}", "INVALID_VALUE"
        )
    if scope is not None and not isinstance(scope, str):
        yield Finding("header.scope", "the scope is a text", "INVALID_TYPE")
    elif scope is not None and _scope(config.scope_pattern).fullmatch(scope) is None:
        message = "a scope begins with a small letter; small letters, digits and hyphens follow"
        yield Finding("header.scope", message, "INVALID_FORMAT")
    if not isinstance(breaking, bool):
        yield Finding("header.breaking", "`breaking` is true or false", "INVALID_TYPE")
    commits = config.dialect is _COMMITS
    yield from _title(header, "summary" if commits else "title", config, required=commits)


def _title(header: Mapping[str, object], name: str, config: Config, *, required: bool) -> Iterator[Finding]:
    title, field = header.get(name), f"header.{name}"
    if title is None and not required:
        return
    if not isinstance(title, str):
        yield Finding(field, f"the {name} is a text", "INVALID_TYPE")
        return
    if required and not title:
        yield Finding(field, f"the {name} is empty", "TOO_SMALL")
    if len(title) > config.max_title_length:
        message = f"the {name} has {len(title)} characters; {config.max_title_length} are allowed"
        yield Finding(field, message, "TOO_BIG")
    if "\n" in title:
        yield Finding(field, f"the {name} is one line", "INVALID_FORMAT")
    if title != title.strip():
        yield Finding(field, f"take the spaces around the {name} away", "CUSTOM")


def _texts(data: Mapping[str, object]) -> Iterator[Finding]:
    for name in ("description", "direction"):
        if data.get(name) is not None and not isinstance(data[name], str):
            yield Finding(name, f"the {name} is a text", "INVALID_TYPE")


def check_constraints(given: object, config: Config) -> Iterator[Finding]:
    """What is wrong with a list of constraints; None is no list, and nothing is wrong with it."""
    if given is None:
        return
    if not isinstance(given, LISTS):
        yield Finding("constraints", "the constraints are a list", "INVALID_TYPE")
        return
    for index, one in enumerate(given):
        at = f"constraints.{index}"
        pair = one.partition(": ")[::2] if isinstance(one, str) else one
        if not (isinstance(pair, LISTS) and len(pair) == 2 and all(isinstance(p, str) for p in pair)):
            yield Finding(at, "a constraint is a prefix and a value", "INVALID_TYPE")
            continue
        key, value = pair
        if config.prefixes and key not in config.prefixes:
            message = f"`{key}` is no prefix; take one of {', '.join(config.prefixes)}"
            yield Finding(f"{at}.0", message, "INVALID_VALUE")
        if not value:
            yield Finding(f"{at}.1", "the constraint says nothing", "TOO_SMALL")
        elif "\n" in value:
            yield Finding(f"{at}.1", "a constraint is one line", "INVALID_FORMAT")
        elif config.dialect is not _COMMITS and value[0] != value[0].lower():
            yield Finding(f"{at}.1", "the value begins with a small letter", "CUSTOM")


@lru_cache(maxsize=32)
def _scope(pattern: str) -> Pattern:
    return compiled(pattern)


def _warnings(header: Mapping[str, object]) -> Iterator[Finding]:
    scope = header.get("scope")
    if isinstance(scope, str) and scope != scope.lower():
        yield Finding("header.scope", f"write the scope small: `{scope.lower()}`", SCOPE_CASE)
