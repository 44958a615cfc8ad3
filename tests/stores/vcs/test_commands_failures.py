"""Every failure of jj and git that has a name, provoked; each leaves the old text and says the repair."""

import fcntl
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from handrail.runtime.errors import (
    BadVcsConfig,
    Busy,
    DivergentChange,
    FaultCode,
    ImmutableCommit,
    Missing,
    NoRepository,
    NoVcsTool,
    StaleWorkingCopy,
    TextConflict,
    VcsFailed,
    VcsInternal,
    VcsLocked,
    VcsTimeout,
    VcsTooOld,
)
from handrail.runtime.ports.turn import Description, ProcessResult
from handrail.stores.files.disk import DiskWorkspace
from handrail.stores.vcs.commands import VcsTimeouts, jj_fault
from helpers.repositories import Repo, create_repository, replace_program

IMMUTABLE = '\n[revset-aliases]\n"immutable_heads()" = "@"\n'
NOTHING = Description("", "", "")
SOON = VcsTimeouts(read=0.5, write=0.5, lock=0.1)


def test_a_folder_without_a_repository(repo: Repo) -> None:
    nowhere = Repo(repo.kind, repo.home, repo.home).store()
    for call in (nowhere.read, lambda: nowhere.swap(NOTHING, "text")):
        with pytest.raises(NoRepository, match=f"`{repo.home}.*no repository of {repo.program}") as caught:
            call()
        assert "init`" in caught.value.repair
    assert caught.value.code == FaultCode.VCS_MISSING_REPO


def test_a_folder_that_is_not_there(repo: Repo) -> None:
    with pytest.raises(Missing, match="is not there"):
        Repo(repo.kind, repo.folder / "none", repo.home).store().read()


def test_a_program_that_is_not_installed(repo: Repo) -> None:
    with pytest.raises(NoVcsTool, match=f"the program `{repo.program}` is not there") as caught:
        Repo(repo.kind, repo.folder, repo.home, str(repo.home)).store().read()

    assert caught.value.code == FaultCode.VCS_MISSING_TOOL
    assert caught.value.repair == f"install {repo.program}, or put the folder it is in into PATH"


@pytest.mark.parametrize("said", ["jj 0.37.0", "jj 0.9.0-abc", "something"])
def test_a_stand_in_that_is_older_than_any_jj_that_can_be_had(said: str, tmp_path: Path) -> None:
    repo = create_repository("jj", tmp_path / "project", tmp_path / "home")
    old = replace_program(repo, f'case "$*" in *--version) echo "{said}"; exit;; esac')
    with pytest.raises(VcsTooOld, match="and that is too old") as caught:
        old.store().read()

    assert (caught.value.code, caught.value.repair) == (FaultCode.VCS_TOO_OLD, "install jj 0.38 or newer")


def test_a_commit_that_may_not_be_changed(jj: Repo) -> None:
    store = jj.store()
    done = store.swap(store.read(), "plan\n")
    jj.settings.write_text(jj.settings.read_text() + IMMUTABLE)
    with pytest.raises(ImmutableCommit) as caught:
        store.swap(done, "more\n")

    assert caught.value.code == FaultCode.VCS_IMMUTABLE
    assert caught.value.repair == (
        "run `jj new` first, and write there; in a fresh clone, where its bookmark is not yet tracked, run"
        " `jj bookmark track NAME@REMOTE`, and go on in it"
    )
    assert (store.read().text, store.read().immutable) == ("plan\n", True)


def test_a_commit_that_only_the_writing_command_finds_immutable(jj: Repo) -> None:
    scoped = IMMUTABLE.replace("[rev", '[[--scope]]\n--when.commands = ["describe"]\n[--scope.rev')
    jj.settings.write_text(jj.settings.read_text() + scoped)
    store = jj.store()
    with pytest.raises(ImmutableCommit):
        store.swap(store.read(), "more\n")

    assert (store.read().text, store.read().immutable) == ("", False)


def test_a_working_copy_that_is_stale(tmp_path: Path) -> None:
    repo = create_repository("jj", tmp_path / "project", tmp_path / "home")
    repo.jj("workspace", "add", str(tmp_path / "side"))
    side = Repo("jj", tmp_path / "side", repo.home)
    (side.folder / "file").write_text("x")
    store = side.store()
    done = store.swap(store.read(), "plan\n")
    repo.jj("restore", "--into", "side@", "--from", "root()")
    for call in (lambda: store.swap(done, "more\n"), lambda: store.changes(5)):
        with pytest.raises(StaleWorkingCopy) as caught:
            call()
        assert caught.value.repair == "run `jj workspace update-stale` there"

    assert (caught.value.code, store.read().text) == (FaultCode.VCS_STALE, "plan\n")
    side.jj("workspace", "update-stale")
    assert store.swap(done, "more\n").text == "more\n"


