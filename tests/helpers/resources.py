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
from helpers.cleanup import kept
from helpers.turns import ORIGIN, Desk, sqlite
from helpers.workflows import output

DONE: Final = "00000000-0000-0000-0000-000000000001"
OPEN: Final = "00000000-0000-0000-0000-000000000005"
GONE: Final = "00000000-0000-0000-0000-000000000007"
NOBODY: Final = "00000000-0000-0000-0000-0000000000ff"
ROOT: Final = "/home/ann/paper"
PROJECT: Final = "7ce99291f4478d52"


def resources(desk: Desk, *roots: str, vcs: VcsStatus | None = None) -> Resources:
    """The resources of a server for these projects, over the store of this desk."""
    runs = desk.runs
    assert isinstance(runs, SqliteRuns)
    store = kept(ExitStack()).enter_context(open_store(runs.database.path))
    app = App(store, Projects(tuple(map(Path, roots)), TrustStore()), clock=desk.clock)
    assert app.secret  # a server makes its key before it answers
    return Resources(app, lambda _root: vcs or VcsStatus("none"))


def made(title: str, content: str = "Wörter.", **more: object) -> dict[str, Any]:
    return output(artifacts=[{"type": "spec", "title": title, "content": content, **more}])


@dataclass(frozen=True)
class Scene:
    """A desk at a store, and what its resources say."""

    desk: Desk
    resources: Resources

    def read(self, uri: str) -> dict[str, Any]:
        content = self.resources.read(uri)
        assert content.mime == "application/json"
        told = json.loads(content.text)
        assert isinstance(told, dict)
        return told

    def refused(self, uri: str) -> str:
        with pytest.raises(ResourceNotFound) as missing:
            self.resources.read(uri)
        return missing.value.message


def played(folder: Path, origin: Origin = ORIGIN) -> Scene:
    """A run that was completed, one at its second step, and one that was abandoned there."""
    desk = Desk(sqlite(folder))
    told = desk.start(None, origin)
    desk.clock.move(seconds=10)
    told = desk.send(DONE, Event("continue", made("First", description="why")), told["token"])
    desk.clock.move(seconds=20)
    told = desk.go_on(DONE, told["token"])
    desk.clock.move(seconds=30)
    note = {"type": "note", "title": "Third", "content": "x"}
    told = desk.go_on(DONE, told["token"], summary="Sent.", artifacts=[note])
    assert told["lifecycle"] == Lifecycle.COMPLETED
    told = desk.start(None, replace(origin, goal="another", parent=DONE))
    desk.clock.move(seconds=1)
    desk.send(OPEN, Event("continue", made("Second")), told["token"])
    told = desk.start(None, origin)
    desk.clock.move(seconds=1)
    desk.send(GONE, Event("continue", made("Fourth")), told["token"])
    desk.send(GONE, Event("abandon", note="lost interest"))
    return Scene(desk, resources(desk, origin.project))
