"""One holder at a time, whoever asks; and no lock outlives its holder."""

import os
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from handrail.runtime.errors import Busy
from handrail.stores.files.disk import DiskWorkspace
from helpers.workspace_program import build_command, build_environment, run_child


def _add(root: Path, times: int) -> None:
    disk = DiskWorkspace(root)
    for _ in range(times):
        with disk.lock("lock", 60):
            number = int(disk.read("number") or b"0")
            disk.write("number", b"%d" % (number + 1))


def test_threads_hold_a_lock_one_at_a_time(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as threads:
        for added in [threads.submit(_add, tmp_path, 25) for _ in range(4)]:
            added.result()

    assert DiskWorkspace(tmp_path).read("number") == b"100"


def test_processes_hold_a_lock_one_at_a_time(tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as threads:
        command = build_command("adding", tmp_path, "25")
        assert list(threads.map(lambda _: run_child(command, build_environment()), range(3))) == [
            "25",
            "25",
            "25",
        ]

    assert DiskWorkspace(tmp_path).read("number") == b"75"


def test_a_lock_that_is_held_is_busy_even_for_its_holder(tmp_path: Path) -> None:
    disk = DiskWorkspace(tmp_path)
    with disk.lock("lock", 0), pytest.raises(Busy, match=r"`.*/lock` was held by somebody else") as caught:
        disk.lock("lock", 0).__enter__()

    assert caught.value.repair.startswith("send the same call again")
    with disk.lock("lock", 0):
        assert disk.names("") == ("lock",)


def test_a_lock_is_had_as_soon_as_it_is_let_go(tmp_path: Path) -> None:
    tried = threading.Semaphore(0)

    def waiting() -> None:
        with DiskWorkspace(tmp_path, before=lambda _: tried.release()).lock("lock", 60):
            pass

    with ThreadPoolExecutor(1) as threads:
        with DiskWorkspace(tmp_path).lock("lock", 0):
            waited = threads.submit(waiting)
            assert tried.acquire(timeout=60)
            assert tried.acquire(timeout=60)
            assert not waited.done()
        waited.result(timeout=60)


def test_what_fails_while_a_lock_is_held_is_passed_on_and_lets_go(tmp_path: Path) -> None:
    disk = DiskWorkspace(tmp_path)
    problem = OSError("not of the lock")
    with pytest.raises(OSError, match="not of the lock") as caught, disk.lock("lock", 0):
        raise problem

    assert caught.value is problem
    with disk.lock("lock", 0):
        pass


def _killed(child: "subprocess.Popen[str]") -> None:
    child.kill()


def _let_go(child: "subprocess.Popen[str]") -> None:
    assert child.stdin is not None
    child.stdin.close()


@pytest.mark.parametrize(("end", "status"), [(_killed, -9), (_let_go, 0)])
def test_a_lock_of_another_process_ends_with_it_even_by_kill_9(
    tmp_path: Path, end: Callable[["subprocess.Popen[str]"], None], status: int
) -> None:
    child = subprocess.Popen(
        build_command("holding", tmp_path),
        env=build_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        with pytest.raises(Busy):
            DiskWorkspace(tmp_path).lock("lock", 0).__enter__()
        end(child)
        with DiskWorkspace(tmp_path).lock("lock", 60):
            child.stdout.read()

    assert child.returncode == status


def test_a_lock_is_not_inherited_by_a_program_started_meanwhile(tmp_path: Path) -> None:
    with DiskWorkspace(tmp_path).lock("lock", 0):
        started = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE)
    with started, DiskWorkspace(tmp_path).lock("lock", 0):
        assert started.poll() is None


def test_a_lock_let_go_is_free_even_if_a_forked_process_has_its_file_open(tmp_path: Path) -> None:
    assert run_child(build_command("forked", tmp_path), build_environment()) == ["done", 0]


def test_a_lock_file_replaced_between_opening_and_locking_is_locked_anew(tmp_path: Path) -> None:
    assert run_child(build_command("replaced", tmp_path), build_environment()) == [
        ["open lock", "open lock"],
        "busy",
    ]


def test_no_file_is_left_open(tmp_path: Path) -> None:
    disk = DiskWorkspace(tmp_path)
    before = sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208 - only counted
    with disk.lock("lock", 0), pytest.raises(Busy):
        disk.lock("lock", 0).__enter__()

    assert sorted(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - the same
