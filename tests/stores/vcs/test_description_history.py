"""Every text that a description has had, by when and by whom."""

from datetime import UTC, datetime

import pytest

from handrail.runtime.errors import TextConflict, Unreadable, VcsLocked
from handrail.runtime.ports.turn import DescriptionHistory
from handrail.runtime.system import RandomIds, SubprocessRunner
from handrail.stores.vcs.commands import build_environment
from handrail.stores.vcs.git import GitDescriptions
from helpers.repositories import Repo

colocated = pytest.mark.parametrize("jj", ["colocated"], indirect=True)
ANN = "Ann <ann@example.org>"
TEXTS = ("a\n", "b \x1b[31m \u202e\n\n\nend\n", "a\n", "ä\r\n\tx\n")


def wrote(repo: Repo, *texts: str) -> None:
    store = repo.store()
    for text in texts:
        store.swap(store.read(), text)


def past(repo: Repo) -> DescriptionHistory:
    return repo.carried().past


def told(repo: Repo) -> tuple[str, ...]:
    stored = past(repo)
    return stored.texts(tuple(one.name for one in stored.versions()))


def test_a_project_without_a_text_has_no_past(repo: Repo) -> None:
    assert past(repo).versions() == ()
    assert past(repo).texts(()) == ()


def test_every_text_is_there_byte_for_byte_the_first_one_first(repo: Repo) -> None:
    wrote(repo, *TEXTS)
    versions = past(repo).versions()

    assert told(repo) == TEXTS
    assert [one.who for one in versions] == [ANN] * 4
    assert len({one.name for one in versions}) == 4
    assert all(one.at.tzinfo is not None for one in versions)


def test_a_text_that_was_taken_away_is_a_version_too(repo: Repo) -> None:
    wrote(repo, "a\n", "", "b\n")

    assert told(repo) == ("a\n", "", "b\n")


@colocated
def test_asking_changes_nothing_and_takes_no_file_into_the_commit(jj: Repo) -> None:
    wrote(jj, "a\n")
    (jj.folder / "file").write_text("x")
    before = jj.operation()

    assert told(jj) == ("a\n",)
    assert jj.operation() == before


@colocated
def test_files_that_were_taken_in_between_make_no_version(jj: Repo) -> None:
    wrote(jj, "a\n")
    for content in ("x", "y"):
        (jj.folder / "file").write_text(content)
        jj.jj("status")
    wrote(jj, "b\n")

    assert told(jj) == ("a\n", "b\n")


@colocated
def test_texts_of_another_change_that_went_into_this_one_are_none_of_its_versions(jj: Repo) -> None:
    wrote(jj, "a\n")
    jj.jj("new", "-m", "other")
    (jj.folder / "file").write_text("x")
    jj.jj("squash", "--use-destination-message")
    jj.jj("edit", "@-")

    assert told(jj) == ("a\n",)


def test_a_past_that_is_too_long_to_be_told_at_once_is_said(git: Repo) -> None:
    wrote(git, "a" * 4000 + "\n", "b" * 4000 + "\n")
    store = GitDescriptions(SubprocessRunner(build_environment(git.env), most=6000), git.folder, RandomIds())
    names = tuple(one.name for one in store.versions())
    with pytest.raises(Unreadable, match="said more than 6000 bytes"):
        store.texts(names)

    assert store.texts(names[:1]) == ("a" * 4000 + "\n",)


def test_a_commit_from_after_the_year_9999_is_of_that_year(git: Repo) -> None:
    wrote(git, "a\n")
    tree = git.git("rev-parse", "refs/worktree/handrail/plan^{tree}").strip()
    when = "Eve \x1b[2J <eve@example.org> 999999999999999 +0000"
    text = f"tree {tree}\nauthor {when}\ncommitter {when}\n\nplan\n"
    commit = git.git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", text=text).strip()
    git.git("update-ref", "refs/worktree/handrail/plan", commit)
    (found,) = past(git).versions()

    assert found.at == datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert found.who == "Eve \x1b[2J <eve@example.org>"


def test_what_is_complete_is_archived_once_and_moves_on_with_its_text(git: Repo) -> None:
    store = git.store()
    store.archive(store.read())
    assert git.git("for-each-ref", "refs/handrail") == ""
    done = store.swap(store.read(), "a\n")
    store.archive(done)
    done = store.swap(done, "b\n")
    store.archive(done)

    assert git.git("cat-file", "blob", f"refs/handrail/done/{done.change}:plan") == "b\n"
    assert store.read() == done


def archived(repo: Repo) -> dict[str, str]:
    """What stands below the archive: each text by its name."""
    refs = repo.git("for-each-ref", "--format=%(refname:lstrip=3)", "refs/handrail/done").split()
    return {ref: repo.git("cat-file", "blob", f"refs/handrail/done/{ref}:plan") for ref in refs}


@pytest.mark.parametrize("packed", [True, False])
def test_what_was_archived_is_replaced_only_by_what_goes_on_from_it(git: Repo, *, packed: bool) -> None:
    store = git.store()
    first = store.swap(store.read(), "first\n")
    done = store.swap(first, "done\n")
    store.archive(done)
    if packed:
        git.git("pack-refs", "--all")
    git.git("update-ref", "refs/worktree/handrail/plan", first.version)
    other = store.swap(first, "other\n")
    for left in (store.archive, store.archive, store.begin_new):
        left(other)
        assert archived(git) == {done.change: "done\n", f"{done.change}-{other.version}": "other\n"}

    assert store.read().text == ""


def test_a_text_that_is_not_there_any_more_is_not_archived(git: Repo) -> None:
    one, other = git.store(), git.store()
    seen = one.swap(one.read(), "one\n")
    now = other.swap(seen, "other\n")
    with pytest.raises(TextConflict, match="now it begins `other`"):
        one.archive(seen)
    assert archived(git) == {}
    one.archive(now)
    other.begin_new(now)
    with pytest.raises(TextConflict, match="is empty"):
        one.archive(now)

    assert archived(git) == {now.change: "other\n"}


def test_a_chain_whose_archive_is_locked_stays_where_it_is(git: Repo) -> None:
    store = git.store()
    done = store.swap(store.read(), "a\n")
    lock = git.folder / ".git" / "refs" / "handrail" / "done" / f"{done.change}.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    for left in (store.archive, store.begin_new):
        with pytest.raises(VcsLocked, match=f"{done.change}.lock"):
            left(done)

    assert (store.read(), archived(git)) == (done, {})


@colocated
def test_jj_keeps_a_complete_text_in_its_commit(jj: Repo) -> None:
    wrote(jj, "a\n")
    before = jj.operation()
    store = jj.store()
    store.archive(store.read())

    assert jj.operation() == before
