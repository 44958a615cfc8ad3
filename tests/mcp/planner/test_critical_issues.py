"""Every failure of jj and git over the wire: a critical issue that names the repair, and the repair helps."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from handrail.runtime.errors import FaultCode
from helpers.planner_servers import ProjectGroup, ServedProject, create_project_group, list_repair_orders
from helpers.repositories import Repo
from helpers.requirement import requirement
from helpers.servers import Pipe

NAMES = (
    *("none", "immutable", "stale", "overtaken", "divergent", "colocated", "git-lock", "jj-config"),
    *("git-config", "inside", "old", "jj-gone", "git-gone", "unnamed"),
)
DONE = '\n[revset-aliases]\n"immutable_heads()" = "bookmarks(exact:done)"\n'


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ProjectGroup, Pipe]]:
    """One server over a project for each failure."""
    made = create_project_group(tmp_path_factory.mktemp("critical") / "group", *NAMES)
    with made.server() as pipe:
        yield made, pipe


@pytest.fixture
def project(served: tuple[ProjectGroup, Pipe]) -> Callable[[str], ServedProject]:
    """The project of this name, asked of that server."""
    return lambda name: ServedProject(*served, name)


@contextmanager
def settings(repo: Repo, text: str) -> Iterator[None]:
    """Have these settings, until the block ends."""
    stored = repo.settings.read_text()
    repo.settings.write_text(text)
    try:
        yield
    finally:
        repo.settings.write_text(stored)


@requirement("planner:errors.types")
def test_a_project_in_no_repository(project: Callable[[str], ServedProject]) -> None:
    at = project("none")
    repair = at.fails("gather_requirements", FaultCode.VCS_MISSING_REPO)
    assert "run `git init` there" in repair

    Repo("git", at.group.folder("none"), at.group.at.folder / "home").run(*list_repair_orders(repair))

    assert at.works()["stage"] == "1"


def test_a_commit_that_may_not_be_changed(project: Callable[[str], ServedProject]) -> None:
    at = project("immutable")
    repo = at.group.repo("immutable", "jj")
    assert not at.writes("brew tea").failed
    repo.jj("bookmark", "create", "done")
    with settings(repo, repo.settings.read_text() + DONE):
        repair = at.fails_to_write(FaultCode.VCS_IMMUTABLE)
        repo.run(*list_repair_orders(repair))

        assert at.works()["stage"] == "1"
    assert repo.jj("log", "--no-graph", "-r", "@-", "-T", "description") == "feat(tea): brew tea\n"


def test_a_working_copy_that_is_behind(project: Callable[[str], ServedProject]) -> None:
    at = project("stale")
    repo = at.group.repo("stale", "jj")
    (repo.folder / "file").write_text("x")
    at.works()
    beside = repo.folder.with_name("beside")
    repo.jj("workspace", "add", str(beside))
    Repo("jj", beside, repo.home).jj("restore", "--into", "default@", "--from", "root()")

    assert at.fails("gather_requirements", FaultCode.VCS_STALE) == "run `jj workspace update-stale` there"
    repo.run(*list_repair_orders(at.fails("set_detailed_goal", FaultCode.VCS_STALE, description="Why.")))

    at.works()


def test_a_stand_in_that_is_faster_every_time_as_no_real_program_can_be(
    project: Callable[[str], ServedProject],
) -> None:
    at = project("overtaken")
    repo = at.group.repo("overtaken", "jj")
    theirs = '"$REAL" --quiet describe -m "feat(tea): theirs $$"'
    with at.group.switch.doing(f'case "$*" in *" describe "*) {theirs};; esac'):
        repair = at.fails_to_write("conflict")

    assert repair == "read what stands now, and send the change again on top of it"
    assert repo.jj("log", "--no-graph", "-r", "@", "-T", "description").startswith("feat(tea): theirs ")
    at.works()


def test_a_change_with_several_commits(project: Callable[[str], ServedProject]) -> None:
    at = project("divergent")
    repo = at.group.repo("divergent", "jj")
    operation = repo.operation()
    repo.jj("describe", "-m", "feat(tea): one")
    repo.jj("--at-op", operation, "describe", "-m", "feat(tea): other")

    repair = at.fails_to_write(FaultCode.VCS_DIVERGENT)
    assert repair == "run `jj converge`, or `jj abandon` the wrong one that `jj log -r 'divergent()'` shows"
    wrong = repo.jj("log", "--no-graph", "-r", "divergent() ~ @", "-T", "commit_id")
    repo.jj("abandon", wrong)

    at.works()


@pytest.mark.parametrize(
    ("name", "kind", "lock"),
    [
        ("colocated", "colocated", ".git/index.lock"),
        ("git-lock", "git", ".git/refs/worktree/handrail/plan.lock"),
    ],
)
def test_a_lock_that_a_killed_program_has_left(
    project: Callable[[str], ServedProject], name: str, kind: str, lock: str
) -> None:
    at = project(name)
    repo = at.group.repo(name, kind)
    at.works()
    (repo.folder / lock).touch()

    repair = at.fails("set_detailed_goal", FaultCode.VCS_LOCKED, description="Why.")

    assert repair.endswith(f"if none does, remove `{repo.folder / lock}`")
    (repo.folder / lock).unlink()
    at.works()


@pytest.mark.parametrize("kind", ["jj", "git"])
def test_settings_that_cannot_be_read(project: Callable[[str], ServedProject], kind: str) -> None:
    at = project(f"{kind}-config")
    repo = at.group.repo(f"{kind}-config", kind)
    with settings(repo, "[user\n"):
        assert at.fails("gather_requirements", FaultCode.VCS_CONFIG) == f"mend the line that {kind} names"
        assert at.fails_to_write(FaultCode.VCS_CONFIG) == f"mend the line that {kind} names"

    at.works()


def test_a_repository_that_is_damaged_inside(project: Callable[[str], ServedProject]) -> None:
    at = project("inside")
    repo = at.group.repo("inside", "jj")
    operations = repo.folder / ".jj" / "repo" / "op_store" / "operations"
    operations.rename(operations.with_name("away"))
    operations.mkdir()

    repair = at.fails("gather_requirements", FaultCode.VCS_INTERNAL)
    at.fails_to_write(FaultCode.VCS_INTERNAL)

    operations.rmdir()
    operations.with_name("away").rename(operations)
    repo.run(*list_repair_orders(repair))
    at.works()


def test_a_stand_in_that_is_older_than_any_jj_that_can_be_had(
    project: Callable[[str], ServedProject],
) -> None:
    at = project("old")
    at.group.repo("old", "jj")
    with at.group.switch.doing('case "$*" in *--version) echo "jj 0.37.0"; exit;; esac'):
        assert at.fails("gather_requirements", FaultCode.VCS_TOO_OLD) == "install jj 0.38 or newer"

    at.works()


@requirement("planner:errors.types")
@pytest.mark.parametrize("kind", ["jj", "git"])
def test_a_program_that_is_not_installed(project: Callable[[str], ServedProject], kind: str) -> None:
    at = project(f"{kind}-gone")
    at.group.repo(f"{kind}-gone", kind)
    program = at.group.switch.folder / kind
    program.rename(program.with_name("away"))

    repair = at.fails("gather_requirements", FaultCode.VCS_MISSING_TOOL, "command failed")
    assert repair == f"install {kind}, or put the folder it is in into PATH"

    program.with_name("away").rename(program)
    at.works()


def test_what_has_no_name_is_passed_on_as_it_is_said(project: Callable[[str], ServedProject]) -> None:
    at = project("unnamed")
    repo = at.group.repo("unnamed", "git")
    way = repo.folder / ".git" / "refs" / "worktree"
    way.write_text("in the way")

    assert "do what git says" in at.fails_to_write(FaultCode.VCS_FAILED)

    way.unlink()
    at.works()


def test_a_program_that_is_not_done_in_time(tmp_path: Path) -> None:
    at = create_project_group(tmp_path / "group", "jj", "git")
    jj, git = at.repo("jj", "jj"), at.repo("git", "git")
    held = os.open(jj.folder / ".jj" / "working_copy" / "working_copy.lock", os.O_RDWR | os.O_CREAT)
    os.mkfifo(git.folder / ".git" / "packed-refs")
    with at.server(HANDRAIL_VCS_SECONDS="2") as pipe:
        fcntl.flock(held, fcntl.LOCK_EX)
        try:
            repair = ServedProject(at, pipe, "jj").fails(
                "gather_requirements", FaultCode.VCS_TIMEOUT, "command failed"
            )
            ServedProject(at, pipe, "jj").fails_to_write(FaultCode.VCS_TIMEOUT, "command failed")
        finally:
            os.close(held)
        assert repair.startswith("send the same call again")
        ServedProject(at, pipe, "git").fails("gather_requirements", FaultCode.VCS_TIMEOUT, "command failed")
        (git.folder / ".git" / "packed-refs").unlink()
        for name in ("jj", "git"):
            ServedProject(at, pipe, name).works()


@pytest.mark.parametrize(("forced", "kind"), [("jj", "git"), ("git", "jj")])
def test_a_kind_that_is_forced_and_not_there(tmp_path: Path, forced: str, kind: str) -> None:
    at = create_project_group(tmp_path / "group", "forced")
    repo = at.repo("forced", kind)
    with at.server("--vcs", forced) as pipe:
        project = ServedProject(at, pipe, "forced")
        repair = project.fails("gather_requirements", FaultCode.VCS_MISSING_REPO)
        assert repair.endswith("or force no kind of repository")
        repo.run(*list_repair_orders(repair))
        project.works()

    plans = repo.git("for-each-ref", "refs/worktree/handrail/plan") if forced == "git" else ""
    assert bool(plans) is (forced == "git")


def test_the_kind_is_forced_by_a_setting_too(tmp_path: Path) -> None:
    at = create_project_group(tmp_path / "group", "both")
    repo = at.repo("both", "colocated")
    with at.server(HANDRAIL_VCS="git") as pipe:
        ServedProject(at, pipe, "both").works()

    assert repo.git("cat-file", "blob", "refs/worktree/handrail/plan:plan") == "feat(tea): brew tea\n"
    assert repo.jj("log", "--no-graph", "-r", "@", "-T", "description") == ""
