"""Check a step's output against the common form and the step's contract, and arguments against parameters.

Start reading at `find_violations`. `declare_output_facts` lists the facts that guards may read from an
output.
"""

import re
from collections.abc import Container, Iterator, Mapping
from functools import lru_cache
from typing import NoReturn

import jsonschema_rs
from msgspec import Struct

from handrail.engine.facts import (
    Fact,
    Kind,
    Provenance,
    Type,
    Value,
    find_value_flaws,
    has_type,
    is_valid_value,
)
from handrail.engine.model import Contract, State, Variable

WHOLE_OUTPUT = "output"
"""The path of a violation that concerns the output as a whole."""

_ARTIFACT_FIELDS = ("type", "title", "content")
_KNOWN_ARTIFACT_FIELDS = frozenset({*_ARTIFACT_FIELDS, "description"})
_COMMON_FIELDS = ("summary", "artifacts", "references", "confidence", "decisions", "findings", "blockers")
_COMMON_FIELD_SET = frozenset(_COMMON_FIELDS)
_LIST_OR_NULL = (list, type(None))
_TEXT_LIST_MESSAGE = "must be a list of texts; an empty one if there are none"
_MASK = "it"

_KIND_BY_SCHEMA_TYPE = {
    "boolean": Kind.BOOL,
    "integer": Kind.INT,
    "number": Kind.FLOAT,
    "string": Kind.STRING,
}


class Violation(Struct, frozen=True):
    """One way in which an output breaks its contract: the path of the value, and what is wrong with it."""

    path: str
    message: str


def find_violations(contract: Contract, output: Mapping[str, Value]) -> tuple[Violation, ...]:
    """Return every way in which this output breaks the common form or the contract; empty if it is valid."""
    given = output if isinstance(output, dict) else dict(output)
    if not is_valid_value(given):
        return tuple(Violation(path.removeprefix("."), why) for path, why in find_value_flaws(given))
    violations = [] if given.keys() <= _COMMON_FIELD_SET else [*_find_unknown_fields(contract, given)]
    violations += _check_common_form(given)
    if contract.artifacts or contract.min_confidence or contract.no_blockers:
        broken = {re.split(r"[.\[]", violation.path)[0] for violation in violations}
        violations += _check_demands(contract, given, broken)
    if contract.schema is not None:
        violations += _check_schema(contract.schema, given)
    return tuple(dict.fromkeys(violations)) if violations else ()


def get_value_at(output: Mapping[str, Value], path: str) -> Value:
    """Return the value at the path of a violation, or None if there is none.

    For the path of the whole output, return the names of its fields, sorted.
    """
    if path == WHOLE_OUTPUT:
        return sorted(output)
    value: Value = output
    for key, number in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path):
        if isinstance(value, list) and number:
            value = value[int(number)]
        else:
            value = value.get(key) if isinstance(value, Mapping) else None
    return value


def find_schema_problem(schema: Mapping[str, Value]) -> str:
    """Return why this JSON Schema cannot be used here, or an empty string if it can."""
    try:
        _build_validator(schema)
    except jsonschema_rs.ValidationError as refusal:
        return refusal.message
    return ""


def declare_output_facts(contract: Contract) -> dict[str, Fact]:
    """Return the facts `output.*` that guards of a state with this contract may name."""
    facts = {fact.name: fact for fact in COMMON_FACTS}
    properties = (contract.schema or {}).get("properties")
    required = (contract.schema or {}).get("required")
    for name, schema in properties.items() if isinstance(properties, Mapping) else ():
        if name not in _COMMON_FIELDS and isinstance(schema, Mapping):
            optional = not (isinstance(required, list) and name in required)
            facts[f"output.{name}"] = _declare_fact(name, schema, optional=optional)
    return facts


def read_output_facts(facts: Mapping[str, Fact], output: Mapping[str, Value]) -> dict[str, Value]:
    """Return the value of each of these facts in an output that meets its contract."""
    return {name: read_output_fact(fact, output.get(get_output_name(fact))) for name, fact in facts.items()}


def get_output_name(fact: Fact) -> str:
    """Return the name of the output field that this fact is read from."""
    return fact.name.removeprefix("output.")