def test_a_change_that_is_divergent_already(jj: Repo) -> None:
    operation = jj.operation()
    jj.jj("describe", "-m", "one")
    jj.jj("--at-op", operation, "describe", "-m", "other")
    store = jj.store()
    found = store.read()
    with pytest.raises(DivergentChange, match="the current change has several commits") as caught:
        store.swap(found, "mine\n")

    assert caught.value.code == FaultCode.VCS_DIVERGENT
    assert caught.value.repair.startswith("run `jj converge`, or `jj abandon`")
    assert (found.divergent, store.read()) == (True, found)


def test_the_words_in_which_jj_refuses_a_divergent_change_are_known(jj: Repo) -> None:
    operation = jj.operation()
    jj.jj("describe", "-m", "one")
    jj.jj("--at-op", operation, "describe", "-m", "other")
    words = ["jj", "describe", "-m", "x", jj.store().read().change]
    done = subprocess.run(words, cwd=jj.folder, env=jj.env, capture_output=True, check=False)
    fault = jj_fault(jj.folder, ProcessResult(done.returncode, done.stdout, done.stderr))

    assert type(fault) is DivergentChange


def test_a_lock_of_git_that_a_killed_jj_has_left(tmp_path: Path) -> None:
    repo = create_repository("colocated", tmp_path / "project", tmp_path / "home")
    lock = repo.folder / ".git" / "index.lock"
    store = repo.store()
    before = store.read()
    lock.touch()
    with pytest.raises(VcsLocked, match=f"the lock file `{lock}` is in the way") as caught:
        store.swap(before, "mine\n")

    assert caught.value.repair.endswith(f"if none does, remove `{lock}`")
    assert (caught.value.code, store.read()) == (FaultCode.VCS_LOCKED, before)
    lock.unlink()
    assert store.swap(before, "mine\n").text == "mine\n"


def test_the_words_of_an_older_jj_for_a_lock_are_known_which_this_one_does_not_say() -> None:
    said = b"Error: Failed to reset Git HEAD state\nCaused by:\n1: Could not acquire lock for index file\n"
    more = b"2: The lock for resource '/p/.git/index' could not be obtained immediately after 1 attempt(s)."
    last = b" The lockfile at '/p/.git/index.lock' might need manual deletion."
    fault = jj_fault(Path("/p"), ProcessResult(1, b"", said + more + last))

    assert (type(fault), fault.message) == (VcsLocked, "the lock file `/p/.git/index.lock` is in the way")


def test_a_renewal_that_met_a_lock_of_git_is_finished_by_the_next_try(tmp_path: Path) -> None:
    repo = create_repository("colocated", tmp_path / "project", tmp_path / "home")
    lock = repo.folder / ".git" / "index.lock"
    store = repo.store()
    before = store.swap(store.read(), "plan\n")
    lock.touch()
    with pytest.raises(VcsLocked):
        store.begin_new(before)

    assert store.read() == before
    lock.unlink()
    assert store.begin_new(before).text == ""
    assert repo.jj("log", "--no-graph", "-r", "@-", "-T", "description") == "plan\n"


def test_a_lock_of_the_ref_that_a_killed_git_has_left(git: Repo) -> None:
    store = git.store()
    before = store.swap(store.read(), "plan\n")
    lock = git.folder / ".git" / "refs" / "worktree" / "handrail" / "plan.lock"
    lock.touch()
    with pytest.raises(VcsLocked, match=f"the lock file `{lock}` is in the way"):
        store.swap(before, "mine\n")
    with pytest.raises(VcsLocked, match=f"the lock file `{lock}` is in the way"):
        store.begin_new(before)

    assert store.read() == before
    lock.unlink()
    assert store.swap(before, "mine\n").text == "mine\n"


def test_settings_that_cannot_be_read(repo: Repo) -> None:
    repo.settings.write_text("[user\n")
    with pytest.raises(BadVcsConfig, match=rf"the configuration of {repo.program} is broken") as caught:
        repo.store().read()

    assert caught.value.code == FaultCode.VCS_CONFIG
    assert "line 1" in caught.value.message
    assert caught.value.repair == f"mend the line that {repo.program} names"


def test_a_repository_that_is_damaged_inside(jj: Repo) -> None:
    for path in (jj.folder / ".jj" / "repo" / "op_store" / "operations").iterdir():
        path.unlink()
    with pytest.raises(VcsInternal, match="jj failed inside: Internal error: ") as caught:
        jj.store().read()

    assert caught.value.code == FaultCode.VCS_INTERNAL
    assert caught.value.repair == "run `jj st`, and send the same call again when it says no error"


