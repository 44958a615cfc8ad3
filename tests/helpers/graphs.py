"""Graphs and workflows that the tests of the pictures share."""

import json
from typing import TypedDict, Unpack

from handrail.drawing.graph import Edge, Graph, Node, Shape
from handrail.engine.facts import Kind, Type
from handrail.engine.guards import Guard
from handrail.engine.model import (
    AssignedValue,
    Authority,
    State,
    Target,
    ToState,
    ToVariable,
    Transition,
    Variable,
    Workflow,
)
from handrail.engine.problems import Place
from handrail.workflows.guard_compiler import Vocabulary
from handrail.workflows.load import WorkflowSource, load_workflow

HERE = Place("test.yaml", 1, 1)

SKILLS = """
collab-start gather-goals
gather-goals clear-pre-item
clear-pre-item work-item-router
work-item-router ready-to-implement no items remain
work-item-router brainstorm-exploring code or task
work-item-router systematic-debugging bugfix
brainstorm-exploring clear-bs1
clear-bs1 brainstorm-clarifying
brainstorm-clarifying clear-bs2
clear-bs2 brainstorm-designing
brainstorm-designing clear-bs3
clear-bs3 brainstorm-validating
brainstorm-validating item-type-router
item-type-router clear-pre-rough code
item-type-router task-planning task
item-type-router systematic-debugging bugfix
clear-pre-rough rough-draft-interface
rough-draft-interface clear-rd1
clear-rd1 rough-draft-pseudocode
rough-draft-pseudocode clear-rd2
clear-rd2 rough-draft-skeleton
rough-draft-skeleton clear-rd3
clear-rd3 build-task-graph
build-task-graph clear-rd4
clear-rd4 rough-draft-handoff
rough-draft-handoff clear-post-item
task-planning clear-post-item
systematic-debugging clear-post-item
clear-post-item work-item-router
ready-to-implement clear-pre-execute
clear-pre-execute batch-router
batch-router execute-batch batches remain
batch-router workflow-complete none
execute-batch log-batch-complete
log-batch-complete clear-post-batch
clear-post-batch batch-router
workflow-complete cleanup
cleanup done
"""


def build_graph(text: str, *, initial: str = "") -> Graph:
    """The graph of these lines: a source, a target, and the words on the edge."""
    edges = []
    for line in text.split("\n"):
        if line:
            source, target, *words = line.split(" ")
            edges.append(Edge(source, target, (" ".join(words),) if words else ()))
    names = dict.fromkeys(name for edge in edges for name in (edge.source, edge.target))
    return Graph("test", tuple(Node(name, _shape(name), name == initial) for name in names), tuple(edges))


def build_guard(text: str) -> Guard:
    """A guard that needs no fact."""
    compiled = Vocabulary({}).compile(text, HERE)
    assert isinstance(compiled, Guard)
    return compiled


class Parts(TypedDict, total=False):
    """What a row may have besides its ends."""

    when: tuple[str, ...]
    sets: tuple[tuple[str, AssignedValue], ...]
    refuse: str


def build_row(
    name: str, sources: str, trigger: str | None, to: str | Target, **parts: Unpack[Parts]
) -> Transition:
    """A row; sources stand side by side."""
    return Transition(
        name,
        tuple(sources.split()),
        trigger,
        HERE,
        when=tuple(build_guard(text) for text in parts.get("when", ())),
        to=ToState(to) if isinstance(to, str) else to,
        set=parts.get("sets", ()),
        refuse=parts.get("refuse", ""),
    )


def build_workflow(states: str, *rows: Transition, variables: tuple[Variable, ...] = ()) -> Workflow:
    """A workflow of these states: one that ends in `?` is a router, one that ends in `!` is terminal."""
    held = {row.to.name for row in rows if isinstance(row.to, ToVariable)}
    declared = {name: Variable(name, Type(Kind.STATE, optional=True), HERE) for name in sorted(held)}
    names = [
        State(name.rstrip("?!"), HERE, "", "", name[-1] == "?", name[-1] == "!") for name in states.split()
    ]
    return Workflow(
        name="small",
        version=1,
        authority=Authority.SQL,
        place=HERE,
        digest="",
        initial=names[0].name,
        states={state.name: state for state in names},
        rows=rows,
        index={},
        facts={},
        vars=declared | {variable.name: variable for variable in variables},
    )


def build_large_workflow(states: int) -> Workflow:
    """A workflow of many states: tens with a router that goes back or on, and ways that leave some out."""
    names = [f"step-{number:03d}" for number in range(states - 1)] + ["done"]
    rows: list[dict[str, object]] = []
    for number, name in enumerate(names[:-1]):
        way = {"id": f"R{number}", "from": name, "to": names[number + 1]}
        if number % 10 == 7:
            rows.append({**way, "when": ["plan.exists"]})
            rows.append({**way, "id": f"R{number}b", "to": names[number - 4]})
        else:
            far = {**way, "id": f"R{number}f", "trigger": "go", "when": ["task.exists"]}
            ahead = number % 10 == 3 and number + 20 < states
            rows += [{**far, "to": names[number + 20]}] if ahead else []
            rows.append({**way, "trigger": "go"})
    kinds = [{"router": True} if number % 10 == 7 else {} for number in range(states - 1)]
    document = {
        "workflow": "large",
        "version": 1,
        "authority": "files",
        "tools": {"go": {"who": "person"}},
        "states": {**dict(zip(names, kinds, strict=False)), "done": {"terminal": True}},
        "transitions": rows,
    }
    loaded = load_workflow(WorkflowSource("large.yaml", json.dumps(document)))
    assert loaded.workflow is not None, loaded.problems
    return loaded.workflow


def _shape(name: str) -> Shape:
    return Shape.ROUTER if name.endswith("router") else Shape.TERMINAL if name == "done" else Shape.STATE