def read_output_fact(fact: Fact, value: Value) -> Value:
    """Return the value of this fact, given the output field's value. The output meets its contract."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return [artifact["type"] for artifact in value] if fact.name == "output.artifacts" else value
    if value is None:
        return [] if fact.type == _LIST_TYPE else None
    if fact.type.kind is Kind.FLOAT and isinstance(value, int):
        return float(value)
    if fact.type.kind is Kind.INT and isinstance(value, float):
        return int(value)
    return value


def _declare_fact(name: str, schema: Mapping[str, Value], *, optional: bool) -> Fact:
    choices = schema.get("enum")
    strings = isinstance(choices, list) and all(isinstance(choice, str) for choice in choices)
    kind = Kind.STRING if strings else _KIND_BY_SCHEMA_TYPE.get(str(schema.get("type")), Kind.JSON)
    domain: tuple[Value, ...] = tuple(choices) if isinstance(choices, list) and strings else ()
    if kind is Kind.BOOL:
        domain = (True, False)
    closed = bool(domain)
    if closed and optional:
        domain = (*domain, None)
    about = str(schema.get("description", f"`{name}` of the step output"))
    type_ = Type(kind, optional or kind is Kind.JSON)
    return Fact(f"output.{name}", type_, Provenance.CLAIMED, about, domain, closed)


_LIST_TYPE = Type(Kind.STRINGS)
_ANY_TYPE = Type(Kind.JSON, optional=True)

COMMON_FACTS = (
    Fact("output.summary", Type(Kind.STRING), Provenance.CLAIMED, "what was done, in the agent's words"),
    Fact("output.artifacts", _LIST_TYPE, Provenance.CLAIMED, "the types of the artifacts handed in"),
    Fact("output.references", _LIST_TYPE, Provenance.CLAIMED, "what the agent points to"),
    Fact(
        "output.confidence",
        Type(Kind.FLOAT),
        Provenance.CLAIMED,
        "how sure the agent is, 0 to 1",
        domain=(0.0, 0.5, 1.0),
    ),
    Fact("output.decisions", _ANY_TYPE, Provenance.CLAIMED, "the decisions taken, null if none given"),
    Fact("output.findings", _ANY_TYPE, Provenance.CLAIMED, "the findings, null if none given"),
    Fact("output.blockers", _LIST_TYPE, Provenance.CLAIMED, "what keeps the agent from going on"),
)
"""The facts of every step output, whatever the contract adds."""


def _find_unknown_fields(contract: Contract, output: Mapping[str, Value]) -> Iterator[Violation]:
    properties = (contract.schema or {}).get("properties")
    known = {*_COMMON_FIELDS, *(properties if isinstance(properties, Mapping) else ())}
    for name in sorted(output.keys() - known):
        yield Violation(name, f"is no field of this output; known are {', '.join(sorted(known))}")


def _check_common_form(output: Mapping[str, Value]) -> list[Violation]:
    """Return what breaks the common form."""
    violations: list[Violation] = []
    summary, confidence = output.get("summary"), output.get("confidence")
    if not (isinstance(summary, str) and summary.strip()):
        violations.append(Violation("summary", "must be a text that is not empty"))
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0 <= confidence <= 1:
        violations.append(Violation("confidence", "must be a number from 0 to 1"))
    if not _is_text_list(output.get("references")):
        violations.append(Violation("references", _TEXT_LIST_MESSAGE))
    if not (output.get("blockers") is None or _is_text_list(output["blockers"])):
        violations.append(Violation("blockers", _TEXT_LIST_MESSAGE))
    for name in ("decisions", "findings"):
        if not isinstance(output.get(name), _LIST_OR_NULL):
            violations += (Violation(name, "must be a list where it is given"),)
    artifacts = output.get("artifacts")
    if not isinstance(artifacts, list):
        return [
            *violations,
            Violation("artifacts", "must be a list; an empty one if there is nothing to hand in"),
        ]
    for number, artifact in enumerate(artifacts):
        violations += _check_artifact(f"artifacts[{number}]", artifact)
    return violations


def _is_text_list(items: Value) -> bool:
    return isinstance(items, list) and not [item for item in items if not isinstance(item, str)]


def _check_artifact(path: str, artifact: Value) -> list[Violation]:
    if not isinstance(artifact, dict):
        return [Violation(path, "must be an object with type, title and content")]
    violations: list[Violation] = []
    for name in _ARTIFACT_FIELDS:
        text = artifact.get(name)
        if not (isinstance(text, str) and text):
            violations += (Violation(f"{path}.{name}", "must be a text that is not empty"),)
    if not isinstance(artifact.get("description", ""), (str, type(None))):
        violations.append(Violation(f"{path}.description", "must be a text where it is given"))
    if not artifact.keys() <= _KNOWN_ARTIFACT_FIELDS:
        about = "is no field of an artifact: type, title, content, description"
        violations += [
            Violation(f"{path}.{name}", about) for name in sorted(artifact.keys() - _KNOWN_ARTIFACT_FIELDS)
        ]
    return violations


def _check_demands(
    contract: Contract, output: Mapping[str, Value], broken: Container[str]
) -> Iterator[Violation]:
    """Yield what breaks the contract's own demands, for the fields that meet the common form."""
    good = {f.name: f for f in COMMON_FACTS if f.name.removeprefix("output.") not in broken}
    values = read_output_facts(good, output)
    artifact_types, confidence, blockers = (
        values.get(f"output.{n}") for n in ("artifacts", "confidence", "blockers")
    )
    for kind in contract.artifacts:
        if isinstance(artifact_types, list) and kind not in artifact_types:
            seen = ", ".join(artifact_types) or "none"
            yield Violation("artifacts", f"must hold one of type `{kind}`; types handed in: {seen}")
    if isinstance(confidence, float) and confidence < contract.min_confidence:
        yield Violation("confidence", f"must be at least {contract.min_confidence}; it is {confidence}")
    if contract.no_blockers and blockers:
        yield Violation("blockers", "must be empty: clear them before going on, or have the run paused")


