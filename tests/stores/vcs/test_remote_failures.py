"""What goes wrong with a remote is told with its repair, and nothing of the project is run on the way."""

from pathlib import Path

import pytest

from handrail.runtime.errors import (
    Fault,
    NoPlan,
    NoRemote,
    RemoteDenied,
    RemoteUnreachable,
    Unreadable,
    VcsFailed,
)
from handrail.runtime.ports.turn import DescriptionSync, ExchangeOutcome, ProcessResult
from handrail.runtime.system import RandomIds, SubprocessRunner
from handrail.stores.vcs.commands import remote_fault
from handrail.stores.vcs.commit_runs import open_description
from handrail.stores.vcs.git import build_remote_environment
from helpers.planted_programs import plant_everything
from helpers.repositories import Repo

REF = "refs/handrail/plans/main"


@pytest.fixture
def far(git: Repo) -> Path:
    """A remote that is empty; the repository has a plan."""
    folder = git.folder.parent / "far.git"
    git.git("init", "-q", "--bare", str(folder))
    git.git("remote", "add", "origin", str(folder))
    store = git.store()
    store.swap(store.read(), "a\n")
    return folder


def sharing(repo: Repo, **env: str) -> DescriptionSync:
    programs = SubprocessRunner(build_remote_environment({**repo.env, **env}), grace=0.1)
    found = open_description(repo.runner(), programs, repo.folder, RandomIds(), "git").sharing
    assert found is not None
    return found


def test_a_repository_without_a_remote_or_with_several_says_which_are_there(git: Repo) -> None:
    with pytest.raises(NoRemote, match="this repository has no remote") as none:
        sharing(git).push()
    git.git("remote", "add", "a", "x")
    git.git("remote", "add", "b", "x")
    with pytest.raises(NoRemote, match="there are several remotes") as several:
        sharing(git).pull()
    with pytest.raises(NoRemote, match="no remote is called `--upload-pack=x`") as other:
        sharing(git).pull("--upload-pack=x")

    assert none.value.repair == "add one: `git remote add origin URL`"
    assert several.value.repair == "say which one: a, b"
    assert other.value.repair.startswith("name one that there is (a, b), or add it")


@pytest.mark.usefixtures("far")
def test_a_plan_that_is_not_there_is_not_pulled_and_none_is_not_pushed(git: Repo) -> None:
    with pytest.raises(NoPlan, match=f"`origin` has no plan under `{REF}`") as there:
        sharing(git).pull()
    git.git("update-ref", "-d", "refs/worktree/handrail/plan")
    with pytest.raises(NoPlan, match="this worktree has no plan to push") as here:
        sharing(git).push()

    assert "run `handrail plan push` where it is" in there.value.repair
    assert "git ls-remote origin 'refs/handrail/plans/*'" in there.value.repair
    assert (
        here.value.repair == "begin one with a server of `--face planner` or `--face commits`, then push it"
    )


@pytest.mark.usefixtures("far")
def test_a_plan_without_a_branch_needs_a_name_and_a_name_must_be_one(git: Repo) -> None:
    git.git("checkout", "-q", "--detach")
    with pytest.raises(Unreadable, match="no branch is checked out") as caught:
        sharing(git).push()
    for name in ("a b", "x:refs/heads/main", "*", "a..b", "-/", "a.lock"):
        with pytest.raises(Unreadable, match="names no plan"):
            sharing(git).push(name=name)

    assert caught.value.repair == "say its name with --name"
    assert sharing(git).push(name="main").moved is ExchangeOutcome.SENT


@pytest.mark.usefixtures("far")
@pytest.mark.parametrize(
    ("url", "fault", "said"),
    [
        ("{tmp}/gone.git", RemoteUnreachable, "does not appear to be a git repository"),
        ("https://127.0.0.1:1/x.git", RemoteUnreachable, "unable to access"),
        ("http://127.0.0.1:1/x.git", RemoteUnreachable, "transport 'http' not allowed"),
        ("ext::sh -c evil", RemoteUnreachable, "transport 'ext' not allowed"),
        ("git://127.0.0.1:1/x.git", RemoteUnreachable, "transport 'git' not allowed"),
        ("evil::x", RemoteUnreachable, "transport 'evil' not allowed"),
    ],
)
def test_a_remote_that_is_not_reached_is_told_with_the_repair(
    git: Repo, url: str, fault: type[Fault], said: str
) -> None:
    git.git("remote", "set-url", "origin", url.format(tmp=git.folder))
    for exchange in (sharing(git).push, sharing(git).pull):
        with pytest.raises(fault, match=said) as caught:
            exchange()
        assert "git remote" in caught.value.repair


