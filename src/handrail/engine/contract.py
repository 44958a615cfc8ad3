"""Is this step output what the step asked for? The common form, then what the step's contract adds."""

import re
from collections.abc import Container, Iterator, Mapping
from functools import lru_cache
from typing import NoReturn

import jsonschema_rs
from msgspec import Struct

from handrail.engine.facts import Fact, Kind, Provenance, Type, Value, flaws, sound
from handrail.engine.model import Contract

WHOLE = "output"
"""The path of a violation that is nowhere in particular."""

_ARTIFACT_FIELDS = ("type", "title", "content")
_ARTIFACT_KNOWN = frozenset({*_ARTIFACT_FIELDS, "description"})
_COMMON = ("summary", "artifacts", "references", "confidence", "decisions", "findings", "blockers")
_FIELDS = frozenset(_COMMON)
_LIST_OR_NULL = (list, type(None))
_LIST_OF_TEXTS = "must be a list of texts; an empty one if there are none"
_MASK = "it"
_KINDS = {"boolean": Kind.BOOL, "integer": Kind.INT, "number": Kind.FLOAT, "string": Kind.STRING}


class Violation(Struct, frozen=True):
    """One way in which an output breaks its contract: the path of the value, and what is wrong with it."""

    path: str
    message: str


def violations(contract: Contract, output: Mapping[str, Value]) -> tuple[Violation, ...]:
    """Every way in which this output breaks the common form or the contract; none if it is good."""
    given = output if isinstance(output, dict) else dict(output)
    if not sound(given):
        return tuple(Violation(path.removeprefix("."), why) for path, why in flaws(given))
    found = [] if given.keys() <= _FIELDS else [*_unknown(contract, given)]
    found += _common(given)
    if contract.artifacts or contract.min_confidence or contract.no_blockers:
        broken = {re.split(r"[.\[]", violation.path)[0] for violation in found}
        found += _demands(contract, given, broken)
    if contract.schema is not None:
        found += _against(contract.schema, given)
    return tuple(dict.fromkeys(found)) if found else ()


def value_at(output: Mapping[str, Value], path: str) -> Value:
    """What stands at the path of a violation: null if nothing does, the names given for the whole output."""
    if path == WHOLE:
        return sorted(output)
    value: Value = output
    for key, number in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path):
        if isinstance(value, list) and number:
            value = value[int(number)]
        else:
            value = value.get(key) if isinstance(value, Mapping) else None
    return value


def schema_problem(schema: Mapping[str, Value]) -> str:
    """Why this is no JSON Schema that can be used here, or an empty string."""
    try:
        _validator(schema)
    except jsonschema_rs.ValidationError as refusal:
        return refusal.message
    return ""


def output_facts(contract: Contract) -> dict[str, Fact]:
    """The facts `output.*` that guards of a state with this contract may name."""
    facts = {fact.name: fact for fact in COMMON_FACTS}
    properties = (contract.schema or {}).get("properties")
    required = (contract.schema or {}).get("required")
    for name, schema in properties.items() if isinstance(properties, Mapping) else ():
        if name not in _COMMON and isinstance(schema, Mapping):
            optional = not (isinstance(required, list) and name in required)
            facts[f"output.{name}"] = _declared(name, schema, optional=optional)
    return facts


def output_values(facts: Mapping[str, Fact], output: Mapping[str, Value]) -> dict[str, Value]:
    """What each of these facts is in an output that keeps the contract."""
    return {name: output_value(fact, output.get(output_name(fact))) for name, fact in facts.items()}


def output_name(fact: Fact) -> str:
    """How an output calls what this fact is read from."""
    return fact.name.removeprefix("output.")


