"""Where a project stands in its version control: asked of real programs, which change and run nothing."""

import os
import subprocess
from pathlib import Path

import pytest

from handrail.runtime.system import SubprocessRunner
from handrail.stores.vcs.commands import VcsStatus, read_vcs_status, scrub_environment

ENV = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
HEAD = "8c4a6fe87f1f2f1d7bdcb9ea39d9b9b0dd3d4d22"
NO_COMMIT = "git names no commit, maybe as there is none yet: `git rev-parse HEAD` says more"


def _git(folder: Path, *words: str) -> str:
    person = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ["git", *person, *words],  # noqa: S607 - whichever git there is
        cwd=folder,
        env=ENV,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    _git(tmp_path, "init", "-q")
    _git(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    return tmp_path


def _seen(project: Path, path: str = ENV["PATH"]) -> VcsStatus:
    return read_vcs_status(SubprocessRunner({**ENV, "PATH": path}, grace=0.1), str(project))


def _stand_in(folder: Path, name: str, script: str) -> str:
    """A program of this name in a folder of its own; the PATH that finds it first."""
    (folder / "bin").mkdir()
    program = folder / "bin" / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return f"{folder / 'bin'}:{ENV['PATH']}"


def test_a_git_project_stands_at_its_commit_and_branch(project: Path) -> None:
    head = _git(project, "rev-parse", "HEAD")

    assert _seen(project) == VcsStatus("git", head, "main")


def test_a_folder_of_a_repository_and_a_worktree_stand_where_it_stands(project: Path, tmp_path: Path) -> None:
    (project / "docs").mkdir()
    _git(project, "worktree", "add", "-q", "-b", "side", str(tmp_path / "docs" / "tree"))
    head = _git(project, "rev-parse", "HEAD")

    assert _seen(project / "docs") == VcsStatus("git", head, "main")
    assert _seen(project / "docs" / "tree") == VcsStatus("git", head, "side")


def test_a_commit_without_a_branch_has_none(project: Path) -> None:
    _git(project, "checkout", "-q", "--detach")

    assert _seen(project) == VcsStatus("git", _git(project, "rev-parse", "HEAD"))


def test_a_repository_without_a_commit_says_so_in_a_sentence(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-q")

    assert _seen(tmp_path) == VcsStatus("git", problem=NO_COMMIT)


def test_a_damaged_repository_is_a_sentence_too(project: Path) -> None:
    (project / ".git" / "HEAD").write_bytes(b"\xff\x00nonsense")

    assert _seen(project) == VcsStatus("git", problem=NO_COMMIT)


def test_a_project_without_version_control_has_none(tmp_path: Path) -> None:
    assert _seen(tmp_path) == VcsStatus("none")
    assert _seen(tmp_path / "not there") == VcsStatus("none")
    assert _seen(tmp_path / ("x" * 300)) == VcsStatus("none")


@pytest.mark.parametrize("kind", ["git", "jj"])
def test_a_program_that_is_not_there_is_a_sentence_with_the_repair(kind: str, tmp_path: Path) -> None:
    (tmp_path / f".{kind}").mkdir()

    assert _seen(tmp_path, str(tmp_path / "empty")) == VcsStatus(
        kind,
        problem=f"the program `{kind}` is not there: install it, or put the folder it is in into PATH",
    )


def test_jj_comes_first_where_both_are(project: Path) -> None:
    (project / ".jj").mkdir()

    assert _seen(project, str(project / "empty")).kind == "jj"


def test_nothing_that_a_project_brings_is_run(project: Path) -> None:
    ran = project / "ran"
    hook = project / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "alias.rev-parse"):
        _git(project, "config", name, f"!{hook}" if name.startswith("alias") else str(hook))
    (project / ".git" / "hooks").mkdir(exist_ok=True)
    hook.rename(project / ".git" / "hooks" / "reference-transaction")
    before = sorted(str(path) for path in project.rglob("*"))

    assert _seen(project).head is not None
    assert not ran.exists()
    assert sorted(str(path) for path in project.rglob("*")) == before


def test_what_steers_git_and_jj_is_taken_out_of_the_environment(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    _git(other, "init", "-q")
    steered = {
        **ENV,
        "GIT_DIR": str(other / ".git"),
        "GIT_SSH_COMMAND": "false",
        "JJ_CONFIG": "/dev/null",
        "EDITOR": "vi",
        "VISUAL": "vi",
        "PAGER": "less",
        "SSH_ASKPASS": "ask",
        "LANG": "C",
    }

    assert scrub_environment(steered) == {**ENV, "LANG": "C"}
    assert read_vcs_status(SubprocessRunner(scrub_environment(steered)), str(project)).branch == "main"
    assert read_vcs_status(SubprocessRunner(steered), str(project)).branch is None


def test_a_stand_in_shows_how_jj_is_asked_since_jj_is_not_installed_everywhere(tmp_path: Path) -> None:
    (tmp_path / ".jj").mkdir()
    path = _stand_in(tmp_path, "jj", f'printf "%s\\n" "$@" > {tmp_path}/words; printf {HEAD}')

    assert _seen(tmp_path, path) == VcsStatus("jj", HEAD)
    assert (tmp_path / "words").read_text().splitlines() == [
        "--ignore-working-copy",
        "--no-pager",
        "--config=signing.behavior=drop",
        "log",
        "-r",
        "@",
        "--no-graph",
        "-T",
        "commit_id",
    ]


@pytest.mark.parametrize(
    "script",
    ["exit 1", f"printf {HEAD}; exit 1", "printf nonsense", f"printf '{HEAD} evil'", "true", "kill -9 $$"],
)
def test_a_stand_in_that_says_what_no_jj_says_gets_a_sentence(script: str, tmp_path: Path) -> None:
    (tmp_path / ".jj").mkdir()

    assert _seen(tmp_path, _stand_in(tmp_path, "jj", script)) == VcsStatus(
        "jj", problem="jj names no commit, maybe as there is none yet: `jj log -r @` says more"
    )


def test_a_stand_in_that_hangs_as_no_git_does_at_will_is_ended_and_told(project: Path) -> None:
    path = _stand_in(project, "git", "sleep 60")

    problem = read_vcs_status(SubprocessRunner({**ENV, "PATH": path}, grace=0.1), str(project), 0.05).problem

    assert problem is not None
    assert problem.startswith("`git` was not done after 0.05 s and was ended: ")
