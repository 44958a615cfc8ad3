"""`handrail runs pause` and the like, as a person and as a program use them."""

import json
import os
import pwd
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from handrail.app.actions import render_outcome
from handrail.cli.main import cli
from handrail.cli.output import Failure
from handrail.cli.runs import print_reply_or_fail
from handrail.engine.lifecycle import PAUSE
from handrail.engine.model import Actor, Authority, Lifecycle, Option, Refused, Run, Step, Waiting
from handrail.engine.refusals import RefusalCode, TroubleCode
from handrail.runtime.entries import EntryKind
from handrail.runtime.records import Origin, StoredRun
from handrail.runtime.system import get_login_name
from handrail.runtime.turn import Outcome
from handrail.stores.sql.queries import SqlRunQueries
from helpers.history import create_history, open_sample_store
from helpers.program import run_handrail
from helpers.requirement import requirement
from helpers.task_project import TASKS, TaskProject
from tools.sample_store import Played

TRIGGERS = ("pause", "resume", "abandon", "diverge", "fail")
ALLOWED = {
    ("running", "pause"): "paused",
    ("running", "abandon"): "abandoned",
    ("running", "diverge"): "diverged",
    ("running", "fail"): "failed",
    ("paused", "resume"): "running",
    ("paused", "abandon"): "abandoned",
}


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Played]:
    """A store that goes on while the program acts on it."""
    monkeypatch.setenv("HANDRAIL_STORE", str(tmp_path / "store" / "handrail.db"))
    with open_sample_store(tmp_path / "store" / "handrail.db") as found:
        yield found


def entries(play: Played, run: str) -> list[tuple[str, dict[str, Any]]]:
    found = SqlRunQueries(play.database).journal(run=run, most=1000)
    return [(str(written.entry.kind), dict(written.entry.data)) for written in found]


def typed(*words: str) -> tuple[int, dict[str, Any]]:
    """What a command answers to a program, in this process."""
    done = CliRunner().invoke(cli, [*words, "--json"])
    return done.exit_code, json.loads(done.stdout)


# --- the lifecycle ------------------------------------------------------------------------------------------


@requirement("steps:life.pause", "steps:life.resume")
def test_pausing_and_resuming_say_what_happened_and_the_one_thing_to_do_next(play: Played) -> None:
    run = play.start("To rest")

    paused = run_handrail("runs", "pause", run[:8], "--reason", "lunch")
    resumed = run_handrail("runs", "resume", run)

    assert (paused.status, paused.out) == (0, f"run {run} is paused in reproduce\n")
    assert paused.err == f"  to go on: handrail runs resume {run}\n"
    assert (resumed.status, resumed.out) == (0, f"run {run} is running in reproduce\n")
    assert resumed.err == f"  tell the agent: call workflow_next_step with execution_id {run}\n"


@requirement("steps:life.abandon-ask", "steps:life.diverge", "steps:life.fail")
@pytest.mark.parametrize(
    ("trigger", "lifecycle"),
    [("abandon", Lifecycle.ABANDONED), ("diverge", Lifecycle.DIVERGED), ("fail", Lifecycle.FAILED)],
)
def test_a_run_is_ended_with_a_reason_and_can_be_forked(trigger: str, lifecycle: str, play: Played) -> None:
    run = play.start("To end")

    said = run_handrail("runs", trigger, run, "--reason", "not \x1b[31mneeded")

    assert (said.status, said.out) == (0, f"run {run} is {lifecycle}\n")
    assert said.err == f"  to go on with what it has: handrail runs fork {run}\n"
    assert "  reason not \\u{1b}[31mneeded" in run_handrail("runs", "show", run).out.splitlines()


def test_what_was_done_is_json_too(play: Played) -> None:
    run = play.start("To rest")

    assert run_handrail("runs", "pause", run, "--json").data == {
        "schema": 1,
        "run": run,
        "workflow": "bug-fix",
        "lifecycle": Lifecycle.PAUSED,
        "state": "reproduce",
        "revision": 2,
        "told": f"run {run} is paused in reproduce",
        "then": f"to go on: handrail runs resume {run}",
    }


