"""What holds for every text: it has a state, what was read is written, and edits keep plans valid."""

import json

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from handrail.plan.check import validate
from handrail.plan.convert import Converted, convert
from handrail.plan.data import as_data
from handrail.plan.detect import CONFIGS, parse_any
from handrail.plan.edit import finished, unfinished, with_constraints, with_description, with_goal, with_tasks
from handrail.plan.format import as_description, format_plan
from handrail.plan.given import plan_of
from handrail.plan.grammar import COMMIT_MESSAGE, COMMITS, PRESETS, Config, Dialect
from handrail.plan.mark import mark_task
from handrail.plan.model import Header, Plan, Refused, State
from handrail.plan.parse import parse
from handrail.plan.stage import detect_stage, progress
from plan.documents import TEXTS, commits_texts, planner_texts
from requirement import requirement

pytestmark = pytest.mark.unmeasured


def _characters(text: str) -> str:
    """A text without its spaces, among which the grammar counts the byte order mark."""
    return "".join(text.replace("\ufeff", " ").split())


CONFIGURED = st.sampled_from([*PRESETS.values(), COMMITS])
EDITED = st.sampled_from([COMMIT_MESSAGE, COMMITS])


@settings(max_examples=250)
@given(TEXTS, CONFIGURED)
def test_every_text_gets_a_state_and_its_problems_can_be_told(text: str, config: Config) -> None:
    plan = parse(text, config)

    assert bool(plan.problems) is (plan.state in {State.HALTED, State.UNKNOWN})
    for problem in plan.problems:
        assert problem.message
        assert problem.repair
        assert 0 <= problem.line <= text.count("\n") + 1
        assert len(problem.carets) <= len(problem.shown) + 1
    assert all(warned.message for warned in plan.warnings)
    assert json.loads(json.dumps(as_data(plan, config, text))) == as_data(plan, config, text)
    assert detect_stage(plan) in {0, 1, 2, 4, 5, 6}
    assert progress(plan).total >= progress(plan).ticked
    assert parse_any(text)[0].state in State


@requirement("planner:roundtrip")
@settings(max_examples=400)
@given(TEXTS, CONFIGURED)
def test_what_was_read_is_written_and_reads_back_equal_and_no_word_is_lost(text: str, config: Config) -> None:
    plan = parse(text, config)
    assume(plan.state is State.PARSED)

    written = format_plan(plan, config)
    assert isinstance(written, str), written
    assert parse(written, config) == plan
    assert format_plan(parse(written, config), config) == written
    if not {one.code for one in plan.warnings} & {"scope_lowercased", "completion_propagated"}:
        assert _characters(written) == _characters(text)


@settings(max_examples=150)
@given(TEXTS, EDITED)
def test_any_text_can_be_kept_as_a_description(text: str, config: Config) -> None:
    fitting = as_description(text, config)
    assume(fitting is not None)
    edited = with_description(Plan(State.PARSED, Header("feat", "x", title="t")), fitting or "", config)

    if isinstance(edited, Refused):
        assert [one.code for one in edited.problems] == ["unsafe_character"]
    else:
        assert edited.description == fitting


@settings(max_examples=200)
@given(TEXTS, EDITED, st.text(max_size=5), st.lists(st.text(max_size=3), max_size=2), st.booleans())
def test_an_edit_gives_a_valid_plan_that_can_be_written_or_a_reason(
    text: str, config: Config, given_text: str, given_list: list[str], completed: object
) -> None:
    plan = parse(text, config)
    goal = Header("feat", given_text or None, title="t")
    nodes = [{"summary": one, "details": given_text} for one in given_list]
    rows = [[bool(completed), one, []] for one in given_list]
    edits = [
        with_goal(plan, goal, config),
        with_description(plan, given_text, config),
        with_constraints(plan, ["Never: x", *given_list], config),
        with_tasks(plan, nodes if config is COMMITS else rows, config),
        mark_task(plan, given_text or "add", config, completed=bool(completed)),
        finished(plan, config),
        unfinished(plan, config),
    ]

    for edited in edits:
        if isinstance(edited, Refused):
            assert edited.problems or edited.findings
        else:
            assert validate(edited, config).is_valid
            written = format_plan(edited, config)
            assert isinstance(written, str)
            assert parse(written, config) == edited


@settings(max_examples=200)
@given(TEXTS, st.sampled_from(list(Dialect)))
def test_a_converted_plan_can_be_written_and_what_was_noted_is_all_that_changed(
    text: str, source: Dialect
) -> None:
    target = Dialect.COMMITS if source is Dialect.PLANNER else Dialect.PLANNER
    plan = parse(text, CONFIGS[source])
    there = convert(plan, source, target)
    assume(isinstance(there, Converted))
    assert isinstance(there, Converted)

    written = format_plan(there.plan, CONFIGS[target])
    assert isinstance(written, str)
    assert parse(written, CONFIGS[target]) == there.plan
    back = convert(there.plan, target, source)
    if not there.notes and isinstance(back, Converted) and not back.notes:
        assert back.plan == plan


@settings(max_examples=100)
@given(st.one_of(planner_texts(), commits_texts()), EDITED)
def test_a_plan_survives_its_plain_value(text: str, config: Config) -> None:
    plan = parse(text, config)
    assume(plan.state is State.PARSED and not plan.kept and plan.header is not None)
    assume(plan.header is not None and not plan.header.ignored)

    assert plan_of(as_data(plan, config), config) == plan
