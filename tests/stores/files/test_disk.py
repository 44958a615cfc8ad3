"""What a folder of files does when nothing is wrong with it."""

import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from handrail.runtime.errors import Busy, Missing, NotWritable, Unreadable, UnsafePath
from handrail.stores.files.disk import DiskWorkspace


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0)
    os.umask(before)
    yield
    os.umask(before)


@pytest.mark.parametrize(
    "data", [b"one\0\xff", b"", bytes(range(256)) * 4097 * 3], ids=["any", "none", "much"]
)
def test_what_is_written_is_read_back(tmp_path: Path, data: bytes) -> None:
    disk = DiskWorkspace(tmp_path)
    disk.write("plan.md", data)

    assert disk.read("plan.md") == (tmp_path / "plan.md").read_bytes() == data


def test_an_old_file_is_replaced_and_not_written_into(tmp_path: Path) -> None:
    disk = DiskWorkspace(tmp_path)
    disk.write("plan.md", b"a long first text")
    with (tmp_path / "plan.md").open("rb") as old:
        disk.write("plan.md", b"short")

        assert old.read() == b"a long first text"
    assert disk.read("plan.md") == b"short"


def test_what_is_not_there_reads_as_nothing(tmp_path: Path) -> None:
    disk = DiskWorkspace(tmp_path, "not/made")

    assert disk.read("plan.md") is None
    assert disk.read("sub/plan.md") is None
    assert disk.names("") == ()
    assert disk.names("sub") == ()
    disk.unlink("plan.md")
    assert list(tmp_path.iterdir()) == []


def test_names_are_sorted_and_include_folders(tmp_path: Path) -> None:
    disk = DiskWorkspace(tmp_path, "a/b")
    disk.mkdir("")
    disk.mkdir("sub")
    for name in ("z", "Z", "é", ".hidden", "back\\slash"):
        disk.write(name, b"")

    assert disk.names("") == (".hidden", "Z", "back\\slash", "sub", "z", "é")
    assert disk.names("sub") == ()


def test_bytes_are_appended_to_a_file_that_is_made_if_need_be(tmp_path: Path) -> None:
    disk = DiskWorkspace(tmp_path)
    disk.append("history", b"one\n")
    disk.append("history", b"two\n")

    assert disk.read("history") == b"one\ntwo\n"
    assert _mode(tmp_path / "history") == 0o600


@pytest.mark.parametrize("there", [True, False])
def test_a_file_is_moved_over_another_or_where_nothing_was(tmp_path: Path, *, there: bool) -> None:
    disk = DiskWorkspace(tmp_path)
    disk.mkdir("sub")
    disk.write("new", b"new")
    if there:
        disk.write("sub/old", b"old")
    disk.rename("new", "sub/old")

    assert disk.names("") == ("sub",)
    assert disk.read("sub/old") == b"new"
    disk.unlink("sub/old")
    assert disk.names("sub") == ()


def test_a_folder_that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    disk = DiskWorkspace(tmp_path, "a/b")
    disk.mkdir("")
    disk.write("plan.md", b"x")
    disk.mkdir("")
    disk.mkdir("sub")
    disk.mkdir("sub")

    assert disk.names("") == ("plan.md", "sub")


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_folders_and_files_are_private_under_any_umask(tmp_path: Path, mask: int) -> None:
    os.umask(mask)
    disk = DiskWorkspace(tmp_path, ".ai/task")
    disk.mkdir("")
    disk.mkdir("tasks")
    disk.write("plan.md", b"x")
    disk.append("history", b"x")
    with disk.lock("lock", 1):
        pass

    folders = [tmp_path / ".ai", tmp_path / ".ai/task", tmp_path / ".ai/task/tasks"]
    files = [tmp_path / ".ai/task" / name for name in ("plan.md", "history", "lock")]
    assert [_mode(path) for path in folders] == [0o700, 0o700, 0o700]
    assert [_mode(path) for path in files] == [0o600, 0o600, 0o600]


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize(
    ("mode", "copied"), [(0o644, 0o644), (0o4755, 0o755), (0o600, 0o600), (0o444, 0o444)]
)
def test_a_new_file_gets_the_permissions_of_the_one_it_is_like(
    tmp_path: Path, mode: int, copied: int
) -> None:
    os.umask(0o077)
    disk = DiskWorkspace(tmp_path)
    disk.write("model", b"x")
    (tmp_path / "model").chmod(mode)
    disk.write("copy", b"y", like="model")
    disk.write("model", b"z", like="model")

    assert _mode(tmp_path / "copy") == copied
    assert _mode(tmp_path / "model") == copied


