"""A server gives up the runs that nobody looks after: when it starts, and while it serves."""

import json
import sqlite3
from pathlib import Path

import pytest

from handrail.engine.refusals import RefusalCode
from helpers.requirement import requirement
from helpers.servers import Pipe, Place, inside, place, until

pytestmark = pytest.mark.unmeasured
ABANDONED = "SELECT execution_id FROM telemetry_events WHERE event_type = 'workflow_abandoned'"


def asked(at: Place, query: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(at.store) as store:
        rows = store.execute(query).fetchall()
    store.close()
    return rows


@requirement("steps:life.startup", "steps:life.abandon-idle", "steps:life.abandon-paused")
def test_idle_runs_are_abandoned_once_when_servers_start(tmp_path: Path) -> None:
    at = place(tmp_path)
    with inside(at) as desk:
        running, paused = desk.start().run, desk.start().run
        desk.control(paused, "pause")

    with Pipe(at) as one, Pipe(at) as other:
        until(lambda: len(asked(at, ABANDONED)) == 2, "both given up")
        assert one.recover(running).code == RefusalCode.NOT_RUNNING
        assert other.recover(paused).code == RefusalCode.NOT_RUNNING

    assert sorted(asked(at, ABANDONED)) == sorted([(running,), (paused,)])
    kept = "SELECT state, json_extract(metadata, '$.auto_abandoned') FROM workflow_executions"
    assert asked(at, kept) == [("abandoned", "true"), ("abandoned", "true")]


@requirement("steps:life.sweep")
def test_an_idle_run_is_abandoned_while_a_server_serves(tmp_path: Path) -> None:
    at = place(tmp_path)
    with Pipe(at, era="legacy", HANDRAIL_IDLE_RUNNING="1") as pipe:
        told = pipe.start()
        pipe.ask("resources/subscribe", {"uri": f"workflow-status://{told.run}"})
        assert json.loads(pipe.line())["method"] == "notifications/resources/updated"
        refused = pipe.recover(told.run)

    assert refused.code == RefusalCode.NOT_RUNNING
    fork = {"execution_id": told.run, "action": "fork"}
    assert refused.reply["next"] == [{"tool": "workflow_next_step", "arguments": fork, "who": "agent"}]
