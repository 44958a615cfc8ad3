"""A project whose task lives in files: real files, the real store, and its mirror in the common one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from handrail.app.run_folders import RunFolder
from handrail.documents.state_file import StateFile
from handrail.engine.facts import Value
from handrail.engine.model import Actor, Event, Refused
from handrail.runtime.system import LocalFeed, RandomIds
from handrail.runtime.turn import Call, Outcome, take_turn
from handrail.runtime.world import World
from handrail.stores.files.disk import DiskWorkspace
from handrail.stores.files.file_runs import FileRuns
from handrail.stores.sql.projection import SqlRunMirrors
from handrail.stores.sql.sqlite import SqliteDatabase
from helpers.cleanup import close_later
from helpers.turns import KEY, ManualClock
from helpers.workflows import load_valid_workflow

TASKS = """
workflow: tasks
version: 1
authority: files
folder: .ai/task
tools: {go: {}, again: {who: person}}
vars: {came_from: state?}
states:
  DRAFT: {about: A task is being written}
  DONE: {about: A task was done}
transitions:
  - id: T1
    from: DRAFT
    trigger: go
    when: [task.exists]
    to: DONE
    set: {came_from: "@state"}
    say: done
  - id: T2
    from: DRAFT
    trigger: go
    do: [{write: task.md, template: task, if_absent: true}]
    say: wrote
  - {id: T4, from: DONE, trigger: go, refuse: over}
  - id: T3
    from: DONE
    trigger: again
    to: DRAFT
    do:
      - {archive: [task.md, task-results.md], to: "tasks/task-{now}"}
      - {write: task.md, template: task, if_absent: true}
texts:
  task: "# A task, begun {{now}}\\n"
  wrote: {message: "Wrote the task.", agent: "Fill in {{run.state}}."}
  over: {message: "{{run.state}} since {{run.vars.came_from}}: say again."}
  done: {message: "It was {{run.vars.came_from}}."}
"""


def format_outcome(outcome: Outcome) -> dict[str, Value]:
    """What came of a call, as data."""
    refused = outcome.decision if isinstance(outcome.decision, Refused) else None
    stored = outcome.stored
    return {
        "accepted": refused is None,
        "code": refused.code if refused else "",
        "needed": list(refused.needed) if refused else [],
        "lifecycle": str(stored.run.lifecycle) if stored else "",
        "states": [step.state for step in stored.run.open] if stored else [],
        "revision": stored.revision if stored else 0,
        "tokens": list((outcome.tokens or {}).values()),
        "texts": [dict(text) for text in outcome.texts],
    }


class TaskProject:
    """A project with a run in `.ai/task`, and the common store beside it."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.project.mkdir(exist_ok=True)
        (root / "store").mkdir(mode=0o700, exist_ok=True)
        self.workflow = load_valid_workflow(TASKS)
        self.store = root / "store" / "handrail.db"
        self.database = close_later(SqliteDatabase(self.store))
        self.disk = DiskWorkspace(self.project, self.workflow.folder)
        folder = RunFolder(self.project, self.workflow)
        self.run = folder.new_run.id
        self.runs = FileRuns(self.disk, StateFile(), folder.new_run, folder.origin, self.workflow.states)
        self.clock = ManualClock()
        self.world = World(
            self.runs,
            self.clock,
            RandomIds(),
            LocalFeed(),
            KEY,
            lambda *_: self.workflow,
            self.runs,
            lifetime=None,
            mirror=self.runs.mirror_with(SqlRunMirrors(self.database).update),
        )

    def say(self, trigger: str, token: str = "", note: str = "") -> Mapping[str, Any]:
        by = Actor.PERSON if trigger == "again" else Actor.AGENT
        return take_turn(self.world, Call("", Event(trigger, by=by, note=note), token=token), format_outcome)

    def text(self, path: str) -> str:
        return (self.project / ".ai/task" / path).read_text("utf-8")

    def names(self, path: str = "") -> list[str]:
        return sorted(found.name for found in (self.project / ".ai/task" / path).iterdir())
