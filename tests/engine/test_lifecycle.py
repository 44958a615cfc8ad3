import pytest

from handrail.engine.lifecycle import get_next_lifecycle, is_terminal
from handrail.engine.model import Accepted, Actor, Event, FactReading, Lifecycle, Option, Refused, Run, Step
from handrail.engine.refusals import RefusalCode
from helpers.requirement import requirement
from helpers.workflows import (
    create_idle_run,
    expect_refusal,
    list_open_states,
    load_valid_workflow,
    move_run,
    send_event,
    start_run,
)

TEXT = """
workflow: one-step
version: 1
authority: sql
states: {Here: {}, Over: {terminal: true}}
transitions:
  - {id: again, from: Here, trigger: continue, to: Here}
  - {id: end, from: Here, trigger: close, to: Over}
"""
TRIGGERS = ("start", "continue", "pause", "resume", "complete", "fail", "abandon", "diverge")

# from the source, "State Transitions" and "Transition Guards": where each trigger leads, `-` for nowhere
TABLE = {
    "idle": ("running", "-", "-", "-", "-", "-", "-", "-"),
    "running": ("-", "running", "paused", "-", "completed", "failed", "abandoned", "diverged"),
    "paused": ("-", "-", "-", "running", "-", "-", "abandoned", "-"),
    "completed": ("-", "-", "-", "-", "-", "-", "-", "-"),
    "failed": ("-", "-", "-", "-", "-", "-", "-", "-"),
    "abandoned": ("-", "-", "-", "-", "-", "-", "-", "-"),
    "diverged": ("-", "-", "-", "-", "-", "-", "-", "-"),
}
PAIRS = [
    (lifecycle, trigger, target)
    for lifecycle, targets in TABLE.items()
    for trigger, target in zip(TRIGGERS, targets, strict=True)
]
ENDS = ("completed", "failed", "abandoned", "diverged")
HERE = Step(1, "Here", 1)


def in_lifecycle(lifecycle: str) -> Run:
    if lifecycle == Lifecycle.IDLE:
        return Run("run-1", "one-step", "digest")
    open_ = () if lifecycle in ENDS else (HERE,)
    return Run("run-1", "one-step", "digest", Lifecycle(lifecycle), open_, 1, {"Here": 1})


def test_the_table_has_fifty_six_pairs_and_nine_of_them_lead_somewhere() -> None:
    assert len(PAIRS) == 56
    assert sum(target != "-" for _, _, target in PAIRS) == 9


@pytest.mark.parametrize(("lifecycle", "trigger", "target"), PAIRS)
def test_each_pair_leads_where_the_source_says(lifecycle: str, trigger: str, target: str) -> None:
    expected = None if target == "-" else Lifecycle(target)
    assert get_next_lifecycle(Lifecycle(lifecycle), trigger) is expected


@pytest.mark.parametrize("lifecycle", list(TABLE))
def test_the_last_four_are_terminal(lifecycle: str) -> None:
    assert is_terminal(Lifecycle(lifecycle)) is (lifecycle in ENDS)


@requirement("steps:life.guards")
@pytest.mark.parametrize(("lifecycle", "trigger", "target"), PAIRS)
def test_a_decision_obeys_the_table(lifecycle: str, trigger: str, target: str) -> None:
    decision = send_event(load_valid_workflow(TEXT), in_lifecycle(lifecycle), Event(trigger, note="because"))
    if target == "-":
        assert isinstance(decision, Refused)
        assert decision.code == RefusalCode.NOT_RUNNING
        assert decision.seen == (FactReading("run.lifecycle", lifecycle),)
    elif trigger == "complete":
        assert isinstance(decision, Refused)
        assert decision.code == RefusalCode.NO_ROW
    else:
        assert isinstance(decision, Accepted)
        assert decision.run.lifecycle == target


@pytest.mark.parametrize("lifecycle", ENDS)
@pytest.mark.parametrize("trigger", [*TRIGGERS, "close", "unheard-of"])
def test_a_terminal_lifecycle_is_never_left_and_offers_nothing(lifecycle: str, trigger: str) -> None:
    refusal = expect_refusal(
        load_valid_workflow(TEXT), in_lifecycle(lifecycle), Event(trigger, note="because")
    )
    assert (refusal.code, refusal.rule, refusal.next) == (RefusalCode.NOT_RUNNING, "lifecycle", ())


@pytest.mark.parametrize(
    ("lifecycle", "trigger", "needed"),
    [
        (Lifecycle.PAUSED, "close", "run.lifecycle = running"),
        (Lifecycle.COMPLETED, "resume", "run.lifecycle = paused"),
        (Lifecycle.RUNNING, "start", "run.lifecycle = idle"),
        (Lifecycle.IDLE, "abandon", "run.lifecycle = running or paused"),
    ],
)
def test_a_refusal_says_which_lifecycle_is_needed(lifecycle: str, trigger: str, needed: str) -> None:
    assert expect_refusal(load_valid_workflow(TEXT), in_lifecycle(lifecycle), trigger).needed == (needed,)


