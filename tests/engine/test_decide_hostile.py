import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.engine.facts import PENDING, Value
from handrail.engine.model import Accepted, Actor, Event, Refused, Waiting
from handrail.stores.sql.rows import decode_run, encode_run
from helpers.workflows import GATED, build_output, load_valid_workflow, send_event, start_run

pytestmark = pytest.mark.unmeasured

FLOW = load_valid_workflow(
    """
workflow: hostile
version: 1
authority: sql
vars: {back: state?, data: json?, count: int}
tools:
  tell: {params: {text: string, count: {type: int, default: 1}, data: json?, at: state?}}
  ask: {who: person}
states:
  Work:
    agent: a
    task: Do it
    attempts: 2
    contract:
      artifacts: [patch]
      schema:
        properties: {sure: {type: boolean}, count: {type: integer}, share: {type: number}, extra: {}}
        required: [sure]
  sort: {router: true}
  Rest: {}
  Over: {terminal: true}
transitions:
  - {id: on, from: Work, trigger: continue, when: tests.pass, accept: [output.sure], to: sort}
  - {id: odd, from: Work, trigger: continue, accept: [output.extra != null && output.extra.ok], to: Work}
  - {id: more, from: Work, trigger: continue, accept: [output.count != null && output.count > 3], to: "@back"}
  - {id: tell, from: Work, trigger: tell, set: {data: "@event.data", back: "@event.at"}}
  - {id: ask, from: Work, trigger: ask, set: {count: "@tests.failed"}, to: Rest}
  - {id: free, from: Rest, trigger: continue, when: tests.pass}
  - {id: few, from: sort, when: tests.failed < 3, to: Rest}
  - {id: many, from: sort, when: tests.report.many == true, to: Over}
""",
    GATED,
)
TEXTS = st.sampled_from(["", "x", "Work", "sort", "\ud800", "☂", "true", "../..", "{{run.state}}", "1"])
LEAVES = st.one_of(
    TEXTS,
    st.sampled_from([None, True, False, 0, 1, -1, 2.0, 2**63, 10**400, float("nan"), float("inf")]),
)
VALUES: st.SearchStrategy[Value] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)
PATCH = {"type": "patch", "title": "t", "content": "c"}
FIELDS = (
    "summary",
    "artifacts",
    "references",
    "confidence",
    "blockers",
    "sure",
    "count",
    "share",
    "extra",
    "odd",
)
ANY_OUTPUTS = st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=3).map(
    lambda changes: build_output(artifacts=[PATCH], sure=True) | changes
)
ANY_ARGUMENTS = st.dictionaries(st.sampled_from(["text", "count", "data", "at", "by"]), VALUES, max_size=4)
EVENTS = st.one_of(
    st.builds(Event, st.just("continue"), ANY_OUTPUTS),
    st.builds(Event, st.just("tell"), ANY_ARGUMENTS),
    st.builds(Event, st.just("ask"), by=st.sampled_from(Actor)),
    st.builds(Event, st.sampled_from(["pause", "resume", "continue"]), ANY_ARGUMENTS, note=TEXTS),
    st.builds(Event, TEXTS, st.just({}), st.sampled_from(Actor), TEXTS, st.sampled_from([None, 0, 1, 2])),
)
SOME = st.one_of(st.sampled_from([True, False, PENDING]), VALUES)
WORLDS = st.fixed_dictionaries(
    {},
    optional={
        "tests.pass": SOME,
        "tests.failed": SOME,
        "tests.report": st.one_of(SOME, st.just({"many": True})),
    },
)


@settings(max_examples=600)
@given(st.lists(st.tuples(EVENTS, WORLDS), max_size=4))
def test_whatever_comes_is_answered_and_the_answer_can_be_written_down(
    turns: list[tuple[Event, dict[str, Value]]],
) -> None:
    run = start_run(FLOW)
    for event, facts in turns:
        decision = send_event(FLOW, run, event, facts)
        assert decision == send_event(FLOW, run, event, facts)
        match decision:
            case Accepted() | Waiting():
                run = decision.run
                assert {step.state for step in run.open} <= {"Work", "Rest"}
                assert decode_run(encode_run(run)) == run
            case Refused():
                assert decision.rule
                assert decision.seen
                assert decision.needed
                assert msgspec.json.encode(decision)
