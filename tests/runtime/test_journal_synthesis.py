"""What a completed run comes to: told with its last reply and kept with it, in the words of its steps."""

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.engine.facts import Value
from handrail.engine.model import Authority, Event, Lifecycle
from handrail.runtime.entries import EntryKind
from handrail.runtime.journal import build_synthesis, build_synthesis_artifact
from handrail.runtime.ports.queries import StepRow
from handrail.runtime.records import Artifact, Origin, StepStatus
from helpers.faulty_stores import Recording
from helpers.requirement import requirement
from helpers.turns import ENDLESS, NOW, TurnHarness, load_pinned, open_sqlite
from helpers.workflows import build_output

SPEC = {"type": "spec", "title": "The spec", "content": "Words."}
NOTE = {"type": "note", "title": "A note", "content": "Tea."}
ELSEWHERE = ENDLESS.replace("authority: sql", "authority: files")
OUTPUTS = (
    build_output(summary="Written.", artifacts=[SPEC], decisions=["short", {"why": "time"}]),
    build_output(summary="Read.", decisions=[]),
    build_output(summary="Sent to all.\nNobody complained.", artifacts=[NOTE], decisions=["by post"]),
)


def walk(harness: TurnHarness) -> dict[str, Any]:
    """The last reply of a run that hands in the outputs, each after one second more than the one before."""
    answer = harness.start()
    for seconds, given in enumerate(OUTPUTS, start=1):
        harness.clock.move(seconds=seconds)
        answer = harness.send(answer["run"], Event("continue", given), answer["token"])
    return answer


def row(state: str, given: dict[str, Value] | None) -> StepRow:
    return StepRow(1, state, "writer", StepStatus.COMPLETED, NOW, NOW, None, given)


@requirement("steps:reply.closed", "steps:tel.durations")
def test_a_run_that_is_completed_is_summed_up_in_the_words_of_its_steps(harness: TurnHarness) -> None:
    assert walk(harness)["lifecycle"] == Lifecycle.COMPLETED

    spec, note = "00000000-0000-0000-0000-000000000002", "00000000-0000-0000-0000-000000000003"
    assert [outcome.synthesis for outcome in harness.outcomes] == [
        None,
        None,
        None,
        {
            "outcome_summary": "Sent to all.\nNobody complained.",
            "model_output": {
                "steps_completed": 3,
                "artifacts": [
                    {"artifact_id": spec, "type": "spec", "title": "The spec", "step_name": "draft"},
                    {"artifact_id": note, "type": "note", "title": "A note", "step_name": "publish"},
                ],
                "decisions": ["short", {"why": "time"}, "by post"],
                "durations": {
                    "total_ms": 6000,
                    "steps": [
                        {"step_name": "draft", "duration_ms": 1000},
                        {"step_name": "review", "duration_ms": 2000},
                        {"step_name": "publish", "duration_ms": 3000},
                    ],
                },
            },
        },
    ]


@requirement("steps:life.finalize")
def test_the_synthesis_is_kept_as_one_more_final_artifact_with_its_entry_in_the_same_turn(
    tmp_path: Path,
) -> None:
    runs = open_sqlite(tmp_path)
    harness = TurnHarness(runs)
    run = walk(harness)["run"]

    found = runs.database.reader().execute(
        "SELECT artifact_id, step_name, agent_name, artifact_type, title, is_final, content"
        " FROM workflow_artifacts ORDER BY number"
    )
    *others, (id_, *answer, content) = found.fetchall()
    assert [(title, final) for *_, title, final, _ in others] == [("The spec", 1), ("A note", 1)]
    assert answer == ["publish", "writer", "synthesis", "Sent to all.", 1]
    assert json.loads(content) == harness.outcomes[-1].synthesis
    lines = [line.entry for line in runs.entries(run) if line.revision == 4]
    assert [(str(entry.kind), entry.data.get("type")) for entry in lines[-3:]] == [
        (EntryKind.ARTIFACT_STORED, "note"),
        (EntryKind.ARTIFACT_STORED, "synthesis"),
        (EntryKind.WORKFLOW_STATE_TRANSITION, None),
    ]
    assert lines[-2].data["artifact_id"] == id_
    assert (lines[-2].step, lines[-2].agent) == ("publish", "writer")


def test_a_run_that_ends_without_a_step_output_has_an_empty_summary(harness: TurnHarness) -> None:
    run = harness.start(load_pinned(ENDLESS))["run"]
    harness.send(run, "go")
    harness.send(run, "go")
    harness.send(run, "end")

    assert harness.outcomes[-1].synthesis == {
        "outcome_summary": "",
        "model_output": {
            "steps_completed": 3,
            "artifacts": [],
            "decisions": [],
            "durations": {
                "total_ms": 0,
                "steps": [{"step_name": name, "duration_ms": 0} for name in ("Home", "Away", "Home")],
            },
        },
    }


@pytest.mark.parametrize("trigger", ["fail", "abandon", "diverge", "pause"])
def test_a_run_that_is_not_completed_is_not_summed_up(trigger: str) -> None:
    harness = TurnHarness(Recording())
    answer = harness.start()
    answer = harness.continue_run(answer["run"], answer["token"])
    harness.send(answer["run"], Event(trigger, note="enough"))

    assert harness.outcomes[-1].synthesis is None
    assert isinstance(harness.runs, Recording)
    assert [turn.artifacts for turn in harness.runs.turns] == [(), (), ()]


def test_a_run_that_is_kept_elsewhere_is_not_summed_up() -> None:
    harness = TurnHarness(Recording(), more={"lifetime": None})
    origin = Origin("tasks", Authority.FILES, "/home/ann/paper")
    run = harness.start_with_event(load_pinned(ELSEWHERE), origin, Event("wait"))["run"]

    assert harness.send(run, "end")["lifecycle"] == Lifecycle.COMPLETED
    assert harness.outcomes[-1].synthesis is None


@pytest.mark.parametrize(
    ("summary", "title"),
    [
        ("x" * 200, "x" * 120),
        ("\n  \nFirst.\nSecond.", "First."),
        ("First.\r\nSecond.", "First."),
        ("", ""),
        (7, ""),
    ],
)
def test_the_title_is_the_first_line_of_the_summary(summary: Value, title: str) -> None:
    steps = (row("draft", {"summary": summary}),)

    assert build_synthesis_artifact("a", steps, {}) == Artifact(
        "a", "draft", "writer", "synthesis", title, "{}"
    )


def test_a_run_without_a_step_is_summed_up_too() -> None:
    found = build_synthesis((), 5)

    assert found["outcome_summary"] == ""
    assert build_synthesis_artifact("a", (), {"n": 1}) == Artifact("a", "", "", "synthesis", "", '{"n":1}')


def test_what_only_looks_like_a_step_output_is_passed_over() -> None:
    given: dict[str, Value] = {"artifacts": [7, {"type": "spec"}], "decisions": "many"}
    made: Any = build_synthesis((row("draft", given), row("review", None)), 5)["model_output"]

    assert (made["steps_completed"], made["artifacts"], made["decisions"]) == (2, [], [])