def test_what_has_no_name_is_passed_on_as_it_is_said(git: Repo) -> None:
    store = git.store()
    before = store.read()
    (git.folder / ".git" / "refs" / "worktree").write_text("in the way")
    with pytest.raises(VcsFailed, match="git failed: fatal: ") as caught:
        store.swap(before, "mine\n")

    assert caught.value.code == FaultCode.VCS_FAILED
    assert store.read() == before


def test_jj_that_waits_for_a_lock_of_its_own_is_ended_and_can_still_be_read(jj: Repo) -> None:
    store = jj.store(SOON)
    before = jj.store().read()
    held = os.open(jj.folder / ".jj" / "working_copy" / "working_copy.lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        for call in (lambda: store.swap(before, "mine\n"), lambda: store.changes(5)):
            with pytest.raises(VcsTimeout, match=r"`jj` was not done after 0\.5 s and was ended") as caught:
                call()
        assert (caught.value.code, jj.store().read()) == (FaultCode.VCS_TIMEOUT, before)
    finally:
        os.close(held)
    assert jj.store().swap(before, "mine\n").text == "mine\n"


def test_git_that_waits_for_a_file_is_ended(git: Repo) -> None:
    os.mkfifo(git.folder / ".git" / "packed-refs")
    with pytest.raises(VcsTimeout, match=r"`git` was not done after 0\.5 s"):
        git.store(SOON).read()


def test_a_lock_of_ours_that_is_held_for_too_long(repo: Repo) -> None:
    store = repo.store(VcsTimeouts(lock=0.05))
    before = store.read()
    place = repo.folder / (".git" if repo.kind == "git" else ".jj/repo")
    with DiskWorkspace(place).lock("handrail-lock", 0), pytest.raises(Busy, match="handrail-lock` was held"):
        store.swap(before, "mine\n")

    assert store.swap(before, "mine\n").text == "mine\n"


def test_a_repository_that_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / ".jj").mkdir()
    (tmp_path / ".jj" / "repo").write_text("elsewhere")
    with pytest.raises(Missing, match="elsewhere` is not a folder"):
        Repo("jj", tmp_path, tmp_path).store().swap(NOTHING, "text")


RACES: dict[str, Callable[[Repo], str]] = {
    "jj": lambda _: 'case "$*" in *describe*) "$REAL" describe -m theirs 2>/dev/null;; esac',
    "git": lambda _: (
        'case "$*" in *"update-ref --no-deref refs/worktree"*)'
        " git update-ref refs/worktree/handrail/plan refs/heads/theirs;; esac"
    ),
}


def test_a_writer_that_knows_nothing_of_our_lock_is_not_overwritten(repo: Repo) -> None:
    if repo.kind == "git":
        blob = repo.git("hash-object", "-w", "--stdin", text="theirs\n").strip()
        tree = repo.git("mktree", text=f"100644 blob {blob}\tplan\n").strip()
        repo.git("branch", "theirs", repo.git("commit-tree", tree, "-m", "x").strip())
    script = RACES[repo.program](repo).replace(" git ", ' "$REAL" ')
    store = replace_program(repo, script).store()
    before = store.read()
    with pytest.raises(TextConflict, match="begins `theirs`") as caught:
        store.swap(before, "mine\n")

    assert (caught.value.code, caught.value.texts) == (FaultCode.CONFLICT, ("theirs\n",))
    assert repo.store().read().text == "theirs\n"


def test_a_new_commit_that_somebody_else_began_meanwhile_is_not_taken_for_ours(jj: Repo) -> None:
    script = 'case "$*" in *" new "*) "$REAL" new -m theirs 2>/dev/null;; esac'
    store = replace_program(jj, script).store()
    before = store.read()
    with pytest.raises(TextConflict, match="the commit is another one now, and its text begins `theirs`"):
        store.begin_new(before)


def test_a_chain_that_grew_while_it_was_archived_stays(git: Repo) -> None:
    store = git.store()
    first = store.swap(store.read(), "one\n")
    git.git("branch", "one", "refs/worktree/handrail/plan")
    second = store.swap(first, "two\n")
    script = 'case "$*" in *"update-ref --no-deref --stdin"*) "$REAL" update-ref $REF one;; esac'
    raced = replace_program(git, script.replace("$REF", "refs/worktree/handrail/plan")).store()
    with pytest.raises(TextConflict, match="begins `one`"):
        raced.begin_new(second)

    assert store.read() == first
    assert git.git("for-each-ref", "refs/handrail") == ""
