"""Compile the guards of a workflow with CEL, and explain CEL's complaints in plain words.

Start reading at `GuardCompiler`, which knows the facts that guards may name. Only this file imports CEL:
reading and deciding runs must not wait for that import, and every hook reads runs.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from cel_expr_python import cel
from msgspec import Struct
from msgspec.structs import replace

from handrail.engine.facts import Fact, Kind, Provenance, Type, Value
from handrail.engine.guards import Guard
from handrail.engine.lifecycle import CONTINUE
from handrail.engine.model import State, Variable
from handrail.engine.problems import Place
from handrail.engine.rows import EVENT_FACTS, RUN_FACTS
from handrail.workflows.declarations import DeclaredRow, DeclaredWorkflow
from handrail.workflows.nodes import NodeReader, Scalar, locate_span
from handrail.workflows.registry import OK_FACT, PROBLEMS_FACT, Registry

_CEL_TYPES: Mapping[Kind, cel.Type] = {
    Kind.BOOL: cel.Type.BOOL,
    Kind.INT: cel.Type.INT,
    Kind.FLOAT: cel.Type.DOUBLE,
    Kind.STRING: cel.Type.STRING,
    Kind.STATE: cel.Type.STRING,
    Kind.STRINGS: cel.Type.List(cel.Type.STRING),
    Kind.JSON: cel.Type.DYN,
}

_CEL_OPTIONAL_TYPES: Mapping[Kind, cel.Type] = {
    Kind.BOOL: cel.Type("google.protobuf.BoolValue"),
    Kind.INT: cel.Type("google.protobuf.Int64Value"),
    Kind.FLOAT: cel.Type("google.protobuf.DoubleValue"),
    Kind.STRING: cel.Type("google.protobuf.StringValue"),
    Kind.STATE: cel.Type("google.protobuf.StringValue"),
    Kind.STRINGS: cel.Type.DYN,
    Kind.JSON: cel.Type.DYN,
}

_ERROR_MESSAGE = re.compile(r"ERROR: <input>:(-?\d+):(-?\d+): ([^\n]*)")
_MESSAGE_NOISE = re.compile(r" (expecting \{|\(in container).*")
_ERROR_NOISE = re.compile(r"^[A-Z_]+: |\s*(\[[A-Z_]+\])?(\n.*)?$", re.DOTALL)


class Diagnostic(Struct, frozen=True):
    """Why an expression does not compile; `line` and `column` count from 1 within it."""

    line: int
    column: int
    message: str


class Vocabulary:
    """The facts that expressions may name, with their types.

    An optional fact is checked as a wrapper type (so `x == 3` on a string is an error at load, and `x ==
    null` is not) and evaluated as a dynamic one, since the runtime takes no plain value for a wrapper.
    """

    def __init__(self, facts: Mapping[str, Fact]) -> None:
        self._facts = facts
        types = {name: fact.type for name, fact in facts.items()}
        plain = {name: _CEL_TYPES[each.kind] for name, each in types.items() if not each.optional}
        optional = {name: each.kind for name, each in types.items() if each.optional}
        wrapped = {name: _CEL_OPTIONAL_TYPES[kind] for name, kind in optional.items()}
        self._checker = cel.NewEnv(variables={**plain, **wrapped})
        self._runner = cel.NewEnv(variables={**plain, **dict.fromkeys(optional, cel.Type.DYN)})

    def compile(self, text: str, place: Place) -> Guard | tuple[Diagnostic, ...]:
        """Return the guard, or every complaint about its text; a guard that is not a boolean is one too."""
        try:
            checked = self._checker.compile(text)
        except RuntimeError as refusal:
            complaints: dict[Diagnostic, None] = {}
            for line, column, message in _ERROR_MESSAGE.findall(str(refusal)):
                short = _MESSAGE_NOISE.sub("", message.removesuffix(" [INVALID_ARGUMENT]"))
                complaints[Diagnostic(max(int(line), 1), max(int(column), 1), short)] = None
            whole = Diagnostic(1, 1, f"Syntax error: {_ERROR_NOISE.sub('', str(refusal))}")
            return tuple(complaints) or (whole,)
        if checked.return_type() != cel.Type.BOOL:
            kind = checked.return_type().name().lower()
            return (Diagnostic(1, 1, f"a guard must be true or false; this one is of type {kind}"),)
        names = sorted(set(_read_identifiers(checked.serialize())) & self._facts.keys())
        return Guard(text, tuple(self._facts[name] for name in names), place, self._runner.compile(text))


def _read_identifiers(checked: bytes) -> Iterator[str]:
    """Yield the names in the reference map of a serialised `cel.expr.CheckedExpr`, wrapped in an `Any`."""
    for expression in _read_fields(checked, 2):
        for reference in (value for entry in _read_fields(expression, 2) for value in _read_fields(entry, 2)):
            for name in _read_fields(reference, 1):
                yield name.decode()


def _read_fields(data: bytes, number: int) -> Iterator[bytes]:
    """Yield the length-delimited fields of this number in a protobuf message."""
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        value, at = _read_varint(data, at)
        if key & 7 == 2:
            if key >> 3 == number:
                yield data[at : at + value]
            at += value


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


_TYPE_NAMES = {
    "double": "a float",
    "dyn": "any JSON value",
    "int": "an int",
    "list(string)": "a list of texts",
    "null_type": "null",
    "string": "a text",
    "bool": "a yes-or-no",
}

_OVERLOAD = re.compile(r"found no matching overload for '(.+?)' applied to '\((.*)\)'")
_STRAY_TOKEN = re.compile(r"Syntax error: .*?'(.*)'(?: expecting .*)?")
_SYNTAX_PREFIX = "Syntax error: "
_SELECT_ERROR = re.compile(r"expression of type '(.+)' cannot be the operand of a select operation")
_OPERATOR = re.compile(r"_?(\W+)_?|@(in)")

_REPAIRS = {
    "=": "write `==` to compare",
    "&": "write `&&` for and",
    "|": "write `||` for or",
    "and": "write `&&`",
    "or": "write `||`",
    "not": "write `!` before what must not hold",
    "'": "close the quote",
    '"': "close the quote",
    ")": "close the bracket, or drop one",
    "]": "close the bracket, or drop one",
}

_FOREIGN_WORDS = {"True": "true", "False": "false", "None": "null", "yes": "true", "no": "false"}


class Explanation(Struct, frozen=True):
    """A complaint in plain words, its code, its repair, and how many characters it is about (0: all)."""

    code: str
    message: str
    repair: str
    length: int = 1


def _explain_diagnostic(complaint: str) -> Explanation:
    """Explain a complaint about anything but an unknown name."""
    if overload := _OVERLOAD.fullmatch(complaint):
        return _explain_overload(overload[1], overload[2])
    if stray := _STRAY_TOKEN.fullmatch(complaint):
        word = stray[1].strip()
        if word.endswith("<EOF>"):
            return Explanation("guard-syntax", "the guard ends too early", "finish it, or close what is open")
        repair = _REPAIRS.get(word) or _REPAIRS.get(word[:1]) or "mend the expression here"
        return Explanation("guard-syntax", f"`{word}` cannot stand here", repair, len(word))
    if selected := _SELECT_ERROR.fullmatch(complaint):
        message = f"{_describe_type(selected[1])} has nothing behind a dot"
        return Explanation("guard-type", message, "call a function, such as `size(task.name)`")
    if complaint.startswith(_SYNTAX_PREFIX):
        message = "this is too long, or nests too deeply"
        return Explanation("guard-syntax", message, "make it shorter, or split it into several lines", 0)
    return Explanation("guard-type", complaint, "compare it with a value, such as `criteria.total > 0`", 0)


def _explain_overload(function: str, types: str) -> Explanation:
    operator = _OPERATOR.fullmatch(function)
    operands = [_describe_type(each) for each in re.split(r", (?![^(]*\))", types)]
    if operator is None or len(operands) != 2:
        word = operator[1].strip("_") if operator else function
        message = f"`{word}` does not go with {' and '.join(operands)}"
        return Explanation("guard-type", message, "compare with a value first, or use a fact that fits")
    repair = "compare two values of one type"
    if sorted(operands) == ["a float", "an int"]:
        repair = "a float is compared with a float: write 1.0, not 1"
    elif "null" in operands:
        repair = "only what is declared with `?` can be null"
    word = operator[1] or operator[2]
    message = f"`{word}` does not go between {operands[0]} and {operands[1]}"
    return Explanation("guard-type", message, repair, len(word))


def _describe_type(name: str) -> str:
    wrapped = re.fullmatch(r"wrapper\((.*)\)", name)
    if wrapped:
        return f"{_describe_type(wrapped[1])} or null"
    return _TYPE_NAMES.get(name, name)


PAYLOAD_PREFIXES = ("output.", "event.")
_UNDECLARED_PREFIX = "undeclared reference to "
_CONSEQUENCE_SIGN = "*error*"
_FUNCTIONS_HINT = "guards know size, startsWith, endsWith, contains, matches, has, all, exists and few more"


class GuardCompiler:
    """The facts of one file: those that `when` may name, and those a row's `accept` may name in addition."""

    def __init__(self, reader: NodeReader, registry: Registry, declared: DeclaredWorkflow) -> None:
        self._reader = reader
        self._registry = registry
        self._declared = declared
        self._vocabularies: dict[frozenset[Fact], Vocabulary] = {}
        self.world_facts = {**registry.facts, **_declare_run_facts(declared)}

    def list_row_facts(self, row: DeclaredRow, sources: Sequence[State]) -> dict[str, Fact]:
        """Return every fact this row may name: of the world, the event, the output and its drafts."""
        given = {**self.world_facts, **self._list_payload_facts(row, sources)}
        drafted: dict[str, Fact] = {}
        for name, (key, node) in row.drafts.items():
            hidden = next((fact for fact in given if fact.startswith(f"{name}.")), None)
            if hidden:
                message = f"`{name}` cannot name a draft of {row.what}: `{hidden}` is a fact"
                self._reader.report_problem("bad-name", key.place, message, "choose another word")
            kind = self._registry.drafts.get(node.text) if isinstance(node, Scalar) else None
            types = {OK_FACT: Type(Kind.BOOL), PROBLEMS_FACT: Type(Kind.STRINGS)}
            types |= kind.facts if kind else {}
            for part, type_ in types.items():
                about = f"`{part}` of the draft `{name}`"
                boolean = type_.kind is Kind.BOOL
                domain: tuple[Value, ...] = (True, False) if boolean else ()
                fact = Fact(f"{name}.{part}", type_, Provenance.OBSERVED, about, domain, closed=boolean)
                drafted[fact.name] = fact
        return given | drafted

    def compile_guards(
        self, lines: Sequence[Scalar], facts: Mapping[str, Fact], what: str, *, payload: bool
    ) -> tuple[Guard, ...]:
        """Compile these lines; one that names a forbidden fact, or is not a boolean, is a problem."""
        if not lines:
            return ()
        allowed = facts if payload else self.world_facts
        shared = frozenset(allowed.values()) if payload else frozenset()
        if shared not in self._vocabularies:
            self._vocabularies[shared] = Vocabulary(allowed)
        guards = []
        for line in lines:
            compiled = self._vocabularies[shared].compile(line.text, line.place)
            if isinstance(compiled, Guard):
                guards.append(compiled)
                continue
            for complaint in _drop_consequences(compiled):
                self._report_diagnostic(line, complaint, what, allowed, facts)
        return tuple(guards)

    def _list_payload_facts(self, row: DeclaredRow, sources: Sequence[State]) -> dict[str, Fact]:
        trigger = row.trigger.text if row.trigger else ""
        facts = {fact.name: fact for fact in EVENT_FACTS}
        if trigger in self._declared.tools:
            for param in self._declared.tools[trigger].params.values():
                fact = _declare_variable_fact("event", param, Provenance.CLAIMED)
                facts[fact.name] = fact
        outputs = [state.outputs for state in sources]
        if trigger == CONTINUE and outputs:
            shared = set.intersection(*(set(output.items()) for output in outputs))
            facts |= dict(sorted(shared, key=lambda item: item[0]))
        return facts

    def _report_diagnostic(
        self,
        line: Scalar,
        complaint: Diagnostic,
        what: str,
        allowed: Mapping[str, Fact],
        facts: Mapping[str, Fact],
    ) -> None:
        reader = self._reader
        if not complaint.message.startswith(_UNDECLARED_PREFIX):
            explained = _explain_diagnostic(complaint.message)
            place = line.place
            if explained.length:
                place = locate_span(line, complaint.line, complaint.column, explained.length)
            reader.report_problem(explained.code, place, f"{what}: {explained.message}", explained.repair)
            return
        name = complaint.message.removeprefix(_UNDECLARED_PREFIX).strip("'")
        row = line.text.split("\n")[complaint.line - 1]
        before, after = row[: complaint.column - 1], row[complaint.column - 1 :]
        # CEL points at the last dot of a dotted name, and at the bracket of a function.
        start = (before + after[: len(name)]).rfind(name)
        place = locate_span(line, complaint.line, start + 1 if start >= 0 else complaint.column, len(name))
        if after.startswith("(") and before.rstrip().endswith(name):
            message = f"{what}: no function is called `{name}`"
            reader.report_problem("guard-type", place, message, _FUNCTIONS_HINT)
        elif allowed is self.world_facts and (name in facts or name.startswith(PAYLOAD_PREFIXES)):
            message = f"{what}: `{name}` comes with the event, so `when` cannot read it"
            reader.report_problem("payload-in-when", place, message, "move the line to `accept`")
        elif repair := _suggest_fact_repair(name, allowed):
            if not reader.is_consequence("fact", name):
                reader.report_problem("unknown-fact", place, f"{what}: no fact is called `{name}`", repair)
        else:
            reader.report_unknown("fact", name, place, allowed, f"{what}: no fact is called")


