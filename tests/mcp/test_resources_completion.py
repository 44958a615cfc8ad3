"""What a client offers to somebody who fills in a template."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from handrail.engine.model import Event, Lifecycle
from handrail.stores.sql.runs import SqliteRuns
from helpers.resources import (
    DONE,
    GONE,
    OPEN,
    PROJECT,
    ROOT,
    ResourceScene,
    build_spec_output,
    open_resources,
    play_runs,
)
from helpers.turns import ORIGIN, TurnHarness, open_sqlite

AGENTS = ("default", "architect", "debugger", "implementer", "reviewer", "supervisor", "tester", "writer")
PATTERN = "workflow-artifacts://{+pattern}"


@pytest.fixture
def scene(tmp_path: Path) -> ResourceScene:
    harness = play_runs(tmp_path).desk
    return ResourceScene(harness, open_resources(harness, ROOT, "/srv/other"))


@pytest.mark.parametrize(
    ("template", "argument", "typed", "found"),
    [
        ("persona://{agent}", "agent", "", [*AGENTS]),
        ("persona://{agent}", "agent", "de", ["default", "debugger"]),
        ("persona://{agent}", "agent", "D", []),
        ("current_step://{execution_id}", "execution_id", "", [OPEN, GONE, DONE]),
        ("current-step://{execution_id}", "execution_id", "0000", [OPEN, GONE, DONE]),
        ("workflow_status://{execution_id}", "execution_id", DONE[:36], [DONE]),
        ("workflow-status://{execution_id}", "execution_id", "1", []),
        ("project_context://{project_id}", "project_id", "", [PROJECT, "1c8a91610064906e"]),
        ("project_context://{project_id}", "project_id", "7c", [PROJECT]),
        ("project-context://{project_id}", "project_id", "oth", ["1c8a91610064906e"]),
        (
            PATTERN,
            "pattern",
            "",
            ["recent", "final", f"final/{DONE}", "type/note", "type/spec", "type/synthesis"],
        ),
        (PATTERN, "pattern", "type/s", ["type/spec", "type/synthesis"]),
        ("workflow_artifacts://{+pattern}", "pattern", "final/0000", [f"final/{DONE}"]),
        (PATTERN, "pattern", "final/1", []),
    ],
)
def test_arguments_are_offered_by_how_they_begin_the_likeliest_first(
    template: str, argument: str, typed: str, found: list[str], scene: ResourceScene
) -> None:
    assert list(scene.resources.complete(template, argument, typed)) == found


@pytest.mark.parametrize(
    ("template", "argument", "typed"),
    [
        ("persona://{agent}", "name", ""),
        ("persona://{+agent}", "agent", ""),
        ("current--step://{execution_id}", "execution_id", ""),
        ("handrail://{agent}", "agent", ""),
        ("", "", ""),
        ("workflow_status://{execution_id}", "execution_id", "\udc80"),
        ("workflow_status://{execution_id}", "execution_id", "%"),
        ("workflow_status://{execution_id}", "execution_id", "0" * 513),
        ("workflow_status://{execution_id}", "execution_id", "\0"),
        (PATTERN, "pattern", "final/\0"),
    ],
)
def test_an_unknown_argument_has_no_completions(
    template: str, argument: str, typed: str, scene: ResourceScene
) -> None:
    assert scene.resources.complete(template, argument, typed) == ()


def test_at_most_a_hundred_are_offered_those_under_way_here_first(tmp_path: Path) -> None:
    harness = TurnHarness(open_sqlite(tmp_path))
    assert isinstance(harness.runs, SqliteRuns)
    harness.runs.database.writer_connection().execute("PRAGMA synchronous = OFF")
    mine = [harness.start()["run"] for _ in range(3)]
    ended = harness.start()["run"]
    harness.send(ended, Event("abandon", note="enough"))
    others = [harness.start(None, replace(ORIGIN, project="/srv/else"))["run"] for _ in range(120)]

    found = open_resources(harness, ROOT).complete("workflow_status://{execution_id}", "execution_id", "")

    assert list(found) == [*mine[::-1], *others[:-98:-1]]
    assert open_resources(harness, ROOT).complete(
        "workflow_status://{execution_id}", "execution_id", ended
    ) == (ended,)


def test_a_completed_run_of_long_ago_is_found_by_how_its_id_begins(tmp_path: Path) -> None:
    harness = TurnHarness(open_sqlite(tmp_path))
    old = _completed(harness, 1)
    late = _completed(harness, 100)
    offer = open_resources(harness, ROOT)

    assert f"final/{late}" in offer.complete(PATTERN, "pattern", "")
    assert f"final/{old}" not in offer.complete(PATTERN, "pattern", "")
    assert offer.complete(PATTERN, "pattern", f"final/{old}") == (f"final/{old}",)


def _completed(harness: TurnHarness, artifacts: int) -> str:
    answer = harness.start()
    many = [build_spec_output(f"{number}")["artifacts"][0] for number in range(artifacts)]
    for brought in (many, [], []):
        answer = harness.continue_run(answer["run"], answer["token"], artifacts=brought)
    assert answer["lifecycle"] == Lifecycle.COMPLETED
    harness.clock.move(minutes=1)
    return str(answer["run"])
