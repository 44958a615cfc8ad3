"""The workflows and personas that come with Handrail: complete, unlike each other, and hard to lie to."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import handrail
from handrail.engine.facts import Value
from handrail.engine.model import Brief, Lifecycle, Run, ToState, Workflow
from handrail.engine.refusals import RefusalCode
from handrail.engine.soundness import check_soundness
from helpers.library_outputs import COMMAND, GIVEN, HONEST, LIES, Handed
from helpers.requirement import requirement
from helpers.workflows import (
    build_output,
    expect_refusal,
    list_open_states,
    load_valid_workflow,
    move_run,
    start_run,
)

FOLDER = Path(handrail.__file__).parent / "workflows"
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "built-in-workflows.md"
WORKFLOWS = ("bug-fix", "code-review", "docs", "feature", "refactor", "release")
PERSONAS = ("architect", "debugger", "implementer", "reviewer", "supervisor", "tester", "writer")


def text_of(name: str) -> str:
    return (FOLDER / "library" / "steps" / f"{name}.yaml").read_text("utf-8")


def built_in(name: str) -> Workflow:
    return load_valid_workflow(text_of(name))


def briefs() -> dict[str, Brief]:
    """What every step of every workflow asks, by `workflow/step`."""
    return {
        f"{name}/{state.name}": state.brief
        for name in WORKFLOWS
        for state in built_in(name).states.values()
        if state.brief
    }


def persona(name: str) -> tuple[str, str]:
    """The front matter and the body."""
    before, head, body = (FOLDER / "personas" / f"{name}.md").read_text("utf-8").split("---\n", 2)
    assert before == ""
    return head, body


def lines(brief: Brief) -> Iterator[str]:
    """The paragraphs and list lines of a step, with letters and blanks made alike."""
    listed = (*brief.inputs, *brief.allowed_actions, *brief.forbidden_actions, *brief.done_when)
    for line in (*re.split(r"\n\s*\n", brief.task), *listed):
        yield " ".join(line.casefold().split())


def ways(flow: Workflow) -> list[list[str]]:
    """Every way from the first state to an end on which no state comes twice."""
    found, unfinished = [], [[flow.initial]]
    while unfinished:
        way = unfinished.pop()
        if flow.states[way[-1]].terminal:
            found.append(way)
        targets = {row.to.name for row in flow.rows if way[-1] in row.sources and isinstance(row.to, ToState)}
        unfinished += [[*way, target] for target in sorted(targets - {*way})]
    return found


def handed(name: str, step: str, **changes: Value) -> Handed:
    """The output of an honest agent, with these fields instead."""
    kind, fields = HONEST[name][step]
    artifact: Value = {"type": kind, "title": "It", "content": "Here it is."}
    return build_output(**{"artifacts": [artifact], **fields, **changes})


def at(name: str, step: str) -> tuple[Workflow, Run]:
    """A run that was led to this step honestly."""
    flow = built_in(name)
    run = start_run(flow, **GIVEN[name])
    while list_open_states(run) != [step]:
        run = move_run(flow, run, "continue", **handed(name, list_open_states(run)[0]))
    return flow, run


# --- what is there ------------------------------------------------------------------------------------------


@requirement("steps:def.builtin")
def test_six_workflows_of_steps_those_of_three_faces_and_seven_personas_come_with_handrail() -> None:
    found = sorted(path.relative_to(FOLDER / "library").as_posix() for path in FOLDER.rglob("library/*/*"))

    faces = ["commits/commits", "planner/planner", "skills/skills", "spells/spells"]
    assert found == [*faces, *(f"steps/{name}.yaml" for name in WORKFLOWS)]
    assert sorted(path.name for path in (FOLDER / "personas").iterdir()) == [
        f"{name}.md" for name in PERSONAS
    ]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_the_checker_finds_nothing(name: str) -> None:
    assert check_soundness(built_in(name)) == ()


@pytest.mark.parametrize("name", WORKFLOWS)
def test_the_steps_are_six_at_most_and_one_way_goes_through_them_in_order(name: str) -> None:
    flow = built_in(name)
    steps = [state.name for state in flow.states.values() if state.brief]

    assert len(steps) <= 6
    assert steps == list(HONEST[name])
    assert [way[:-1] for way in ways(flow)] == [steps]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_one_input_is_needed_and_each_is_explained(name: str) -> None:
    inputs = built_in(name).inputs

    assert [known.name for known in inputs.values() if known.required] == [next(iter(inputs))]
    assert [known.name for known in inputs.values() if not known.about] == []


# --- what each step says ------------------------------------------------------------------------------------


@requirement("steps:def.builtin")
@pytest.mark.parametrize("name", WORKFLOWS)
def test_each_step_says_what_it_starts_from_what_to_do_and_when_it_is_done(name: str) -> None:
    for state in built_in(name).states.values():
        brief = state.brief
        if brief is None:
            assert state.terminal
            continue
        assert state.about, state.name
        task = [line for line in brief.task.splitlines() if line.strip()]
        assert 2 <= len(task) <= 6, state.name
        assert brief.inputs, state.name
        assert 3 <= len(brief.allowed_actions) <= 7, state.name
        assert 1 <= len(brief.forbidden_actions) <= 4, state.name
        assert 1 <= len(brief.done_when) <= 3, state.name
        assert len(brief.contract.artifacts) == 1, state.name


@requirement("steps:def.builtin")
def test_no_two_steps_share_a_paragraph_or_a_line_of_a_list() -> None:
    said = Counter(line for brief in briefs().values() for line in lines(brief))

    assert len(said) > 250
    assert [line for line, times in said.items() if times > 1] == []


def test_a_line_that_is_only_spaced_or_capitalised_otherwise_counts_as_shared() -> None:
    one = Brief("a", "Run it.\n\nThen\nstop.", done_when=("Red",))
    other = Brief("a", "then  Stop.", inputs=("red",))

    assert list(lines(one)) == ["run it.", "then stop.", "red"]
    assert list(lines(other)) == ["then stop.", "red"]


def test_what_an_agent_gets_for_a_step_is_neither_thin_nor_long() -> None:
    for name, brief in briefs().items():
        actions = (*brief.allowed_actions, *brief.forbidden_actions, *brief.done_when)
        answer = "\n".join([persona(brief.agent)[1], brief.task, *actions])
        assert 1800 <= len(answer.encode()) <= 3000, name


def test_no_step_names_one_that_comes_later() -> None:
    for name in WORKFLOWS:
        asked = [(state.name, state.brief) for state in built_in(name).states.values() if state.brief]
        for number, (step, brief) in enumerate(asked):
            words = {word for line in lines(brief) for word in re.findall(r"[a-z-]+", line)}
            assert words & {later for later, _ in asked[number + 1 :]} == set(), f"{name}/{step}"


# --- personas -----------------------------------------------------------------------------------------------


@requirement("steps:def.builtin")
@pytest.mark.parametrize("name", PERSONAS)
def test_a_persona_says_in_a_line_what_it_is_about_and_in_little_space_what_it_does(name: str) -> None:
    head, body = persona(name)

    assert re.fullmatch(r"about: \S.*\n", head)
    assert 600 <= len(body.encode()) <= 1500
    assert body.startswith(f"# {name.capitalize()}\n")
    assert "You are" not in body
    assert max(map(len, body.splitlines())) <= 120


def test_no_two_personas_share_a_line_or_a_sentence() -> None:
    said: Counter[str] = Counter()
    for name in PERSONAS:
        _, body = persona(name)
        flat = " ".join(body.split())
        said.update({*filter(None, body.splitlines()), *re.split(r"(?<=[.?!:]) ", flat)})

    assert len(said) > 150
    assert [line for line, times in said.items() if times > 1] == []


def test_every_persona_has_a_step_and_every_step_a_persona() -> None:
    assert sorted({brief.agent for brief in briefs().values()}) == list(PERSONAS)


# --- what a run of them does --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WORKFLOWS)
def test_an_honest_agent_gets_through(name: str) -> None:
    last = list(HONEST[name])[-1]
    flow, run = at(name, last)

    run = move_run(flow, run, "continue", **handed(name, last))

    assert run.lifecycle is Lifecycle.COMPLETED
    assert run.steps == len(HONEST[name])


@pytest.mark.parametrize(("name", "step", "changes", "named"), LIES)
def test_a_lie_moves_nothing_and_the_answer_names_it(
    name: str, step: str, changes: Handed, named: str
) -> None:
    flow, run = at(name, step)

    refusal = expect_refusal(flow, run, "continue", **handed(name, step, **changes))

    assert refusal.code in {RefusalCode.CONTRACT, RefusalCode.NOT_ACCEPTED}
    assert [line for line in refusal.needed if line.startswith(named)] != []


def test_every_step_has_a_lie_that_is_tried() -> None:
    assert {(name, step) for name, step, _, _ in LIES} == {
        (name, step) for name, steps in HONEST.items() for step in steps
    }


@requirement("steps:def.builtin")
def test_bug_fix_reproduces_before_it_mends_whichever_way_it_goes() -> None:
    assert ways(built_in("bug-fix")) == [["reproduce", "diagnose", "mend", "prove", "proved"]]


def test_a_way_past_the_reproduction_would_be_seen() -> None:
    planted = text_of("bug-fix").replace("states:\n", "states:\n  hurry: {agent: a, task: Be quick.}\n", 1)
    planted = planted.replace(
        "transitions:\n",
        "transitions:\n"
        + "".join(
            f"  - {{id: {to}y, from: hurry, trigger: continue, accept: [{guard}], to: {to}}}\n"
            for to, guard in (("mend", "output.confidence > 0.5"), ("reproduce", "output.confidence <= 0.5"))
        ),
    )

    assert sorted(ways(load_valid_workflow(planted))) == [
        ["hurry", "mend", "prove", "proved"],
        ["hurry", "reproduce", "diagnose", "mend", "prove", "proved"],
    ]


def test_the_proof_of_a_fix_runs_the_command_of_the_reproduction() -> None:
    flow, run = at("bug-fix", "prove")

    assert run.vars == {"command": COMMAND}
    brief = flow.states["prove"].brief
    assert brief is not None
    assert "run.vars.command" in brief.names


def test_a_fix_whose_proof_passes_without_it_is_reproduced_anew() -> None:
    flow, run = at("bug-fix", "prove")
    unproven = handed("bug-fix", "prove", verdict="unproven", exit_before=0)

    run = move_run(flow, run, "continue", **unproven)

    assert list_open_states(run) == ["reproduce"]
    run = move_run(flow, run, "continue", **handed("bug-fix", "reproduce", command="another"))
    assert run.vars == {"command": "another"}


@requirement("steps:def.builtin")
def test_feature_goes_from_review_back_to_implement_three_attempts_at_most() -> None:
    flow, run = at("feature", "review")
    again = handed("feature", "review", verdict="again", must_fix=2)
    seen = []
    while run.lifecycle is Lifecycle.RUNNING:
        seen.append((list_open_states(run), run.attempts["implement"]))
        brought = again if list_open_states(run) == ["review"] else handed("feature", "implement")
        run = move_run(flow, run, "continue", **brought)

    assert seen == [
        (["review"], 1),
        (["implement"], 2),
        (["review"], 2),
        (["implement"], 3),
        (["review"], 3),
    ]
    assert run.lifecycle is Lifecycle.FAILED
    assert run.reason == "row `again` leads to a state whose attempts are used up, and no other row is open"


def test_feature_is_delivered_after_a_second_attempt_that_is_good() -> None:
    flow, run = at("feature", "review")
    run = move_run(flow, run, "continue", **handed("feature", "review", verdict="again", must_fix=1))
    run = move_run(flow, run, "continue", **handed("feature", "implement"))

    run = move_run(flow, run, "continue", **handed("feature", "review"))

    assert list_open_states(run) == ["deliver"]


@pytest.mark.parametrize(
    ("name", "step", "verdict", "back"),
    [
        ("bug-fix", "prove", "again", "mend"),
        ("docs", "follow", "stuck", "compose"),
        ("refactor", "compare", "again", "reshape"),
        ("release", "rehearse", "broken", "prepare"),
    ],
)
def test_a_verdict_against_it_leads_back_and_the_third_ends_the_run(
    name: str, step: str, verdict: str, back: str
) -> None:
    flow, run = at(name, step)
    for attempt in (2, 3):
        run = move_run(flow, run, "continue", **handed(name, step, verdict=verdict))
        assert (list_open_states(run), run.attempts[back]) == ([back], attempt)
        run = move_run(flow, run, "continue", **handed(name, back))

    assert (
        move_run(flow, run, "continue", **handed(name, step, verdict=verdict)).lifecycle == Lifecycle.FAILED
    )


# --- the guide ----------------------------------------------------------------------------------------------


def rows(width: int) -> dict[str, list[str]]:
    """The rows of the guide's table that has so many columns, by what stands in the first as code."""
    found = re.findall(r"^\| `([\w-]+)` \| (.*) \|$", GUIDE.read_text("utf-8"), re.MULTILINE)
    cells = {name: rest.split(" | ") for name, rest in found if rest.count(" | ") == width - 2}
    assert cells, f"no table of {width} columns"
    return cells


def test_the_guide_has_the_steps_and_inputs_of_each_workflow() -> None:
    shown = {name: (cells[1], f"{cells[2]}, {cells[3]}") for name, cells in rows(5).items()}

    assert shown == {
        name: (", ".join(HONEST[name]), ", ".join(f"`{known}`" for known in built_in(name).inputs))
        for name in WORKFLOWS
    }


def test_the_guide_has_each_persona_with_its_steps() -> None:
    steps: dict[str, set[str]] = {name: set() for name in PERSONAS}
    for name, brief in briefs().items():
        steps[brief.agent].add(name.partition("/")[2])
    shown = {name: cells for name, cells in rows(3).items() if name in PERSONAS}

    assert {name: set(cells[1].split(", ")) for name, cells in shown.items()} == steps
    for name, (short, _) in shown.items():
        head, _ = persona(name)
        assert head.casefold() == f"about: {short}\n".casefold()
