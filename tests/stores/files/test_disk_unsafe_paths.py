"""No way leads out of the folder, through a link, or to anything but a plain file."""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from handrail.runtime.errors import Fault, UnsafePath
from handrail.stores.files.disk import DiskWorkspace
from helpers.crash import Record

VICTIM = b"the victim's own bytes"


def _locked(disk: DiskWorkspace, path: str) -> None:
    with disk.lock(path, 1):
        pass


def _moved_away(disk: DiskWorkspace, path: str) -> None:
    disk.rename(path, "moved")


def _moved_over(disk: DiskWorkspace, path: str) -> None:
    disk.write("staged", b"staged")
    disk.rename("staged", path)


def _copied_mode(disk: DiskWorkspace, path: str) -> None:
    disk.write("copied", b"x", like=path)


FILES: dict[str, Callable[[DiskWorkspace, str], object]] = {
    "read": DiskWorkspace.read,
    "write": lambda disk, path: disk.write(path, b"ours"),
    "append": lambda disk, path: disk.append(path, b"ours"),
    "rename from": _moved_away,
    "rename to": _moved_over,
    "like": _copied_mode,
    "unlink": DiskWorkspace.unlink,
    "lock": _locked,
}
FOLDERS: dict[str, Callable[[DiskWorkspace, str], object]] = {
    "names": DiskWorkspace.names,
    "mkdir": DiskWorkspace.mkdir,
    "sync": DiskWorkspace.sync,
}
ACTS = {**FILES, **FOLDERS}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder beside the root with a file that is none of our business."""
    folder = tmp_path / "proj-evil"
    (folder / "task" / "sub").mkdir(parents=True)
    for place in (folder, folder / "task", folder / "task" / "sub"):
        (place / "plan.md").write_bytes(VICTIM)
        (place / "plan.md").chmod(0o604)
    return folder


@pytest.fixture
def disk(tmp_path: Path) -> DiskWorkspace:
    """A workspace with a folder `sub` in it."""
    (tmp_path / "proj").mkdir()
    disk = DiskWorkspace(tmp_path / "proj", "ai/task")
    disk.mkdir("")
    disk.mkdir("sub")
    return disk


def _tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        f"{path.relative_to(folder)}": (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in sorted(folder.rglob("*"))
    }


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../plan.md",
        "sub/../../plan.md",
        "../../../proj-evil/plan.md",
        "sub/..",
        ".",
        "./plan.md",
        "/",
        "/etc/passwd",
        "sub//plan.md",
        "sub/",
        "nul\0byte",
        "\ud800",
    ],
)
def test_a_path_that_does_not_stay_below_is_refused(disk: DiskWorkspace, outside: Path, path: str) -> None:
    before = _tree(outside)
    for name, act in ACTS.items():
        with pytest.raises(UnsafePath) as caught:
            act(disk, path)

        assert caught.value.repair, name
        assert _tree(outside) == before, name
        assert set(disk.names("")) <= {"sub", "staged"}, name


@pytest.mark.parametrize("act", sorted(FILES.keys() - {"like"}))
def test_the_empty_path_names_no_file(disk: DiskWorkspace, act: str) -> None:
    with pytest.raises(UnsafePath, match="names no file"):
        FILES[act](disk, "")


@pytest.mark.parametrize("folder", ["../proj-evil", "/etc", "a/../../b", "./a", "a\0b"])
def test_a_workspace_outside_of_its_root_is_refused(tmp_path: Path, folder: str) -> None:
    with pytest.raises(UnsafePath):
        DiskWorkspace(tmp_path, folder)


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("place", ["proj/ai", "proj/ai/task", "proj/ai/task/sub"])
def test_a_link_in_any_folder_of_the_way_is_refused(
    tmp_path: Path, disk: DiskWorkspace, outside: Path, act: str, place: str
) -> None:
    target = outside / "task" / "sub" if place.endswith("sub") else outside
    (tmp_path / place).rename(tmp_path / "aside")
    (tmp_path / place).symlink_to(target)
    before = _tree(outside)
    with pytest.raises(UnsafePath):
        ACTS[act](disk, "sub/plan.md" if act in FILES else "sub/sub")

    assert _tree(outside) == before


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("target", ["outside", "relative", "dangling", "itself", "neighbour", "folder"])
def test_a_link_at_the_end_of_the_way_is_refused(
    tmp_path: Path, disk: DiskWorkspace, outside: Path, act: str, target: str
) -> None:
    disk.write("neighbour", b"neighbour")
    targets: dict[str, str | Path] = {
        "outside": outside / "plan.md",
        "relative": "../../../proj-evil/plan.md",
        "dangling": tmp_path / "nowhere",
        "itself": "planted",
        "neighbour": "neighbour",
        "folder": outside,
    }
    (tmp_path / "proj/ai/task/planted").symlink_to(targets[target])
    before = _tree(outside)
    with pytest.raises(UnsafePath, match="planted"):
        ACTS[act](disk, "planted")

    assert _tree(outside) == before
    assert not (tmp_path / "nowhere").exists()
    assert disk.read("neighbour") == b"neighbour"


def _hard_link(path: Path) -> None:
    path.with_name("first").write_bytes(VICTIM)
    path.hardlink_to(path.with_name("first"))


PLANTED: dict[str, Callable[[Path], None]] = {
    "fifo": os.mkfifo,
    "socket": lambda path: os.mknod(path, stat.S_IFSOCK | 0o600),
    "folder": Path.mkdir,
    "hard link": _hard_link,
}


@pytest.mark.parametrize("act", FILES)
@pytest.mark.parametrize("what", PLANTED)
def test_anything_but_a_plain_file_is_refused(
    tmp_path: Path, disk: DiskWorkspace, act: str, what: str
) -> None:
    planted = tmp_path / "proj/ai/task/planted"
    PLANTED[what](planted)
    before = planted.lstat()
    with pytest.raises(UnsafePath, match="planted"):
        FILES[act](disk, "planted")

    after = planted.lstat()
    assert (after.st_ino, after.st_mode, after.st_size) == (before.st_ino, before.st_mode, before.st_size)


@pytest.mark.parametrize("act", FOLDERS)
def test_a_file_is_no_folder(disk: DiskWorkspace, act: str) -> None:
    disk.write("plan.md", b"x")
    for path in ("plan.md", "plan.md/below"):
        with pytest.raises(UnsafePath):
            FOLDERS[act](disk, path)


@pytest.mark.parametrize("act", FILES)
def test_a_fifo_that_somebody_reads_is_refused_too(tmp_path: Path, disk: DiskWorkspace, act: str) -> None:
    planted = tmp_path / "proj/ai/task/planted"
    os.mkfifo(planted)
    reader = os.open(planted, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(UnsafePath):
            FILES[act](disk, "planted")
        assert os.read(reader, 1) == b""
    finally:
        os.close(reader)


@pytest.mark.parametrize("act", FILES)
def test_a_device_is_refused(tmp_path: Path, disk: DiskWorkspace, act: str) -> None:
    planted = tmp_path / "proj/ai/task/planted"
    fault: type[Fault] = UnsafePath
    try:
        os.mknod(planted, stat.S_IFCHR | 0o600, os.makedev(1, 7))
    except PermissionError:
        disk, planted, fault = DiskWorkspace(Path("/dev")), Path("/dev/full"), Fault
    with pytest.raises(fault):
        FILES[act](disk, planted.name)

    assert stat.S_ISCHR(planted.lstat().st_mode)


def _swapped_file(task: Path, outside: Path) -> None:
    (task / "sub" / "plan.md").unlink(missing_ok=True)
    (task / "sub" / "plan.md").symlink_to(outside / "plan.md")


def _swapped_folder(task: Path, outside: Path) -> None:
    (task / "sub").rename(task / "aside")
    (task / "sub").symlink_to(outside)


def _everything(disk: DiskWorkspace) -> None:
    disk.write("sub/plan.md", b"one")
    disk.write("sub/plan.md", b"two", like="sub/plan.md")
    disk.append("sub/plan.md", b"three")
    disk.write("staged", b"staged")
    disk.rename("staged", "sub/plan.md")
    disk.rename("sub/plan.md", "moved")
    disk.rename("moved", "sub/plan.md")
    disk.unlink("sub/plan.md")
    disk.mkdir("sub/plan.md")
    disk.sync("sub")


def _workspace(root: Path, before: Callable[[str], None]) -> DiskWorkspace:
    (root / "task" / "sub").mkdir(parents=True)
    return DiskWorkspace(root, "task", before)


@pytest.mark.parametrize("swap", [_swapped_file, _swapped_folder])
def test_a_link_swapped_in_before_any_change_reaches_nothing_outside(
    tmp_path: Path,
    outside: Path,
    swap: Callable[[Path, Path], None],
    record_property: Record,
) -> None:
    before = _tree(outside)
    points: list[str] = []
    _everything(_workspace(tmp_path / "counted", points.append))
    for at, point in enumerate(points):
        root, left = tmp_path / f"{at}", iter(range(at, -1, -1))

        def swapping(_: str, root: Path = root, left: Iterator[int] = left) -> None:
            if next(left, None) == 0:
                swap(root / "task", outside)

        with suppress(UnsafePath):
            _everything(_workspace(root, swapping))
        assert _tree(outside) == before, f"{at}: {point}"
    record_property("points", len(points))

    assert len(points) == 23


def test_a_file_planted_before_a_new_one_is_opened_is_not_taken_for_it(tmp_path: Path) -> None:
    def planting(name: str) -> None:
        if name == "open plan.md":
            (tmp_path / "plan.md").write_bytes(VICTIM)

    with pytest.raises(UnsafePath):
        DiskWorkspace(tmp_path, before=planting).write("plan.md", b"ours")

    assert (tmp_path / "plan.md").read_bytes() == VICTIM


def test_a_folder_that_somebody_else_makes_first_will_do(tmp_path: Path) -> None:
    DiskWorkspace(tmp_path, before=lambda _: (tmp_path / "sub").mkdir()).mkdir("sub")

    assert (tmp_path / "sub").is_dir()


def test_a_link_that_somebody_else_makes_first_will_not_do(tmp_path: Path) -> None:
    with pytest.raises(UnsafePath):
        DiskWorkspace(tmp_path, before=lambda _: (tmp_path / "sub").symlink_to("/")).mkdir("sub")


def test_a_file_that_somebody_else_removes_first_is_removed(tmp_path: Path) -> None:
    disk = DiskWorkspace(tmp_path, before=lambda name: (tmp_path / name.split()[1]).unlink())
    (tmp_path / "plan.md").write_bytes(b"")
    disk.unlink("plan.md")

    assert disk.names("") == ()