def output_value(fact: Fact, value: Value) -> Value:
    """What this fact is, if an output that keeps the contract has this value for it."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return [artifact["type"] for artifact in value] if fact.name == "output.artifacts" else value
    if value is None:
        return [] if fact.type == _LIST else None
    if fact.type.kind is Kind.FLOAT and isinstance(value, int):
        return float(value)
    if fact.type.kind is Kind.INT and isinstance(value, float):
        return int(value)
    return value


def _declared(name: str, schema: Mapping[str, Value], *, optional: bool) -> Fact:
    choices = schema.get("enum")
    strings = isinstance(choices, list) and all(isinstance(choice, str) for choice in choices)
    kind = Kind.STRING if strings else _KINDS.get(str(schema.get("type")), Kind.JSON)
    domain: tuple[Value, ...] = tuple(choices) if isinstance(choices, list) and strings else ()
    if kind is Kind.BOOL:
        domain = (True, False)
    closed = bool(domain)
    if closed and optional:
        domain = (*domain, None)
    about = str(schema.get("description", f"`{name}` of the step output"))
    type_ = Type(kind, optional or kind is Kind.JSON)
    return Fact(f"output.{name}", type_, Provenance.CLAIMED, about, domain, closed)


_LIST = Type(Kind.STRINGS)
_ANY = Type(Kind.JSON, optional=True)
COMMON_FACTS = (
    Fact("output.summary", Type(Kind.STRING), Provenance.CLAIMED, "what was done, in the agent's words"),
    Fact("output.artifacts", _LIST, Provenance.CLAIMED, "the types of the artifacts handed in"),
    Fact("output.references", _LIST, Provenance.CLAIMED, "what the agent points to"),
    Fact(
        "output.confidence",
        Type(Kind.FLOAT),
        Provenance.CLAIMED,
        "how sure the agent is, 0 to 1",
        domain=(0.0, 0.5, 1.0),
    ),
    Fact("output.decisions", _ANY, Provenance.CLAIMED, "the decisions taken, null if none given"),
    Fact("output.findings", _ANY, Provenance.CLAIMED, "the findings, null if none given"),
    Fact("output.blockers", _LIST, Provenance.CLAIMED, "what keeps the agent from going on"),
)
"""The facts of every step output, whatever the contract adds."""


def _unknown(contract: Contract, output: Mapping[str, Value]) -> Iterator[Violation]:
    properties = (contract.schema or {}).get("properties")
    known = {*_COMMON, *(properties if isinstance(properties, Mapping) else ())}
    for name in sorted(output.keys() - known):
        yield Violation(name, f"is no field of this output; known are {', '.join(sorted(known))}")


def _common(output: Mapping[str, Value]) -> list[Violation]:
    """What breaks the common form; that nothing does is told at once."""
    found: list[Violation] = []
    summary, confidence = output.get("summary"), output.get("confidence")
    if not (isinstance(summary, str) and summary.strip()):
        found.append(Violation("summary", "must be a text that is not empty"))
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0 <= confidence <= 1:
        found.append(Violation("confidence", "must be a number from 0 to 1"))
    if not _texts(output.get("references")):
        found.append(Violation("references", _LIST_OF_TEXTS))
    if not (output.get("blockers") is None or _texts(output["blockers"])):
        found.append(Violation("blockers", _LIST_OF_TEXTS))
    for name in ("decisions", "findings"):
        if not isinstance(output.get(name), _LIST_OR_NULL):
            found += (Violation(name, "must be a list where it is given"),)
    artifacts = output.get("artifacts")
    if not isinstance(artifacts, list):
        return [*found, Violation("artifacts", "must be a list; an empty one if there is nothing to hand in")]
    for number, artifact in enumerate(artifacts):
        found += _artifact(f"artifacts[{number}]", artifact)
    return found


def _texts(items: Value) -> bool:
    return isinstance(items, list) and not [item for item in items if not isinstance(item, str)]


def _artifact(path: str, artifact: Value) -> list[Violation]:
    if not isinstance(artifact, dict):
        return [Violation(path, "must be an object with type, title and content")]
    found: list[Violation] = []
    for name in _ARTIFACT_FIELDS:
        text = artifact.get(name)
        if not (isinstance(text, str) and text):
            found += (Violation(f"{path}.{name}", "must be a text that is not empty"),)
    if not isinstance(artifact.get("description", ""), (str, type(None))):
        found.append(Violation(f"{path}.description", "must be a text where it is given"))
    if not artifact.keys() <= _ARTIFACT_KNOWN:
        about = "is no field of an artifact: type, title, content, description"
        found += [Violation(f"{path}.{name}", about) for name in sorted(artifact.keys() - _ARTIFACT_KNOWN)]
    return found


def _demands(contract: Contract, output: Mapping[str, Value], broken: Container[str]) -> Iterator[Violation]:
    """What the contract adds, asked of the fields that keep the common form."""
    good = {f.name: f for f in COMMON_FACTS if f.name.removeprefix("output.") not in broken}
    values = output_values(good, output)
    given, confidence, blockers = (values.get(f"output.{n}") for n in ("artifacts", "confidence", "blockers"))
    for kind in contract.artifacts:
        if isinstance(given, list) and kind not in given:
            seen = ", ".join(given) or "none"
            yield Violation("artifacts", f"must hold one of type `{kind}`; types handed in: {seen}")
    if isinstance(confidence, float) and confidence < contract.min_confidence:
        yield Violation("confidence", f"must be at least {contract.min_confidence}; it is {confidence}")
    if contract.no_blockers and blockers:
        yield Violation("blockers", "must be empty: clear them before going on, or have the run paused")


def _against(schema: Mapping[str, Value], output: Mapping[str, Value]) -> Iterator[Violation]:
    """The faults of what the output has besides the common form, and of what the schema says of that."""
    properties = schema.get("properties")
    named = properties if isinstance(properties, Mapping) else {}
    asked = {name: value for name, value in output.items() if name in named or name not in _COMMON}
    for fault in _known_validator(_Written(schema)).iter_errors(asked):
        yield Violation(_path(fault.instance_path), fault.message.removeprefix(f"{_MASK} "))


def _path(parts: list[str | int]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return text.removeprefix(".") or WHOLE


class _Written:
    """A schema, told from others by how it is written."""

    __slots__ = ("schema", "text")

    def __init__(self, schema: Mapping[str, Value]) -> None:
        self.schema, self.text = schema, repr(schema)

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Written) and self.text == other.text


@lru_cache(maxsize=256)
def _known_validator(written: _Written) -> jsonschema_rs.Draft202012Validator:
    """The validator of a schema, made once: that takes longer than to validate with it."""
    return _validator(written.schema)


def _validator(schema: Mapping[str, Value]) -> jsonschema_rs.Draft202012Validator:
    """The validator of a schema: its patterns cannot hang, it fetches nothing, and repeats no value."""
    return jsonschema_rs.Draft202012Validator(
        dict(schema), retriever=_no_retrieval, pattern_options=jsonschema_rs.RegexOptions(), mask=_MASK
    )


def _no_retrieval(uri: str) -> NoReturn:
    raise ValueError(f"`{uri}`: a schema may only refer to itself")
