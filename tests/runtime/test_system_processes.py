"""Programs run to their end, within their limits, and leave nobody behind."""

import os
import select
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from handrail.runtime.errors import Busy, Missing, Unreadable, UnsafePath
from handrail.runtime.ports.turn import ProcessResult, ProcessRunner
from handrail.runtime.system import SubprocessRunner

ENV = {"PATH": "/usr/bin:/bin"}
LONG = 60.0


def _shell(
    script: str, folder: Path, seconds: float = LONG, most: int = 1 << 20, grace: float = 0.1
) -> ProcessResult:
    return SubprocessRunner(ENV, most, grace).run(("sh", "-c", script), f"{folder}", seconds)


def _until(holds: Callable[[], bool]) -> None:
    """Wait for what another process is about to do."""
    end = time.monotonic() + LONG
    while not holds():
        assert time.monotonic() < end, "it never came to be"
        select.select([], [], [], 0.01)


def _gone(pid: int) -> bool:
    """True if the process has ended, whether or not its new parent has noticed."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in {"Z", "X"}
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_the_output_and_the_status_of_a_program_are_returned(tmp_path: Path) -> None:
    runner: ProcessRunner = SubprocessRunner(ENV)

    assert runner.run(("printf", "a\\0b"), f"{tmp_path}", LONG) == ProcessResult(0, b"a\0b", b"")
    assert _shell("echo out; echo err >&2; exit 3", tmp_path) == ProcessResult(3, b"out\n", b"err\n")
    assert _shell("kill -9 $$", tmp_path) == ProcessResult(-9, b"", b"")


def test_words_are_never_read_by_a_shell(tmp_path: Path) -> None:
    said = SubprocessRunner(ENV).run(("echo", "; touch x", "$HOME", "*", "-e"), f"{tmp_path}", LONG)

    assert said.out == b"; touch x $HOME * -e\n"
    assert list(tmp_path.iterdir()) == []


def test_a_program_sees_the_given_environment_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", "/evil")
    said = SubprocessRunner({**ENV, "ONE": "1"}).run(("env",), f"{tmp_path}", LONG)

    assert sorted(said.out.split()) == [b"ONE=1", b"PATH=/usr/bin:/bin"]


def test_a_program_is_looked_for_where_its_environment_says(tmp_path: Path) -> None:
    program = tmp_path / "here"
    program.write_text("#!/bin/sh\necho found\n")
    program.chmod(0o700)

    assert SubprocessRunner({"PATH": f"{tmp_path}"}).run(("here",), "/", LONG).out == b"found\n"
    with pytest.raises(Missing, match="the program `here` is not there") as caught:
        SubprocessRunner(ENV).run(("here",), f"{tmp_path}", LONG)
    assert caught.value.repair == "install it, or put the folder it is in into PATH"


def test_a_program_runs_in_its_folder_and_in_a_session_of_its_own(tmp_path: Path) -> None:
    assert _shell("pwd", tmp_path).out == f"{tmp_path}\n".encode()
    own, session = _shell("cut -d' ' -f1,6 /proc/$$/stat", tmp_path).out.split()
    assert own == session


def test_input_comes_from_a_file_or_is_empty(tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(b"text\0" * 100_000)

    assert (
        SubprocessRunner(ENV).run(("cat",), f"{tmp_path}", LONG, f"{tmp_path / 'input'}").out
        == b"text\0" * 100_000
    )
    assert SubprocessRunner(ENV).run(("cat",), f"{tmp_path}", LONG).out == b""


def test_input_that_is_not_there_or_no_file_is_a_fault(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    runner = SubprocessRunner(ENV)
    with pytest.raises(Missing, match=r"`.*/none`"):
        runner.run(("cat",), f"{tmp_path}", LONG, f"{tmp_path / 'none'}")
    for path in (tmp_path / "fifo", tmp_path):
        with pytest.raises(UnsafePath, match="is no regular file"):
            runner.run(("cat",), f"{tmp_path}", LONG, f"{path}")


def test_a_program_inherits_the_files_it_is_given_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "given").write_bytes(b"given")
    given, other = (os.open(tmp_path / "given", os.O_RDONLY) for _ in range(2))
    try:
        words = ("sh", "-c", f"cat /proc/self/fd/{given}; cat /proc/self/fd/{other}")
        said = SubprocessRunner(ENV).run(words, f"{tmp_path}", LONG, files=(given,))
    finally:
        os.close(given)
        os.close(other)

    assert (said.status, said.out) == (1, b"given")


def test_a_folder_that_is_not_there_or_none_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(Missing, match=r"`.*/none`"):
        _shell("true", tmp_path / "none")
    with pytest.raises(UnsafePath, match=r"`.*/file`"):
        _shell("true", tmp_path / "file")


@pytest.mark.parametrize(("mode", "why"), [(0o600, "Permission denied"), (0o700, "Exec format error")])
def test_a_program_that_cannot_be_started_says_why(tmp_path: Path, mode: int, why: str) -> None:
    (tmp_path / "program").write_bytes(b"\x7fELF, it says")
    (tmp_path / "program").chmod(mode)
    with pytest.raises(Unreadable, match=why):
        SubprocessRunner(ENV).run((f"{tmp_path / 'program'}",), f"{tmp_path}", LONG)


@pytest.mark.parametrize("stream", ["1", "2"])
def test_a_program_may_say_so_much_and_no_more(tmp_path: Path, stream: str) -> None:
    script = f"head -c {{}} /dev/zero >&{stream}"
    said = _shell(script.format(100_000), tmp_path, most=100_000)

    assert len(said.out + said.err) == 100_000
    with pytest.raises(Unreadable, match="`sh` said more than 100000 bytes and was ended"):
        _shell(script.format(100_001), tmp_path, most=100_000)


def test_a_program_that_never_stops_talking_is_ended(tmp_path: Path) -> None:
    with pytest.raises(Unreadable):
        _shell("echo $$ > pid; exec yes", tmp_path)

    assert not Path(f"/proc/{int((tmp_path / 'pid').read_text())}").exists()


def _when_time_is_up(script: str, folder: Path) -> None:
    """Run what does not end by itself, with more time if it did not even begin."""
    for seconds in (0.2, 1.0, 5.0, 25.0):
        with pytest.raises(Busy, match=f"`sh` was not done after {seconds:g} s and was ended"):
            _shell(script, folder, seconds)
        if (folder / "pid").exists():
            return
    pytest.fail("it never began")


def test_a_program_whose_time_is_up_is_asked_to_end(tmp_path: Path) -> None:
    script = 'trap "echo asked > asked; exit" TERM; echo $$ > pid; while :; do :; done'
    _when_time_is_up(script, tmp_path)

    assert (tmp_path / "asked").read_text() == "asked\n"


@pytest.mark.parametrize(
    "script", ['trap "" TERM; echo $$ > pid; exec cat fifo', "echo $$ > pid; kill -STOP $$"]
)
def test_a_program_that_does_not_end_when_asked_is_made_to_and_leaves_no_zombie(
    tmp_path: Path, script: str
) -> None:
    os.mkfifo(tmp_path / "fifo")
    _when_time_is_up(script, tmp_path)

    assert not Path(f"/proc/{int((tmp_path / 'pid').read_text())}").exists()


def test_what_a_program_started_ends_with_it_even_if_it_ended_well(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    said = _shell("cat fifo & echo $!", tmp_path)

    assert said.status == 0
    _until(lambda: _gone(int(said.out)))


def test_what_a_program_started_ends_with_it_when_time_is_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    _when_time_is_up('cat fifo & echo $! > child; echo $$ > pid; trap "" TERM; while :; do :; done', tmp_path)

    _until(lambda: _gone(int((tmp_path / "child").read_text())))


def test_what_went_into_a_session_of_its_own_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    said = _shell(
        "setsid sh -c 'echo $$ > pid; exec cat fifo' & while [ ! -s pid ]; do :; done; echo ok", tmp_path
    )
    escaped = int((tmp_path / "pid").read_text())
    try:
        assert said == ProcessResult(0, b"ok\n", b"")
        assert not _gone(escaped)
    finally:
        os.kill(escaped, signal.SIGKILL)


def test_a_program_that_closes_its_streams_is_waited_for(tmp_path: Path) -> None:
    script = "exec >&- 2>&-; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done > done; exit 4"

    assert _shell(script, tmp_path).status == 4
    assert (tmp_path / "done").exists()


def test_no_file_is_left_open(tmp_path: Path) -> None:
    before = sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208 - only counted
    (tmp_path / "input").write_bytes(b"x")
    SubprocessRunner(ENV).run(("cat",), f"{tmp_path}", LONG, f"{tmp_path / 'input'}")
    with pytest.raises(Unreadable):
        _shell("yes", tmp_path)
    with pytest.raises(Missing):
        SubprocessRunner(ENV).run(("no-such-program",), f"{tmp_path}", LONG)

    assert sorted(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - the same
