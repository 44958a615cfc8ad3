"""What the resources say of runs and of what they made, on a real store filled by real turns."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from handrail.engine.facts import PENDING
from handrail.engine.model import Event
from handrail.stores.sql.runs import SqliteRuns
from helpers.history import GATED
from helpers.requirement import requirement
from helpers.resources import (
    DONE,
    GONE,
    NOBODY,
    OPEN,
    PROJECT,
    ResourceScene,
    build_spec_output,
    open_resources,
    play_runs,
)
from helpers.turns import ENDLESS, TurnHarness, load_pinned, open_sqlite
from helpers.workflows import build_output

FIRST = {
    "artifact_id": "00000000-0000-0000-0000-000000000002",
    "execution_id": DONE,
    "step_name": "draft",
    "agent_name": "writer",
    "artifact_type": "spec",
    "title": "First",
    "content": "Wörter.",
    "description": "why",
    "is_final": True,
    "created_at": "2026-03-01T12:00:10.000Z",
    "number": 1,
}
ROUNDS = """
workflow: rounds
version: 1
authority: sql
states: {write: {agent: writer, task: Write.}, read: {agent: reader, task: Read.}, over: {terminal: true}}
transitions:
  - {id: W, from: write, trigger: continue, to: read}
  - {id: R, from: read, trigger: continue, to: write}
