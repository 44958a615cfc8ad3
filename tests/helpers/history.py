"""A store with a past: runs of the built-in workflow with every lifecycle it can have, and one that waits."""

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handrail.engine.facts import PENDING, Fact, Kind, Provenance, Type
from handrail.engine.lifecycle import ABANDON, CONTINUE, DIVERGE, FAIL, PAUSE
from handrail.engine.model import Lifecycle
from handrail.runtime.gather import FactReader
from handrail.stores.sql.schema import SqlDatabase
from handrail.workflows.load import WorkflowSource
from handrail.workflows.registry import DRAFTS, EFFECTS, FACTS, build_registry
from tools.sample_store import OUTPUTS, Played, Playing

GATED = build_registry(
    (
        *FACTS,
        Fact(
            "tests.pass",
            Type(Kind.BOOL),
            Provenance.MEASURED,
            "the tests passed",
            (True, False),
            closed=True,
            reader="pending",
        ),
    ),
    DRAFTS,
    EFFECTS,
)
GATE = WorkflowSource(
    "gate.yaml",
    """\
workflow: gate
version: 1
authority: sql
states:
  build: {agent: builder, task: Build it.}
  shipped: {terminal: true}
transitions:
  - {id: B1, from: build, trigger: continue, when: [tests.pass], to: shipped}
""",
)
WAITS: Mapping[str, FactReader] = {"pending": lambda _asked, _of: PENDING}
PLAIN = {"summary": "Built.", "artifacts": [], "references": [], "confidence": 1}
PROJECT = "/home/ada/editor"


@dataclass(frozen=True, slots=True)
class History:
    """Where the store is, and its runs by what became of them, in the order they were started."""

    path: Path
    runs: dict[str, str]


def open_sample_store(path: Path) -> Played:
    """A store to play runs in; its workflows may wait for `tests.pass`, which nobody ever knows."""
    return Played(path, GATED, WAITS)


def create_history(path: Path) -> History:
    """The store with one run per lifecycle, `running` with two refusals, and one that is `waiting`."""
    with open_sample_store(path) as play:
        return History(path, play_lifecycles(play))


def play_lifecycles(play: Playing) -> dict[str, str]:
    """One run per lifecycle, `running` with two refusals, and one that is `waiting`."""
    runs = {str(kind): play.start(f"To be {kind}", project=PROJECT) for kind in Lifecycle if kind != "idle"}
    play.send(runs["running"], CONTINUE, {**OUTPUTS[0], "artifacts": []})
    play.send(runs["running"], "finish")
    play.walk(runs["running"], 2)
    play.walk(runs["paused"], 1)
    play.send(runs["paused"], PAUSE, note="lunch")
    play.walk(runs["completed"], 4)
    play.walk(runs["failed"], 3)
    play.send(runs["failed"], FAIL, note="no idea")
    play.send(runs["abandoned"], ABANDON, note="nobody cares")
    play.send(runs["diverged"], DIVERGE, note="done elsewhere")
    runs["waiting"] = play.start("To be waiting", GATE)
    play.send(runs["waiting"], CONTINUE, PLAIN)
    return runs


def ignore_text(_text: str) -> None:
    """Tells nobody."""


def list_run_ids(database: SqlDatabase) -> list[str]:
    with database.read() as execute:
        return [row[0] for row in execute("SELECT execution_id FROM runs ORDER BY k", ())]


def read_archive(archive: Path) -> list[dict[str, Any]]:
    with gzip.open(archive, "rt") as file:
        return [json.loads(line) for line in file]
