"""Which rows can ever be taken: found by trying the facts' domains."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence

from handrail.engine.domains import Domains
from handrail.engine.explore import targets
from handrail.engine.facts import Value
from handrail.engine.guards import Guard
from handrail.engine.model import Transition, Workflow
from handrail.engine.problems import Problem, error, warning
from handrail.engine.satisfy import Answer, Line, Search, line

STATE = "run.state"
MOST_BEFORE = 200
"""How many of the rows before a row are asked whether they take its place."""


class Rows:
    """The rows of a workflow, asked whether they can fire."""

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self._search = Search(Domains(workflow))
        self._patience = 1_000
        self._cached: dict[tuple[str, str], list[Line]] = {}
        self._fires: dict[tuple[str, str], bool] = {}
        answered: dict[tuple[object, ...], list[bool]] = {}
        for (state, _), rows in self.workflow.index.items():
            aware = any(_names_state(row) for row in rows)
            key = (state if aware else "", *(row.id for row in rows))
            if key not in answered:
                answered[key] = [self._can_fire(rows, number, state) for number in range(len(rows))]
            self._fires |= {(row.id, state): can for row, can in zip(rows, answered[key], strict=True)}

    def _can_fire(self, rows: Sequence[Transition], number: int, state: str) -> bool:
        earlier = [row for row in rows[max(0, number - MOST_BEFORE) : number] if not self._steps_aside(row)]
        before = [self._lines(other, state) for other in earlier]
        return self._search.possible(self._lines(rows[number], state), before) is not Answer.NO

    def _steps_aside(self, row: Transition) -> bool:
        """True if the row can be passed over though its guards hold: attempts can run out where it leads."""
        return any(self.workflow.states[target].attempts for target in targets(self.workflow, row))

    def fires(self, row: Transition, state: str) -> bool:
        """False if in this state an earlier row, or the row's own guards, always prevent it."""
        return self._fires[row.id, state]

    def problems(self) -> Iterator[Problem]:
        """Constant guards, rows that never fire, routers without a way or in a circle."""
        for row in self.workflow.rows:
            constant = list(self._constant(row))
            yield from (_constantly(row, guard, says=says) for guard, says in constant)
            if all(says for _, says in constant):
                yield from self._never(row)
            yield from self._wrong(row, {guard for guard, says in constant if not says})
        for name, state in self.workflow.states.items():
            if state.router:
                yield from self._stuck(name)
        yield from self._circles()

    def _lines(self, row: Transition, state: str) -> list[Line]:
        key = (row.id, state if _names_state(row) else "")
        if key not in self._cached:
            fixed: dict[str, Value] = {STATE: state.removeprefix(row.scope)}
            if self.workflow.states[state].router:
                fixed["run.attempts"] = 0
            self._cached[key] = [line(guard, fixed, row.scope) for guard in (*row.when, *row.accept)]
        return self._cached[key]

    def _constant(self, row: Transition) -> Iterator[tuple[Guard, bool]]:
        """The guards that say the same to everything, and what they say."""
        for number, guard in enumerate((*row.when, *row.accept)):
            varies = any(fact.name == STATE for fact in guard.facts)
            states = row.sources if varies else row.sources[:1]
            lines = [self._lines(row, state)[number] for state in states]
            if self._search.free(lines):
                continue
            if all(self._search.possible([each]) is Answer.NO for each in lines):
                yield guard, False
            elif all(self._never_no(each) for each in lines):
                yield guard, True

    def _never_no(self, each: Line) -> bool:
        return self._search.can_fail(each) is Answer.NO and self._search.goes_wrong(each, ()) is None

    def _wrong(self, row: Transition, constant: Collection[Guard]) -> Iterator[Problem]:
        """Lines that cannot be evaluated for some values, though no other line of the row fails for them."""
        for number, guard in enumerate((*row.when, *row.accept)):
            for state in row.sources[:1] if guard not in constant else ():
                lines = self._lines(row, state)
                if self._search.free([lines[number]]):
                    continue
                beside = [*lines[:number], *lines[number + 1 :]]
                values = self._search.goes_wrong(lines[number], beside)
                if values is not None:
                    yield _goes_wrong(row, guard, {name: values[name] for name in lines[number].names})

    def _never(self, row: Transition) -> Iterator[Problem]:
        if not row.sources or any(self.fires(row, state) for state in row.sources):
            return
        if all(self._search.possible(self._lines(row, s)) is Answer.NO for s in row.sources):
            message = f"row `{row.id}` never fires: its guards never hold together"
            yield warning("contradiction", row.place, message, "drop one of them, or the row")
            return
        state = row.sources[0]
        before = self._before(row, state)
        message = f"row `{row.id}` never fires: before it, {_listed(before)} always takes its place"
        yield warning("shadowed-row", row.place, message, "move it up, or narrow what stands before it")

    def _before(self, row: Transition, state: str) -> list[str]:
        """The fewest rows before this one that take its place, where one is enough; otherwise all of them."""
        rows = self.workflow.index[state, row.trigger]
        earlier = rows[: rows.index(row)]
        for other in earlier:
            if self._search.possible(self._lines(row, state), [self._lines(other, state)]) is Answer.NO:
                return [other.id]
        return [other.id for other in earlier]

    def _stuck(self, router: str) -> Iterator[Problem]:
        rows = self.workflow.index.get((router, None), ())
        lines = [self._lines(row, router) for row in rows]
        if any(self._search.free(those) for those in lines):
            return
        place = self.workflow.states[router].place
        if not rows:
            message = f"no row leaves the router `{router}`, so the run would be stuck there"
            yield error("router-stuck", place, message, "add a row from it without a trigger")
        elif self._search.possible([], lines) is Answer.YES:
            message = f"router `{router}` can find no row that holds"
            yield error("router-stuck", place, message, "add a last row without `when`")

    def _circles(self) -> Iterator[Problem]:
        """Routers that can lead back to themselves within one turn, each circle once."""
        reported: set[frozenset[str]] = set()
        for name, state in self.workflow.states.items():
            if not state.router:
                continue
            for way in self._round(name):
                circle = frozenset(source for source, _ in way)
                if circle not in reported:
                    reported.add(circle)
                    ids = " → ".join(source for source, _ in way)
                    message = f"routers can go round in one turn: {ids} → {name}"
                    rows = tuple(row.id for _, row in way)
                    yield error("router-loop", state.place, message, "let one of them lead to a state", rows)

    def _round(self, start: str) -> Iterator[tuple[tuple[str, Transition], ...]]:
        """The ways from a router through routers back to it that can be walked with one set of facts."""
        stack: list[tuple[str, tuple[tuple[str, Transition], ...]]] = [(start, ())]
        while stack and self._patience:
            self._patience -= 1
            here, way = stack.pop()
            for row in self.workflow.index.get((here, None), ()):
                for target in targets(self.workflow, row):
                    longer = (*way, (here, row))
                    if not self.workflow.states[target].router or not self._walkable(longer):
                        continue
                    if target == start:
                        yield longer
                    elif all(target != source for source, _ in longer):
                        stack.append((target, longer))

    def _walkable(self, way: Sequence[tuple[str, Transition]]) -> bool:
        must: list[Line] = []
        must_not: list[list[Line]] = []
        for source, row in way:
            rows = self.workflow.index[source, None]
            must += self._lines(row, source)
            must_not += [self._lines(other, source) for other in rows[: rows.index(row)]]
        changed = {name for _, row in way for name, _ in row.set}
        read = {f"{each.scope}{f.name}" for each in must for f in each.guard.facts}
        if any(name.replace("run.vars.", "") in changed for name in read):
            return False
        return self._search.possible(must, must_not) is Answer.YES


def _names_state(row: Transition) -> bool:
    return any(fact.name == STATE for guard in (*row.when, *row.accept) for fact in guard.facts)


def _constantly(row: Transition, guard: Guard, *, says: bool) -> Problem:
    how, repair = ("always", "leave it out") if says else ("never", "compare with a value the fact can have")
    return warning("constant-guard", guard.place, f"row `{row.id}`: `{guard.text}` {how} holds", repair)


def _goes_wrong(row: Transition, guard: Guard, values: Mapping[str, Value]) -> Problem:
    shown = " and ".join(f"{name} = {json.dumps(value)}" for name, value in values.items())
    message = f"row `{row.id}`: `{guard.text}` cannot be evaluated when {shown}"
    nulls = [name for name, value in values.items() if value is None]
    repair = f"add the line `{nulls[0]} != null`" if nulls else "add a line that rules this out"
    return error("guard-can-fail", guard.place, message, repair)


def _listed(names: Sequence[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"one of {', '.join(quoted)}"
