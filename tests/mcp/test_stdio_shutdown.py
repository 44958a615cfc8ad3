"""How a server ends: with its client, by a signal, by a failed disk, by a kill; and what is found after."""

import errno
import json
import os
import signal
from pathlib import Path
from typing import Final

import pytest

from handrail.app.faces import StepsStatus
from handrail.runtime.errors import FaultCode
from helpers import faulty_disk
from helpers.replies import find_broken_reply_rules
from helpers.requirement import requirement
from helpers.servers import Pipe, Place, build_note_output, create_place, read_tool_answer, wait_until
from helpers.store_contents import list_changes, read_store_contents
from helpers.store_locks import await_waiting_call, block_writers

pytestmark = pytest.mark.unmeasured
STEPS: Final = ("one", "two", "three", "four", "five", "six")


@pytest.fixture
def mortal(tmp_path: Path) -> Place:
    """A place whose servers are killed: they would tell nothing of what they covered."""
    return create_place(tmp_path / "place", measured=False)


@pytest.mark.parametrize("era", ["auto", "legacy"])
@pytest.mark.parametrize("how", ["end of input", "SIGTERM", "SIGINT"])
def test_a_server_that_must_end_during_a_call_ends_well_and_leaves_nothing_half_done(
    at: Place, how: str, era: str
) -> None:
    with Pipe(at, era=era) as pipe:
        first = pipe.start()
        before = read_store_contents(at.store)
        with block_writers(at):
            arguments = {"step_token": first.token, "model_output_so_far": build_note_output()}
            pipe.post("tools/call", {"name": "workflow_next_step", "arguments": arguments})
            await_waiting_call(at, pipe)
            assert pipe.process.stdin is not None
            if how == "end of input":
                pipe.process.stdin.close()
            else:
                pipe.process.send_signal(signal.Signals[how])
        answer = json.loads(pipe.line())
        assert pipe.line() == b""
        assert pipe.wait_for_end() == 0, pipe.errors()
        assert "Traceback" not in pipe.errors()
    after = read_store_contents(at.store)
    assert after.revision(first.run) == 2 or (list_changes(before, after) == {} and "error" in answer)

    with Pipe(at) as pipe:
        assert pipe.continue_run(first.token).reply["next_step_contract"]["step_name"] == "two"
        assert read_store_contents(at.store).revision(first.run) == 2


def test_a_client_that_is_gone_before_its_first_word_ends_the_server_well(at: Place) -> None:
    with Pipe(at) as pipe:
        assert pipe.close() == 0


NOISE: Final = """
import os, sys, threading, time

def noise():
    while os.readlink("/proc/self/fd/1") != os.readlink("/proc/self/fd/2"):
        time.sleep(0.001)
    while True:
        print("noise of Python", flush=True)
        os.write(1, b"noise of a library\\n")
        os.system("echo noise of a child")
        if sys.stdin.read():
            print("it has read what was for the server", flush=True)
        time.sleep(0.001)

threading.Thread(target=noise, daemon=True).start()
"""

NOISES: Final = ("noise of Python", "noise of a library", "noise of a child")


def test_what_anything_else_prints_or_reads_is_not_on_the_wire(at: Place) -> None:
    noisy = at.folder / "noisy"
    noisy.mkdir()
    (noisy / "sitecustomize.py").write_text(NOISE, "utf-8")
    with Pipe(at, PYTHONPATH=os.pathsep.join([str(noisy), os.environ.get("PYTHONPATH", "")])) as pipe:
        first = pipe.start()
        wait_until(lambda: all(noise in pipe.errors() for noise in NOISES), "all the noise")
        for _ in range(20):
            assert pipe.recover(first.run).code == StepsStatus.OK
        assert "it has read" not in pipe.errors()


@requirement("steps:db.nobuffer")
def test_a_server_whose_disk_has_not_confirmed_a_write_says_so_and_ends_with_75(at: Place) -> None:
    at.store.parent.mkdir(mode=0o700)
    control = at.folder / "control"
    faulty_disk.arm_fault(control, 0)
    with Pipe(at, **faulty_disk.build_fault_environment(at.store.parent, control)) as pipe:
        first = pipe.start()
        faulty_disk.arm_fault(control, 1, errno=errno.EIO, kinds=["fsync"])
        answer = pipe.continue_run(first.token)
        assert faulty_disk.read_call_count(control) >= 1

        assert find_broken_reply_rules(answer) == []
        assert answer.code == FaultCode.SYNC_FAILED
        assert pipe.wait_for_end() == 75, pipe.errors()
    with Pipe(at) as pipe:
        again = pipe.continue_run(first.token)
        assert again.reply["next_step_contract"]["step_name"] == "two"
        assert read_store_contents(at.store).revision(first.run) == 2


@requirement("steps:tool.recover", "steps:db.nobuffer")
def test_a_server_killed_after_every_step_costs_nothing_but_a_recovery(mortal: Place) -> None:
    with Pipe(mortal) as pipe:
        first = pipe.start()
        pipe.kill()
    for step in STEPS:
        with Pipe(mortal) as pipe:
            here = pipe.recover(first.run)
            assert here.reply["next_step_contract"]["step_name"] == step
            last = pipe.continue_run(here.token, summary=f"Did {step}.")
            assert not last.failed
            pipe.kill()

    assert last.reply["status"] == StepsStatus.TASK_CLOSED
    assert last.reply["synthesis"]["model_output"]["steps_completed"] == 6


@requirement("steps:token.retry", "steps:token.once")
@pytest.mark.parametrize("heard", [0, 1, 60, 900])
def test_a_reply_that_is_lost_is_given_again_to_the_byte_by_another_server(mortal: Place, heard: int) -> None:
    with Pipe(mortal) as pipe:
        first = pipe.start()
        message = pipe.request("tools/call", _handed_in(first.token))
        pipe.send(json.dumps(message).encode())
        wait_until(lambda: read_store_contents(mortal.store).revision(first.run) == 2, "the second turn")
        part = pipe.part(heard)
        pipe.kill()
    before = read_store_contents(mortal.store)
    with Pipe(mortal) as pipe:
        lines = []
        for _ in range(2):
            pipe.send(json.dumps(message).encode())
            lines.append(pipe.line())
    assert len(part) == heard
    assert lines[0].startswith(part)
    assert lines[0] == lines[1]
    assert read_tool_answer(json.loads(lines[0])).reply == _recorded(mortal, first.run)
    assert list_changes(before, read_store_contents(mortal.store)) == {}


def _handed_in(token: str) -> dict[str, object]:
    return {
        "name": "workflow_next_step",
        "arguments": {"step_token": token, "model_output_so_far": build_note_output()},
    }


def _recorded(at: Place, run: str) -> object:
    """What the store remembers of the second turn of the only run."""
    tables = read_store_contents(at.store).tables
    assert [row["execution_id"] for row in tables["runs"].values()] == [run]
    (reply,) = [row["reply"] for row in tables["replies"].values() if row["revision"] == 1]
    return json.loads(reply)


def test_a_client_that_reads_no_more_ends_the_server_and_loses_nothing(at: Place) -> None:
    with Pipe(at) as pipe:
        first = pipe.start()
        assert pipe.process.stdout is not None
        pipe.process.stdout.close()
        pipe.post("tools/call", _handed_in(first.token))
        assert pipe.wait_for_end() == 0, pipe.errors()
        assert "Traceback" not in pipe.errors()
    with Pipe(at) as pipe:
        assert pipe.continue_run(first.token).reply["next_step_contract"]["step_name"] == "two"
        assert read_store_contents(at.store).revision(first.run) == 2
