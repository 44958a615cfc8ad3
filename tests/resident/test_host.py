"""The resident server itself: who finds it, who does not, and how it ends."""

import os
import resource
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faces.mcp.desk import BOUND, Place, place
from handrail.resident.messages import MOST
from handrail.resident.relay import told
from resident.desk import Resident, at_rest, resident, until


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Resident]:
    """One that no test ends."""
    with resident(tmp_path_factory.mktemp("resident")) as found:
        yield found


@pytest.fixture
def at(tmp_path: Path) -> Place:
    """A project and a store."""
    return place(tmp_path / "place")


def _socket(here: Resident) -> Path:
    return Path(here.env["XDG_RUNTIME_DIR"]) / "handrail" / "resident" / "socket"


def test_it_is_started_found_and_ended(tmp_path: Path) -> None:
    with at_rest(tmp_path) as here:
        assert here.run("status").out == (
            "no resident server runs; start it: handrail up\nstarted on demand: no\n"
        )
        assert here.run("down").out == "no resident server runs\n"

        up = here.run("up")
        assert (up.status, up.err) == (0, "")
        assert up.out == f"the resident server runs: pid {here.pid}\n"
        assert here.run("up").out == f"the resident server already runs: pid {here.pid}\n"
        taken = here.run("up", "--foreground")
        assert (taken.status, taken.err) == (
            1,
            "handrail: a resident server runs already\n  end it first: handrail down\n",
        )
        assert here.run("up", "--idle", "9").err.endswith("\nError: --idle is for --foreground: say both\n")
        found = here.run("status", "--json").data
        assert found["resident"]["sessions"] == 0
        assert found["on_demand"] is False
        assert stat.S_IMODE(_socket(here).stat().st_mode) == 0o600
        assert stat.S_IMODE(_socket(here).parent.stat().st_mode) == 0o700

        assert here.run("down").out == "the resident server has ended\n"
        assert here.standing is None
        assert not _socket(here).exists()


def test_started_on_demand_it_is_there_for_the_next_program_until_it_is_ended(
    tmp_path: Path,
) -> None:
    at = place(tmp_path / "place", measured=False)
    with at_rest(tmp_path) as here:
        assert here.run("up", "--on-demand").status == 0
        os.kill(here.pid, signal.SIGTERM)
        until(lambda: not here.there)
        config = here.env["XDG_CONFIG_HOME"]

        with here.pipe(at, XDG_CONFIG_HOME=config) as first:
            assert first.start().reply["next_step_contract"]["step_name"] == "one"
        until(lambda: here.there)
        with here.pipe(at, XDG_CONFIG_HOME=config) as second:
            second.start()
            assert len(here.sessions()) == 1

        here.run("down")
        with here.pipe(at, XDG_CONFIG_HOME=config) as last:
            last.start()
        assert here.standing is None


def test_sessions_go_on_when_the_resident_server_is_killed_and_the_next_serves_by_itself(
    tmp_path: Path,
) -> None:
    at = place(tmp_path / "place", measured=False)
    with at_rest(tmp_path) as here:
        up = here.run("up")
        assert up.status == 0, up.err
        with here.pipe(at) as desk:
            first = desk.start()
            assert len(here.sessions()) == 1
            os.kill(here.pid, signal.SIGKILL)
            until(lambda: not here.there)

            assert desk.go_on(first.token).reply["next_step_contract"]["step_name"] == "two"
            with here.pipe(at) as other:
                assert other.recover(first.run).reply["next_step_contract"]["step_name"] == "two"


def test_only_the_same_program_in_the_same_environment_of_python_is_served(at: Place, here: Resident) -> None:
    for env in ({"LANG": "tlh"}, {"HANDRAIL_RESIDENT": "off"}):
        with here.pipe(at, **env) as desk:
            desk.start()
            assert here.sessions() == set()
    with here.pipe(at) as desk:
        desk.start()
        assert len(here.sessions()) == 1