@pytest.mark.parametrize("like", ["not-there", "no/such/folder"])
def test_a_new_file_like_one_that_is_not_there_is_private(tmp_path: Path, like: str) -> None:
    DiskWorkspace(tmp_path).write("plan.md", b"x", like=like)

    assert _mode(tmp_path / "plan.md") == 0o600


def test_every_change_is_announced_before_it_is_made(tmp_path: Path) -> None:
    seen: list[str] = []
    disk = DiskWorkspace(tmp_path, "a/b", seen.append)
    disk.mkdir("")
    disk.write("plan.md", b"abc")
    (tmp_path / "a/b/plan.md").chmod(0o640)
    disk.write("plan.md", b"", like="plan.md")
    disk.append("log", b"x")
    disk.mkdir("sub")
    disk.mkdir("sub")
    disk.rename("log", "sub/log")
    disk.sync("sub")
    disk.sync("")
    disk.unlink("sub/log")
    disk.lock("lock", 1).__enter__()

    assert seen == [
        f"mkdir {tmp_path}/a",
        f"fsync {tmp_path}",
        f"mkdir {tmp_path}/a/b",
        f"fsync {tmp_path}/a",
        "open plan.md",
        "write plan.md",
        "write plan.md",
        "fsync plan.md",
        "unlink plan.md",
        "open plan.md",
        "chmod plan.md",
        "fsync plan.md",
        "open log",
        "write log",
        "fsync log",
        "mkdir sub",
        "rename log sub/log",
        "fsync sub",
        "fsync .",
        "unlink sub/log",
        "open lock",
    ]


def test_a_folder_made_before_is_confirmed_all_the_same(tmp_path: Path) -> None:
    DiskWorkspace(tmp_path, "a").mkdir("")
    seen: list[str] = []
    DiskWorkspace(tmp_path, "a", seen.append).mkdir("")

    assert seen == [f"fsync {tmp_path}"]


def test_a_file_is_torn_between_its_two_pieces(tmp_path: Path) -> None:
    sizes: list[int] = []

    def look(name: str) -> None:
        if name == "write plan.md":
            sizes.append((tmp_path / "plan.md").stat().st_size)

    DiskWorkspace(tmp_path, before=look).write("plan.md", b"abcde")

    assert sizes == [0, 3]
    assert (tmp_path / "plan.md").read_bytes() == b"abcde"


def test_what_needs_a_folder_says_which_one_is_missing(tmp_path: Path) -> None:
    disk = DiskWorkspace(tmp_path, "task")
    tried: list[Callable[[], object]] = [
        lambda: disk.write("plan.md", b"x"),
        lambda: disk.append("plan.md", b"x"),
        lambda: disk.sync(""),
        lambda: disk.mkdir("sub"),
        lambda: disk.lock("lock", 1).__enter__(),
    ]
    for act in tried:
        with pytest.raises(Missing, match=f"{tmp_path}/task") as caught:
            act()
        assert caught.value.repair == "make it, or name the one that is meant"
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_not_there_cannot_be_moved(tmp_path: Path) -> None:
    disk = DiskWorkspace(tmp_path)
    disk.write("new", b"x")
    with pytest.raises(Missing, match=r"`.*/old` is not there"):
        disk.rename("old", "new")
    with pytest.raises(Missing, match=r"`.*/sub/new`, or the folder it is in, is not there"):
        disk.rename("new", "sub/new")

    assert disk.read("new") == b"x"


@pytest.mark.parametrize("made", [False, True])
def test_a_root_that_is_no_folder_is_named(tmp_path: Path, made: bool) -> None:  # noqa: FBT001 - pytest passes it
    root = tmp_path / "root"
    if made:
        root.write_bytes(b"")
    tried: list[Callable[[], object]] = [
        lambda: DiskWorkspace(root).read("x"),
        lambda: DiskWorkspace(root, "a").mkdir(""),
    ]
    for act in tried:
        with pytest.raises(Missing, match=r"`.*/root` is not a folder"):
            act()


def test_a_name_that_is_too_long_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(NotWritable, match="File name too long"):
        DiskWorkspace(tmp_path).write("x" * 300, b"")
    with pytest.raises(Unreadable, match="File name too long"):
        DiskWorkspace(tmp_path).read("x" * 300)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    disk = DiskWorkspace(tmp_path, most=4)
    disk.write("fits", b"1234")
    disk.write("large", b"12345")
    os.truncate(tmp_path / "large", 1 << 40)

    assert disk.read("fits") == b"1234"
    with pytest.raises(Unreadable, match="has more than 4 bytes"):
        disk.read("large")


