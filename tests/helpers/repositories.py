"""Real repositories of jj and git, each with a home of its own, and stores on them."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from handrail.runtime.ports.turn import Descriptions, ProjectDescription
from handrail.runtime.system import RandomIds, SubprocessRunner
from handrail.stores.vcs.commands import DEFAULT_TIMEOUTS, VcsTimeouts, build_environment
from handrail.stores.vcs.commit_runs import open_description
from handrail.stores.vcs.git import GitDescriptions, build_remote_environment
from handrail.stores.vcs.jj import JjDescriptions

TOOLS: Final = Path(__file__).resolve().parents[2] / ".tools"
KINDS: Final = ("jj", "colocated", "git")
SETTINGS: Final = '[user]\nname = "Ann"\nemail = "ann@example.org"\n'
GIT_SETTINGS: Final = "[user]\n\tname = Ann\n\temail = ann@example.org\n"


def find_jj() -> Path:
    """The jj that `tools/setup packages` has brought."""
    if not (TOOLS / "bin" / "jj").exists():
        reason = TOOLS / "no-jj"
        said = reason.read_text() if reason.exists() else "it was not looked for"
        pytest.fail(f"there is no jj 0.38 or newer: run tools/setup packages\n{said}", pytrace=False)
    return (TOOLS / "bin" / "jj").resolve()


@dataclass(frozen=True)
class Repo:
    """A repository in a folder; `kind` is how it came to be. Everything runs by its home and this PATH."""

    kind: str
    folder: Path
    home: Path
    path: str = f"{TOOLS / 'bin'}:{os.environ['PATH']}"

    @property
    def program(self) -> str:
        """jj or git."""
        return "git" if self.kind == "git" else "jj"

    @property
    def env(self) -> dict[str, str]:
        """What programs see."""
        return {"HOME": str(self.home), "PATH": self.path, "GIT_CONFIG_NOSYSTEM": "1"}

    @property
    def settings(self) -> Path:
        """The user's settings of the program."""
        return self.home / (".gitconfig" if self.kind == "git" else ".config/jj/config.toml")

    def runner(self) -> SubprocessRunner:
        """Programs that are soon made to end."""
        return SubprocessRunner(build_environment(self.env), grace=0.1)

    def store(self, limits: VcsTimeouts = DEFAULT_TIMEOUTS) -> Descriptions:
        """A new store on it."""
        if self.kind == "git":
            return GitDescriptions(self.runner(), self.folder, RandomIds(), limits)
        return JjDescriptions(self.runner(), self.folder, limits)

    def chosen(self, kind: str = "") -> Descriptions:
        """The store that is chosen for its folder."""
        return self.carried(kind).descriptions

    def carried(self, kind: str = "") -> ProjectDescription:
        """The description that is chosen for its folder, with all about it."""
        far = SubprocessRunner(build_remote_environment(self.env), grace=0.1)
        return open_description(self.runner(), far, self.folder, RandomIds(), kind)

    def run(self, *words: str, text: str = "", folder: Path | None = None) -> str:
        """What a bare program says, which must end well."""
        done = subprocess.run(
            words,
            cwd=folder or self.folder,
            env=self.env,
            input=text,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def jj(self, *words: str, text: str = "") -> str:
        """What bare jj says."""
        return self.run("jj", "--no-pager", "--color=never", *words, text=text)

    def git(self, *words: str, text: str = "") -> str:
        """What bare git says."""
        return self.run("git", *words, text=text)

    def operation(self) -> str:
        """The operation that jj is at."""
        return self.jj("--ignore-working-copy", "op", "log", "--no-graph", "-n1", "-T", "id")


def create_repository(kind: str, folder: Path, home: Path) -> Repo:
    """A new repository with one commit that has nothing in it."""
    folder.mkdir(parents=True, exist_ok=True)
    repo = Repo(kind, folder, home)
    repo.settings.parent.mkdir(parents=True, exist_ok=True)
    repo.settings.write_text(GIT_SETTINGS if kind == "git" else SETTINGS)
    if kind == "git":
        repo.git("init", "-q", "-b", "main")
        repo.git("commit", "-q", "--allow-empty", "-m", "first")
    else:
        find_jj()
        repo.jj("git", "init", "--colocate" if kind == "colocated" else "--no-colocate")
    return repo


def replace_program(repo: Repo, script: str) -> Repo:
    """The same repository, with a script in place of its program; `$REAL` in it is the real one.

    The script sees the words as they are given; `case " $* " in *" describe "*)` finds a command.
    """
    real = find_jj() if repo.program == "jj" else shutil.which("git")
    folder = repo.home / "stand-in"
    folder.mkdir()
    program = folder / repo.program
    program.write_text(f'#!/bin/sh\nREAL={real}\n{script}\nexec "$REAL" "$@"\n')
    program.chmod(0o755)
    return Repo(repo.kind, repo.folder, repo.home, f"{folder}:{repo.path}")
