"""Servers of `planner` over many repositories at once, and programs that first do as a test says."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.planner_agents import GOAL
from helpers.repositories import Repo, create_repository, find_jj
from helpers.servers import Pipe, Place, ToolAnswer, create_place


@dataclass(frozen=True, slots=True)
class ProgramSwitch:
    """A folder with jj and git in it: the real ones, which first do what the script of a test says, if any.

    In the script `$REAL` is the real program, and `$0` the name it was called by.
    """

    folder: Path

    def put(self) -> None:
        self.folder.mkdir(parents=True)
        for name, real in (("jj", find_jj()), ("git", shutil.which("git"))):
            script = f'#!/bin/sh\nREAL={real}\n[ -e {self.script} ] && . {self.script}\nexec "$REAL" "$@"\n'
            (self.folder / name).write_text(script)
            (self.folder / name).chmod(0o755)

    @property
    def script(self) -> Path:
        """What is done before a program; without this file, nothing."""
        return self.folder / "script"

    @contextmanager
    def doing(self, script: str) -> Iterator[None]:
        """Have this done before every program, until the block ends."""
        self.script.write_text(script)
        try:
            yield
        finally:
            self.script.unlink()


@dataclass(frozen=True, slots=True)
class ProjectGroup:
    """A place, the folders of projects in it, and the programs that its servers find."""

    at: Place
    names: Sequence[str]
    switch: ProgramSwitch

    def server(self, *words: str, **env: str) -> Pipe:
        projects = (word for name in self.names for word in ("--project", str(self.folder(name))))
        return Pipe(self.at, "--face", "planner", *projects, *words, PATH=str(self.switch.folder), **env)

    def folder(self, name: str) -> Path:
        return self.at.folder / name

    def repo(self, name: str, kind: str) -> Repo:
        """A new repository in the folder of a project."""
        return create_repository(kind, self.folder(name), self.at.folder / "home")


def create_project_group(folder: Path, *names: str) -> ProjectGroup:
    """A new one, with these projects, which are in no repository yet."""
    made_ = ProjectGroup(create_place(folder, measured=False), names, ProgramSwitch(folder / "programs"))
    made_.switch.put()
    for name in names:
        made_.folder(name).mkdir()
    return made_


@dataclass(frozen=True, slots=True)
class ServedProject:
    """A project in the project_group, and the server that it is asked of."""

    group: ProjectGroup
    pipe: Pipe
    name: str

    def calls(self, tool: str, **given: object) -> ToolAnswer:
        return self.pipe.call({"project": self.name, **given}, tool)

    def writes(self, title: str) -> ToolAnswer:
        return self.calls("set_overarching_goal", goal={**GOAL, "title": title})

    def fails(self, tool: str, code: str, kind: str = "command non zero exit", **given: object) -> str:
        """A call that version control lets fail is a critical issue; the repair that it tells."""
        answer = self.calls(tool, **given)
        assert (answer.failed, answer.reply.get("code")) == (True, code), answer.text
        assert answer.reply["error_type"] == kind
        assert answer.reply["error"].startswith(f"An internal error occurred: {kind} `{code}`\n\nMetadata:\n")
        assert "This is a CRITICAL ISSUE: stop" in answer.reply["error"]
        (repair,) = answer.reply["why"]["needed"]
        assert repair in answer.reply["error"]
        assert answer.text.startswith(answer.reply["error"])
        return str(repair)

    def fails_to_write(self, code: str, kind: str = "command non zero exit") -> str:
        return self.fails("set_overarching_goal", code, kind, goal=GOAL)

    def works(self) -> dict[str, Any]:
        """Both a look and a write are answered well."""
        for answer in (self.calls("gather_requirements"), self.writes("brew tea")):
            assert not answer.failed, answer.text
        return answer.reply


def list_repair_orders(repair: str) -> list[str]:
    return repair.split("`")[1].split()
