"""`handrail runs fork`: a person goes on from a run that has ended, also where no agent could."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.engine.model import Actor, Lifecycle
from handrail.engine.refusals import RefusalCode
from handrail.runtime.entries import EntryKind
from handrail.runtime.fork import ForkRequest, find_agent_refusal_code
from handrail.runtime.records import Caller
from handrail.stores.sql.queries import SqlRunQueries
from handrail.workflows.load import WorkflowSource
from helpers.faulty_stores import Troubled
from helpers.history import open_sample_store
from helpers.memory_store import MemoryRuns
from helpers.program import run_handrail
from helpers.requirement import requirement
from helpers.turns import TurnHarness
from tools.sample_store import Played

ONCE = """\
workflow: once
version: 1
authority: sql
steps:
  - {name: think, agent: architect, task: Think., attempts: 1}
  - {name: make, agent: writer, task: Make., attempts: 1}
"""
PLAIN = {"summary": "Done.", "artifacts": [], "references": [], "confidence": 1}
FURTHER = (
    "no agent could begin with `prove` (an agent forks a run where it stood or where it has been, not further"
    " on): it will be entered as your override"
)


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Played]:
    """A store that goes on while the program acts on it."""
    monkeypatch.setenv("HANDRAIL_STORE", str(tmp_path / "store" / "handrail.db"))
    with open_sample_store(tmp_path / "store" / "handrail.db") as found:
        yield found


@pytest.fixture
def ended(play: Played) -> str:
    """A run that was abandoned in its second step."""
    run = play.start("To go on")
    play.walk(run, 1)
    play.send(run, "abandon", note="enough")
    return run


def entries(play: Played, run: str) -> list[tuple[str, dict[str, Any]]]:
    found = SqlRunQueries(play.database).journal(run=run, most=1000)
    return [(str(written.entry.kind), dict(written.entry.data)) for written in found]


def count(play: Played) -> tuple[int, int]:
    """How many runs and entries there are."""
    with play.database.read() as execute:
        return tuple(
            execute(f"SELECT count(*) FROM {table}", ()).fetchone()[0]  # noqa: S608 - names of ours
            for table in ("runs", "events")
        )


@requirement("steps:life.fork")
def test_a_fork_goes_on_where_the_run_stood_with_what_it_has(play: Played, ended: str) -> None:
    said = run_handrail("runs", "fork", ended[:8])

    new = said.out.split("; run ")[1].split()[0]
    assert (said.status, said.out) == (0, f"run {ended} was forked; run {new} is running in diagnose\n")
    assert said.err == f"  tell the agent: call workflow_next_step with execution_id {new}\n"
    shown = run_handrail("runs", "show", new, "--json").data
    assert (shown["run"]["parent"], shown["run"]["goal"]) == (ended, "To go on")
    assert [(step["state"], step["status"]) for step in shown["steps"]] == [
        ("reproduce", "completed"),
        ("diagnose", "running"),
    ]
    assert run_handrail("runs", "artifacts", new).out == "1\treproduction\tSave twice\treproduce\t\t27\n"
    assert EntryKind.STEP_OVERRIDDEN not in [kind for kind, _ in entries(play, new)]


def test_a_fork_that_is_asked_for_again_is_the_same(play: Played, ended: str) -> None:
    first, second = (run_handrail("runs", "fork", ended, "--json").data for _ in range(2))

    assert second == first
    assert first == {
        "schema": 1,
        "run": first["run"],
        "workflow": "bug-fix",
        "lifecycle": Lifecycle.RUNNING,
        "state": "diagnose",
        "revision": 1,
        "told": f"run {ended} was forked; run {first['run']} is running in diagnose",
        "then": f"tell the agent: call workflow_next_step with execution_id {first['run']}",
        "parent": ended,
        "overrides": None,
    }
    assert count(play)[0] == 2


# --- where no agent could go --------------------------------------------------------------------------------


@requirement("steps:life.fork")
def test_a_later_step_asks_for_yes_where_nobody_can_be_asked_and_nothing_has_happened(
    play: Played, ended: str
) -> None:
    before = count(play)

    said = run_handrail("runs", "fork", ended, "--step", "prove")

    assert (said.status, said.out) == (1, "")
    assert said.err == f"handrail: {FURTHER}\n  say --yes to do it\n"
    assert count(play) == before


@requirement("steps:life.fork", "steps:life.override")
def test_a_later_step_is_entered_as_an_override(play: Played, ended: str) -> None:
    said = run_handrail("runs", "fork", ended, "--step", "prove", "--yes", "--json")

    assert (said.status, said.err) == (0, f"{FURTHER}\n")
    assert (said.data["state"], said.data["overrides"]) == ("prove", RefusalCode.LATER_STEP)
    (overridden,) = [
        data for kind, data in entries(play, said.data["run"]) if kind == EntryKind.STEP_OVERRIDDEN
    ]
    assert (overridden["overrides"], overridden["stood"], overridden["by"], overridden["client"]) == (
        RefusalCode.LATER_STEP,
        "diagnose",
        "person",
        "cli",
    )


@pytest.mark.parametrize(("answer", "status", "runs"), [("y\n", 0, 2), ("n\n", 1, 1)])
def test_a_later_step_is_asked_for_on_a_terminal(
    answer: str, status: int, runs: int, play: Played, ended: str
) -> None:
    said = run_handrail("runs", "fork", ended, "--step", "prove", typed=answer)

    assert said.status == status
    assert said.err.startswith(f"{FURTHER}. Do it? [y/N]: ")
    assert count(play)[0] == runs


@pytest.mark.parametrize(
    ("words", "begin"), [(("--step", "think"), "begin with `think`"), ((), "begin where it stood")]
)
def test_another_attempt_than_the_last_is_an_override_too(
    words: tuple[str, ...], begin: str, play: Played
) -> None:
    run = play.start("", WorkflowSource("once.yaml", ONCE))
    for _ in range(2):
        play.send(run, "continue", PLAIN)

    refused, done = (run_handrail("runs", "fork", run, *words, *yes, "--json") for yes in ((), ("--yes",)))

    error = refused.data["error"]
    assert (refused.status, error["code"]) == (1, "unconfirmed")
    assert error["message"].startswith(f"no agent could {begin} (")
    assert (done.status, done.data["overrides"]) == (0, RefusalCode.ATTEMPTS_SPENT)


# --- refusals -----------------------------------------------------------------------------------------------


def test_a_run_that_has_not_ended_is_not_forked(play: Played) -> None:
    run = play.start("")
    by_hand = f"handrail runs complete-step {run} --output FILE"
    abandon = f"handrail runs abandon {run} --reason TEXT"

    said = run_handrail("runs", "fork", run)

    assert (said.status, said.out) == (1, "")
    assert said.err.splitlines() == [
        "handrail: fork was refused as not_ended: only a run that has ended can be forked",
        '  seen: run.lifecycle = "running"',
        "  needed: a run that has ended: go on with it until it is completed, or abandon it first",
        f"  possible now: continue, by the agent, or by you: {by_hand}; {abandon}",
    ]


def test_a_step_that_is_none_is_refused_with_those_there_are(play: Played, ended: str) -> None:
    error = run_handrail("runs", "fork", ended, "--step", "dance", "--json").data["error"]

    assert (error["code"], error["why"]["needed"]) == (
        RefusalCode.UNKNOWN_STEP,
        ["step_name = reproduce or diagnose or mend or prove"],
    )
    assert error["next"] == [
        {"trigger": "fork", "who": "person", "command": f"handrail runs fork {ended} --step NAME"}
    ]
    assert count(play)[0] == 1


# --- the workflow as it is now ------------------------------------------------------------------------------


@pytest.fixture
def mended(play: Played, tmp_path: Path) -> tuple[str, Path]:
    """A run of a project that has ended, and the file of its workflow, which has one step more by now."""
    file = tmp_path / "project" / ".handrail" / "workflows" / "once.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(f"{ONCE}  - {{name: show, agent: writer, task: Show.}}\n", "utf-8")
    run = play.start("", WorkflowSource("once.yaml", ONCE), project=str(tmp_path / "project"))
    play.send(run, "continue", PLAIN)
    play.send(run, "fail", note="not like this")
    return run, file


@requirement("steps:def.pinned")
def test_a_fork_can_be_taken_on_to_the_workflow_as_it_is_now(play: Played, mended: tuple[str, Path]) -> None:
    run, _ = mended

    pinned = run_handrail("runs", "fork", run, "--step", "show", "--yes", "--json")
    current = run_handrail("runs", "fork", run, "--step", "show", "--workflow", "current", "--yes", "--json")
    same = run_handrail("runs", "fork", run, "--workflow", "current", "--json")

    assert pinned.data["error"]["code"] == RefusalCode.UNKNOWN_STEP
    assert (current.data["state"], current.data["overrides"]) == ("show", RefusalCode.LATER_STEP)
    assert (same.data["state"], same.data["overrides"]) == ("make", None)
    digests = {run_handrail("runs", "export", each).data["run"]["digest"] for each in (run, same.data["run"])}
    assert len(digests) == 2
    assert count(play)[0] == 3


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "there is no workflow of that name that can be started here"),
        ("workflow: once\n", "the file of the workflow has problems"),
        (ONCE.replace("writer", "nobody"), "a step of the workflow names a persona that is not there"),
    ],
    ids=["gone", "broken", "nobody"],
)
def test_a_workflow_that_cannot_be_taken_by_now_is_told(
    text: str | None, why: str, mended: tuple[str, Path]
) -> None:
    run, file = mended
    if text is None:
        file.unlink()
    else:
        file.write_text(text, "utf-8")

    said = run_handrail("runs", "fork", run, "--workflow", "current")

    answer = f"handrail: `once` as it is now cannot be taken: {why}"
    assert (said.status, said.err.splitlines()[0]) == (1, answer)


def test_a_workflow_that_hides_another_is_not_taken_before_it_is_trusted(
    play: Played, tmp_path: Path
) -> None:
    file = tmp_path / "project" / ".handrail" / "workflows" / "docs.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(ONCE.replace("workflow: once", "workflow: docs"), "utf-8")
    source = WorkflowSource("docs.yaml", ONCE.replace("workflow: once", "workflow: docs"))
    run = play.start("", source, project=str(tmp_path / "project"))
    play.send(run, "fail", note="not like this")

    said = run_handrail("runs", "fork", run, "--workflow", "current", "--json")

    assert said.data["error"]["code"] == RefusalCode.UNTRUSTED
    assert said.data["error"]["repair"] == "a person runs: handrail trust docs"


# --- what is asked before a person is -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", [MemoryRuns, Troubled])
def test_a_run_that_is_not_there_or_in_trouble_is_no_override(kind: type[MemoryRuns]) -> None:
    harness = TurnHarness(kind())
    run = harness.start()["run"] if kind is Troubled else "nobody"

    assert find_agent_refusal_code(harness.world, ForkRequest(run, "publish", Caller(Actor.PERSON))) == ""


def test_what_nobody_can_have_is_no_override() -> None:
    harness = TurnHarness(MemoryRuns())

    assert (
        find_agent_refusal_code(
            harness.world, ForkRequest(harness.start()["run"], "publish", Caller(Actor.PERSON))
        )
        == ""
    )