@requirement("steps:tel.events")
def test_the_journal_says_who_did_it_and_why(play: Played) -> None:
    run = play.start("To end")
    run_handrail("runs", "fail", run, "--reason", "no idea")

    person = {"by": "person", "principal": pwd.getpwuid(os.getuid()).pw_name, "client": "cli"}
    failed, moved = entries(play, run)[-2:]
    assert (failed[0], {name: failed[1][name] for name in person}) == (EntryKind.STEP_FAILED, person)
    assert failed[1]["note"] == "no idea"
    stored = {"from": "running", "to": "failed", "reason": "no idea", **person}
    assert (moved[0], {name: moved[1][name] for name in stored}) == (
        EntryKind.WORKFLOW_STATE_TRANSITION,
        stored,
    )


def test_a_user_without_a_name_is_told_by_number_where_the_machine_has_no_such_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 54_321_987)

    assert get_login_name() == "54321987"


@requirement("steps:life.guards", "steps:life.terminal")
def test_every_pair_that_the_table_does_not_have_is_refused_and_moves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    past = create_history(tmp_path / "store" / "handrail.db")
    monkeypatch.setenv("HANDRAIL_STORE", str(past.path))
    lifecycles = [name for name in past.runs if name != "waiting"]
    before = {name: typed("runs", "show", past.runs[name])[1]["run"] for name in lifecycles}
    refused = [(n, t) for n in lifecycles for t in TRIGGERS if (n, t) not in ALLOWED]

    for name, trigger in refused:
        status, answer = typed("runs", trigger, past.runs[name], "--reason", "why not")
        assert (status, answer["error"]["code"], answer["error"]["why"]["rule"]) == (
            1,
            RefusalCode.NOT_RUNNING,
            "lifecycle",
        )
    moved = ("active", "quiet")
    after = {name: typed("runs", "show", past.runs[name])[1]["run"] for name in lifecycles}

    assert len(refused) == 24
    assert [{k: v for k, v in run.items() if k not in moved} for run in after.values()] == [
        {k: v for k, v in run.items() if k not in moved} for run in before.values()
    ]


@pytest.mark.parametrize(("pair", "lifecycle"), ALLOWED.items())
def test_every_pair_of_the_table_that_is_a_persons_is_taken(
    pair: tuple[str, str], lifecycle: str, play: Played
) -> None:
    run = play.start("")
    if pair[0] == "paused":
        play.send(run, PAUSE)

    status, answer = typed("runs", pair[1], run, "--reason", "because")

    assert (status, answer["lifecycle"]) == (0, lifecycle)


# --- refusals -----------------------------------------------------------------------------------------------


@requirement("steps:tel.errors")
def test_a_refusal_says_the_code_why_and_what_is_possible_now(play: Played) -> None:
    run = play.start("")
    play.send(run, PAUSE)

    said = run_handrail("runs", "diverge", run, "--reason", "done elsewhere")

    assert (said.status, said.out) == (1, "")
    assert said.err.splitlines() == [
        "handrail: diverge was refused as not_running: the run's lifecycle does not allow it",
        '  seen: run.lifecycle = "paused"',
        "  needed: run.lifecycle = running",
        f"  possible now: handrail runs resume {run}; handrail runs abandon {run} --reason TEXT",
    ]
    assert entries(play, run)[-1] == (
        EntryKind.ERROR_OCCURRED,
        {
            "error_type": RefusalCode.NOT_RUNNING,
            "rule": "lifecycle",
            "trigger": "diverge",
            "by": "person",
            "principal": get_login_name(),
            "client": "cli",
        },
    )


def test_a_refusal_is_json_too(play: Played) -> None:
    run = play.start("")

    said = run_handrail("runs", "resume", run, "--json")

    assert said.status == 1
    assert said.data["error"] == {
        "code": RefusalCode.NOT_RUNNING,
        "message": "resume was refused as not_running: the run's lifecycle does not allow it",
        "repair": "possible now: continue, by the agent, or by you: "
        f"handrail runs complete-step {run} --output FILE",
        "why": {
            "rule": "lifecycle",
            "seen": [{"fact": "run.lifecycle", "value": "running"}],
            "needed": ["run.lifecycle = paused"],
        },
        "next": [
            {
                "trigger": "continue",
                "who": "agent",
                "command": f"handrail runs complete-step {run} --output FILE",
            }
        ],
    }


@requirement("steps:life.terminal")
def test_resuming_a_run_that_has_ended_offers_a_fork(play: Played) -> None:
    run = play.start("")
    run_handrail("runs", "abandon", run, "--reason", "enough")

    error = run_handrail("runs", "resume", run, "--json").data["error"]

    assert error["next"] == [
        {"trigger": "fork", "who": "person", "command": f"handrail runs fork {run}"},
    ]
    assert error["repair"] == f"possible now: handrail runs fork {run}"


