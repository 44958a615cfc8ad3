"""Validate plans, their tasks and constraints as plain values, and custom configurations.

Start at `validate_plan` and `create_config`. Both report findings instead of raising. Tasks nest, but
the checks are iterative, so deep input cannot exhaust the stack.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import asdict

from handrail.documents.plan.data import describe_plan
from handrail.documents.plan.grammar import (
    COMMIT_MESSAGE,
    HEADER_GROUPS,
    Dialect,
    HeaderPatterns,
    LineForms,
    PlanConfig,
    compile_pattern,
)
from handrail.documents.plan.model import Finding, Plan, PlanState, make_task_id

LIST_TYPES: Final = (list, tuple)

# Every error code, with its meaning. The documentation is generated from this table.
VALIDATION_CODES: Final = {
    "INVALID_TYPE": "a field is missing, or holds a value of another type",
    "INVALID_VALUE": "a value is none of those that are allowed",
    "TOO_BIG": "a text is too long, or a task too deep",
    "TOO_SMALL": "a text or a list is empty",
    "INVALID_FORMAT": "a text is not written as it must be",
    "CUSTOM": "a text has spaces around it, or begins with a capital letter",
}

_COMMITS: Final = Dialect.COMMITS
_PARSED: Final = PlanState.PARSED
SCOPE_CASE_CODE: Final = "SCOPE_CASE"


class ValidationResult(Struct, frozen=True, gc=False):
    """The result of a validation; warnings do not make a plan invalid."""

    errors: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()

    @property
    def is_valid(self) -> bool:
        """True if there is no error."""
        return not self.errors

    def to_data(self) -> dict[str, object]:
        """Return the result as a plain value."""
        return {
            "isValid": self.is_valid,
            "errors": [asdict(finding) for finding in self.errors],
            "warnings": [asdict(finding) for finding in self.warnings],
        }


def validate_plan(plan: Plan | Mapping[str, object], config: PlanConfig = COMMIT_MESSAGE) -> ValidationResult:
    """Validate a plan, or a value in its shape. Only a plan that was parsed completely can be valid."""
    data = describe_plan(plan, config) if isinstance(plan, Plan) else plan
    if config.dialect is _COMMITS:
        unparsed = data.get("ok", True) is not True or data.get("phase") == "uninitialized"
    else:
        unparsed = data.get("state", _PARSED) != _PARSED
    if unparsed:
        message = "there is no whole plan; begin with a header such as `feat(scope): title`"
        if isinstance(plan, Plan) and plan.problems:
            first = plan.problems[0]
            message = f"line {max(first.line, 1)}: {first.message}; {first.repair}"
        return ValidationResult((Finding("state", message, "INVALID_VALUE"),))
    header = data.get("header")
    if not isinstance(header, Mapping):
        message = "there is no header; set the goal first"
        return ValidationResult((Finding("header", message, "INVALID_TYPE"),))
    errors = list(_check_header(header, config))
    errors += [
        Finding(name, f"the {name} is a text", "INVALID_TYPE")
        for name in ("description", "direction")
        if data.get(name) is not None and not isinstance(data[name], str)
    ]
    errors += check_constraints(data.get("constraints"), config)
    errors += check_tasks(data.get("tasks"), config)
    scope, warnings = header.get("scope"), list[Finding]()
    if isinstance(scope, str) and scope != scope.lower():
        warnings.append(Finding("header.scope", f"write the scope small: `{scope.lower()}`", SCOPE_CASE_CODE))
    return ValidationResult(tuple(errors), tuple(warnings))


def is_validated(plan: Plan, verdict: ValidationResult) -> bool:
    """True if the plan was parsed completely and is valid."""
    return verdict.is_valid and plan.state is _PARSED


def _check_header(header: Mapping[str, object], config: PlanConfig) -> Iterator[Finding]:
    kind, scope, breaking = header.get("type"), header.get("scope"), header.get("breaking", False)
    if not isinstance(kind, str):
        yield Finding("header.type", "the type is a text", "INVALID_TYPE")
    elif config.types and kind not in config.types:
        message = f"`{kind}` is no type; take one of {', '.join(config.types)}"
        yield Finding("header.type", message, "INVALID_VALUE")
    if scope is not None and not isinstance(scope, str):
        yield Finding("header.scope", "the scope is a text", "INVALID_TYPE")
    elif scope is not None and compile_pattern(config.scope_pattern).fullmatch(scope) is None:
        message = "a scope begins with a small letter; small letters, digits and hyphens follow"
        yield Finding("header.scope", message, "INVALID_FORMAT")
    if not isinstance(breaking, bool):
        yield Finding("header.breaking", "`breaking` is true or false", "INVALID_TYPE")
    yield from _check_title(header, config)


def _check_title(header: Mapping[str, object], config: PlanConfig) -> Iterator[Finding]:
    required = config.dialect is _COMMITS
    name = "summary" if required else "title"
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


def check_constraints(constraints: object, config: PlanConfig) -> Iterator[Finding]:
    """Yield what is wrong with a list of constraints. None means that there is no list, which is valid."""
    if constraints is None:
        return
    if not isinstance(constraints, LIST_TYPES):
        yield Finding("constraints", "the constraints are a list", "INVALID_TYPE")
        return
    for index, constraint in enumerate(constraints):
        at = f"constraints.{index}"
        pair = constraint.partition(": ")[::2] if isinstance(constraint, str) else constraint
        if not (isinstance(pair, LIST_TYPES) and len(pair) == 2 and all(isinstance(p, str) for p in pair)):
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


def check_tasks(tasks: object, config: PlanConfig) -> Iterator[Finding]:
    """Yield what is wrong with a list of tasks. None means that there is no list, which is valid."""
    if tasks is None:
        return
    if not isinstance(tasks, LIST_TYPES):
        yield Finding("tasks", "the tasks are a list", "INVALID_TYPE")
        return
    if not tasks:
        yield Finding("tasks", "there is no task; give at least one", "TOO_SMALL")
    pending: list[tuple[str, int, object]] = [("tasks", 0, tasks)]
    count = 0
    while pending:
        at, level, row = pending.pop()
        if not isinstance(row, LIST_TYPES):
            yield Finding(at, "the tasks below are a list", "INVALID_TYPE")
            continue
        count += len(row)
        if row and level > config.max_nesting_depth:
            message = f"tasks of level {level}; the deepest is {config.max_nesting_depth}"
            yield Finding(at, message, "TOO_BIG")
            continue
        below: list[tuple[str, int, object]] = []
        yield from _check_siblings(at, level, row, config, below)
        pending += reversed(below)
    if count > config.max_task_count:
        yield Finding("tasks", f"{count:,} tasks; {config.max_task_count:,} are allowed", "TOO_BIG")


def _check_siblings(
    at: str, level: int, row: Sequence[object], config: PlanConfig, below: list[tuple[str, int, object]]
) -> Iterator[Finding]:
    """Yield what is wrong with the tasks of one list; append their subtasks to `below`."""
    commits = config.dialect is _COMMITS
    if commits:
        yield from _check_sibling_ids(at, row)
    box, inner = ("completed", "children") if commits else ("0", "2")
    for index, task in enumerate(row):
        place = f"{at}.{index}"
        if commits and isinstance(task, Mapping):
            texts = {name: task.get(name) for name in ("summary", "details")}
            ticked, children = task.get("completed", False), task.get("children", ())
        elif not commits and isinstance(task, LIST_TYPES) and len(task) == 3:
            texts, ticked, children = {"1": task[1]}, task[0], task[2]
        else:
            shape = "{summary, details}" if commits else "[ticked, text, [tasks below]]"
            yield Finding(place, f"a task is {shape}", "INVALID_TYPE")
            continue
        if not isinstance(ticked, bool):
            yield Finding(f"{place}.{box}", "a task is ticked or not: true or false", "INVALID_TYPE")
        for name, text in texts.items():
            yield from _check_task_text(f"{place}.{name}", text)
        below.append((f"{place}.{inner}", level + 1, children))


def _check_task_text(at: str, text: object) -> Iterator[Finding]:
    if not isinstance(text, str):
        yield Finding(at, "this is a text", "INVALID_TYPE")
    elif not text.strip():
        yield Finding(at, "this says nothing", "TOO_SMALL")
    elif "\n" in text:
        yield Finding(at, "a task is one line", "INVALID_FORMAT")


def _check_sibling_ids(at: str, row: Sequence[object]) -> Iterator[Finding]:
    """Check that the ids of siblings differ, since tasks are referred to by id."""
    seen: set[str] = set()
    for index, task in enumerate(row):
        summary = task.get("summary") if isinstance(task, Mapping) else None
        if not isinstance(summary, str) or not summary.strip():
            continue
        name = make_task_id(summary)
        if not name:
            message = "no id can be made of this; give it a letter or a digit"
            yield Finding(f"{at}.{index}.summary", message, "INVALID_FORMAT")
        elif name in seen:
            message = f"another task beside it is called `{name}`; give it a summary of its own"
            yield Finding(f"{at}.{index}.summary", message, "INVALID_VALUE")
        seen.add(name)


# --- custom configurations ----------------------------------------------------------------------------------
_MIN_LIMITS: Final = {
    "max_title_length": 1,
    "max_nesting_depth": 0,
    "max_task_count": 1,
    "max_input_length": 1,
    "indent_size": 1,
    "direction_halt_length": 0,
}

_REQUIRED_GROUPS: Final = {
    "task_pattern": ("indent", "box", "text"),
    "near_task_pattern": (),
    "constraint_pattern": ("key", "value"),
    "near_constraint_pattern": (),
    "bullet_pattern": (),
    "scope_pattern": (),
}

# Settings whose parts are merged one by one.
_MERGED_SETTINGS: Final = {"header_patterns": HeaderPatterns, "forms": LineForms}
_WORD_LISTS: Final = ("types", "prefixes")


def create_config(
    overrides: Mapping[str, Any], base: PlanConfig = COMMIT_MESSAGE
) -> PlanConfig | ValidationResult:
    """Return `base` with the overrides applied, or why they are not a valid configuration.

    Header patterns and forms are merged part by part. Patterns are matched against a whole line and name
    their groups. Patterns that are not built in run in RE2.
    """
    errors = tuple(_check_overrides(overrides))
    if errors:
        return ValidationResult(errors)
    settings: dict[str, Any] = dict(overrides)
    for name in _MERGED_SETTINGS.keys() & settings.keys():
        settings[name] = replace(getattr(base, name), **settings[name])
    for name in settings.keys() & set(_WORD_LISTS):
        settings[name] = tuple(settings[name])
    config = replace(base, **settings)
    result = validate_config(config)
    return config if result.is_valid else result


def validate_config(config: PlanConfig) -> ValidationResult:
    """Check a configuration: limits below their minimum, and patterns that cannot be used."""
    errors = [
        Finding(name, f"{value} is too small; the least is {least}", "TOO_SMALL")
        for name, least in _MIN_LIMITS.items()
        if (value := getattr(config, name)) is not None and value < least
    ]
    patterns: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
        f"header_patterns.{part.name}": (getattr(config.header_patterns, part.name), (), HEADER_GROUPS)
        for part in fields(HeaderPatterns)
    }
    patterns |= {name: (getattr(config, name), needed, ()) for name, needed in _REQUIRED_GROUPS.items()}
    for field, (pattern, needed, known) in patterns.items():
        if pattern:
            errors += _check_pattern(field, pattern, needed, known)
        elif needed or field == "header_patterns.complete":
            errors.append(Finding(field, "there must be a pattern", "TOO_SMALL"))
    return ValidationResult(tuple(errors))


def _check_overrides(overrides: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what cannot be merged at all: unknown names, and values of the wrong type."""
    for name, value in overrides.items():
        if name in _MERGED_SETTINGS:
            yield from _check_override_parts(
                name, value, {one.name for one in fields(_MERGED_SETTINGS[name])}
            )
        elif name in _WORD_LISTS:
            if not (isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)):
                yield Finding(name, "this is a list of texts", "INVALID_TYPE")
        elif name in _MIN_LIMITS:
            is_unlimited = name == "direction_halt_length" and value is None
            if not is_unlimited and (isinstance(value, bool) or not isinstance(value, int)):
                yield Finding(name, "this is a whole number", "INVALID_TYPE")
        elif name in _REQUIRED_GROUPS:
            if not isinstance(value, str):
                yield Finding(name, "a pattern is a text", "INVALID_TYPE")
        else:
            known = ", ".join([*_MERGED_SETTINGS, *_WORD_LISTS, *_MIN_LIMITS, *_REQUIRED_GROUPS])
            yield Finding(name, f"there is no such setting; there are {known}", "INVALID_VALUE")


