"""Pictures of runs, as the command line draws them."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from helpers.history import History, create_history
from helpers.program import run_handrail
from helpers.task_project import TASKS, TaskProject

NS = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> History:
    return create_history(tmp_path_factory.mktemp("past") / "handrail.db")


@pytest.fixture(autouse=True)
def named(past: History, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDRAIL_STORE", str(past.path))


def nodes(text: str) -> dict[str, str]:
    """The classes of every state of a picture."""
    groups = ET.XML(text).iter(f"{NS}g")
    return {one.get("data-state", ""): one.get("class", "") for one in groups if one.get("data-state")}


def test_a_run_is_drawn_as_it_stands_in_its_workflow(past: History) -> None:
    said = run_handrail("workflows", "graph", "--run", past.runs["running"], "--format", "svg")

    assert (said.status, said.err) == (0, "")
    assert nodes(said.out) == {
        "reproduce": "node state initial visited",
        "diagnose": "node state visited",
        "mend": "node state current",
        "prove": "node state possible",
        "proved": "node terminal",
    }
    assert ET.XML(said.out).findtext(f"{NS}title") == "bug-fix, now at mend"


def test_a_run_that_rests_is_blocked_by_that(past: History) -> None:
    said = run_handrail("workflows", "graph", "--run", past.runs["paused"], "--format", "svg")

    assert nodes(said.out)["mend"] == "node state blocked"
    assert "(the run is paused)" in (ET.XML(said.out).findtext(f"{NS}desc") or "")


def test_a_run_that_has_ended_is_shown_where_it_ended(past: History) -> None:
    said = run_handrail("workflows", "graph", "--run", past.runs["completed"])

    assert "    class n4 current" in said.out.splitlines()


def test_dot_draws_the_workflow_of_the_run(past: History) -> None:
    said = run_handrail("workflows", "graph", "--run", past.runs["completed"], "--format", "dot")

    assert said.out.startswith('digraph "bug-fix" {')


@pytest.mark.parametrize("words", [(), ("bug-fix", "--run", "0")])
def test_either_a_workflow_or_a_run_is_drawn(words: tuple[str, ...]) -> None:
    said = run_handrail("workflows", "graph", *words)

    assert (said.status, said.err.splitlines()[-1]) == (2, "Error: give NAME or --run, and not both")


def test_a_run_that_is_not_there_is_not_drawn() -> None:
    said = run_handrail("workflows", "graph", "--run", "none")

    assert (said.status, said.err.splitlines()[0]) == (3, "handrail: no run is called `none`")


def test_the_time_of_a_run_is_drawn_for_any_width(past: History) -> None:
    said = run_handrail("runs", "timeline", past.runs["completed"])
    phone = run_handrail("runs", "timeline", past.runs["completed"], "--width", "360", "--linear")

    root = ET.XML(said.out)
    assert (said.status, root.get("width"), ET.XML(phone.out).get("width")) == (0, "960", "360")
    assert root.findtext(f"{NS}title") == f"bug-fix, run {past.runs['completed']}"
    names = [one.text for one in root.iter(f"{NS}text") if one.get("class") == "name"]
    assert names == ["1 reproduce", "2 diagnose", "3 mend", "4 prove"]


def test_a_run_that_is_kept_in_files_is_drawn_by_what_the_store_has_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = TaskProject(tmp_path)
    project.say("go")
    project.say("go")
    monkeypatch.setenv("HANDRAIL_STORE", str(project.store))

    missing = run_handrail("workflows", "graph", "--run", project.run, "--format", "svg")
    path = project.project / ".handrail" / "workflows" / "tasks.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(TASKS, "utf-8")
    said = run_handrail("workflows", "graph", "--run", project.run, "--format", "svg")
    timed = run_handrail("runs", "timeline", project.run)

    assert (missing.status, missing.err.splitlines()[0]) == (
        3,
        "handrail: no workflow is called `tasks`",
    )
    assert nodes(said.out) == {"DRAFT": "node state initial possible visited", "DONE": "node state current"}
    assert timed.status == 0
