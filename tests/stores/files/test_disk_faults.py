"""What the world can do to a workspace: every call fails once, the disk is full, rights are gone."""

import errno
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.runtime import errors
from handrail.runtime.errors import FAULTS, FaultCode, SyncFailed
from handrail.stores.files.disk import DiskWorkspace
from helpers import faulty_disk
from helpers.crash import Record
from helpers.workspace_program import build_command, build_environment, run_child

POINTS, FSYNCS = 34, 10


def _controlled(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A root, and the environment of a child whose calls below it are under control."""
    root, control = tmp_path / "root", tmp_path / "control"
    root.mkdir()
    faulty_disk.arm_fault(control, 0)
    return root, build_environment(**faulty_disk.build_fault_environment(root, control))


def test_every_call_that_fails_is_a_fault_and_afterwards_all_works(
    tmp_path: Path, record_property: Record
) -> None:
    root, under = _controlled(tmp_path)
    wanted = {
        errno.EIO: {"sync_failed": POINTS},
        errno.ENOSPC: {"disk_full": POINTS - FSYNCS, "sync_failed": FSYNCS},
        errno.EDQUOT: {"disk_full": POINTS - FSYNCS, "sync_failed": FSYNCS},
        errno.EACCES: {"not_writable": POINTS - FSYNCS, "sync_failed": FSYNCS},
        errno.EROFS: {"not_writable": POINTS - FSYNCS, "sync_failed": FSYNCS},
        errno.EMFILE: {"not_writable": POINTS - FSYNCS, "sync_failed": FSYNCS},
        errno.EINTR: {"done": POINTS - 6, "not_writable": 6},
        0: {"done": POINTS},
    }

    found = run_child(build_command("failing", root, *map(str, wanted)), under)

    record_property("points", sum(len(outcomes) for outcomes in found.values()))
    counted = {
        int(number): {outcome: outcomes.count(outcome) for outcome in set(outcomes)}
        for number, outcomes in found.items()
    }
    assert counted == wanted


def test_a_process_killed_at_any_call_leaves_nothing_that_stands_in_the_way(
    tmp_path: Path, record_property: Record
) -> None:
    root, under = _controlled(tmp_path)

    points = run_child(build_command("killed", root), under)

    record_property("points", points)
    assert points == POINTS


@pytest.fixture
def tiny(tmp_path: Path) -> Callable[[str, str], Any]:
    """Runs a child on a file system of 64 KiB, or `None` where nothing may be mounted."""
    place = tmp_path / "tiny"
    place.mkdir()

    def run(script: str, what: str) -> Any:  # noqa: ANN401 - what JSON holds
        mount = f'mount -t tmpfs -o size=64k none "$0" || exit 111; {script} exec "$@"'
        command = ["unshare", "-rm", "sh", "-c", mount, f"{place}", *build_command(what, place)]
        done = subprocess.run(
            command, env=build_environment(), capture_output=True, text=True, timeout=60, check=False
        )
        if done.returncode == 111 or "unshare failed" in done.stderr:
            return None
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_a_full_disk_is_said_and_freed_room_is_used(tmp_path: Path, tiny: Callable[[str, str], Any]) -> None:
    real = tiny("", "full")
    root, under = _controlled(tmp_path)
    simulated = faulty_disk.run_with_fault(
        build_command("full", root), root, 3, errno=errno.ENOSPC, kinds=["write"], env=under
    )

    assert real in (["done", "disk_full", "disk_full", "old", "done"], None)
    assert json.loads(simulated.stdout) == ["done", "disk_full", "done", "old", "done"]


READ_ONLY = {
    "read": "done",
    "names": "done",
    "write": FaultCode.NOT_WRITABLE,
    "new": FaultCode.NOT_WRITABLE,
    "append": FaultCode.NOT_WRITABLE,
    "rename": FaultCode.NOT_WRITABLE,
    "unlink": FaultCode.NOT_WRITABLE,
    "mkdir": FaultCode.NOT_WRITABLE,
    "lock": FaultCode.NOT_WRITABLE,
}


def test_a_read_only_file_system_can_be_read(tmp_path: Path, tiny: Callable[[str, str], Any]) -> None:
    made = 'mkdir "$0/open"; echo x > "$0/open/plan.md"; mount -o remount,ro "$0" || exit 111;'
    real = tiny(made, "mounted")
    root, under = _controlled(tmp_path)
    (root / "open").mkdir()
    (root / "open" / "plan.md").write_bytes(b"x")
    simulated = faulty_disk.run_with_fault(
        build_command("mounted", root), root, 1, errno=errno.EROFS, lasting=True, env=under
    )

    assert real in (READ_ONLY, None)
    assert json.loads(simulated.stdout) == READ_ONLY


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A folder that every user can enter."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    for path in folder.iterdir():
        path.chmod(0o700)
    shutil.rmtree(folder)


def test_who_may_only_read_is_told_so(reachable: Path) -> None:
    for name, mode in (("open", 0o555), ("closed", 0o000)):
        folder = reachable / name
        folder.mkdir()
        (folder / "plan.md").write_bytes(b"x")
        (folder / "closed.md").write_bytes(b"x")
        (folder / "plan.md").chmod(0o444)
        (folder / "closed.md").chmod(0o000)
        folder.chmod(mode)

    assert run_child(build_command("read-only", reachable), build_environment()) == {
        **READ_ONLY,
        "read closed": "unreadable",
        "names closed": "unreadable",
        "write closed": FaultCode.NOT_WRITABLE,
    }


@pytest.mark.parametrize("call", ["fsync", "write"])
def test_once_the_disk_is_in_doubt_nothing_more_is_changed_faked_as_no_real_disk_fails_on_demand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    disk = DiskWorkspace(tmp_path)
    disk.write("plan.md", b"old")
    with monkeypatch.context() as patch:
        patch.setattr(os, call, _refused)
        with pytest.raises(SyncFailed, match=r"did not confirm `.*/staged`: Input/output error"):
            disk.write("staged", b"new")
    acts: list[Callable[[], object]] = [
        lambda: disk.write("staged", b"new"),
        lambda: disk.append("plan.md", b"new"),
        lambda: disk.rename("staged", "plan.md"),
        lambda: disk.unlink("plan.md"),
        lambda: disk.mkdir("sub"),
        lambda: disk.sync(""),
        lambda: disk.lock("lock", 1).__enter__(),
    ]
    for act in acts:
        with pytest.raises(SyncFailed, match="nothing is changed below") as caught:
            act()
        assert caught.value.repair == "start the program again: it looks at what is there"

    assert disk.read("plan.md") == b"old"
    assert disk.names("") == ("plan.md", "staged")
    DiskWorkspace(tmp_path).rename("staged", "plan.md")


def _refused(*_: object) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


@pytest.mark.parametrize(
    ("number", "reading", "changing"),
    [
        (errno.ELOOP, FaultCode.UNSAFE_PATH, FaultCode.UNSAFE_PATH),
        (errno.ENOTDIR, FaultCode.UNSAFE_PATH, FaultCode.UNSAFE_PATH),
        (errno.EISDIR, FaultCode.UNSAFE_PATH, FaultCode.UNSAFE_PATH),
        (errno.ENXIO, FaultCode.UNSAFE_PATH, FaultCode.UNSAFE_PATH),
        (errno.EEXIST, FaultCode.UNSAFE_PATH, FaultCode.UNSAFE_PATH),
        (errno.ENOENT, "missing", "missing"),
        (errno.ENOSPC, "unreadable", "disk_full"),
        (errno.EDQUOT, "unreadable", "disk_full"),
        (errno.EFBIG, "unreadable", "disk_full"),
        (errno.EIO, "unreadable", FaultCode.SYNC_FAILED),
        (errno.EACCES, "unreadable", FaultCode.NOT_WRITABLE),
        (errno.EPERM, "unreadable", FaultCode.NOT_WRITABLE),
        (errno.EROFS, "unreadable", FaultCode.NOT_WRITABLE),
        (errno.ENOLCK, "unreadable", FaultCode.NOT_WRITABLE),
    ],
)
def test_every_error_of_the_system_is_one_fault(number: int, reading: str, changing: str) -> None:
    error = OSError(number, os.strerror(number))
    built = (errors.build_read_fault, errors.build_write_fault, errors.build_sync_fault)
    read, changed, synced = (build("/a/plan.md", error) for build in built)

    assert (read.code, changed.code) == (reading, changing)
    for fault in (read, changed, synced):
        assert "`/a/plan.md`" in fault.message
        assert fault.repair
        assert type(fault) in FAULTS
