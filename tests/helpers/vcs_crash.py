"""A writer, jj and git killed at every counted call that changes something. Run as a program: kind, folder.

A writer replaces `old` by `new`, and the k-th call of it and what it starts is the last of whoever makes it.
Then the text is the old one or the new one, as the writer says, if it still can. And the next writer writes,
or says what a person has to do first: to remove the lock file that it names, or to run the command of jj that
it names; that is done, until it writes.
"""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Final

from handrail.runtime.errors import DivergentChange, Fault, StaleWorkingCopy, VcsLocked
from handrail.runtime.ports.turn import Description
from handrail.runtime.system import RandomIds, SubprocessRunner
from handrail.stores.vcs.commands import build_environment
from handrail.stores.vcs.commit_runs import open_description
from helpers import faulty_disk
from helpers.crash import prepare_to_fork
from helpers.repositories import Repo, create_repository

CHANGES: Final = ("open", "write", "rename", "unlink", "mkdir", "truncate")
"""What leaves something else behind when it comes too late; a kill spares what the disk has not confirmed."""

KILLED: Final = "killed"


class WriterBench:
    """A repository that is put back before every kill, and a control over what its programs call."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.first = folder / "first"
        self.control = folder / "control"
        self.repo: Repo = create_repository(kind, folder / "now", folder / "home")
        self.plain = self.repo.store()
        env = {
            **build_environment(self.repo.env),
            **faulty_disk.build_fault_environment(self.repo.folder, self.control),
        }
        programs = SubprocessRunner(env)
        opened = open_description(programs, programs, self.repo.folder, RandomIds(), self.repo.program)
        self.writer = opened.descriptions
        # The first write of a store asks jj for its user. Those that are killed need not ask again.
        self.before = self.writer.swap(self.plain.read(), "old\n")
        if kind == "colocated":
            (self.repo.folder / "file").write_text("not yet seen by jj")
        shutil.copytree(self.repo.folder, self.first, symlinks=True)

    def written(self, k: int) -> tuple[str, Description]:
        """What the writer says whose k-th call is its program's last, and what stands."""
        shutil.rmtree(self.repo.folder)
        shutil.copytree(self.first, self.repo.folder, symlinks=True)
        faulty_disk.arm_fault(self.control, k, kill=True, kinds=CHANGES)
        said = self.said()
        faulty_disk.arm_fault(self.control, 0)
        stands = self.plain.read()
        wanted = {"new\n": {"new\n"}, KILLED: {"old\n", "new\n"}}.get(said, {"old\n"})
        if stands.text not in wanted or stands.divergent:
            raise SystemExit(f"call {k}: {said!a}, and {stands} stands")
        return said, stands

    def said(self) -> str:
        """What the writer says, in a process of its own, or that it was killed."""
        hears, tells = os.pipe()
        if not (child := os.fork()):
            try:
                said = self.writer.swap(self.before, "new\n").text
            except Fault as fault:
                said = fault.code
            os.write(tells, said.encode())
            os._exit(0)
        os.close(tells)
        with os.fdopen(hears) as heard:
            said = heard.read()
        os.waitpid(child, 0)
        return said or KILLED

    def next_said(self, before: Description) -> str:
        """What the next writer says again and again, until it has written on top of what stands."""
        said: list[str] = []
        while True:
            try:
                self.plain.swap(before, "next\n")
            except VcsLocked as fault:
                lock = Path(fault.repair.split("`")[1])
                lock.relative_to(self.repo.folder)
                lock.unlink()
                said.append(fault.code)
            except (StaleWorkingCopy, DivergentChange) as fault:
                self.repo.run(*fault.repair.split("`")[1].split())
                said.append(fault.code)
            else:
                return ", ".join([*said, "written"])


def main(kind: str, folder: str) -> None:
    prepare_to_fork()
    bench = WriterBench(kind, Path(folder))
    faulty_disk.arm_fault(bench.control, 0, kinds=CHANGES)
    bench.said()
    points = faulty_disk.read_call_count(bench.control)
    said: dict[str, int] = {}
    for k in range(1, points + 1):
        answer, before = bench.written(k)
        way = f"{answer.strip()}: {bench.next_said(before)}"
        said[way] = said.get(way, 0) + 1
    print(json.dumps({"points": points, "said": said}))  # noqa: T201 - what the test reads


if __name__ == "__main__":
    main(*sys.argv[1:])