@pytest.mark.usefixtures("far")
def test_a_key_that_is_not_let_in_is_told_and_the_ssh_is_that_of_the_user(git: Repo) -> None:
    ssh = git.home / "ssh.sh"
    ssh.write_text('#!/bin/sh\necho "me@far: Permission denied (publickey)." >&2\nexit 255\n')
    ssh.chmod(0o755)
    git.git("remote", "set-url", "origin", "ssh://me@far/x.git")
    git.git("config", "core.sshCommand", "touch evil; false")
    with pytest.raises(RemoteDenied, match="Permission denied") as caught:
        sharing(git, GIT_SSH_COMMAND=str(ssh)).push()

    assert "by an ssh-agent, or a credential helper" in caught.value.repair
    assert not (git.folder / "evil").exists()


def test_a_remote_that_does_not_take_it_is_told_in_its_words(git: Repo, far: Path) -> None:
    hook = far / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'no plans here' >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(RemoteDenied, match=r"no plans here.*pre-receive hook declined") as caught:
        sharing(git).push()

    assert caught.value.repair == "ask whoever keeps it to let you write below `refs/handrail/`"


def test_what_has_no_other_name_is_passed_on() -> None:
    fault = remote_fault(Path("/x"), ProcessResult(1, b"", b"fatal: the moon is full\nhint: wait\n"))

    assert type(fault) is VcsFailed
    assert fault.message == "git failed: fatal: the moon is full"


def test_a_ref_of_a_remote_that_holds_no_plan_is_not_taken(git: Repo, far: Path) -> None:
    git.git("push", "-q", str(far), f"main:{REF}")
    for exchange in (sharing(git).push, sharing(git).pull):
        with pytest.raises(Unreadable, match="holds no file `plan`"):
            exchange()
    assert git.store().read().text == "a\n"


def test_a_text_of_a_remote_that_cannot_be_kept_is_not_taken(git: Repo, far: Path) -> None:
    blob = git.git("hash-object", "-w", "--stdin", text="a\0b\n").strip()
    tree = git.git("mktree", text=f"100644 blob {blob}\tplan\n").strip()
    commit = git.git("commit-tree", tree, "-m", "x").strip()
    git.git("push", "-q", str(far), f"{commit}:{REF}")
    with pytest.raises(Unreadable, match="NUL"):
        sharing(git).pull()

    assert git.store().read().text == "a\n"


def test_nothing_that_a_repository_brings_is_run_while_its_plan_is_exchanged(git: Repo, far: Path) -> None:
    mark, repo = plant_everything(git)
    evil = mark.parent / "evil" / "evil"
    for name in ("uploadpack", "receivepack", "vcs", "proxy"):
        git.git("config", f"remote.origin.{name}", str(evil))
    git.git("config", f"url.ext::{evil}.insteadOf", "nowhere")
    for hook in ("pre-push", "post-merge"):
        (git.folder / ".git" / "hooks" / hook).write_text(evil.read_text())
        (git.folder / ".git" / "hooks" / hook).chmod(0o755)
    (git.folder / ".git" / "objects" / "info" / "alternates").write_text(f"{far}/objects\n")
    store = repo.store()
    assert sharing(repo).push().moved is ExchangeOutcome.SENT
    store.swap(store.read(), "b\n")
    assert sharing(repo).push().moved is ExchangeOutcome.SENT
    store.begin_new(store.read())
    assert sharing(repo).pull().moved is ExchangeOutcome.TAKEN

    assert store.read().text == "b\n"
    assert not mark.exists(), mark.read_text()


def test_the_same_repository_runs_it_for_whoever_pushes_with_bare_git(git: Repo, far: Path) -> None:
    mark, repo = plant_everything(git)
    hook = git.folder / ".git" / "hooks" / "pre-push"
    hook.write_text((mark.parent / "evil" / "evil").read_text())
    hook.chmod(0o755)
    repo.run("git", "push", "-q", str(far), "main")

    assert "pre-push" in mark.read_text()


@pytest.mark.usefixtures("far")
def test_nothing_is_left_of_what_stands_between(
    git: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    between = tmp_path / "between"
    between.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(between))
    sharing(git).push()
    git.git("remote", "set-url", "origin", "/gone")
    with pytest.raises(RemoteUnreachable):
        sharing(git).push()

    assert list(between.iterdir()) == []


def test_what_the_user_says_of_ssh_stays_and_what_else_steers_git_does_not() -> None:
    seen = build_remote_environment(
        {"GIT_SSH_COMMAND": "ssh -i k", "GIT_DIR": "/d", "SSH_ASKPASS": "a", "SSH_AUTH_SOCK": "s"}
    )

    assert (seen["GIT_SSH_COMMAND"], seen["SSH_AUTH_SOCK"]) == ("ssh -i k", "s")
    assert (seen["GIT_ALLOW_PROTOCOL"], seen["GIT_TERMINAL_PROMPT"]) == ("file:ssh:https", "0")
    assert not {"GIT_DIR", "SSH_ASKPASS"} & seen.keys()