@requirement("steps:life.reason")
@pytest.mark.parametrize("trigger", ["abandon", "diverge", "fail"])
@pytest.mark.parametrize("given", [(), ("--reason", "  ")], ids=["none", "blank"])
def test_without_a_reason_it_is_said_how_to_give_one(
    trigger: str, given: tuple[str, ...], play: Played
) -> None:
    run = play.start("")

    said = run_handrail("runs", trigger, run, *given)

    assert (said.status, said.out) == (1, "")
    assert said.err.splitlines() == [
        f"handrail: {trigger} was refused as reason: a reason must be given",
        "  give it with --reason TEXT",
    ]
    assert run_handrail("runs", "show", run, "--json").data["run"]["lifecycle"] == Lifecycle.RUNNING


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_a_run_or_a_store_that_is_not_there_is_status_3_and_nothing_is_made(
    trigger: str, play: Played, tmp_path: Path
) -> None:
    play.start("")

    assert run_handrail("runs", trigger, "ffffffff").status == 3
    assert run_handrail("runs", trigger, "x", "--store", tmp_path / "none" / "handrail.db").status == 3
    assert not (tmp_path / "none").exists()


def test_several_runs_are_acted_on_and_what_one_is_refused_for_keeps_no_other_back(play: Played) -> None:
    one, two, three = (play.start("") for _ in range(3))
    play.send(two, PAUSE)
    said = run_handrail("runs", "pause", one, two, "nobody", three, one)

    assert said.status == 1
    assert said.out.splitlines() == [f"run {run} is paused in reproduce" for run in (one, three)]
    assert f"{two}:\nhandrail: pause was refused as " in said.err
    assert "nobody:\nhandrail: no run is called `nobody`" in said.err
    answer = run_handrail("runs", "resume", one, two, three, "--json")
    assert answer.status == 0
    assert [(run["run"], run["lifecycle"]) for run in answer.data["acted"]] == [
        (run, "running") for run in (one, two, three)
    ]


@pytest.mark.parametrize("known", [True, False], ids=["its workflow is there", "its workflow is gone"])
def test_a_run_in_files_is_not_turned_from_here_and_its_folder_is_named(
    tmp_path: Path, *, known: bool
) -> None:
    project = TaskProject(tmp_path)
    workflows = project.project / ".handrail" / "workflows"
    workflows.mkdir(parents=True)
    (workflows / "tasks.yaml").write_text(TASKS if known else "", "utf-8")
    (workflows / "spells.yaml").write_text("", "utf-8")
    project.say("go")
    where = project.project / ".ai" / "task" if known else project.project

    said = run_handrail("runs", "pause", project.run, "--store", project.store)

    assert (said.status, said.out) == (1, "")
    assert said.err.splitlines() == [
        f"handrail: run {project.run} is kept in {where}, and is moved by its agent only",
        f"  have its agent call it there; how it stands: handrail repair --project {project.project}",
    ]


# --- what no workflow of this program can produce -----------------------------------------------------------

RUN = Run("r", "gate", "", Lifecycle.RUNNING, (Step(1, "build", 1),))


def test_a_step_that_then_waits_says_for_what() -> None:
    answer = render_outcome("complete-step", Outcome(Waiting(RUN, "B1", ("tests.pass",)), None), "")

    assert answer["told"] == "run r is running in build and waits for tests.pass"
    assert answer["then"] == "what it waits for: handrail runs show r"


def test_a_trigger_without_a_command_and_a_code_without_a_meaning_stand_alone() -> None:
    options = (Option("cast", Actor.PERSON), Option("go", Actor.AGENT))
    outcome = Outcome(
        Refused(TroubleCode.NEWER, "store", next=options), StoredRun(RUN, Origin("steps", Authority.SQL))
    )

    with pytest.raises(Failure) as gone:
        print_reply_or_fail(render_outcome("pause", outcome, ""), as_json=False)
    assert gone.value.message == "pause was refused as newer"
    assert gone.value.repair == "possible now: cast, by the person; go, by the agent"


def test_a_run_that_is_gone_since_it_was_found_has_nothing_possible() -> None:
    refused = Refused(RefusalCode.UNKNOWN_RUN, "run", needed=("the id of a run of this store",))

    with pytest.raises(Failure) as gone:
        print_reply_or_fail(render_outcome("pause", Outcome(refused, None), ""), as_json=False)
    assert gone.value.message == "pause was refused as unknown_run: there is no such run in this store"
    assert gone.value.repair == "handrail runs list"