@pytest.mark.parametrize(
    ("lifecycle", "trigger", "offers"),
    [
        (Lifecycle.IDLE, "continue", (Option("start", Actor.AGENT),)),
        (Lifecycle.PAUSED, "continue", (Option("resume", Actor.PERSON), Option("abandon", Actor.PERSON))),
        (Lifecycle.RUNNING, "resume", (Option("continue", Actor.AGENT), Option("close", Actor.AGENT))),
        (Lifecycle.RUNNING, "fail", (Option("continue", Actor.AGENT), Option("close", Actor.AGENT))),
        (Lifecycle.PAUSED, "abandon", (Option("resume", Actor.PERSON), Option("abandon", Actor.PERSON))),
    ],
)
def test_a_refusal_offers_what_may_be_called_instead(
    lifecycle: str, trigger: str, offers: tuple[Option, ...]
) -> None:
    assert expect_refusal(load_valid_workflow(TEXT), in_lifecycle(lifecycle), trigger).next == offers


@pytest.mark.parametrize("trigger", ["fail", "abandon", "diverge"])
@pytest.mark.parametrize("note", ["", "  \n\t"])
def test_failing_abandoning_and_diverging_need_a_reason(trigger: str, note: str) -> None:
    refusal = expect_refusal(load_valid_workflow(TEXT), in_lifecycle("running"), Event(trigger, note=note))
    assert (refusal.code, refusal.rule) == (RefusalCode.REASON, trigger)
    assert refusal.seen == (FactReading("event.note", note),)
    assert refusal.needed == ("a reason as event.note",)


@pytest.mark.parametrize(
    ("trigger", "lifecycle"),
    [("fail", Lifecycle.FAILED), ("abandon", Lifecycle.ABANDONED), ("diverge", Lifecycle.DIVERGED)],
)
def test_an_end_closes_the_open_steps_and_keeps_the_reason(trigger: str, lifecycle: str) -> None:
    run = move_run(
        load_valid_workflow(TEXT), in_lifecycle("running"), Event(trigger, note="the disk is full")
    )
    assert (run.lifecycle, run.open, run.reason) == (lifecycle, (), "the disk is full")


@pytest.mark.parametrize("trigger", ["pause", "resume"])
def test_pausing_and_resuming_need_no_reason(trigger: str) -> None:
    lifecycle = {"pause": "running", "resume": "paused"}[trigger]
    assert move_run(load_valid_workflow(TEXT), in_lifecycle(lifecycle), trigger).reason == ""


def test_a_pause_keeps_the_open_step_as_it_is_with_what_it_holds() -> None:
    held = Event("continue", {"summary": "x"})
    run = Run("run-1", "one-step", "d", Lifecycle.RUNNING, (Step(4, "Here", 2, held),), 4, {"Here": 2})
    paused = move_run(load_valid_workflow(TEXT), run, "pause")
    assert (paused.lifecycle, paused.open) == (Lifecycle.PAUSED, (Step(4, "Here", 2, held),))
    assert move_run(load_valid_workflow(TEXT), paused, "resume") == run


def test_a_paused_run_is_abandoned_with_a_reason() -> None:
    run = move_run(load_valid_workflow(TEXT), in_lifecycle("paused"), Event("abandon", note="gone quiet"))
    assert (run.lifecycle, run.open, run.reason) == (Lifecycle.ABANDONED, (), "gone quiet")


def test_a_run_is_completed_only_by_reaching_an_end() -> None:
    flow = load_valid_workflow(TEXT)
    assert expect_refusal(flow, start_run(flow), "complete").code == RefusalCode.NO_ROW
    run = move_run(flow, start_run(flow), "close")
    assert (run.lifecycle, run.open) == (Lifecycle.COMPLETED, ())


def test_a_start_opens_the_first_step() -> None:
    flow = load_valid_workflow(TEXT)
    run = move_run(flow, create_idle_run(flow), "start")
    assert (run.lifecycle, list_open_states(run), run.steps, run.attempts) == (
        Lifecycle.RUNNING,
        ["Here"],
        1,
        {"Here": 1},
    )


def test_controls_need_no_step_even_if_two_are_open() -> None:
    two = Run("run-1", "one-step", "d", Lifecycle.RUNNING, (HERE, Step(2, "Here", 2)), 2, {"Here": 2})
    assert move_run(load_valid_workflow(TEXT), two, "pause").open == (HERE, Step(2, "Here", 2))