def _check_schema(schema: Mapping[str, Value], output: Mapping[str, Value]) -> Iterator[Violation]:
    """Yield where the output breaks the contract's schema.

    Common fields are checked only if the schema names them.
    """
    properties = schema.get("properties")
    named = properties if isinstance(properties, Mapping) else {}
    checked = {name: value for name, value in output.items() if name in named or name not in _COMMON_FIELDS}
    for fault in _get_validator(_SchemaKey(schema)).iter_errors(checked):
        yield Violation(_format_path(fault.instance_path), fault.message.removeprefix(f"{_MASK} "))


def _format_path(parts: list[str | int]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return text.removeprefix(".") or WHOLE_OUTPUT


class _SchemaKey:
    """A schema as a cache key. Schemas are equal if their text representation is equal."""

    __slots__ = ("schema", "text")

    def __init__(self, schema: Mapping[str, Value]) -> None:
        self.schema, self.text = schema, repr(schema)

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SchemaKey) and self.text == other.text


@lru_cache(maxsize=256)
def _get_validator(key: _SchemaKey) -> jsonschema_rs.Draft202012Validator:
    """Return the validator of a schema, cached: building one takes longer than validating with it."""
    return _build_validator(key.schema)


def _build_validator(schema: Mapping[str, Value]) -> jsonschema_rs.Draft202012Validator:
    """Build the validator of a schema.

    Its patterns cannot hang, it fetches nothing, and its messages do not repeat the values.
    """
    return jsonschema_rs.Draft202012Validator(
        dict(schema), retriever=_refuse_retrieval, pattern_options=jsonschema_rs.RegexOptions(), mask=_MASK
    )


def _refuse_retrieval(uri: str) -> NoReturn:
    raise ValueError(f"`{uri}`: a schema may only refer to itself")


def find_mismatches(
    declared: Mapping[str, Variable], given: Mapping[str, Value], states: Mapping[str, State]
) -> Iterator[tuple[str, Value, str]]:
    """Yield each value that is unknown, missing or mistyped: its name, what was seen, what is needed."""
    for name in sorted(given.keys() - declared.keys()):
        yield name, given[name], f"one of {', '.join(sorted(declared)) or 'no names at all'}"
    for name, variable in declared.items():
        if (name in given or variable.required) and not is_allowed_value(given.get(name), variable, states):
            wanted = " or ".join(str(choice) for choice in variable.choices)
            about = f" ({variable.about})" if variable.about else ""
            yield name, given.get(name), (wanted or f"a value of type {variable.type}") + about


def is_allowed_value(value: Value, variable: Variable, states: Mapping[str, State]) -> bool:
    """True if the variable may hold this value."""
    if value is None or not variable.choices:
        return has_type(value, variable.type, states)
    return value in variable.choices
