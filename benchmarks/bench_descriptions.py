"""A guarded write of a description, and a turn of the face, against the bare processes that they need."""

import hashlib
import os
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Final

from handrail.app.app import App
from handrail.app.faces import Answer
from handrail.app.projects import Projects
from handrail.app.stores import ProjectRuns, open_store
from handrail.app.trust import TrustStore
from handrail.engine.model import Workflow
from handrail.mcp.faces.planner import PlannerFace
from handrail.runtime.ports.open_store import Store
from handrail.runtime.ports.turn import Descriptions, ProcessResult
from handrail.runtime.records import Caller
from handrail.runtime.system import RandomIds, SubprocessRunner
from handrail.runtime.world import PinnedWorkflow, World
from handrail.stores.vcs.commands import build_environment
from handrail.stores.vcs.commit_runs import VcsCommitRuns, open_description
from handrail.stores.vcs.git import PLAN_REF
from rounds import cost_ratio, report

TOOLS: Final = Path(__file__).resolve().parent.parent / ".tools" / "bin"
GOAL: Final = {"type": "feat", "scope": "tea", "title": "brew tea"}
BODY: Final = "A line of its description.\n" * 100
NOW: Final = datetime(2026, 3, 1, tzinfo=UTC)
ROUNDS: Final = 21


class Counted(SubprocessRunner):
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
    ) -> ProcessResult:
        """Run it, and count."""
        self.runs += 1
        return super().run(words, folder, seconds, stdin, files)


class Bare:
    """The same work by hand, without a lock, without a comparison, without a limit."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self.folder, self.env = folder, env

    def said(self, words: Sequence[str], text: bytes = b"") -> str:
        """What a program says."""
        done = subprocess.run(  # noqa: S603 - the words stand below
            words, cwd=self.folder, env=self.env, input=text, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    def jj(self, text: str) -> None:
        """Read, write, read."""
        read = ("jj", "--ignore-working-copy", "log", "--no-graph", "-r", "@", "-T", "description")
        self.said(read)
        self.said(("jj", "describe", "--stdin", "-r", "@"), text.encode())
        self.said(read)

    def git(self, text: str) -> None:
        """Two to write, as few as git needs: the objects, and the ref; the commit before is known."""
        tip = (self.folder / ".git" / PLAN_REF).read_text().strip()
        name, pack = packed(text.encode(), tip)
        self.said(("git", "unpack-objects", "-q"), pack)
        self.said(("git", "update-ref", PLAN_REF, name, tip))


def packed(text: bytes, parent: str) -> tuple[str, bytes]:
    """The name of a commit with one file, on top of the parent, and a pack with all of it."""
    objects = [(3, text)]
    objects.append((2, b"100644 plan\0" + named(b"blob", text)))
    by = f"A <a@example.org> {int(NOW.timestamp())} +0000"
    tree = named(b"tree", objects[1][1]).hex()
    commit = f"tree {tree}\nparent {parent}\nauthor {by}\ncommitter {by}\n\nplan".encode()
    objects.append((1, commit))
    pack = struct.pack(">4sII", b"PACK", 2, len(objects)) + b"".join(entry(*one) for one in objects)
    return named(b"commit", commit).hex(), pack + hashlib.sha1(pack, usedforsecurity=False).digest()


def named(kind: bytes, data: bytes) -> bytes:
    """The name that git gives an object."""
    return hashlib.sha1(kind + b" %d\0" % len(data) + data, usedforsecurity=False).digest()


def entry(kind: int, data: bytes) -> bytes:
    """An object as a pack has it: its kind and size in as few bytes as can be, then it, deflated."""
    size, head = len(data) >> 4, [kind << 4 | len(data) & 0x0F]
    while size:
        head[-1] |= 0x80
        head.append(size & 0x7F)
        size >>= 7
    return bytes(head) + zlib.compress(data, 1)


class Opened(ProjectRuns):
    """Opens every run in these descriptions."""

    def __init__(self, descriptions: Descriptions) -> None:
        super().__init__()
        self._given = descriptions

    def open_commit_run(self, root: Path, world: World, workflow: Workflow) -> VcsCommitRuns:
        """Open the run."""
        return VcsCommitRuns(self._given, world.runs, root, workflow)


class Bench:
    """A repository, a store on it, the face `planner` over that store; and another one for bare programs."""

    def __init__(self, kind: str, folder: Path, env: dict[str, str], store: Store) -> None:
        beside = folder.with_name(f"{kind}-bare")
        for place in (folder, beside):
            place.mkdir()
            self.bare = Bare(place, env)
            self.bare.said(("git", "init", "-q") if kind == "git" else ("jj", "git", "init", "--quiet"))
        self.kind, self.numbers = kind, count()
        plain = SubprocessRunner(build_environment(env))
        other = open_description(plain, plain, beside, RandomIds(), kind).descriptions
        other.swap(other.read(), self.text())
        self.runner = Counted(build_environment(env))
        self.store = open_description(self.runner, self.runner, folder, RandomIds(), kind).descriptions
        projects = Projects((folder,), TrustStore())
        flow = projects.definitions("").find_pinned("planner")
        if not isinstance(flow, PinnedWorkflow) or flow.workflow is None:
            sys.exit("the workflow `planner` cannot be read")
        self.face = PlannerFace(App(store, projects, project_runs=Opened(self.store)), flow.workflow)

    def text(self) -> str:
        """A plan that was not there before."""
        return f"feat(tea): brew tea\n\n{BODY}{next(self.numbers)}\n"

    def written(self) -> None:
        """A guarded write by the store alone."""
        self.store.swap(self.store.read(), self.text())

    def floor(self) -> None:
        """The processes that it needs."""
        by_hand = self.bare.git if self.kind == "git" else self.bare.jj
        by_hand(self.text())

    def called(self, tool: str, **given: object) -> None:
        """A call of the face."""
        (listed,) = [one for one in self.face.tools if one.names == (tool,)]
        answer = self.face.call(listed, given, Caller(client="bench 1"))
        if isinstance(answer, Answer) and answer.failed:
            sys.exit(answer.text)

    def turn(self) -> None:
        """A turn of the face that writes."""
        self.called("set_detailed_goal", description=f"{BODY}{next(self.numbers)}")

    def started(self, work: Callable[[], None]) -> int:
        """How many programs this starts."""
        before = self.runner.runs
        work()
        return self.runner.runs - before


def measure(bench: Bench) -> None:
    """Print the figures of one kind."""
    kind, needed = bench.kind, 2 if bench.kind == "git" else 3
    bench.called("set_overarching_goal", goal=GOAL)
    bench.turn()
    bench.called("gather_requirements")
    report(f"{kind}_processes_of_a_look", bench.started(lambda: bench.called("gather_requirements")), 1)
    report(f"{kind}_processes_of_a_turn_x_needed", bench.started(bench.turn) / needed, 1.3)
    turns = cost_ratio(bench.turn, bench.floor, ROUNDS)
    report(f"{kind}_turn_of_the_face_x_bare", turns, 1.3)
    report(f"{kind}_guarded_write_x_bare", cost_ratio(bench.written, bench.floor, ROUNDS), 1.3)


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
        with open_store(home / "store" / "handrail.db") as store:
            for kind in ("jj", "git"):
                measure(Bench(kind, home / kind, env, store))


if __name__ == "__main__":
    main()
