"""Random workflows, facts and events for property tests, all in terms of a small registry of its own."""

import json
from dataclasses import dataclass
from typing import Any, cast

from hypothesis import assume
from hypothesis import strategies as st

from handrail.engine.facts import Fact, Kind, Provenance, Type, Value
from handrail.engine.model import Actor, Event, Workflow
from handrail.engine.soundness import check_soundness
from handrail.workflows.load import WorkflowSource, load_workflow
from handrail.workflows.registry import build_registry

Row = dict[str, Any]
BOOLEANS = ("door.open", "light.on", "rain.falls")
KINDS = ("red", "green", "blue")
REGISTRY = build_registry(
    (
        *(
            Fact(name, Type(Kind.BOOL), Provenance.OBSERVED, name, (True, False), closed=True)
            for name in BOOLEANS
        ),
        Fact("door.colour", Type(Kind.STRING), Provenance.OBSERVED, "colour", KINDS, closed=True),
        Fact("cats.count", Type(Kind.INT), Provenance.OBSERVED, "cats", (0, 1, 2)),
    ),
    (),
    (),
)
LINES = (
    *BOOLEANS,
    *(f"!{name}" for name in BOOLEANS),
    *(f'door.colour == "{colour}"' for colour in KINDS),
    "cats.count > 1",
    "run.vars.seen",
    "!run.vars.seen",
    "run.attempts < 2",
)
TRIGGERS = ("go", "back", "knock", "continue")
OUTPUT_FIELD = "good"


@dataclass(frozen=True)
class Case:
    """A sound workflow, and the text it came from."""

    workflow: Workflow
    text: str


@st.composite
def _row(draw: st.DrawFn, number: int, source: str, states: list[str]) -> dict[str, object]:
    """One row out of a state where a run can stay."""
    trigger = draw(st.sampled_from(TRIGGERS))
    row: dict[str, object] = {"id": f"R{number}", "from": source, "trigger": trigger}
    row["when"] = draw(st.lists(st.sampled_from(LINES), max_size=2, unique=True))
    if trigger == "continue":
        row["accept"] = draw(st.sampled_from([[], ["output.good"], ["!output.good"]]))
    kind = draw(st.sampled_from(["move", "move", "move", "stay", "refuse", "return"]))
    if kind == "refuse":
        return row | {"refuse": "No"}
    if kind == "move":
        row["to"] = draw(st.sampled_from(states))
    if kind == "return":
        row |= {"when": ["run.vars.home != null"], "to": "@home"}
    return row | {"set": draw(st.sampled_from([{}, {"seen": True}, {"home": "@state"}]))}


@st.composite
def documents(draw: st.DrawFn) -> dict[str, object]:
    """A workflow as plain data: every state has a way on, the last is terminal, routers are complete."""
    count = draw(st.integers(2, 5))
    names = [f"S{number}" for number in range(count)]
    routers = [f"Q{number}" for number in range(draw(st.integers(0, 2)))]
    states: dict[str, object] = {name: _state(draw) for name in names}
    states |= {name: {"router": True} for name in routers} | {"END": {"terminal": True}}
    targets = [*names, *routers, "END"]
    rows: list[dict[str, object]] = []
    for name, following in zip(names, [*names[1:], "END"], strict=True):
        for _ in range(draw(st.integers(0, 3))):
            rows.append(draw(_row(len(rows), name, targets)))
        rows.append({"id": f"R{len(rows)}", "from": name, "trigger": "on", "to": following})
    for name in routers:
        line = draw(st.sampled_from(LINES[:-1]))
        goal = draw(st.sampled_from([*names, "END"]))
        rows.append({"id": f"R{len(rows)}", "from": name, "when": [line], "to": goal})
        rows.append({"id": f"R{len(rows)}", "from": name, "to": draw(st.sampled_from(names))})
    return {
        "workflow": "random",
        "version": 1,
        "authority": "files",
        "vars": {"seen": "bool", "home": "state?"},
        "tools": {name: {"who": "person"} for name in ("go", "back", "knock", "on")},
        "states": states,
        "transitions": rows,
        "texts": {"No": "no"},
    }


def _state(draw: st.DrawFn) -> dict[str, object]:
    """A state, some with a cap, all with a task whose output says whether it is good."""
    schema = {"properties": {OUTPUT_FIELD: {"type": "boolean"}}, "required": [OUTPUT_FIELD]}
    state: dict[str, object] = {"agent": "anyone", "task": "Do it.", "contract": {"schema": schema}}
    return state | draw(st.sampled_from([{}, {}, {"attempts": 2}]))


NUISANCES = {"unused-text", "unused-variable", "unset-variable", "unhandled-trigger", "unreachable-state"}
"""Findings that random workflows may have: they do not touch what a decision does."""


@st.composite
def any_cases(draw: st.DrawFn) -> Case:
    """A random workflow that loads, sound or not."""
    return _load(draw(documents()))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A random workflow in which `check` finds nothing that touches a decision."""
    document = draw(documents())
    case = _load(document | {"transitions": _plausible(cast("list[Row]", document["transitions"]))})
    assume(not {problem.code for problem in check_soundness(case.workflow)} - NUISANCES)
    return case


def _load(document: dict[str, object]) -> Case:
    text = json.dumps(document, indent=1)
    loaded = load_workflow(WorkflowSource("random.yaml", text), registry=REGISTRY)
    assert loaded.workflow is not None, loaded.problems
    return Case(loaded.workflow, text)


def _plausible(rows: list[Row]) -> list[Row]:
    """The rows without what most often makes a workflow unsound: half of all would be drawn in vain.

    These are guards over a variable that no row sets, guards that contradict each other, and rows behind one
    that takes every event of theirs.
    """
    assigned = {name for row in rows for name in row.get("set", ())}
    stored: list[Row] = []
    for row in rows:
        if row.get("to") == "@home" and "home" not in assigned:
            continue
        lines = [line for line in row.get("when", ()) if "seen" in assigned or "run.vars.seen" not in line]
        known = {*lines, *row.get("accept", ())}
        shadowed = any(
            (before["from"], before.get("trigger")) == (row["from"], row.get("trigger"))
            and known >= {*before.get("when", ()), *before.get("accept", ())}
            for before in stored
        )
        colours = sum("colour" in line for line in lines)
        if not shadowed and colours < 2 and not any(f"!{line}" in known for line in known):
            stored.append({**row, "when": lines})
    return stored


def facts() -> st.SearchStrategy[dict[str, Value]]:
    """The state of the world: every fact has a value."""
    return st.fixed_dictionaries(
        {
            **dict.fromkeys(BOOLEANS, st.booleans()),
            "door.colour": st.sampled_from(KINDS),
            "cats.count": st.integers(0, 3),
        }
    )


def draw_output(*, good: bool) -> dict[str, Value]:
    """A step output that keeps every contract here."""
    return {"summary": "Done.", "artifacts": [], "references": [], "confidence": 1, OUTPUT_FIELD: good}


def events() -> st.SearchStrategy[Event]:
    """Anything that can arrive: known and unknown triggers, controls, good and bad payloads."""
    payloads = st.sampled_from([{}, {"nonsense": 1}, draw_output(good=True), draw_output(good=False)])
    triggers = st.sampled_from([*TRIGGERS, "on", "on", "on", "start", "pause", "resume", "fail", "never", ""])
    return st.builds(
        Event, triggers, payloads, st.sampled_from(Actor), st.sampled_from(["", "because"]), st.none()
    )
