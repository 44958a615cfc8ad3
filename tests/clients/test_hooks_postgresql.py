"""Hooks, briefs and the doctor of a team: its runs are in a database on a server, and they say the same."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from handrail.runtime.errors import NoServer
from handrail.stores.sql.reader import open_read_only
from helpers.hooks import HookProject, get_added_context, get_denial_text
from helpers.postgres import PostgresServer
from helpers.program import CommandResult, run_command, run_handrail

IDS = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")
AWAY = "postgresql://ann:secret@127.0.0.1:1/handrail"
RETRY = "see that the server runs and lets this user in, then send the same call again"


@pytest.fixture
def team(postgres: PostgresServer, tmp_path: Path) -> Iterator[HookProject]:
    """A project whose runs are in an empty database."""
    (tmp_path / "shop" / "src").mkdir(parents=True)
    with postgres.lend_database() as url:
        yield HookProject(tmp_path / "shop", url)


@pytest.fixture
def alone(team: HookProject) -> HookProject:
    """The same project, with its runs in a file."""
    return HookProject(team.root)


def said_by(shop: HookProject, *words: str) -> CommandResult:
    return run_command(*words, *(("--store", shop.store) if shop.store else ()), cwd=shop.root)


def test_before_the_first_run_nothing_is_said_and_nothing_made(team: HookProject) -> None:
    assert [team.hook(event, prompt="next") for event in ("prompt", "session", "stop")] == [None] * 3
    assert team.edits("src/shop.py") == ""
    assert said_by(team, "brief").out == "No run of Handrail is under way in this project.\n"
    with open_read_only(team.store) as store:
        assert store is None


def test_an_edit_that_the_step_forbids_is_refused(team: HookProject) -> None:
    run = team.start()

    why = team.edits("src/shop.py")
    assert why.startswith(f"Not changed: src/shop.py. Run {run} of `refactor` is in `survey`, and there ")
    assert team.edits("/etc/hosts") == ""


def test_a_session_is_told_where_it_is_and_a_word_what_to_call(team: HookProject) -> None:
    run = team.start()

    assert get_added_context(team.hook("session")).startswith("# Where you are")
    assert f'`workflow_next_step {{"execution_id": "{run}"}}`' in get_added_context(
        team.hook("prompt", prompt="next")
    )


def test_an_agent_that_ends_its_turn_is_reminded_of_the_step(team: HookProject, tmp_path: Path) -> None:
    (tmp_path / "talk.jsonl").write_text(json.dumps({"text": f"execution_id {team.start()}"}))

    answer = team.hook("stop", transcript_path=str(tmp_path / "talk.jsonl"))
    assert answer["decision"] == "block"


def test_what_is_said_is_what_a_store_in_a_file_would_say(team: HookProject, alone: HookProject) -> None:
    answer = []
    for shop in (team, alone):
        shop.start()
        refused = shop.step(execution_id=shop.start("bug-fix", report="Lost."), step_output={"summary": ""})
        assert refused["status"] == "error"
        shop.say("Accio")
        parts = [
            get_added_context(shop.hook("session")),
            get_denial_text(shop.hook("edit", tool_input={"path": "src/a.py"})),
        ]
        parts += [get_added_context(shop.hook("prompt", prompt="Lumos")), said_by(shop, "brief").out]
        parts += [said_by(shop, "brief", "--json").out, said_by(shop, "watch", "--once").out]
        answer.append([IDS.sub("ID", part) for part in parts])
    assert answer[0] == answer[1]


def test_the_runs_of_the_nearest_folder_are_told(team: HookProject) -> None:
    outer, inner = team.start(), HookProject(team.root / "src", team.store).start()
    below = (str(team.root / "src"), str(team.root), "/")

    with open_read_only(team.store) as store:
        assert store is not None
        found = [store.records.live_runs(below[start:]) for start in range(3)]
    assert [[run.id for run in runs] for runs in found] == [[inner], [outer], []]


def test_the_doctor_says_what_keeps_the_store(team: HookProject) -> None:
    team.start()

    (store,) = said_by(team, "doctor", "--only", "store", "--json").data["checks"]
    assert store["status"] == "ok"
    assert re.fullmatch(r"postgresql://\S+, schema 1, PostgreSQL \d+\..*", store["message"])


def test_a_schema_that_this_program_does_not_know_is_told(team: HookProject) -> None:
    team.start()
    with psycopg.connect(team.store, autocommit=True) as database:
        database.execute("UPDATE handrail_schema SET version = 99")

    (store,) = said_by(team, "doctor", "--only", "store", "--json").data["checks"]
    assert (store["status"], store["repair"]) == ("failed", "pip install --upgrade handrail")


def hooked(shop: HookProject, store: str) -> CommandResult:
    """How the program answers a client whose session begins."""
    given = json.dumps({"cwd": str(shop.root), "hook_event_name": "SessionStart"})
    return run_handrail("hook", "session", "--client", "claude", "--store", store, stdin=given)


def test_a_server_that_is_away_stops_no_client_and_tells_no_password(team: HookProject) -> None:
    done = hooked(team, AWAY)

    assert (done.status, done.out) == (0, "")
    assert done.err.startswith("handrail hook: postgresql://ann@127.0.0.1:1/handrail cannot be reached: ")
    assert "secret" not in done.err
    with pytest.raises(NoServer) as away, open_read_only(AWAY):
        pass
    assert away.value.repair == RETRY


def test_the_program_answers_a_client_of_a_team(team: HookProject) -> None:
    team.start()
    done = hooked(team, team.store)

    assert (done.status, done.err) == (0, "")
    assert "Where you are" in json.loads(done.out)["hookSpecificOutput"]["additionalContext"]
