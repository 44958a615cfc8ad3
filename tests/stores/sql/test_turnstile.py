"""The turnstile: one at a time, again inside, and nobody waits for ever."""

import subprocess
import sys
from pathlib import Path
from threading import Event as Signal
from threading import Thread

import pytest

from handrail.runtime.errors import Busy
from handrail.stores.sql.sqlite import Turnstile

INSIDE = """
import fcntl, os, sys
file = os.open(sys.argv[1] + ".service", os.O_RDWR)
fcntl.flock(file, fcntl.LOCK_EX)
print("inside", flush=True)
sys.stdin.read()
"""


def _stuck(file: Path) -> "subprocess.Popen[str]":
    """Another process that went inside and does not come out."""
    process = subprocess.Popen(
        [sys.executable, "-c", INSIDE, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdout.readline() == "inside\n"
    return process


def test_whoever_waits_too_long_is_told_and_leaves_the_queue_to_the_next(tmp_path: Path) -> None:
    file = tmp_path / "handrail.db"
    gates = [Turnstile(file, patience=0.05) for _ in range(2)]
    with _stuck(file) as stuck:
        for gate in gates:
            with pytest.raises(Busy, match="another process has been writing") as caught, gate.pass_through():
                pytest.fail("nobody may be inside with another")
            assert "end the Handrail process that hangs" in caught.value.repair
        stuck.kill()
        stuck.wait(10)
        for gate in gates:
            with gate.pass_through():
                pass
    for gate in gates:
        gate.close()


def test_the_lock_of_a_process_that_ends_is_free(tmp_path: Path) -> None:
    file = tmp_path / "handrail.db"
    gate = Turnstile(file)
    with _stuck(file) as stuck:
        entered, may_leave = Signal(), Signal()

        def enter() -> None:
            with gate.pass_through():
                entered.set()
                may_leave.wait(10)

        thread = Thread(target=enter)
        thread.start()
        assert not entered.wait(0.1)
        stuck.kill()
        assert entered.wait(10)
        may_leave.set()
        thread.join()
    gate.close()


def test_it_may_be_passed_again_inside_and_is_let_go_at_the_outermost_end(tmp_path: Path) -> None:
    file = tmp_path / "handrail.db"
    mine, other = Turnstile(file), Turnstile(file, patience=0)
    with mine.pass_through():
        with mine.pass_through(), pytest.raises(Busy), other.pass_through():
            pytest.fail("nobody may be inside with another")
        with pytest.raises(Busy), other.pass_through():
            pytest.fail("nobody may be inside with another")
    with other.pass_through():
        pass
    mine.close()
    other.close()


def test_what_fails_inside_lets_the_next_one_in(tmp_path: Path) -> None:
    file = tmp_path / "handrail.db"
    mine, other = Turnstile(file), Turnstile(file, patience=0)
    with pytest.raises(KeyError), mine.pass_through():
        raise KeyError(file)
    with other.pass_through():
        pass
    mine.close()
    other.close()
