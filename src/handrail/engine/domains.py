"""Which values a fact is tried with: all of a closed domain, or those at which guards can turn."""

import re
from collections.abc import Iterable, Iterator, Mapping

from handrail.engine.facts import Fact, Kind, Value
from handrail.engine.guards import Guard
from handrail.engine.model import Assigned, Literal, Reference, Transition, Workflow

_TEXT = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?")
_SAMPLES: Mapping[Kind, tuple[Value, ...]] = {
    Kind.BOOL: (True, False),
    Kind.INT: (0, 1),
    Kind.FLOAT: (0.0, 1.0),
    Kind.STRING: ("", "something else"),
}


class Domains:
    """The values to try for each fact of a workflow, worked out once per fact."""

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self._found: dict[tuple[str, str], tuple[Value, ...]] = {}
        lines = [guard.text for guard in guards(workflow.rows)]
        self._texts = dict.fromkeys(one or two for line in lines for one, two in _TEXT.findall(line))
        numbers = (number for line in lines for number in _NUMBER.findall(_TEXT.sub("", line)))
        self._numbers = dict.fromkeys(map(float, numbers))

    def of(self, fact: Fact, scope: str) -> tuple[Value, ...]:
        """The values of a fact as rows of this scope see it; none if they cannot be enumerated."""
        key = (fact.name, scope)
        if key not in self._found:
            self._found[key] = tuple(self._values(fact, scope))
        return self._found[key]

    def _values(self, fact: Fact, scope: str) -> Iterable[Value]:
        if fact.name.startswith("run.vars."):
            name = scope + fact.name.removeprefix("run.vars.")
            if not any(target == name for row in self.workflow.rows for target, _ in row.set):
                return (self.workflow.vars[name].default,)
            if fact.type.kind is Kind.STATE:
                return (state.removeprefix(scope) if state else None for state in held(self.workflow, name))
        if fact.closed:
            return fact.domain
        return dict.fromkeys(self._open(fact))

    def _open(self, fact: Fact) -> Iterator[Value]:
        if fact.type.kind is Kind.JSON:
            return
        if fact.type.optional:
            yield None
        yield from fact.domain
        yield from _SAMPLES.get(fact.type.kind, ())
        match fact.type.kind:
            case Kind.INT:
                for number in self._numbers:
                    yield from (int(number) - 1, int(number), int(number) + 1)
            case Kind.FLOAT:
                for number in self._numbers:
                    yield from (number - 0.01, number, number + 0.01)
            case Kind.STRING | Kind.STATE:
                yield from self._texts
            case _:
                return


def guards(rows: Iterable[Transition]) -> Iterator[Guard]:
    """Every guard of these rows."""
    for row in rows:
        yield from row.when
        yield from row.accept


def held(workflow: Workflow, variable: str) -> tuple[str | None, ...]:
    """The states a variable can hold, in their order: as it starts, and as rows set it."""
    found: set[Value] = set()
    todo, seen = [variable], {variable}
    while todo:
        name = todo.pop()
        found.add(workflow.vars[name].default)
        for row, assigned in _assignments(workflow, name):
            match assigned:
                case Literal(value):
                    found.add(value)
                case Reference("run.state"):
                    found.update(row.sources)
                case Reference(fact):
                    other = row.scope + fact.removeprefix("run.vars.")
                    found.update(() if other in workflow.vars else workflow.states)
                    todo += [other] if other in workflow.vars and other not in seen else []
                    seen.add(other)
    return tuple(name for name in (None, *workflow.states) if name in found)


def _assignments(workflow: Workflow, variable: str) -> Iterator[tuple[Transition, Assigned]]:
    for row in workflow.rows:
        for name, assigned in row.set:
            if name == variable:
                yield row, assigned
