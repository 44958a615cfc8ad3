"""deploy/handrail.service as systemd sees it, and what a server asks of the system beside what it may."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Final

import anyio
import pytest
from mcp import Client

from helpers.crash import build_unmeasured_environment
from helpers.deploy_files import read_deploy_file, read_unit, read_unit_settings
from helpers.http_servers import FACES, run_http_program
from helpers.program import PROGRAM
from helpers.servers import TOOL, Place, create_place
from helpers.tenants import GOAL, create_repository

pytestmark = pytest.mark.unmeasured
ANALYZE: Final = "systemd-analyze"


def analyzed(*words: str) -> "subprocess.CompletedProcess[str]":
    assert shutil.which(ANALYZE), "systemd-analyze is missing: run tools/setup packages"
    return subprocess.run([ANALYZE, *words], check=False, capture_output=True, text=True)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """The unit, with the program where it is here."""
    path = tmp_path / "handrail.service"
    path.write_text(
        read_deploy_file("handrail.service").replace("/opt/handrail/bin/handrail", str(PROGRAM)), "utf-8"
    )
    return path


def test_systemd_finds_nothing_wrong_with_the_unit(written: Path) -> None:
    done = analyzed("verify", "--man=no", str(written))

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_is_misspelt_in_a_unit_is_found(written: Path) -> None:
    written.write_text(written.read_text("utf-8").replace("ProtectHome=", "ProtectHmoe="), "utf-8")

    assert "ProtectHmoe" in analyzed("verify", "--man=no", str(written)).stderr


def test_the_service_is_open_to_little(written: Path) -> None:
    """Of a hundred, where a hundred is a service that may do everything; 14 when this was written."""
    done = analyzed("security", "--offline=true", "--threshold=20", "--no-pager", str(written))
    assert done.returncode == 0, done.stdout

    written.write_text(
        re.sub(r"^(Protect|Restrict|SystemCall).*\n", "", written.read_text("utf-8"), flags=re.MULTILINE)
    )
    assert analyzed("security", "--offline=true", "--threshold=20", str(written)).returncode == 1


def filtered(name: str) -> set[str]:
    """The system calls of a set of systemd's, and of the sets in it."""
    done = analyzed("syscall-filter", name)
    words = [line.strip() for line in done.stdout.splitlines()[1:]]
    calls = {word for word in words if re.fullmatch(r"[a-z]\w*", word)}
    return calls.union(*(filtered(word) for word in words if word.startswith("@")))


def allowed() -> set[str]:
    found: set[str] = set()
    for key, value in read_unit("handrail.service"):
        if key == "SystemCallFilter":
            names = value.removeprefix("~").split()
            calls = set().union(*map(filtered, names))
            found = found - calls if value.startswith("~") else found | calls
    return found


async def _work(url: str) -> None:
    """A run in the store, and a plan in a commit, for which git is started."""
    asked = (("steps", TOOL, {"template_name": "brief"}), ("planner", "set_overarching_goal", {"goal": GOAL}))
    for face, tool, given in asked:
        async with Client(f"{url}/mcp/{face}") as client:
            answer = await client.call_tool(tool, given)
            assert not answer.is_error, answer


@pytest.fixture
def at(tmp_path: Path) -> Place:
    made = create_place(tmp_path / "place", measured=False)
    create_repository(made.project, made.env)
    return made


@pytest.fixture
def traced(at: Place) -> set[str]:
    """The system calls of a server, and of the programs it has started, from its start to its end."""
    assert shutil.which("strace"), "strace is missing: run tools/setup packages"
    counted = at.folder / "calls"
    words = ("strace", "-f", "-c", "-U", "name", "-o", str(counted), *at.words("--http", "127.0.0.1:0"))
    with run_http_program(at, words, {**build_unmeasured_environment(), **at.env}, FACES) as served:
        anyio.run(_work, f"http://127.0.0.1:{served.port}")
        (child,) = _children(served.process.pid)
        os.kill(child, signal.SIGTERM)
        assert served.process.wait(60) == 0
    return set(counted.read_text().split()) - {"syscall", "total"}


def _children(process: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def test_a_server_at_work_makes_no_system_call_that_the_unit_forbids(traced: set[str]) -> None:
    assert {"execve", "accept4", "flock", "fdatasync"} <= traced
    as_root = (
        {"fchown"} if os.geteuid() == 0 else set()
    )  # SQLite asks for it then, and the service is not root
    assert sorted(call for call in traced - allowed() if re.fullmatch(r"[a-z]\w*", call)) == sorted(as_root)


def test_what_the_unit_forbids_is_forbidden() -> None:
    assert {"read", "execve", "prlimit64"} <= allowed()
    assert allowed() & {"mount", "ptrace", "reboot", "chown", "setuid", "bpf"} == set()
    assert read_unit_settings("handrail.service")["SystemCallErrorNumber"] == "EPERM"
