"""How much a workflow may hold, and that what it may hold does not take long."""

import time

import pytest

from handrail.engine.soundness import check_soundness
from handrail.workflows.load import WorkflowSource, load_workflow
from helpers.workflow_files import list_problems, load_text, read_text

HEAD = "workflow: w\nversion: 1\nauthority: files\n"


def _step(name: str, used: str) -> str:
    return f"workflow: {name}\nversion: 1\nauthority: files\nsteps: [{{name: s, workflow: {used}}}]\n"


LEAF = "workflow: leaf\nversion: 1\nauthority: files\nsteps: [{name: s, agent: a, task: t}]\n"


def test_a_workflow_may_have_so_many_rows_and_no_more() -> None:
    rows = "".join(f"  - {{id: r{number}, from: A, trigger: t{number}, to: Z}}\n" for number in range(5001))
    text = HEAD + "states:\n  A:\n  Z: {terminal: true}\ntransitions:\n" + rows
    (problem,) = read_text(text).problems

    assert (problem.code, problem.place.line, problem.place.column) == ("too-large", 1, 11)
    assert problem.message == "the workflow has 5,001 rows, sub-workflows included; 5,000 are the most"


def test_a_workflow_may_have_so_many_states_and_no_more() -> None:
    states = "".join(f"  s{number}:\n" for number in range(2001))

    assert list_problems(HEAD + "states:\n" + states) == [("too-large", 1, 11)]


def test_workflows_may_stand_inside_each_other_so_often_and_no_more() -> None:
    names = ["main", *(f"w{number}" for number in range(1, 8))]
    shelf = {name: _step(name, used) for name, used in zip(names, [*names[1:], "leaf"], strict=True)}
    deep = {**shelf, "w7": _step("w7", "w8"), "w8": _step("w8", "leaf"), "leaf": LEAF}

    assert len(load_text(shelf["main"], **shelf, leaf=LEAF).states) == 18
    (problem,) = read_text(deep["main"], **deep).problems
    assert problem.code == "broken-workflow"
    assert "would be the 9th inside another" in problem.message


def test_a_few_small_files_cannot_become_a_huge_workflow() -> None:
    shelf = {"w7": LEAF.replace("leaf", "w7")}
    for number in range(7):
        steps = ", ".join(f"{{name: s{step}, workflow: w{number + 1}}}" for step in range(9))
        shelf[f"w{number}"] = f"workflow: w{number}\nversion: 1\nauthority: files\nsteps: [{steps}]\n"
    started = time.perf_counter()
    problems = read_text(shelf["w0"], **shelf).problems

    assert {problem.code for problem in problems} == {"broken-workflow"}
    assert time.perf_counter() - started < 30


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    "text",
    [
        HEAD
        + "states:\n"
        + "".join(f"  s{n}:\n" for n in range(300))
        + "transitions:\n"
        + "".join(
            f"  - {{id: r{n}, from: s{n % 300}, trigger: t{n // 300}, when: ['criteria.total > {n % 5}'],"
            f" to: s{(n + 1) % 300}}}\n"
            for n in range(1000)
        ),
        HEAD
        + "vars: {"
        + ", ".join(f"b{n}: bool" for n in range(20))
        + "}\nstates: {a: {}, b: {terminal: true}}\ntransitions:\n"
        + "".join(
            f"  - {{id: r{row}, from: a, trigger: t, to: b, when: ['"
            + " || ".join(f"{'!' * (row >> n & 1)}run.vars.b{n}" for n in range(20))
            + "'], set: {"
            + ", ".join(f"b{n}: true" for n in range(20))
            + "}}\n"
            for row in range(30)
        ),
        HEAD
        + "states:\n"
        + "".join(f"  r{n}: {{router: true}}\n" for n in range(40))
        + "transitions:\n"
        + "".join(
            f"  - {{id: r{n}.{m}, from: r{n}, when: ['criteria.total == {m}'], to: r{(n + m + 1) % 40}}}\n"
            for n in range(40)
            for m in range(10)
        ),
        HEAD
        + "states: {a: }\ntransitions: ["
        + "{id: x, from: nope, trigger: yes, to: nope}, " * 2000
        + "]\n",
    ],
    ids=[
        "300 states and 1,000 rows",
        "many variables in every guard",
        "routers in circles",
        "problems everywhere",
    ],
)
def test_a_large_workflow_is_loaded_and_checked_in_seconds(text: str) -> None:
    started = time.perf_counter()
    found = load_workflow(WorkflowSource("f.yaml", text))
    if found.workflow is not None:
        check_soundness(found.workflow)

    assert time.perf_counter() - started < 30
