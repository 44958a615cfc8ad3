"""Which facts a row may name, and its guards compiled against them."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from handrail.engine.facts import Fact, Kind, Provenance, Type, Value
from handrail.engine.guards import Guard
from handrail.engine.known import EVENT_FACTS, RUN_FACTS
from handrail.engine.lifecycle import CONTINUE
from handrail.engine.model import State, Variable
from handrail.engine.problems import Place
from handrail.engine.vocabulary import Complaint, Vocabulary
from handrail.workflows.complaints import explain, name_repair
from handrail.workflows.declared import Declared, DeclaredRow
from handrail.workflows.nodes import Node, Scalar
from handrail.workflows.reader import Reader, spot
from handrail.workflows.registry import OK, PROBLEMS, DraftKind, Registry

PAYLOAD = ("output.", "event.")
_UNDECLARED = "undeclared reference to "
_FOLLOWS = "*error*"
_FUNCTIONS = "guards know size, startsWith, endsWith, contains, matches, has, all, exists and few more"


class Names:
    """The facts of one file: those that `when` may name, and those a row's `accept` may name besides."""

    def __init__(self, reader: Reader, registry: Registry, declared: Declared) -> None:
        self._reader = reader
        self._registry = registry
        self._declared = declared
        self._vocabularies: dict[frozenset[Fact], Vocabulary] = {}
        self.world = {**registry.facts, **_run_facts(declared)}

    def for_row(self, row: DeclaredRow, sources: Sequence[State]) -> dict[str, Fact]:
        """Every fact that this row may name, wherever: of the world, the event, the output, its drafts."""
        given = {**self.world, **self._brought(row, sources)}
        for name, (key, _) in row.drafts.items():
            hidden = next((fact for fact in given if fact.startswith(f"{name}.")), None)
            if hidden:
                message = f"`{name}` cannot name a draft of {row.what}: `{hidden}` is a fact"
                self._reader.problem("bad-name", key.place, message, "choose another word")
        return given | self._drafted(row)

    def guards(
        self, lines: Sequence[Scalar], facts: Mapping[str, Fact], what: str, *, payload: bool
    ) -> tuple[Guard, ...]:
        """The lines compiled; one that names what it must not, or that is no yes-or-no, is a problem."""
        if not lines:
            return ()
        allowed = facts if payload else self.world
        vocabulary = self._vocabulary(allowed)
        found = []
        for line in lines:
            compiled = vocabulary.compile(line.text, line.place)
            if isinstance(compiled, Guard):
                found.append(compiled)
                continue
            for complaint in _telling(compiled):
                self._complain(line, complaint, what, allowed, facts)
        return tuple(found)

    def _vocabulary(self, facts: Mapping[str, Fact]) -> Vocabulary:
        key = frozenset() if facts is self.world else frozenset(facts.values())
        if key not in self._vocabularies:
            self._vocabularies[key] = Vocabulary(facts)
        return self._vocabularies[key]

    def _brought(self, row: DeclaredRow, sources: Sequence[State]) -> dict[str, Fact]:
        trigger = row.trigger.text if row.trigger else ""
        facts = {fact.name: fact for fact in EVENT_FACTS}
        if trigger in self._declared.tools:
            params = self._declared.tools[trigger].params
            facts |= {
                f.name: f for f in (variable_fact("event", p, Provenance.CLAIMED) for p in params.values())
            }
        outputs = [state.outputs for state in sources]
        if trigger == CONTINUE and outputs:
            shared = set.intersection(*(set(output.items()) for output in outputs))
            facts |= dict(sorted(shared, key=lambda item: item[0]))
        return facts

    def _drafted(self, row: DeclaredRow) -> dict[str, Fact]:
        facts: dict[str, Fact] = {}
        for name, (_, node) in row.drafts.items():
            kind = self._draft(node)
            types = {OK: Type(Kind.BOOL), PROBLEMS: Type(Kind.STRINGS), **(kind.facts if kind else {})}
            for part, type_ in types.items():
                about = f"`{part}` of the draft `{name}`"
                boolean = type_.kind is Kind.BOOL
                domain: tuple[Value, ...] = (True, False) if boolean else ()
                fact = Fact(f"{name}.{part}", type_, Provenance.OBSERVED, about, domain, closed=boolean)
                facts[fact.name] = fact
        return facts

    def _draft(self, node: Node) -> DraftKind | None:
        return self._registry.drafts.get(node.text) if isinstance(node, Scalar) else None

    def _complain(
        self,
        line: Scalar,
        complaint: Complaint,
        what: str,
        allowed: Mapping[str, Fact],
        facts: Mapping[str, Fact],
    ) -> None:
        name = complaint.message.removeprefix(_UNDECLARED).strip("'")
        if not complaint.message.startswith(_UNDECLARED):
            self._explain(line, complaint, what)
        elif _is_called(line, complaint, name):
            message = f"{what}: no function is called `{name}`"
            self._reader.problem("guard-type", _start(line, complaint, name), message, _FUNCTIONS)
        elif allowed is self.world and (name in facts or name.startswith(PAYLOAD)):
            message = f"{what}: `{name}` comes with the event, so `when` cannot read it"
            place = _start(line, complaint, name)
            self._reader.problem("payload-in-when", place, message, "move the line to `accept`")
        else:
            self._unknown(name, _start(line, complaint, name), allowed, what)

    def _unknown(self, name: str, place: Place, allowed: Mapping[str, Fact], what: str) -> None:
        repair = name_repair(name) or _output_repair(name, allowed)
        if not repair:
            self._reader.unknown("fact", name, place, allowed, f"{what}: no fact is called")
        elif not self._reader.follows("fact", name):
            self._reader.problem("unknown-fact", place, f"{what}: no fact is called `{name}`", repair)

    def _explain(self, line: Scalar, complaint: Complaint, what: str) -> None:
        explained = explain(complaint.message)
        place = line.place
        if explained.length:
            place = spot(line, complaint.line, complaint.column, explained.length)
        self._reader.problem(explained.code, place, f"{what}: {explained.message}", explained.repair)