def test_a_file_removed_once_opened_is_read_and_not_appended_to_faked_as_no_real_race_hits_that_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fstat, disk = os.fstat, DiskWorkspace(tmp_path)

    def late(file: int) -> os.stat_result:
        (tmp_path / "plan.md").unlink(missing_ok=True)
        return fstat(file)

    disk.write("plan.md", b"x")
    disk.write("plan.md.2", b"x")
    monkeypatch.setattr(os, "fstat", late)
    assert disk.read("plan.md") == b"x"
    (tmp_path / "plan.md.2").rename(tmp_path / "plan.md")
    with pytest.raises(Busy, match="was just taken away"):
        disk.append("plan.md", b"y")


def test_a_fault_names_the_whole_path_and_the_repair(tmp_path: Path) -> None:
    (tmp_path / "plan.md").symlink_to("elsewhere")

    with pytest.raises(UnsafePath) as caught:
        DiskWorkspace(tmp_path).read("plan.md")

    assert caught.value.message == f"`{tmp_path}/plan.md` leads through a link, or is no plain file or folder"
    assert caught.value.repair == "remove the link, or put a real folder or file in its place"


def _aged(path: Path, seconds: float = 3600) -> None:
    """Let a file have been changed so long ago."""
    then = time.time_ns() - int(seconds * 1_000_000_000) | 1
    os.utime(path, ns=(then, then))


@pytest.fixture
def aged(tmp_path: Path) -> DiskWorkspace:
    """A folder whose file and folder were changed long ago."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "plan.md").write_bytes(b"plan")
    for path in (tmp_path / "plan.md", tmp_path / "notes", tmp_path):
        _aged(path)
    return DiskWorkspace(tmp_path)


def test_what_does_not_change_keeps_its_stamp(aged: DiskWorkspace) -> None:
    paths = ("plan.md", "notes", "")

    assert [aged.stamp(path) for path in paths] == [aged.stamp(path) for path in paths]
    assert len({aged.stamp(path) for path in paths}) == 3


def test_what_is_not_there_has_no_stamp(aged: DiskWorkspace, tmp_path: Path) -> None:
    assert [aged.stamp(path) for path in ("gone.md", "gone/a.md", "notes/a.md")] == [None] * 3
    assert DiskWorkspace(tmp_path, "not/made").stamp("") is None


def _in_place(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"nalp")


def _replaced_as_if_long_ago(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b"nalp")
    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    other.replace(path)


@pytest.mark.parametrize("change", [_in_place, _replaced_as_if_long_ago])
def test_a_file_of_other_bytes_and_the_same_length_has_another_stamp(
    aged: DiskWorkspace, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    before = aged.stamp("plan.md")

    change(tmp_path / "plan.md")

    assert aged.stamp("plan.md") != before
    assert aged.read("plan.md") == b"nalp"


def test_a_folder_with_other_names_has_another_stamp(aged: DiskWorkspace, tmp_path: Path) -> None:
    before = aged.stamp("notes")

    (tmp_path / "notes/a.md").write_bytes(b"a")

    assert aged.stamp("notes") != before


@pytest.mark.parametrize(("age", "tells"), [(0.05, False), (0.5, True), (-5.0, False)])
def test_a_file_that_has_just_changed_has_a_stamp_that_equals_none(
    aged: DiskWorkspace, tmp_path: Path, age: float, *, tells: bool
) -> None:
    """It may change once more, and keep its length and its time."""
    _aged(tmp_path / "plan.md", age)

    assert (aged.stamp("plan.md") == aged.stamp("plan.md")) is tells


def test_where_times_are_kept_in_seconds_a_file_counts_as_just_changed_for_longer(
    aged: DiskWorkspace, tmp_path: Path
) -> None:
    second = int(time.time()) - 1
    os.utime(tmp_path / "plan.md", (second, second))
    assert aged.stamp("plan.md") != aged.stamp("plan.md")
    os.utime(tmp_path / "plan.md", (second - 3, second - 3))
    assert aged.stamp("plan.md") == aged.stamp("plan.md")


def test_what_is_no_plain_file_has_a_stamp_that_equals_none(aged: DiskWorkspace, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("plan.md")
    os.mkfifo(tmp_path / "pipe")
    os.link(tmp_path / "plan.md", tmp_path / "second")

    for path in ("link", "pipe", "second", "plan.md", "plan.md/below", "link/below"):
        assert aged.stamp(path) is not None
        assert aged.stamp(path) != aged.stamp(path)
