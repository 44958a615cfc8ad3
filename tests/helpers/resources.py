"""A server's resources over a real store, filled by real turns: what they say is typed by hand."""

import json
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec.structs import replace

from handrail.app.app import App
from handrail.app.projects import Projects
from handrail.app.stores import open_store
from handrail.app.trust import TrustStore
from handrail.engine.model import Event, Lifecycle
from handrail.mcp.resources import ResourceNotFound, Resources
from handrail.runtime.records import Origin
from handrail.stores.sql.runs import SqliteRuns
from handrail.stores.vcs.commands import VcsStatus
from helpers.cleanup import close_later
from helpers.turns import ORIGIN, TurnHarness, open_sqlite
from helpers.workflows import build_output

DONE: Final = "00000000-0000-0000-0000-000000000001"
OPEN: Final = "00000000-0000-0000-0000-000000000005"
GONE: Final = "00000000-0000-0000-0000-000000000007"
NOBODY: Final = "00000000-0000-0000-0000-0000000000ff"
ROOT: Final = "/home/ann/paper"
PROJECT: Final = "7ce99291f4478d52"


def open_resources(harness: TurnHarness, *roots: str, vcs: VcsStatus | None = None) -> Resources:
    """The resources of a server for these projects, over the store of this desk."""
    runs = harness.runs
    assert isinstance(runs, SqliteRuns)
    store = close_later(ExitStack()).enter_context(open_store(runs.database.path))
    app = App(store, Projects(tuple(map(Path, roots)), TrustStore()), clock=harness.clock)
    assert app.secret  # a server makes its key before it answers
    return Resources(app, lambda _root: vcs or VcsStatus("none"))


def build_spec_output(title: str, content: str = "Wörter.", **more: object) -> dict[str, Any]:
    return build_output(artifacts=[{"type": "spec", "title": title, "content": content, **more}])


@dataclass(frozen=True)
class ResourceScene:
    """A desk at a store, and what its resources say."""

    desk: TurnHarness
    resources: Resources

    def read(self, uri: str) -> dict[str, Any]:
        content = self.resources.read(uri)
        assert content.mime == "application/json"
        answer = json.loads(content.text)
        assert isinstance(answer, dict)
        return answer

    def refused(self, uri: str) -> str:
        with pytest.raises(ResourceNotFound) as missing:
            self.resources.read(uri)
        return missing.value.message


def play_runs(folder: Path, origin: Origin = ORIGIN) -> ResourceScene:
    """A run that was completed, one at its second step, and one that was abandoned there."""
    harness = TurnHarness(open_sqlite(folder))
    answer = harness.start(None, origin)
    harness.clock.move(seconds=10)
    answer = harness.send(
        DONE, Event("continue", build_spec_output("First", description="why")), answer["token"]
    )
    harness.clock.move(seconds=20)
    answer = harness.continue_run(DONE, answer["token"])
    harness.clock.move(seconds=30)
    note = {"type": "note", "title": "Third", "content": "x"}
    answer = harness.continue_run(DONE, answer["token"], summary="Sent.", artifacts=[note])
    assert answer["lifecycle"] == Lifecycle.COMPLETED
    answer = harness.start(None, replace(origin, goal="another", parent=DONE))
    harness.clock.move(seconds=1)
    harness.send(OPEN, Event("continue", build_spec_output("Second")), answer["token"])
    answer = harness.start(None, origin)
    harness.clock.move(seconds=1)
    harness.send(GONE, Event("continue", build_spec_output("Fourth")), answer["token"])
    harness.send(GONE, Event("abandon", note="lost interest"))
    return ResourceScene(harness, open_resources(harness, origin.project))
