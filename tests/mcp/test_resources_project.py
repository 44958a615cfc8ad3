"""What a project is told with, and which resources change when one of its runs moves."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from handrail.engine.model import Event
from handrail.stores.vcs.commands import VcsStatus
from helpers.requirement import requirement
from helpers.resources import DONE, GONE, OPEN, PROJECT, ROOT, ResourceScene, open_resources, play_runs
from helpers.turns import ORIGIN

WORKFLOWS = ["bug-fix", "code-review", "docs", "feature", "refactor", "release"]
OTHER = "/srv/other"
OTHER_ID = "1c8a91610064906e"


@pytest.fixture
def scene(tmp_path: Path) -> ResourceScene:
    harness = play_runs(tmp_path).desk
    return ResourceScene(harness, open_resources(harness, ROOT, vcs=VcsStatus("git", "a" * 40, "main")))


@requirement("steps:res.project")
@pytest.mark.parametrize("scheme", ["project_context", "project-context"])
def test_a_project_has_its_commit_its_run_and_its_definitions(
    scheme: str, scene: ResourceScene, home: Path
) -> None:
    rules = home / ".config" / "handrail" / "guardrails"
    rules.mkdir(parents=True)
    (rules / "care.md").write_text("Take care.")

    answer = scene.read(f"{scheme}://{PROJECT}")

    assert answer["artifacts"].pop() == {
        "artifact_id": "00000000-0000-0000-0000-000000000002",
        "artifact_type": "spec",
        "title": "First",
        "execution_id": DONE,
        "created_at": "2026-03-01T12:00:10.000Z",
    }
    assert [one["title"] for one in answer.pop("artifacts")] == ["Sent.", "Third"]
    assert answer == {
        "project_id": PROJECT,
        "name": "paper",
        "root": ROOT,
        "vcs": {"kind": "git", "head": "a" * 40, "branch": "main"},
        "active_run": {
            "execution_id": OPEN,
            "workflow_name": "paper",
            "state": "running",
            "current_step": "review",
            "step_name": "review",
        },
        "workflows": WORKFLOWS,
        "guardrails": ["care"],
    }


@requirement("steps:res.project")
def test_the_active_run_is_the_one_started_last_and_none_when_all_have_ended(scene: ResourceScene) -> None:
    answer = scene.desk.start()
    assert scene.read(f"project_context://{PROJECT}")["active_run"]["execution_id"] == answer["run"]

    for run in (answer["run"], OPEN):
        scene.desk.send(run, Event("abandon", note="enough"))

    assert scene.read(f"project_context://{PROJECT}")["active_run"] is None


@requirement("steps:res.project")
def test_a_project_without_runs_and_with_a_failing_vcs_is_returned_too(scene: ResourceScene) -> None:
    vcs = VcsStatus("jj", problem="the program `jj` is not there: install it")
    answer = ResourceScene(scene.desk, open_resources(scene.desk, OTHER, vcs=vcs)).read(
        f"project_context://{OTHER_ID}"
    )

    assert answer == {
        "project_id": OTHER_ID,
        "name": "other",
        "root": OTHER,
        "vcs": {
            "kind": "jj",
            "head": None,
            "branch": None,
            "problem": "the program `jj` is not there: install it",
        },
        "active_run": None,
        "workflows": WORKFLOWS,
        "guardrails": [],
        "artifacts": [],
    }


@requirement("steps:res.project")
@pytest.mark.parametrize("name", ["", "paper", PROJECT[:8], ROOT, OTHER_ID, "..%2f..", f"{PROJECT}/"])
def test_a_project_that_this_server_does_not_serve_is_an_error_that_names_those_it_does(
    name: str, scene: ResourceScene
) -> None:
    assert scene.refused(f"project_context://{name}").endswith(f"there are {PROJECT} (paper)")
    assert (
        ResourceScene(scene.desk, open_resources(scene.desk))
        .refused(f"project_context://{name}")
        .endswith("there are none")
    )


def test_the_resources_of_a_run_are_named_in_both_spellings(scene: ResourceScene) -> None:
    row = scene.resources.app.runs.run(GONE)
    assert row is not None
    paths = [
        f"current_step://{GONE}",
        f"workflow_status://{GONE}",
        "workflow_artifacts://recent",
        "workflow_artifacts://final",
        f"workflow_artifacts://final/{GONE}",
        "workflow_artifacts://type/spec",
        f"project_context://{PROJECT}",
    ]

    about = scene.resources.uris_of_run(row)

    assert list(about) == [*paths, *(path.replace("_", "-") for path in paths)]
    for uri in about:
        scene.read(uri)


def test_a_run_of_no_project_changes_no_project(scene: ResourceScene) -> None:
    answer = scene.desk.start(None, replace(ORIGIN, project=""))
    row = scene.resources.app.runs.run(answer["run"])
    assert row is not None

    assert not any("project" in uri for uri in scene.resources.uris_of_run(row))