def _drop_consequences(complaints: Sequence[Diagnostic]) -> Sequence[Diagnostic]:
    """Return the complaints that do not follow from others; for syntax errors only the first."""
    if any("yntax error" in complaint.message for complaint in complaints):
        return complaints[:1]
    return [complaint for complaint in complaints if _CONSEQUENCE_SIGN not in complaint.message]


def _suggest_fact_repair(name: str, allowed: Iterable[str]) -> str:
    """Return what to write instead of another language's word or an output that does not come; else empty."""
    if name in _FOREIGN_WORDS:
        return f"write `{_FOREIGN_WORDS[name]}`"
    if name.startswith("output.") and not any(other.startswith("output.") for other in allowed):
        return f"an output comes with `trigger: {CONTINUE}`, in a state with a `task`"
    return ""


def _declare_run_facts(declared: DeclaredWorkflow) -> dict[str, Fact]:
    states = tuple(name for name, state in declared.states.items() if not state.router)
    facts = {fact.name: fact for fact in RUN_FACTS}
    facts["run.state"] = replace(facts["run.state"], domain=states, closed=True)
    own = [_declare_variable_fact("run.vars", each, Provenance.MEASURED) for each in declared.vars.values()]
    own += [
        _declare_variable_fact("run.inputs", each, Provenance.CLAIMED) for each in declared.inputs.values()
    ]
    return facts | {fact.name: fact for fact in own}


def _declare_variable_fact(prefix: str, variable: Variable, provenance: Provenance) -> Fact:
    """Return the fact that guards read a variable, an input or a parameter as."""
    has_value = variable.required or variable.default is not None
    kind = variable.type if has_value else replace(variable.type, optional=True)
    domain: tuple[Value, ...] = variable.choices
    if kind.kind is Kind.BOOL:
        domain = (True, False)
    closed = bool(domain)
    if closed and kind.optional:
        domain = (*domain, None)
    about = variable.about or f"`{variable.name}` of the run"
    return Fact(f"{prefix}.{variable.name}", kind, provenance, about, domain, closed=closed)
