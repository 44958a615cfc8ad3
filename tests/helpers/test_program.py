"""The program as tests start it: a fork of a process that has imported it does what a new process does."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from helpers.forks import PROGRAM, ForkedProcess, can_fork
from helpers.program import run_handrail

pytestmark = pytest.mark.unmeasured


@pytest.mark.parametrize(
    "words",
    [
        ("--version",),
        ("workflows", "list"),
        ("workflows", "check", "nothing.yaml"),
        ("store", "path"),
        ("nothing",),
    ],
    ids=" ".join,
)
def test_a_fork_says_what_a_new_process_says_and_ends_as_it_does(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    env = {**os.environ, "HANDRAIL_STORE": "mine.db"}
    assert can_fork(PROGRAM, env)

    said = run_handrail(*words, cwd=tmp_path, HANDRAIL_STORE="mine.db")

    new = subprocess.run(
        [PROGRAM, *words], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert (said.status, said.out, said.err) == (new.returncode, new.stdout, new.stderr)


@pytest.mark.parametrize("name", ["LD_PRELOAD", "PYTHONPATH", "LC_ALL"])
def test_variables_that_are_read_before_the_program_begins_ask_for_a_new_process(name: str) -> None:
    assert not can_fork(PROGRAM, {**os.environ, name: "/somewhere"})
    assert not can_fork("strace", os.environ)


def test_a_fork_that_is_killed_tells_by_which_signal(tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    with Path(os.devnull).open("w") as none:
        words = ["serve", "--project", str(tmp_path / "project"), "--store", str(tmp_path / "store.db")]
        (tmp_path / "project" / ".handrail").mkdir(parents=True)
        served = ForkedProcess(words, os.environ, tmp_path, [ours, none.fileno(), none.fileno()])
        os.close(ours)

    assert served.poll() is None
    served.send_signal(signal.SIGKILL)

    assert served.wait(60) == -signal.SIGKILL
    assert served.poll() == -signal.SIGKILL
    os.close(theirs)