def test_a_folder_that_others_may_enter_or_that_is_anothers_is_not_trusted(at: Place, here: Resident) -> None:
    folder = _socket(here).parent
    for mode, owner in ((0o750, os.geteuid()), (0o700, 65534)):
        folder.chmod(mode)
        os.chown(folder, owner, -1)
        with here.pipe(at) as desk:
            desk.start()
        refused = here.run("up", "--foreground")
        folder.chmod(0o700)
        os.chown(folder, os.geteuid(), -1)
        assert here.sessions() == set()
        assert refused.status == 1
        assert "is not a folder that only you may enter" in refused.err


def test_nonsense_at_the_socket_reaches_nobody(at: Place, here: Resident) -> None:
    for said in (b"", b"x", b"99999999", b"      -1", b"       3abc", b"       0", b"\0" * 100):
        with socket.socket(socket.AF_UNIX) as other:
            other.connect(str(_socket(here)))
            other.sendall(said)
            other.shutdown(socket.SHUT_WR)
            assert other.recv(100) == b""
    with here.pipe(at) as desk:
        assert desk.start().reply["next_step_contract"]["step_name"] == "one"


def test_a_path_that_is_too_long_for_a_socket_is_told_and_serving_goes_on_without(
    at: Place, tmp_path: Path
) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()
    with at_rest(tmp_path) as here:
        there = Resident({**here.env, "XDG_RUNTIME_DIR": str(long)})
        refused = there.run("up", "--foreground")
        assert refused.status == 1
        assert "is too long for a socket" in refused.err
        with there.pipe(at) as desk:
            assert desk.start().reply["next_step_contract"]["step_name"] == "one"


def test_without_a_descriptor_left_it_rests_and_who_came_serves_by_itself(tmp_path: Path) -> None:
    at = place(tmp_path / "place")
    with resident(tmp_path / "place") as here:
        host = here.pid
        last = max(int(one.name) for one in Path(f"/proc/{host}/fd").iterdir())
        before = resource.prlimit(host, resource.RLIMIT_NOFILE)
        resource.prlimit(host, resource.RLIMIT_NOFILE, (last + 1, before[1]))
        spent = _ticks(host)

        with here.pipe(at) as desk:
            assert desk.start().reply["next_step_contract"]["step_name"] == "one"

        spent = _ticks(host) - spent
        resource.prlimit(host, resource.RLIMIT_NOFILE, before)
        assert spent < os.sysconf("SC_CLK_TCK") / 10
        assert here.pid == host


def test_a_session_whose_relay_was_killed_ends_without_a_word(at: Place, here: Resident) -> None:
    desk = here.pipe(at)
    desk.start()
    (session,) = here.sessions()

    desk.kill()

    until(lambda: not Path(f"/proc/{session}").exists())
    assert desk.errors() == ""


_NO_FORK = """\
import os, sys
def fork():
    raise BlockingIOError
os.fork = fork
sys.argv[1:] = ["up", "--foreground"]
from handrail.app import main
main()
"""


def test_who_comes_when_a_fork_is_refused_as_root_never_is_serves_by_itself_and_the_server_stays(
    tmp_path: Path,
) -> None:
    at = place(tmp_path / "place", measured=False)
    with at_rest(tmp_path) as here:
        words, env = [sys.executable, "-c", _NO_FORK], {**os.environ, **here.env}
        with subprocess.Popen(words, env=env, cwd=tmp_path) as host:
            until(lambda: here.there or host.poll() is not None)
            with here.pipe(at) as desk:
                assert desk.start().reply["next_step_contract"]["step_name"] == "one"
            assert host.poll() is None
            host.send_signal(signal.SIGTERM)
            assert host.wait(BOUND) == 0


def _ticks(process: int) -> int:
    """How long a process has worked."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


class _Answered(socket.socket):
    """A connection whose other end has read, answered and closed as soon as the last byte is out."""

    other: socket.socket

    def sendmsg(self, *words: Any) -> int:  # noqa: ANN401 - as the one it stands for
        sent = super().sendmsg(*words)
        assert len(self.other.recv(MOST)) == sent
        self.other.sendall(b"answer")
        self.other.close()
        return sent


def test_an_answer_that_is_faster_than_asking_which_no_real_server_gives_at_will_is_read() -> None:
    ours, other = socket.socketpair()
    with _Answered(fileno=ours.detach()) as asked:
        asked.other = other
        told(asked, ())
        assert asked.recv(99) == b"answer"
