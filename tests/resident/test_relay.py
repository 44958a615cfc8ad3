"""`handrail serve` beside a resident server: the same session, begun at once, and no call lost with it."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from faces.mcp.desk import ERAS, HELLO, Place, place
from program import PROGRAM, handrail
from resident.desk import Resident, resident, until


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Resident]:
    """One resident server for the tests of this file."""
    with resident(tmp_path_factory.mktemp("resident")) as found:
        yield found


@pytest.fixture
def at(tmp_path: Path) -> Place:
    """A project and a store."""
    return place(tmp_path / "place")


@pytest.mark.parametrize("era", ERAS)
def test_a_session_is_the_same_with_a_resident_server(at: Place, here: Resident, era: str) -> None:
    before = here.sessions()
    with here.pipe(at, era=era) as desk:
        tools = desk.ask("tools/list", {})["result"]["tools"]
        first = desk.start(goal="Walk to the lake")
        second = desk.go_on(first.token)

        assert len(here.sessions() - before) == 1
        assert [tool["name"] for tool in tools] == ["workflow_next_step"]
        assert (
            first.reply["next_step_contract"]["step_name"],
            second.reply["next_step_contract"]["step_name"],
        ) == ("one", "two")
    until(lambda: here.sessions() == before)


def test_a_program_that_relays_imports_only_what_comes_with_python(tmp_path: Path, here: Resident) -> None:
    at = place(tmp_path / "place", measured=False)
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO})
    script = (
        "import sys\nfrom handrail.resident.relay import relayed\n"
        f"assert relayed({list(at.words()[1:])!r}) == 0\n"
        "print(*sorted(name for name in sys.modules if '.' not in name), file=sys.stderr)\n"
    )
    env = {**at.env, "XDG_RUNTIME_DIR": here.env["XDG_RUNTIME_DIR"]}
    python = str(PROGRAM.with_name("python"))
    done = subprocess.run(
        [python, "-c", script], input=f"{hello}\n", env=env, capture_output=True, text=True, check=True
    )

    modules = set(done.stderr.split())
    assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == "handrail"
    assert "handrail" in modules
    assert {
        "asyncio",
        "click",
        "mcp",
        "msgspec",
        "pathlib",
        "socket",
        "subprocess",
        "yaml",
    } & modules == set()


@pytest.mark.parametrize("era", ERAS)
def test_a_session_goes_on_when_who_serves_it_is_killed_between_two_calls(
    at: Place, here: Resident, era: str
) -> None:
    before = here.sessions()
    with here.pipe(at, era=era) as desk:
        first = desk.start()
        (serving,) = here.sessions() - before
        os.kill(serving, signal.SIGKILL)
        until(lambda: serving not in here.sessions())

        second = desk.go_on(first.token)
        again = desk.go_on(first.token)

        assert second.reply["next_step_contract"]["step_name"] == "two"
        assert again.reply == second.reply


@pytest.mark.parametrize("era", ERAS)
def test_a_call_is_answered_once_though_who_served_was_killed_before_it_answered(
    at: Place, here: Resident, era: str
) -> None:
    before = here.sessions()
    with here.pipe(at, era=era) as desk:
        first = desk.start()
        (serving,) = here.sessions() - before
        os.kill(serving, signal.SIGSTOP)
        number = desk.post(
            "tools/call", {"name": "workflow_next_step", "arguments": {"execution_id": first.run}}
        )
        listed = desk.post("tools/list", {})
        os.kill(serving, signal.SIGKILL)

        answers = {answer["id"]: answer["result"] for answer in (desk.answer(), desk.answer())}
        assert set(answers) == {number, listed}
        token = answers[number]["structuredContent"]["new_step_token"]
        assert desk.go_on(token).reply["next_step_contract"]["step_name"] == "two"


def test_a_subscription_outlives_who_served_it(at: Place, here: Resident) -> None:
    before = here.sessions()
    with here.pipe(at, era="legacy") as desk:
        first = desk.start()
        desk.ask("resources/subscribe", {"uri": f"current-step://{first.run}"})
        (serving,) = here.sessions() - before
        os.kill(serving, signal.SIGKILL)
        until(lambda: serving not in here.sessions())
        desk.ask("tools/list", {})

        desk.unasked.clear()
        desk.go_on(first.token)
        until(lambda: desk.ask("ping", {}) and desk.unasked)

        assert {told["method"] for told in desk.unasked} >= {"notifications/resources/updated"}


def test_what_the_command_says_and_how_it_ends_come_through(at: Place, here: Resident) -> None:
    env = {**at.env, "XDG_RUNTIME_DIR": here.env["XDG_RUNTIME_DIR"]}

    def said(*words: str) -> tuple[int, str, str]:
        done = handrail("serve", *words, cwd=None, **env)
        return done.status, done.out, done.err

    status, out, err = said("--face", "nonsense")
    assert (status, out) == (2, "")
    assert "'nonsense' is not one of" in err
    status, out, err = said("--help")
    assert (status, err) == (0, "")
    assert out.startswith("Usage: handrail serve")
    assert said("--project", str(at.project), "--store", str(at.store)) == (0, "", "")


def test_a_program_that_is_told_to_end_lets_the_call_under_way_be_answered(at: Place, here: Resident) -> None:
    before = here.sessions()
    with here.pipe(at) as desk:
        first = desk.start()
        desk.ask("tools/list", {})
        (serving,) = here.sessions() - before
        os.kill(serving, signal.SIGSTOP)
        number = desk.post(
            "tools/call", {"name": "workflow_next_step", "arguments": {"execution_id": first.run}}
        )
        desk.process.send_signal(signal.SIGTERM)
        os.kill(serving, signal.SIGCONT)

        assert desk.answer()["id"] == number
        assert desk.ended() == 0


def test_messages_larger_than_any_buffer_go_both_ways(at: Place, here: Resident) -> None:
    with here.pipe(at) as desk:
        first = desk.start()
        text = "A long line of it. " * 40_000
        artifact = {"type": "note", "title": "Long", "content": text}
        second = desk.go_on(first.token, artifacts=[artifact])
        read = desk.ask("resources/read", {"uri": f"workflow-status://{first.run}"})

        assert second.reply["next_step_contract"]["step_name"] == "two"
        assert "result" in read


def test_a_client_that_goes_away_ends_the_session(at: Place, here: Resident) -> None:
    before = here.sessions()
    with here.pipe(at) as desk:
        desk.start()
        desk.kill()
    until(lambda: here.sessions() == before)
