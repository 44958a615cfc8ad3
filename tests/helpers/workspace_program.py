"""What tests have a process of its own do with a workspace: `workspace_program.py WHAT ROOT [WORD ...]`.

Each answers with one JSON value on stdout. The calls of those that count points are under the control of
faulty_disk.py; `FAULTS_CONTROL` names the file.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from handrail.runtime.errors import Fault
from handrail.stores.files.disk import DiskWorkspace
from helpers import faulty_disk

NOBODY = 65534


def run_every_operation(root: Path) -> None:
    """Every operation that changes something, in a workspace that may have been left in the middle of it."""
    disk = DiskWorkspace(root, "ai/task")
    disk.mkdir("")
    with disk.lock("lock", 10):
        disk.write("model", b"")
        disk.mkdir("sub")
        disk.write("plan.md", b"one")
        (root / "ai/task/plan.md").chmod(0o640)
        disk.write("plan.md", b"a longer text", like="plan.md")
        disk.unlink("history")
        disk.append("history", b"line 1\n")
        disk.append("history", b"line 2\n")
        disk.write("staged", b"staged")
        disk.rename("staged", "sub/staged")
        disk.sync("sub")
        disk.unlink("model")
        disk.sync("")


def _tree(root: Path) -> dict[str, str]:
    return {
        f"{path.relative_to(root)} {path.stat().st_mode & 0o777:o}": path.read_text()
        if path.is_file()
        else ""
        for path in sorted(root.rglob("*"))
    }


def _outcome(act: Callable[[], object]) -> str:
    try:
        act()
    except Fault as fault:
        return fault.code if fault.message and fault.repair else f"unexplained {fault!r}"
    except OSError as error:
        return f"raw {error!r}"
    return "done"


def _control() -> Path:
    return Path(os.environ["FAULTS_CONTROL"])


def _counted(root: Path) -> int:
    faulty_disk.arm_fault(_control(), 0)
    run_every_operation(root)
    return faulty_disk.read_call_count(_control())


def fail_calls(root: Path, *numbers: str) -> object:
    """For every errno (0: a short write) and every k: what came of it, then that it works, and what is left.

    Every round begins in an empty folder.
    """
    points = _counted(root)
    good, descriptors = _tree(root), len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - only counted
    found: dict[str, list[str]] = {number: [] for number in numbers}
    for number in numbers:
        for k in range(1, points + 1):
            _emptied(root)
            faulty_disk.arm_fault(_control(), k, errno=int(number))
            found[number].append(_outcome(lambda: run_every_operation(root)))
            faulty_disk.arm_fault(_control(), 0)
            assert len(os.listdir("/proc/self/fd")) == descriptors, f"{k}: a file is left open"  # noqa: PTH208 - the same
            run_every_operation(root)
            assert _tree(root) == good, f"{number} at {k}: {_tree(root)}"
    return found


def kill_at_calls(root: Path) -> object:
    """How many times a process was killed at a call, each time another; afterwards all is as it should be."""
    points = _counted(root)
    good = _tree(root)
    for k in range(1, points + 1):
        _emptied(root)
        faulty_disk.arm_fault(_control(), k, kill=True)
        if not (child := os.fork()):
            run_every_operation(root)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -9, k
        faulty_disk.arm_fault(_control(), 0)
        run_every_operation(root)
        assert _tree(root) == good, f"{k}: {_tree(root)}"
    return points


def _emptied(root: Path) -> None:
    for path in sorted(root.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


def fill_disk(root: Path) -> object:
    """What is said when there is no room, what is there then, and what is said when there is room again."""
    disk = DiskWorkspace(root)
    small, large = (
        _outcome(lambda: disk.write("old", b"old")),
        _outcome(lambda: disk.write("new", b"x" * 200_000)),
    )
    more = _outcome(lambda: disk.append("old", b"x" * 200_000))
    start = (disk.read("old") or b"")[:3].decode()
    disk.unlink("new")
    disk.unlink("old")
    return [small, large, more, start, _outcome(lambda: disk.write("new", b"new"))]


def try_without_rights(root: Path) -> object:
    """What a user without any rights is told about a folder he may read, and about one he may not."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    disk, closed = DiskWorkspace(root, "open"), DiskWorkspace(root, "closed")
    return {
        **_tried(disk),
        "read closed": _outcome(lambda: disk.read("closed.md")),
        "names closed": _outcome(lambda: closed.names("")),
        "write closed": _outcome(lambda: closed.write("plan.md", b"x")),
    }


