"""What we write into the folder of git is what git would have written, and it is whole or not there."""

import os
import resource
import stat
from pathlib import Path

import pytest

from handrail.runtime.errors import DiskFull
from helpers.repositories import Repo

TEXT = "feat(tea): brew tea\n\nÜber alles Blätter.\n"


def _objects(git: Repo) -> dict[Path, os.stat_result]:
    return {path: path.stat() for path in (git.folder / ".git" / "objects").glob("??/*")}


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_git_finds_nothing_wrong_with_what_is_written(git: Repo, tmp_path: Path, algorithm: str) -> None:
    other = Repo("git", tmp_path / algorithm, git.home)
    git.git("init", "-q", f"--object-format={algorithm}", f"{other.folder}")
    store = other.store()
    first = store.swap(store.read(), "old\n")
    last = store.swap(first, TEXT)

    assert other.git("fsck", "--strict", "--no-dangling") == ""
    assert other.git("show", "refs/worktree/handrail/plan:plan") == TEXT
    commit = other.git("cat-file", "-p", last.version).split("\n")
    assert commit[1] == f"parent {first.version}"
    assert commit[2].startswith("author Ann <ann@example.org> ")
    assert commit[4:] == ["", "plan", "", f"Handrail-Change: {last.change}", ""]


def test_who_may_use_the_objects_may_use_what_is_written(git: Repo, tmp_path: Path) -> None:
    shared = Repo("git", tmp_path / "shared", git.home)
    git.git("init", "-q", "--shared=group", f"{shared.folder}")
    store = shared.store()
    store.swap(store.read(), TEXT)

    written = _objects(shared)
    assert len(written) == 3
    assert {_mode(path) for path in written} == {0o444}
    assert {_mode(path.parent) for path in written} == {0o2775}


def test_an_object_that_is_there_is_not_written_again_and_not_removed_for_its_age(git: Repo) -> None:
    store = git.store()
    first = store.swap(store.read(), TEXT)
    tree = git.git("rev-parse", f"{first.version}^{{tree}}").strip()
    path = git.folder / ".git" / "objects" / tree[:2] / tree[2:]
    os.utime(path, (0, 0))
    inode = path.stat().st_ino

    store.swap(store.swap(first, "another\n"), TEXT)

    assert path.stat().st_ino == inode
    assert path.stat().st_mtime > 0


def test_where_nothing_can_be_written_the_old_text_stands_and_nothing_is_left_behind(git: Repo) -> None:
    store = git.store()
    first = store.swap(store.read(), "old\n")
    before = _objects(git).keys()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(DiskFull, match="there is no room to write"):
            store.swap(first, TEXT)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert _objects(git).keys() == before
    assert store.read() == first
    assert store.swap(first, TEXT).text == TEXT