"""
GATE = """
workflow: gate
version: 1
authority: sql
states: {build: {agent: builder, task: Build it.}, shipped: {terminal: true}}
transitions: [{id: B1, from: build, trigger: continue, when: [tests.pass], to: shipped}]
"""
EVERY = (
    "persona://default",
    "guardrails://active",
    f"workflow_status://{OPEN}",
    f"workflow-status://{DONE}",
    f"project_context://{PROJECT}",
    f"project-context://{PROJECT}",
    "available_workflows://all",
    "available-workflows://all",
    "workflow_artifacts://recent",
    "workflow-artifacts://final",
    f"workflow_artifacts://final/{DONE}",
    "workflow-artifacts://type/spec",
    f"current_step://{DONE}",
)


@pytest.fixture
def scene(tmp_path: Path) -> ResourceScene:
    return play_runs(tmp_path)


def titles(answer: dict[str, Any]) -> list[str]:
    return [artifact["title"] for artifact in answer["artifacts"]]


@requirement("steps:res.current")
def test_the_current_step_has_the_columns_of_the_printed_query(scene: ResourceScene) -> None:
    assert scene.read(f"current_step://{OPEN}") == {
        "execution_id": OPEN,
        "state": "running",
        "current_step": "review",
        "step_name": "review",
        "agent_name": "reader",
        "status": "running",
        "started_at": "2026-03-01T12:01:01.000Z",
        "artifacts": [],
        "waiting": False,
        "quiet": False,
    }


@requirement("steps:res.current")
def test_the_artifacts_of_the_current_step_are_those_of_its_name_the_last_first(tmp_path: Path) -> None:
    harness = TurnHarness(open_sqlite(tmp_path))
    answer = harness.start(load_pinned(ROUNDS))
    for title in ("One", "Two", "Three", "Four"):
        answer = harness.send(answer["run"], Event("continue", build_spec_output(title)), answer["token"])

    answer = ResourceScene(harness, open_resources(harness)).read(f"current-step://{answer['run']}")

    assert (answer["current_step"], titles(answer)) == ("write", ["Three", "One"])
    assert answer["artifacts"][1]["content"] == "Wörter."


@requirement("steps:res.current")
def test_a_run_that_has_ended_has_no_current_step(scene: ResourceScene) -> None:
    assert scene.read(f"current_step://{GONE}") == {
        "execution_id": GONE,
        "state": "abandoned",
        "current_step": None,
        "step_name": None,
        "agent_name": None,
        "status": None,
        "started_at": None,
        "artifacts": [],
        "waiting": False,
        "quiet": False,
    }


def test_a_run_that_waits_for_a_check_says_so_and_is_never_quiet(tmp_path: Path) -> None:
    harness = TurnHarness(
        open_sqlite(tmp_path), GATED, more={"readers": lambda: {"pending": lambda _asked, _of: PENDING}}
    )
    answer = harness.start(load_pinned(GATE, registry=GATED))
    assert harness.continue_run(answer["run"], answer["token"])["status"] == "waiting"
    harness.clock.move(days=1)

    answer = ResourceScene(harness, open_resources(harness)).read(f"current_step://{answer['run']}")

    assert (answer["waiting"], answer["quiet"], answer["step_name"]) == (True, False, "build")


@requirement("steps:res.current")
def test_reading_the_current_step_is_activity_and_the_run_is_no_longer_quiet(scene: ResourceScene) -> None:
    scene.desk.clock.move(minutes=15)

    assert scene.read(f"workflow_status://{OPEN}")["execution"]["quiet"] is True
    assert scene.read(f"current_step://{OPEN}")["quiet"] is True
    assert scene.read(f"current_step://{OPEN}")["quiet"] is False
    execution = scene.read(f"workflow_status://{OPEN}")["execution"]
    assert (execution["quiet"], execution["active_at"]) == (False, "2026-03-01T12:16:02.000Z")


def test_all_open_steps_are_returned(scene: ResourceScene) -> None:
    runs = scene.desk.runs
    assert isinstance(runs, SqliteRuns)
    with runs.database.transaction() as execute:
        execute(
            "INSERT INTO steps (run, number, step_name, agent_name, status, started_at)"
            " SELECT k, 9, 'proof', 'printer', 'running', '2026-03-01 12:05:00.000' FROM runs"
            " WHERE execution_id = ?",
            (OPEN,),
        )

    answer = scene.read(f"current_step://{OPEN}")

    assert answer["step_name"] == "review"
    assert answer["also_open"] == [
        {
            "execution_id": OPEN,
            "state": "running",
            "current_step": "review",
            "step_name": "proof",
            "agent_name": "printer",
            "status": "running",
            "started_at": "2026-03-01T12:05:00.000Z",
        }
    ]


@requirement("steps:res.status")
def test_the_status_of_a_run_has_the_run_its_steps_and_its_artifacts(scene: ResourceScene) -> None:
    answer = scene.read(f"workflow_status://{DONE}")

    assert set(answer) == {"execution", "steps", "artifacts", "comments", "more"}
    assert answer["execution"] == {
        "execution_id": DONE,
        "workflow_name": "paper",
        "state": "completed",
        "current_step": None,
        "started_at": "2026-03-01T12:00:00.000Z",
        "updated_at": "2026-03-01T12:01:00.000Z",
        "completed_at": "2026-03-01T12:01:00.000Z",
        "duration_ms": 60000,
        "metadata": {"team": "blue", "last_transition_reason": "No reason provided"},
        "revision": 4,
        "active_at": "2026-03-01T12:01:00.000Z",
        "waiting": False,
        "quiet": False,
        "face": "steps",
        "authority": "sql",
        "project_id": PROJECT,
        "goal": "a paper",
        "principal": "ann",
        "parent_execution_id": None,
    }
    assert [step["step_name"] for step in answer["steps"]] == ["draft", "review", "publish"]
    assert answer["artifacts"][0] == FIRST
    assert titles(answer) == ["First", "Third", "Sent."]
    assert answer["more"] is None


@requirement("steps:res.status")
def test_a_step_has_its_output_and_not_its_token(scene: ResourceScene) -> None:
    assert scene.read(f"workflow_status://{DONE}")["steps"][0] == {
        "execution_id": DONE,
        "number": 1,
        "step_name": "draft",
        "agent_name": "writer",
        "status": "completed",
        "started_at": "2026-03-01T12:00:00.000Z",
        "completed_at": "2026-03-01T12:00:10.000Z",
        "duration_ms": 10000,
        "output": {
            "summary": "Done.",
            "artifacts": [{"artifact_id": FIRST["artifact_id"], "type": "spec", "title": "First"}],
            "references": [],
            "confidence": 0.8,
        },
    }


@requirement("steps:res.status")
def test_a_fork_names_its_parent_and_an_open_step_has_no_output(scene: ResourceScene) -> None:
    answer = scene.read(f"workflow-status://{OPEN}")

    assert answer["execution"]["parent_execution_id"] == DONE
    assert answer["execution"]["current_step"] == "review"
    assert [(step["status"], step["completed_at"]) for step in answer["steps"]] == [
        ("completed", "2026-03-01T12:01:01.000Z"),
        ("running", None),
    ]
    assert answer["steps"][1]["output"] is None


@requirement("steps:res.status", "steps:db.page")
def test_a_long_run_comes_in_pages_of_100_that_name_the_next(tmp_path: Path) -> None:
    harness = TurnHarness(open_sqlite(tmp_path))
    assert isinstance(harness.runs, SqliteRuns)
    harness.runs.database.writer_connection().execute("PRAGMA synchronous = OFF")
    answer = harness.start(load_pinned(ENDLESS))
    for _ in range(204):
        answer = harness.send(answer["run"], "go", answer["token"])
    scene = ResourceScene(harness, open_resources(harness))

    pages = [scene.read(f"workflow-status://{answer['run']}")]
    while pages[-1]["more"]:
        pages.append(scene.read(pages[-1]["more"]))

    assert pages[0]["more"] == f"workflow-status://{answer['run']}?page=2"
    assert [len(page["steps"]) for page in pages] == [100, 100, 5]
    assert [step["number"] for page in pages for step in page["steps"]] == list(range(1, 206))
    assert scene.read(f"workflow_status://{answer['run']}?page=999999")["steps"] == []


@requirement("steps:res.artifacts")
def test_recent_artifacts_are_those_of_all_runs_the_last_first(scene: ResourceScene) -> None:
    answer = scene.read("workflow_artifacts://recent")

    assert titles(answer) == ["Fourth", "Second", "Sent.", "Third", "First"]
    assert answer["artifacts"][4] == FIRST
    assert set(answer) == {"artifacts"}


@requirement("steps:res.artifacts")
def test_final_artifacts_are_those_of_runs_that_were_completed(scene: ResourceScene) -> None:
    assert titles(scene.read("workflow-artifacts://final")) == ["Sent.", "Third", "First"]
    assert titles(scene.read(f"workflow_artifacts://final/{DONE}")) == ["Sent.", "Third", "First"]
    assert scene.read(f"workflow_artifacts://final/{GONE}") == {"artifacts": [], "more": None}


@requirement("steps:res.artifacts")
def test_artifacts_of_a_type_are_those_of_all_runs(scene: ResourceScene) -> None:
    assert titles(scene.read("workflow_artifacts://type/spec")) == ["Fourth", "Second", "First"]
    assert titles(scene.read("workflow-artifacts://type%2Fnote")) == ["Third"]
    assert titles(scene.read("workflow-artifacts://type/no%20such/thing")) == []


@requirement("steps:res.artifacts")
def test_a_list_of_artifacts_has_an_end_and_those_of_one_run_go_on(tmp_path: Path) -> None:
    harness = TurnHarness(open_sqlite(tmp_path))
    answer = harness.start()
    many = [{"type": "spec", "title": f"{number}", "content": "x"} for number in range(1, 121)]
    for artifacts in (many, [], []):
        answer = harness.continue_run(answer["run"], answer["token"], artifacts=artifacts)
    scene = ResourceScene(harness, open_resources(harness))
    last = ["Done.", *(f"{number}" for number in range(120, 0, -1))]

    assert titles(scene.read("workflow_artifacts://recent")) == last[:50]
    assert titles(scene.read("workflow_artifacts://final")) == last[:100]
    assert titles(scene.read("workflow_artifacts://type/spec")) == last[1:101]
    first = scene.read(f"workflow_artifacts://final/{answer['run']}")
    assert (titles(first), first["more"]) == (
        last[:100],
        f"workflow_artifacts://final/{answer['run']}?page=2",
    )
    assert titles(scene.read(first["more"])) == last[100:]
    assert scene.read(first["more"])["more"] is None
    assert (
        scene.read(f"workflow_status://{answer['run']}")["more"]
        == f"workflow_status://{answer['run']}?page=2"
    )


@requirement("steps:res.artifacts")
def test_a_text_beyond_32_kb_is_cut_between_characters_and_says_how_to_see_it_whole(tmp_path: Path) -> None:
    harness = TurnHarness(open_sqlite(tmp_path))
    answer = harness.start()
    texts = ("x" + "é" * 20_000, "x" * 32_768)
    artifacts = [{"type": "spec", "title": "T", "content": text} for text in texts]
    harness.continue_run(answer["run"], answer["token"], artifacts=artifacts)

    whole, cut = ResourceScene(harness, open_resources(harness)).read("workflow_artifacts://recent")[
        "artifacts"
    ]

    assert (whole["content"], "cut" in whole, "size" in whole) == ("x" * 32_768, False, False)
    assert cut["content"] == "x" + "é" * 16_383
    assert (cut["cut"], cut["size"]) == (True, 40_001)
    assert cut["whole"] == f"handrail runs artifacts {answer['run']} 1"


def test_a_resource_holds_a_megabyte_of_texts_and_what_goes_beyond_is_left_out(tmp_path: Path) -> None:
    harness = TurnHarness(open_sqlite(tmp_path))
    answer = harness.start()
    artifacts = [{"type": "spec", "title": "T", "content": "x" * 30_000} for _ in range(36)]
    artifacts.append({"type": "spec", "title": "T", "content": "small"})
    harness.send(answer["run"], Event("continue", build_output(artifacts=artifacts)), answer["token"])

    answer = ResourceScene(harness, open_resources(harness)).read(f"workflow_status://{answer['run']}")

    assert [len(one["content"]) for one in answer["artifacts"]] == [30_000] * 34 + [0, 0, 5]
    assert [one.get("size") for one in answer["artifacts"][33:]] == [None, 30_000, 30_000, None]


@requirement("steps:res.current", "steps:res.status", "steps:res.artifacts")
@pytest.mark.parametrize("scheme", ["current_step", "current-step", "workflow_status", "workflow-status"])
@pytest.mark.parametrize(
    "run", [NOBODY, DONE[:35], DONE[:8], "", f"{DONE}0", DONE.replace("1", "%00"), f"{DONE}/"]
)
def test_a_run_that_is_not_there_is_an_error_that_says_how_to_find_it(
    scheme: str, run: str, scene: ResourceScene
) -> None:
    message = scene.refused(f"{scheme}://{run}")

    assert "handrail runs list" in message or "NUL" in message
    assert "handrail runs list" in scene.refused(f"workflow_artifacts://final/{NOBODY}")


def _rows(scene: ResourceScene) -> list[str]:
    runs = scene.desk.runs
    assert isinstance(runs, SqliteRuns)
    with sqlite3.connect(runs.database.path) as store:
        found = list(store.iterdump())
    store.close()
    return found


@requirement("steps:res.readonly")
def test_reading_writes_nothing_but_the_activity_of_a_run_whose_current_step_is_read(
    scene: ResourceScene,
) -> None:
    before = _rows(scene)
    scene.desk.clock.move(minutes=1)
    for uri in EVERY:
        scene.resources.read(uri)
    scene.refused(f"current_step://{NOBODY}")
    for portable in (False, True):
        scene.resources.list_fixed(portable=portable)
        scene.resources.complete("current_step://{execution_id}", "execution_id", "")

    assert _rows(scene) == before
    scene.read(f"current_step://{OPEN}")
    (changed,) = set(_rows(scene)) - set(before)
    assert changed.count("2026-03-01 12:02:02.000") == 1
    assert changed.replace("12:02:02.000", "12:01:01.000") in before


def test_many_threads_may_read_while_the_run_moves_and_each_sees_one_moment(scene: ResourceScene) -> None:
    harness, uri = scene.desk, f"workflow_status://{OPEN}"
    with ThreadPoolExecutor(8) as pool:
        reading = [pool.submit(scene.read, uri) for _ in range(200)]
        answer = harness.recover(OPEN)
        answer = harness.continue_run(OPEN, answer["token"])
        harness.continue_run(OPEN, answer["token"])
        seen = [promise.result() for promise in reading]

    opened = {None: 3, "review": 2, "publish": 3}
    assert {(one["execution"]["current_step"], len(one["steps"])) for one in seen} <= set(opened.items())
