"""What is not asked for twice is noticed as soon as it changes, and what is written by hand is git's own."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from handrail.runtime.errors import Busy, TextConflict
from handrail.runtime.ports.turn import Description
from handrail.stores.vcs.commands import VcsTimeouts
from handrail.stores.vcs.git import find_git_folders
from helpers.repositories import Repo, create_repository

REF = "refs/worktree/handrail/plan"
NONE = Description("", "", "")


def by_hand(git: Repo, text: str) -> str:
    """A commit with this text, at no ref."""
    blob = git.git("hash-object", "-w", "--stdin", text=text).strip()
    tree = git.git("mktree", text=f"100644 blob {blob}\tplan\n").strip()
    return git.git("commit-tree", tree, "-m", "by hand").strip()


def moved(git: Repo) -> str:
    git.git("update-ref", REF, by_hand(git, "theirs\n"))
    return "theirs\n"


def deleted(git: Repo) -> str:
    git.git("update-ref", "-d", REF)
    return ""


def packed(git: Repo) -> str:
    git.git("pack-refs", "--all")
    git.git("gc", "-q", "--prune=now")
    return "mine\n"


def symbolic(git: Repo) -> str:
    git.git("branch", "side", by_hand(git, "theirs\n"))
    git.git("symbolic-ref", REF, "refs/heads/side")
    return "theirs\n"


def archived(git: Repo) -> str:
    other = git.store()
    other.begin_new(other.read())
    return ""


@pytest.mark.parametrize("change", [moved, deleted, packed, symbolic, archived])
def test_a_text_that_was_read_is_read_anew_when_the_ref_is_no_longer_at_it(
    git: Repo, change: Callable[[Repo], str]
) -> None:
    store = git.store()
    mine = store.swap(store.read(), "mine\n")
    assert store.read() is mine

    text = change(git)

    assert store.read() == git.store().read()
    assert store.read().text == text


def test_a_text_of_a_linked_worktree_is_remembered_too(git: Repo, tmp_path: Path) -> None:
    git.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = Repo("git", tmp_path / "side", git.home)
    store = side.store()
    mine = store.swap(store.read(), "there\n")

    assert store.read() is mine
    side.git("update-ref", REF, by_hand(side, "theirs\n"))
    assert store.read().text == "theirs\n"


def test_a_folder_that_leads_to_no_repository_tells_nothing(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("nonsense\n")
    assert find_git_folders(tmp_path) is None
    (tmp_path / ".git").write_text("gitdir: elsewhere\n")
    found = find_git_folders(tmp_path)
    assert found is not None
    assert (found.read_loose_ref(REF), found.stamp_config()) == ("", ((0, 0, 0), (0, 0, 0)))


def test_a_filter_that_is_set_after_files_were_looked_at_is_not_run_either(git: Repo) -> None:
    (git.folder / "file").write_text("x")
    git.git("add", ".")
    git.git("commit", "-q", "-m", "files")
    (git.folder / ".gitattributes").write_text("file filter=evil\n")
    store, mark = git.store(), git.home / "ran"
    store.changes(5)
    git.git("config", "filter.evil.clean", f"touch {mark}; cat")
    (git.folder / "file").write_text("y")

    assert [one.path for one in store.changes(5).files] == [".gitattributes", "file"]
    assert not mark.exists()


def test_what_is_written_is_sound_by_the_judgement_of_git(git: Repo) -> None:
    store = git.store()
    before = store.read()
    for text in ("a\n", "é" * 7 + "\n", "b" * 2047 + "\n", "c" * 100_000 + "\n"):
        before = store.swap(before, text)

    assert git.git("fsck", "--strict", "--full") == ""
    assert git.git("rev-parse", REF).strip() == before.version
    assert git.git("log", "--format=%an <%ae> %cn <%ce>", "-1", REF) == (
        "Ann <ann@example.org> Ann <ann@example.org>\n"
    )
    assert git.git("status", "--porcelain") == ""


def test_a_repository_that_names_its_objects_by_another_hash(tmp_path: Path) -> None:
    repo = create_repository("git", tmp_path / "first", tmp_path / "home")
    repo.git("init", "-q", "--object-format=sha256", str(tmp_path / "long"))
    there = Repo("git", tmp_path / "long", repo.home)
    store = there.store()
    done = store.swap(store.swap(store.read(), "one\n"), "two\n")

    assert (len(done.version), there.store().read()) == (64, done)
    assert there.git("fsck", "--strict", "--full") == ""


def test_whoever_holds_the_lock_writes_and_another_thread_waits(repo: Repo) -> None:
    store = repo.store(VcsTimeouts(lock=0.2))
    before = store.read()
    with ThreadPoolExecutor(1) as threads:
        with store.hold_lock():
            inside = store.swap(before, "inside\n")
            late = threads.submit(store.swap, inside, "late\n")
            with pytest.raises(
                Busy, match=r"another call of this server has changed .* for more than 0\.2 s"
            ):
                late.result(timeout=60)
        assert store.swap(inside, "after\n").text == "after\n"


def test_a_text_that_is_the_same_is_not_taken_for_written_when_another_stands(repo: Repo) -> None:
    one, other = repo.store(), repo.store()
    before = one.swap(one.read(), "plan\n")
    other.swap(other.read(), "theirs\n")
    with pytest.raises(TextConflict, match="begins `theirs`"):
        one.swap(before, "plan\n")


def test_nobody_who_was_too_late_takes_the_same_text_for_their_own(repo: Repo) -> None:
    one, other = repo.store(), repo.store()
    before = one.swap(one.read(), "1\n")
    other.swap(other.read(), "2\n")
    with pytest.raises(TextConflict, match="begins `2`"):
        one.swap(before, "2\n")


def test_a_renewal_of_nothing_that_is_something_by_now_is_told(git: Repo) -> None:
    store = git.store()
    store.swap(store.read(), "plan\n")
    with pytest.raises(TextConflict, match="begins `plan`"):
        store.begin_new(NONE)
