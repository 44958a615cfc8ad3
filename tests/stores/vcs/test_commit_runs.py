"""A text is replaced only if it is still the one that was read, and what is left is not lost."""

from pathlib import Path

import pytest

from handrail.runtime.errors import NoRepository, TextConflict
from handrail.runtime.ports.turn import ChangedFile
from handrail.runtime.system import RandomIds, SubprocessRunner
from handrail.stores.vcs.commands import build_environment
from handrail.stores.vcs.commit_runs import open_description
from handrail.stores.vcs.git import GitDescriptions
from handrail.stores.vcs.jj import JjDescriptions
from helpers.repositories import Repo, create_repository


def test_a_new_project_has_an_empty_text(repo: Repo) -> None:
    found = repo.store().read()

    assert found.text == ""
    assert (found.immutable, found.divergent, found.conflicted) == (False, False, False)
    assert found.empty is (None if repo.kind == "git" else True)


def test_a_version_stands_for_a_text_of_a_change(repo: Repo) -> None:
    store = repo.store()
    first = store.swap(store.read(), "a\n")
    second = store.swap(first, "b\n")
    third = store.swap(second, "a\n")

    assert first.version != second.version
    assert (third.version == first.version) is (repo.kind != "git")
    assert (third.text, third.change) == (first.text, first.change)


def test_a_text_that_is_no_longer_the_one_that_was_read_is_not_replaced(repo: Repo) -> None:
    one, other = repo.store(), repo.store()
    before = one.read()
    other.swap(before, "theirs\nand more\n")
    with pytest.raises(TextConflict, match="the text has changed: now it begins `theirs`") as caught:
        one.swap(before, "mine\n")

    assert caught.value.texts == ("theirs\nand more\n",)
    assert caught.value.repair == "read what stands now, and send the change again on top of it"
    with pytest.raises(TextConflict):
        one.begin_new(before)
    assert one.read().text == "theirs\nand more\n"


def test_a_text_that_stands_already_is_not_written_again(repo: Repo) -> None:
    store = repo.store()
    done = store.swap(store.read(), "a")
    state = repo.git("for-each-ref") if repo.kind == "git" else repo.operation()

    assert store.swap(done, "a\n") == done
    assert (repo.git("for-each-ref") if repo.kind == "git" else repo.operation()) == state


def test_what_a_person_writes_by_jj_is_read_and_overtakes(jj: Repo) -> None:
    store = jj.store()
    before = store.read()
    jj.jj("describe", "-m", "by hand")

    assert store.read().text == "by hand\n"
    with pytest.raises(TextConflict, match="now it begins `by hand`"):
        store.swap(before, "mine\n")


def test_another_commit_is_another_change(jj: Repo) -> None:
    store = jj.store()
    done = store.swap(store.read(), "plan\n")
    jj.jj("new")

    assert store.read().change != done.change
    with pytest.raises(TextConflict, match="the commit is another one now, and its text is empty"):
        store.swap(done, "more\n")
    jj.jj("edit", "@-")
    assert store.read() == done


def test_a_renewed_text_is_empty_and_jj_keeps_the_old_one_below(jj: Repo) -> None:
    store = jj.store()
    done = store.swap(store.read(), "plan\n")
    (jj.folder / "file").write_text("x")
    fresh = store.begin_new(done)

    assert (fresh.text, fresh.empty, fresh.change != done.change) == ("", True, True)
    assert jj.jj("log", "--no-graph", "-r", "@-", "-T", "description") == "plan\n"
    assert store.changes(5).files == ()


def test_a_renewed_text_is_empty_and_git_keeps_the_chain_in_its_archive(git: Repo) -> None:
    store = git.store()
    first = store.swap(store.read(), "one\n")
    second = store.swap(first, "two\n")
    fresh = store.begin_new(second)

    assert (fresh.text, fresh.change, store.read()) == ("", "", fresh)
    archived = f"refs/handrail/done/{second.change}"
    assert git.git("for-each-ref", "--format=%(refname)", "refs/handrail", "refs/worktree").split() == [
        archived
    ]
    assert git.git("show", f"{archived}:plan") == "two\n"
    assert git.git("show", f"{archived}^:plan") == "one\n"
    assert git.git("log", "--format=%an <%ae>", "-1", archived) == "Ann <ann@example.org>\n"
    assert store.begin_new(fresh) == fresh
    assert store.swap(fresh, "next\n").change not in {"", second.change}


def test_no_branch_and_no_file_of_git_knows_of_the_text(git: Repo) -> None:
    store = git.store()
    before = git.git("log", "--all", "--branches", "--format=%H", "HEAD")
    store.swap(store.read(), "plan\n")

    assert git.git("log", "--format=%H", "HEAD") == before
    assert git.git("status", "--porcelain", "--ignored") == ""


