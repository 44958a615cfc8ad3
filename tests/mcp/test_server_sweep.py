"""A server gives up the runs that nobody looks after: when it starts, and while it serves."""

import json
import sqlite3
from pathlib import Path

import pytest

from handrail.engine.refusals import RefusalCode
from helpers.requirement import requirement
from helpers.servers import Pipe, Place, create_place, open_in_process, wait_until

pytestmark = pytest.mark.unmeasured
ABANDONED = "SELECT execution_id FROM telemetry_events WHERE event_type = 'workflow_abandoned'"


def asked(at: Place, query: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(at.store) as store:
        rows = store.execute(query).fetchall()
    store.close()
    return rows


@requirement("steps:life.startup", "steps:life.abandon-idle", "steps:life.abandon-paused")
def test_idle_runs_are_abandoned_once_when_servers_start(tmp_path: Path) -> None:
    at = create_place(tmp_path)
    with open_in_process(at) as client:
        running, paused = client.start().run, client.start().run
        client.control(paused, "pause")

    with Pipe(at) as one, Pipe(at) as other:
        wait_until(lambda: len(asked(at, ABANDONED)) == 2, "both given up")
        assert one.recover(running).code == RefusalCode.NOT_RUNNING
        assert other.recover(paused).code == RefusalCode.NOT_RUNNING

    assert sorted(asked(at, ABANDONED)) == sorted([(running,), (paused,)])
    stored = "SELECT state, json_extract(metadata, '$.auto_abandoned') FROM workflow_executions"
    assert asked(at, stored) == [("abandoned", "true"), ("abandoned", "true")]


@requirement("steps:life.sweep")
def test_an_idle_run_is_abandoned_while_a_server_serves(tmp_path: Path) -> None:
    at = create_place(tmp_path)
    with Pipe(at, era="legacy", HANDRAIL_IDLE_RUNNING="1") as pipe:
        answer = pipe.start()
        pipe.ask("resources/subscribe", {"uri": f"workflow-status://{answer.run}"})
        assert json.loads(pipe.line())["method"] == "notifications/resources/updated"
        refused = pipe.recover(answer.run)

    assert refused.code == RefusalCode.NOT_RUNNING
    fork = {"execution_id": answer.run, "action": "fork"}
    assert refused.reply["next"] == [{"tool": "workflow_next_step", "arguments": fork, "who": "agent"}]