def _telling(complaints: Sequence[Complaint]) -> Sequence[Complaint]:
    """The complaints that do not follow from others: of syntax errors the first."""
    if any("yntax error" in complaint.message for complaint in complaints):
        return complaints[:1]
    return [complaint for complaint in complaints if _FOLLOWS not in complaint.message]


def _output_repair(name: str, allowed: Iterable[str]) -> str:
    if not name.startswith("output.") or any(other.startswith("output.") for other in allowed):
        return ""
    return f"an output comes with `trigger: {CONTINUE}`, in a state with a `task`"


def _is_called(line: Scalar, complaint: Complaint, name: str) -> bool:
    before, after = _around(line, complaint)
    return after.startswith("(") and before.rstrip().endswith(name)


def _start(line: Scalar, complaint: Complaint, name: str) -> Place:
    """Where a dotted name begins: CEL points at its last dot, and at the bracket of a function."""
    before, after = _around(line, complaint)
    found = (before + after[: len(name)]).rfind(name)
    return spot(line, complaint.line, found + 1 if found >= 0 else complaint.column, len(name))


def _around(line: Scalar, complaint: Complaint) -> tuple[str, str]:
    row = line.text.split("\n")[complaint.line - 1]
    return row[: complaint.column - 1], row[complaint.column - 1 :]


def _run_facts(declared: Declared) -> dict[str, Fact]:
    states = tuple(name for name, state in declared.states.items() if not state.router)
    facts = {fact.name: fact for fact in RUN_FACTS}
    facts["run.state"] = replace(facts["run.state"], domain=states, closed=True)
    for variable in declared.vars.values():
        fact = variable_fact("run.vars", variable, Provenance.MEASURED)
        facts[fact.name] = fact
    for variable in declared.inputs.values():
        fact = variable_fact("run.inputs", variable, Provenance.CLAIMED)
        facts[fact.name] = fact
    return facts


def variable_fact(prefix: str, variable: Variable, provenance: Provenance) -> Fact:
    """The fact that a variable, an input or a parameter is read as."""
    given = variable.required or variable.default is not None
    kind = variable.type if given else replace(variable.type, optional=True)
    domain: tuple[Value, ...] = variable.choices
    if kind.kind is Kind.BOOL:
        domain = (True, False)
    closed = bool(domain)
    if closed and kind.optional:
        domain = (*domain, None)
    about = variable.about or f"`{variable.name}` of the run"
    return Fact(f"{prefix}.{variable.name}", kind, provenance, about, domain, closed=closed)