def try_read_only_mount(root: Path) -> object:
    """What is said of a folder on a file system that is only for reading."""
    return _tried(DiskWorkspace(root, "open"))


def _tried(disk: DiskWorkspace) -> dict[str, str]:
    acts: dict[str, Callable[[], object]] = {
        "read": lambda: disk.read("plan.md"),
        "names": lambda: disk.names(""),
        "write": lambda: disk.write("plan.md", b"x"),
        "new": lambda: disk.write("new.md", b"x"),
        "append": lambda: disk.append("plan.md", b"x"),
        "rename": lambda: disk.rename("plan.md", "other.md"),
        "unlink": lambda: disk.unlink("plan.md"),
        "mkdir": lambda: disk.mkdir("sub"),
        "lock": lambda: disk.lock("lock", 1).__enter__(),
    }
    return {name: _outcome(act) for name, act in acts.items()}


def add_repeatedly(root: Path, times: str) -> object:
    """Add one to a number in a file so many times, each time reading it first."""
    disk = DiskWorkspace(root)
    for _ in range(int(times)):
        with disk.lock("lock", 60):
            number = int(disk.read("number") or b"0")
            disk.write("number", b"%d" % (number + 1))
    return times


def hold_lock(root: Path) -> object:
    """Hold the lock, say so, and wait until stdin ends."""
    with DiskWorkspace(root).lock("lock", 10):
        print("held", flush=True)  # noqa: T201 - it talks to the test on stdout
        sys.stdin.read()
    return "let go"


def fork_with_lock(root: Path) -> object:
    """Let the lock go while a process forked meanwhile still has the file open, and take it again."""
    mine, theirs = os.pipe()
    with DiskWorkspace(root).lock("lock", 10):
        if not (child := os.fork()):
            os.close(theirs)
            os.read(mine, 1)
            os._exit(0)
    again = _outcome(lambda: DiskWorkspace(root).lock("lock", 0).__enter__())
    os.close(theirs)
    return [again, os.waitpid(child, 0)[1]]


def replace_lock_file(root: Path) -> object:
    """Have the lock file replaced in the moment between opening and locking it, once."""
    moments = iter(["once"])

    def meanwhile(event: str, _: object) -> None:
        if event == "fcntl.flock" and next(moments, ""):
            (root / "lock").unlink()

    sys.addaudithook(meanwhile)
    seen: list[str] = []
    with DiskWorkspace(root, before=seen.append).lock("lock", 10):
        busy = _outcome(lambda: DiskWorkspace(root).lock("lock", 0).__enter__())
    return [seen, busy]


_CHILD = Path(__file__)


def build_command(*words: str | Path) -> list[str]:
    """The command that has a child do this."""
    return [sys.executable, f"{_CHILD}", *(f"{word}" for word in words)]


def build_environment(**more: str) -> dict[str, str]:
    """The environment of a child that imports what we do."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **more}


def run_child(command: list[str], environment: dict[str, str]) -> Any:  # noqa: ANN401 - what JSON holds
    """What a child says; it must end well."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


if __name__ == "__main__":
    what: dict[str, Callable[..., object]] = {
        "failing": fail_calls,
        "killed": kill_at_calls,
        "full": fill_disk,
        "read-only": try_without_rights,
        "mounted": try_read_only_mount,
        "adding": add_repeatedly,
        "holding": hold_lock,
        "forked": fork_with_lock,
        "replaced": replace_lock_file,
    }
    print(json.dumps(what[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:])))  # noqa: T201 - the same
