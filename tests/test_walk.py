"""The way of a call through the rooms, counted by tracing real calls; the design page describes one."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Final

import pytest

from handrail.app.definitions import SETTLED_NANOSECONDS
from helpers.servers import wait_until

pytestmark = pytest.mark.unmeasured
ROOT: Final = Path(__file__).resolve().parent.parent
README: Final = ROOT / "docs" / "design" / "README.md"
TRACED: Final = ROOT / "tests" / "helpers" / "traced_server.py"
WALK: Final = """
workflow: walk
version: 1
authority: sql
about: Steps in a row
steps:
  - {name: one, agent: architect, task: "First."}
  - {name: two, agent: implementer, task: "Second."}
  - {name: three, agent: tester, task: "Third."}
  - {name: four, agent: supervisor, task: "Last."}
"""
DONE: Final = {"summary": "Done.", "artifacts": [], "references": [], "confidence": 0.8}
PLAN: Final = "# Plan\n\n## Acceptance Criteria\n\n- [ ] The shop adds prices\n- [ ] It subtracts rebates\n"
TASK: Final = "# Task\n\nAdd the prices.\n"
RESULTS: Final = "# Results\n\n- [x] The shop adds prices\n"


class Server:
    """A real server on stdin and stdout that notes which functions are entered."""

    def __init__(self, folder: Path, face: str) -> None:
        self.project, self.note = folder / "project", folder / "note"
        (self.project / ".handrail" / "workflows").mkdir(parents=True)
        (self.project / ".handrail" / "workflows" / "walk.yaml").write_text(WALK)
        words = [
            sys.executable,
            str(TRACED),
            str(self.note),
            "serve",
            "--face",
            face,
            "--project",
            str(self.project),
        ]
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=self.project, env=os.environ
        )
        self.number = 0
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        self.ask("initialize", hello)
        self.send({"method": "notifications/initialized"})

    def send(self, message: Mapping[str, Any]) -> None:
        """Send one message."""
        pipe: IO[str] | None = self.process.stdin
        assert pipe is not None
        pipe.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        pipe.flush()

    def ask(self, method: str, params: Mapping[str, Any]) -> Any:  # noqa: ANN401 - whatever the server answers
        """The result of a request."""
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        assert self.process.stdout is not None
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.number:
                return answer["result"]
        return pytest.fail("the server has ended")

    def call(self, tool: str, **arguments: Any) -> Any:  # noqa: ANN401 - whatever the tool answers
        """The structured answer of a tool."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments})["structuredContent"]

    def trace(self, tool: str, **arguments: Any) -> list[str]:  # noqa: ANN401 - as above
        """The modules that a call enters, in order, once for each time it comes to another one."""
        self.process.send_signal(signal.SIGUSR1)
        self.call(tool, **arguments)
        self.process.send_signal(signal.SIGUSR2)
        wait_until(self.note.exists, "the note")
        entered = [line.partition(" ")[0] for line in self.note.read_text().splitlines()]
        return [one for one, before in zip(entered, [None, *entered], strict=False) if one != before]

    def end(self) -> None:
        """Let it end."""
        self.process.communicate(timeout=60)


def packages(modules: list[str]) -> list[str]:
    """The packages of these modules, once for each time the way comes to another one."""
    rooms = [module.rpartition("/")[0] for module in modules]
    return [room for room, before in zip(rooms, [None, *rooms], strict=False) if room != before]


@pytest.fixture(scope="module")
def step(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The way of a `workflow_next_step` that hands in the output of a step."""
    server = Server(tmp_path_factory.mktemp("step"), "steps")
    answer = server.call("workflow_next_step", template_name="walk")
    begun = time.time_ns()
    wait_until(
        lambda: time.time_ns() - begun > SETTLED_NANOSECONDS, "all files to be old enough to be remembered"
    )
    for _ in range(2):
        token = answer["new_step_token"]
        answer = server.call("workflow_next_step", step_token=token, model_output_so_far=DONE)
    modules = server.trace(
        "workflow_next_step", step_token=answer["new_step_token"], model_output_so_far=DONE
    )
    server.end()
    return modules


@pytest.fixture(scope="module")
def archiving(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The way of an `accio` that archives the files of a task; one of the same kind came before it."""
    server = Server(tmp_path_factory.mktemp("archiving"), "spells")
    files = server.project / ".ai" / "task"
    server.call("accio")
    (files / "plan.md").write_text(PLAN)
    server.call("accio")
    for cast in (server.call, server.trace):
        (files / "task.md").write_text(TASK)
        assert server.call("accio")["state"] == "ACHIEVE_TASK_EXECUTED"
        (files / "task-results.md").write_text(RESULTS)
        modules = cast("accio")
        assert not (files / "task.md").read_text().startswith("# Task\n\nAdd")
    server.end()
    return modules


def test_the_design_page_names_every_file_that_a_call_comes_to_and_no_other(step: list[str]) -> None:
    page = README.read_text(encoding="utf-8")
    block = re.search(r"<!-- walk: workflow_next_step -->\s*```\w*\n(.*?)```", page, re.DOTALL)
    assert block is not None

    named, entered = set(block[1].split()), set(step)
    assert entered == named


def test_a_step_goes_through_at_most_20_modules(step: list[str]) -> None:
    assert len(set(step)) <= 20


def test_a_step_changes_the_package_at_most_25_times(step: list[str]) -> None:
    assert len(packages(step)) - 1 <= 25


def test_an_accio_that_archives_goes_through_at_most_28_modules(archiving: list[str]) -> None:
    assert len(set(archiving)) <= 28