def test_each_worktree_of_git_has_a_text_of_its_own(git: Repo, tmp_path: Path) -> None:
    git.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    here, there = git.store(), Repo("git", tmp_path / "side", git.home).store()
    here.swap(here.read(), "here\n")
    there.swap(there.read(), "there\n")

    assert (here.read().text, there.read().text) == ("here\n", "there\n")
    there.begin_new(there.read())
    assert (here.read().text, there.read().text) == ("here\n", "")


def test_each_workspace_of_jj_has_a_text_of_its_own(tmp_path: Path) -> None:
    repo = create_repository("jj", tmp_path / "project", tmp_path / "home")
    repo.jj("workspace", "add", str(tmp_path / "side"))
    here, there = repo.store(), Repo("jj", tmp_path / "side", repo.home).store()
    here.swap(here.read(), "here\n")
    there.swap(there.read(), "there\n")

    assert (here.read().text, there.read().text) == ("here\n", "there\n")
    assert (repo.folder / ".jj" / "repo" / "handrail-lock").exists()
    assert not (tmp_path / "side" / ".jj" / "repo").is_dir()


def test_changed_files_are_told_with_what_became_of_them(repo: Repo) -> None:
    for name in ("kept", "gone", "changed"):
        (repo.folder / name).write_text(name)
    if repo.kind == "git":
        repo.git("add", ".")
        repo.git("commit", "-q", "-m", "files")
    else:
        repo.jj("new")
    (repo.folder / "gone").unlink()
    (repo.folder / "changed").write_text("more than before")
    (repo.folder / "a folder").mkdir()
    (repo.folder / "a folder" / "tab\there é.txt").write_text("new")
    store = repo.store()
    found = store.changes(50)

    assert found.files == (
        ChangedFile("a folder/tab\there é.txt", "added"),
        ChangedFile("changed", "modified"),
        ChangedFile("gone", "removed"),
    )
    assert (found.total, found.description.empty, found.description.text) == (3, False, "")
    assert (store.changes(2).files, store.changes(2).total) == (found.files[:2], 3)


def test_a_clean_project_has_no_changed_file_and_is_empty(repo: Repo) -> None:
    found = repo.store().changes(50)

    assert (found.files, found.total, found.description.empty) == ((), 0, True)


def test_what_git_has_staged_counts_against_the_commit(git: Repo) -> None:
    (git.folder / "both").write_text("1")
    (git.folder / "back").write_text("1")
    git.git("add", ".")
    git.git("commit", "-q", "-m", "files")
    (git.folder / "staged").write_text("1")
    (git.folder / "came and went").write_text("1")
    (git.folder / "both").write_text("22")
    git.git("add", ".")
    (git.folder / "came and went").unlink()
    (git.folder / "both").write_text("333")
    git.git("rm", "-q", "--cached", "back")

    assert git.store().changes(9).files == (
        ChangedFile("back", "modified"),
        ChangedFile("both", "modified"),
        ChangedFile("staged", "added"),
    )


def test_a_merge_that_failed_is_told_as_conflicted(git: Repo) -> None:
    for side in ("a", "b"):
        git.git("checkout", "-q", "-b", side, "main")
        (git.folder / "file").write_text(side)
        git.git("add", ".")
        git.git("commit", "-q", "-m", side)
    git.run("sh", "-c", "git merge -q a || true")

    assert git.store().changes(9).files == (ChangedFile("file", "conflicted"),)


def test_the_store_is_chosen_by_what_the_project_is(tmp_path: Path) -> None:
    jj = create_repository("colocated", tmp_path / "jj", tmp_path / "home")
    git = create_repository("git", tmp_path / "git", tmp_path / "home")

    assert isinstance(jj.chosen(), JjDescriptions)
    assert isinstance(jj.chosen("git"), GitDescriptions)
    assert isinstance(git.chosen(), GitDescriptions)


def test_a_folder_below_has_the_text_of_its_repository(repo: Repo) -> None:
    below = repo.folder / "a" / "b"
    below.mkdir(parents=True)
    store = repo.store()
    store.swap(store.read(), "plan\n")

    assert (
        open_description(repo.runner(), repo.runner(), below, RandomIds()).descriptions.read().text
        == "plan\n"
    )


@pytest.mark.parametrize(
    ("kind", "what", "begin"),
    [("", "jj or git", "git init"), ("jj", "jj", "jj git init"), ("git", "git", "git init")],
)
def test_a_folder_in_no_repository_is_a_fault(kind: str, what: str, begin: str, tmp_path: Path) -> None:
    programs = SubprocessRunner(build_environment({}))
    with pytest.raises(NoRepository, match=f"is in no repository of {what}$") as caught:
        open_description(programs, programs, tmp_path, RandomIds(), kind)

    assert caught.value.repair.startswith(f"run `{begin}` there")
