"""One turn in files, with every counted system call of a kind failing. Run below the shim of faulty_disk.py.

`python -m helpers.folder_faults '<errno> <kind>' <folder>`: each try is a forked child on a fresh copy of the
same project; the parent then looks with nothing broken, and takes the turn again. What it finds is told as
JSON.
"""

import errno
import json
import os
import shutil
import sys
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from handrail.runtime.errors import Fault, SyncFailed
from helpers import faulty_disk
from helpers.crash import prepare_to_fork
from helpers.sqlite_faults import run_in_child
from helpers.task_project import TaskProject

PERSONS = {"task.md": "the task of a person", "task-results.md": "its results"}


def prepare_project(folder: Path) -> None:
    """A project whose next turn archives two files of a person and writes a new one."""
    project = TaskProject(folder)
    project.say("go")
    for name, text in PERSONS.items():
        (project.project / ".ai/task" / name).write_text(text)
    project.say("go")
    project.database.close()


def take_one_turn(folder: Path) -> str:
    """What came of the turn; a process that doubts its disk takes no other."""
    project = TaskProject(folder)
    try:
        return f"ok {project.say('again')['revision']}"
    except SyncFailed as fault:
        try:
            project.say("again")
        except SyncFailed:
            return f"refused {fault.code}, then no more"
        return f"refused {fault.code}, and went on"
    except Fault as fault:
        return f"refused {fault.code}"


def find_errors(folder: Path, said: str) -> list[str]:
    """What is wrong with the project after a turn that ended so."""
    project = TaskProject(folder)
    revision = project.runs.load_current().revision
    found = (
        [] if revision in ({3} if said.startswith("ok") else {2, 3}) else [f"at {revision} after {said!r}"]
    )
    if revision == 2 and not project.say("again")["accepted"]:
        found.append(f"the turn cannot be taken after {said!r}")
    else:
        with project.runs.hold_lock("", 0):
            pass
    texts = {path.read_text("utf-8") for path in project.project.rglob("*.md")}
    found += [f"{text!r} is lost after {said!r}" for text in PERSONS.values() if text not in texts]
    if project.runs.load_current().trouble or project.runs.load_current().revision != 3:
        found.append(f"not whole again after {said!r}")
    project.database.close()
    return found


def main(words: Sequence[str]) -> dict[str, object]:
    """What was found."""
    (name, kind), folder = words[0].split(), Path(words[1])
    number = getattr(errno, name)
    control, start, now = Path(os.environ["FAULTS_CONTROL"]), folder / "start", folder / "now"
    start.mkdir()
    prepare_project(start)
    answer: list[str] = []
    wrong: list[str] = []
    for k in count(1):
        shutil.rmtree(now, ignore_errors=True)
        shutil.copytree(start, now)
        faulty_disk.arm_fault(control, k, errno=number, kinds=(kind,))
        answer.append(run_in_child(lambda: take_one_turn(now)))
        counted = faulty_disk.read_call_count(control)
        faulty_disk.arm_fault(control, 0)
        wrong += [f"{kind} {k}: {found}" for found in find_errors(now, answer[-1])]
        if k > counted:
            break
    return {"points": len(answer) - 1, "wrong": wrong, "told": answer}


if __name__ == "__main__":
    prepare_to_fork()
    sys.stdout.write(json.dumps(main(sys.argv[1:])))
