"""What one call reads of a run's folder, counted at a real server by strace: each file and folder once."""

import json
import os
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias

import pytest

from handrail.engine.refusals import RefusalCode
from helpers.servers import Pipe
from helpers.skill_sessions import write_design
from helpers.spell_table import build_files
from helpers.traced_place import TracedPlace, create_traced_place

CALLS: Final = "trace=openat,getdents64,write,renameat,renameat2"
CUT_OFF: Final = re.compile(r"^(\d+) +(.*) <unfinished \.\.\.>$")
RESUMED: Final = re.compile(r"^(\d+) +<\.\.\. \w+ resumed>(.*)$")
OPENED: Final = re.compile(r'openat\(\d+<([^>]*)>, "([^"]*)", (\S+)(?:, \d+)?\) += (.*)')
LISTED: Final = re.compile(r"getdents64\(\d+<([^>]*)>.*= [1-9]")
COMMITTED: Final = re.compile(r'rename.*"intent\.json"')
REPLIED: Final = re.compile(r'write\(\d+<pipe:[^>]*>, "\{\\"jsonrpc')


def answered_calls(at: TracedPlace) -> list[list[str]]:
    """The system calls of each call that was answered, in order."""
    found: list[list[str]] = [[]]
    for line in whole_lines(at.trace):
        found[-1].append(line)
        if REPLIED.search(line):
            found.append([])
    return found[:-1]


def whole_lines(trace: str) -> Iterator[str]:
    """The lines of a trace; one that another thread has cut in two is put together where it ends."""
    begun: dict[str, str] = {}
    for line in trace.splitlines():
        if cut := CUT_OFF.match(line):
            begun[cut[1]] = cut[2]
        elif rest := RESUMED.match(line):
            yield begun.pop(rest[1], "") + rest[2]
        else:
            yield line


Reads: TypeAlias = tuple[Counter[str], Counter[str]]


def reads(lines: list[str], task: Path) -> Reads:
    """How often each file below the folder was opened to be read, there or not, and each folder listed."""
    opened, listed = Counter[str](), Counter[str]()
    for line in lines:
        if (found := OPENED.search(line)) and f"{found[1]}/".startswith(f"{task}/"):
            words = found[3].split("|")
            if "O_RDONLY" in words and "O_DIRECTORY" not in words:
                opened[f"{found[1]}/{found[2]}".removeprefix(f"{task}/")] += 1
        if (found := LISTED.search(line)) and f"{found[1]}/".startswith(f"{task}/"):
            listed[found[1].removeprefix(str(task)) or "/"] += 1
    return opened, listed


def age(folder: Path) -> None:
    """Let everything in a folder have been changed an hour ago: what is newer may be opened twice."""
    then = time.time_ns() - 3_600_000_000_000
    for path in (folder, *folder.rglob("*")):
        os.utime(path, ns=(then, then))


@pytest.fixture
def at(tmp_path: Path) -> TracedPlace:
    return create_traced_place(tmp_path / "here", CALLS)


STORE: Final = tuple(
    f".handrail/{name}" for name in ("head.json", "history.jsonl", "intent.json", "trouble.json")
)
FOLDERS: Final = ("/", "/.handrail", "/.handrail/stage")


def check_reads(
    at: TracedPlace,
    folder: Path,
    files: tuple[str, ...],
    more: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The last calls are a look, a refusal and a turn, which reads `more` files; none after its commit."""
    looking, refused, moving = answered_calls(at)[-3:]
    commit = next(number for number, line in enumerate(moving) if COMMITTED.search(line))
    calls = {
        "a look": looking,
        "a refusal": refused,
        "before the commit": moving[:commit],
        "after it": moving[commit:],
    }
    answer = {name: reads(lines, folder) for name, lines in calls.items()}
    counts = [f"{name}: {opened.total()} and {listed.total()}" for name, (opened, listed) in answer.items()]
    with capsys.disabled():
        print(f" [files opened and folders listed: {', '.join(counts)}]", end="")  # noqa: T201 - the count
    assert answer == {
        "a look": (dict.fromkeys(files, 1), {"/": 1}),
        "a refusal": (dict.fromkeys(files, 1), dict.fromkeys(FOLDERS, 1)),
        "before the commit": (dict.fromkeys((*files, *more), 1), dict.fromkeys(FOLDERS, 1)),
        "after it": ({}, {}),
    }


def test_a_cast_reads_each_file_once_and_after_its_commit_none(
    at: TracedPlace, capsys: pytest.CaptureFixture[str]
) -> None:
    task = at.project / ".ai" / "task"
    task.mkdir(parents=True)
    for path, data in build_files("plan=open task=own results=one").items():
        (task / path).write_bytes(data)
    state = {"current_state": "ACHIEVE_TASK_DRAFTING", "context": {}, "history": []}
    (task / "state.json").write_text(json.dumps(state))

    with Pipe(at, "--face", "spells") as pipe:
        assert pipe.call({}, "accio").reply["state"] == "ACHIEVE_TASK_EXECUTED"
        age(task)
        assert not pipe.call({}, "lumos").failed
        age(task)
        assert pipe.call({}, "reverto").reply["code"] == RefusalCode.REFUSED
        age(task)
        assert pipe.call({}, "accio").reply["state"] == "ACHIEVE_TASK_DRAFTING"

    assert len([*task.glob("tasks/*/*.md")]) == 2
    files = (*STORE, "state.json", "plan.md", "task-results.md", "task.md")
    check_reads(at, task, files, ("comments.md", "review-task.md"), capsys)


def test_a_skill_that_is_done_reads_each_file_of_its_session_once(
    at: TracedPlace, capsys: pytest.CaptureFixture[str]
) -> None:
    """The session is looked at before the lock is taken; under it only what has changed is read again."""
    session = at.project / ".collab" / "sessions" / "demo"
    named = {"project": str(at.project), "session": "demo"}
    with Pipe(at, "--face", "skills") as pipe:
        assert not pipe.call({**named, "skill": "collab-start"}, "complete_skill").failed
        (session / "documents").mkdir()
        (session / "documents" / "design.md").write_text(write_design(["bugfix"]), "utf-8")
        age(session)
        assert not pipe.call(named, "session_status").failed
        age(session)
        assert pipe.call({**named, "skill": "ready-to-implement"}, "complete_skill").failed
        age(session)
        assert not pipe.call({**named, "skill": "gather-session-goals"}, "complete_skill").failed

    check_reads(at, session, (*STORE, "collab-state.json"), ("documents/design.md",), capsys)
