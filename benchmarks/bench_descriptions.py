"""A guarded write of a description, against the bare processes it needs; and how many a read needs."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Final

from handrail.shell.ports import Finished
from handrail.shell.runner import Programs
from handrail.shell.system import RandomIds
from handrail.stores.descriptions.choose import descriptions
from handrail.stores.descriptions.git import REF
from handrail.stores.descriptions.program import environment
from rounds import cost_ratio, report

TOOLS: Final = Path(__file__).resolve().parent.parent / ".tools" / "bin"
PLAN: Final = "- [ ] feat(a): a plan\n\n" + "A line of its description.\n" * 100
ROUNDS: Final = 21


class Counted(Programs):
    """Programs, and how many were run."""

    __slots__ = ("runs",)

    def __init__(self, env: dict[str, str]) -> None:
        super().__init__(env)
        self.runs = 0

    def run(
        self,
        words: tuple[str, ...],
        folder: str,
        seconds: float,
        stdin: str = "",
        files: tuple[int, ...] = (),
    ) -> Finished:
        """Run it, and count."""
        self.runs += 1
        return super().run(words, folder, seconds, stdin, files)


class Bare:
    """The same work by hand, without a lock, without a comparison, without a limit."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self.folder, self.env = folder, env

    def said(self, words: Sequence[str], text: str = "") -> str:
        """What a program says."""
        done = subprocess.run(  # noqa: S603 - the words stand below
            words, cwd=self.folder, env=self.env, input=text.encode(), capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    def jj(self, text: str) -> None:
        """Read by the caller and by the writer, write, read."""
        read = ("jj", "--ignore-working-copy", "log", "--no-graph", "-r", "@", "-T", "description")
        self.said(read)
        self.said(read)
        self.said(("jj", "describe", "--stdin", "-r", "@"), text)
        self.said(read)

    def git(self, text: str) -> None:
        """Read by the caller and by the writer, then four to write."""
        self.said(("git", "cat-file", "--batch"), f"{REF}\n{REF}:plan\n")
        tip = self.said(("git", "cat-file", "--batch"), f"{REF}\n{REF}:plan\n").split(" ", 1)[0]
        blob = self.said(("git", "hash-object", "-w", "--stdin"), text)
        tree = self.said(("git", "mktree"), f"100644 blob {blob}\tplan\n")
        commit = self.said(("git", "commit-tree", tree, "-p", tip), "plan")
        self.said(("git", "update-ref", REF, commit, tip))


def measure(kind: str, folder: Path, env: dict[str, str]) -> None:
    """Print both figures of one kind."""
    folder.mkdir()
    bare = Bare(folder, env)
    bare.said(("git", "init", "-q") if kind == "git" else ("jj", "git", "init", "--quiet"))
    runner = Counted(environment(env))
    store = descriptions(runner, folder, RandomIds(), kind)
    by_hand = bare.git if kind == "git" else bare.jj
    numbers = count()

    def ours() -> None:
        store.swap(store.read(), f"{PLAN}{next(numbers)}\n")

    def floor() -> None:
        by_hand(f"{PLAN}{next(numbers)}\n")

    ours()
    before = runner.runs
    store.read()
    report(f"{kind}_processes_of_a_read", runner.runs - before, 1)
    report(f"{kind}_guarded_write_x_bare", cost_ratio(ours, floor, ROUNDS), 1.3)


def main() -> None:
    """Print the figures of jj and git."""
    if not (TOOLS / "jj").exists():
        sys.exit("there is no jj: run tools/setup packages")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / ".config" / "jj").mkdir(parents=True)
        (home / ".config" / "jj" / "config.toml").write_text('[user]\nname = "A"\nemail = "a@example.org"\n')
        (home / ".gitconfig").write_text("[user]\n\tname = A\n\temail = a@example.org\n")
        env = {"HOME": folder, "PATH": f"{TOOLS}:{os.environ['PATH']}"}
        for kind in ("jj", "git"):
            measure(kind, home / kind, env)


if __name__ == "__main__":
    main()