def _check_override_parts(name: str, value: object, known: set[str]) -> Iterator[Finding]:
    if not isinstance(value, Mapping):
        yield Finding(name, f"this holds some of {', '.join(sorted(known))}", "INVALID_TYPE")
        return
    for part, text in value.items():
        if part not in known:
            message = f"there is no such part; there are {', '.join(sorted(known))}"
            yield Finding(f"{name}.{part}", message, "INVALID_VALUE")
        elif not isinstance(text, str):
            yield Finding(f"{name}.{part}", "this is a text", "INVALID_TYPE")


def _check_pattern(
    field: str, pattern: str, needed: tuple[str, ...], known: tuple[str, ...]
) -> Iterator[Finding]:
    """Check that a pattern compiles and has all the `needed` groups, and one of the `known` if any are."""
    try:
        names = set(compile_pattern(pattern).groupindex)
    except ValueError as error:
        yield Finding(field, f"this is no pattern that RE2 takes: {error}", "INVALID_FORMAT")
        return
    if missing := [name for name in needed if name not in names]:
        message = f"the pattern has no group {', '.join(f'`(?P<{name}>…)`' for name in missing)}"
        yield Finding(field, message, "INVALID_FORMAT")
    if known and not names & set(known):
        message = f"the pattern has none of the groups {', '.join(f'`(?P<{name}>…)`' for name in known)}"
        yield Finding(field, message, "INVALID_FORMAT")
