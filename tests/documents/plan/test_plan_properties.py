"""What holds for every text: it has a state, what was read is written, and edits keep plans valid."""

import json

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from handrail.documents.plan.convert import Conversion, convert_plan
from handrail.documents.plan.data import describe_plan
from handrail.documents.plan.edit import (
    finish_plan,
    mark_task,
    parse_plan_data,
    reopen_plan,
    set_constraints,
    set_description,
    set_goal,
    set_tasks,
)
from handrail.documents.plan.format import format_plan, to_description
from handrail.documents.plan.grammar import COMMIT_MESSAGE, COMMITS, PRESETS, Dialect, PlanConfig
from handrail.documents.plan.model import Header, Plan, PlanRefusal, PlanState
from handrail.documents.plan.parse import DIALECT_CONFIGS, parse_any, parse_plan
from handrail.documents.plan.stages import detect_stage, measure_progress
from handrail.documents.plan.validate import validate_plan
from helpers.plan_texts import TEXTS, commits_texts, planner_texts
from helpers.requirement import requirement

pytestmark = pytest.mark.unmeasured


def _characters(text: str) -> str:
    """A text without its spaces, among which the grammar counts the byte order mark."""
    return "".join(text.replace("\ufeff", " ").split())


CONFIGS = (*PRESETS.values(), COMMITS)
"""A text takes longer to draw than to read: each is read by all of them."""

EDITED = st.sampled_from([COMMIT_MESSAGE, COMMITS])


@settings(max_examples=250)
@given(TEXTS, st.sampled_from(CONFIGS))
def test_every_text_gets_a_state_and_its_problems_can_be_told(text: str, config: PlanConfig) -> None:
    plan = parse_plan(text, config)

    assert bool(plan.problems) is (plan.state in {PlanState.HALTED, PlanState.UNKNOWN})
    for problem in plan.problems:
        assert problem.message
        assert problem.repair
        assert 0 <= problem.line <= text.count("\n") + 1
        assert len(problem.carets) <= len(problem.shown) + 1
    assert all(warned.message for warned in plan.warnings)
    assert json.loads(json.dumps(describe_plan(plan, config, text))) == describe_plan(plan, config, text)
    assert detect_stage(plan) in {0, 1, 2, 4, 5, 6}
    assert measure_progress(plan).total >= measure_progress(plan).ticked
    assert parse_any(text)[0].state in PlanState


@requirement("planner:roundtrip")
@settings(max_examples=400)
@given(TEXTS)
def test_what_was_read_is_written_and_reads_back_equal_and_no_word_is_lost(text: str) -> None:
    plans = [(parse_plan(text, config), config) for config in CONFIGS]
    parsed = [(plan, config) for plan, config in plans if plan.state is PlanState.PARSED]
    assume(parsed)

    for plan, config in parsed:
        written = format_plan(plan, config)
        assert isinstance(written, str), written
        assert parse_plan(written, config) == plan
        assert format_plan(parse_plan(written, config), config) == written
        if not {one.code for one in plan.warnings} & {"scope_lowercased", "completion_propagated"}:
            assert _characters(written) == _characters(text)


@settings(max_examples=150)
@given(TEXTS, EDITED)
def test_any_text_can_be_kept_as_a_description(text: str, config: PlanConfig) -> None:
    fitting = to_description(text, config)
    assume(fitting is not None)
    edited = set_description(Plan(PlanState.PARSED, Header("feat", "x", title="t")), fitting or "", config)

    if isinstance(edited, PlanRefusal):
        assert [one.code for one in edited.problems] == ["unsafe_character"]
    else:
        assert edited.description == fitting


@settings(max_examples=200)
@given(TEXTS, EDITED, st.text(max_size=5), st.lists(st.text(max_size=3), max_size=2), st.booleans())
def test_an_edit_gives_a_valid_plan_that_can_be_written_or_a_reason(
    text: str, config: PlanConfig, given_text: str, given_list: list[str], completed: object
) -> None:
    plan = parse_plan(text, config)
    goal = Header("feat", given_text or None, title="t")
    nodes = [{"summary": one, "details": given_text} for one in given_list]
    rows = [[bool(completed), one, []] for one in given_list]
    edits = [
        set_goal(plan, goal, config),
        set_description(plan, given_text, config),
        set_constraints(plan, ["Never: x", *given_list], config),
        set_tasks(plan, nodes if config is COMMITS else rows, config),
        mark_task(plan, given_text or "add", config, completed=bool(completed)),
        finish_plan(plan, config),
        reopen_plan(plan, config),
    ]

    for edited in edits:
        if isinstance(edited, PlanRefusal):
            assert edited.problems or edited.findings
        else:
            assert validate_plan(edited, config).is_valid
            written = format_plan(edited, config)
            assert isinstance(written, str)
            assert parse_plan(written, config) == edited


@settings(max_examples=200)
@given(TEXTS)
def test_a_converted_plan_can_be_written_and_what_was_noted_is_all_that_changed(text: str) -> None:
    converted: list[tuple[Dialect, Dialect, Plan, Conversion]] = []
    for source, target in ((Dialect.PLANNER, Dialect.COMMITS), (Dialect.COMMITS, Dialect.PLANNER)):
        plan = parse_plan(text, DIALECT_CONFIGS[source])
        there = convert_plan(plan, source, target)
        if isinstance(there, Conversion):
            converted.append((source, target, plan, there))
    assume(converted)

    for source, target, plan, there in converted:
        written = format_plan(there.plan, DIALECT_CONFIGS[target])
        assert isinstance(written, str)
        assert parse_plan(written, DIALECT_CONFIGS[target]) == there.plan
        back = convert_plan(there.plan, target, source)
        if not there.notes and isinstance(back, Conversion) and not back.notes:
            assert back.plan == plan


@settings(max_examples=100)
@given(st.one_of(planner_texts(), commits_texts()))
def test_a_plan_survives_its_plain_value(text: str) -> None:
    plans = [(parse_plan(text, config), config) for config in (COMMIT_MESSAGE, COMMITS)]
    whole = [
        (plan, config)
        for plan, config in plans
        if plan.state is PlanState.PARSED and not plan.kept and plan.header and not plan.header.ignored
    ]
    assume(whole)

    for plan, config in whole:
        assert parse_plan_data(describe_plan(plan, config), config) == plan
