"""Runs gone quiet, as `handrail runs` shows them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from handrail.engine.model import Lifecycle
from helpers.history import GATE, create_history, open_sample_store
from helpers.program import run_handrail


def test_what_has_gone_quiet_says_so_unless_it_waits_for_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    past = create_history(tmp_path / "store" / "handrail.db")
    monkeypatch.setenv("HANDRAIL_STORE", str(past.path))

    listed = run_handrail("runs", "list", "--json").data["runs"]
    shown = {name: run_handrail("runs", "show", run, "--json").data["run"] for name, run in past.runs.items()}

    assert {name for name, run in shown.items() if run["quiet"]} == {"running", "paused"}
    assert {run["id"]: run["quiet"] for run in listed} == {run["id"]: run["quiet"] for run in shown.values()}


@pytest.mark.parametrize(("limit", "lifecycle"), [("31536000", Lifecycle.RUNNING), ("1", "running, quiet")])
def test_how_long_a_run_may_be_left_alone_is_a_setting(tmp_path: Path, limit: str, lifecycle: str) -> None:
    store = tmp_path / "store" / "handrail.db"
    with open_sample_store(store) as play:
        play.clock.at = datetime.now(UTC) - timedelta(minutes=20)
        play.start("", GATE)

    said = run_handrail("runs", "list", "--store", store, HANDRAIL_IDLE_RUNNING=limit)

    assert said.out.split("\t")[2] == lifecycle


def test_a_setting_that_is_no_number_is_said_in_one_line(tmp_path: Path) -> None:
    past = create_history(tmp_path / "store" / "handrail.db")

    said = run_handrail("runs", "list", "--store", past.path, HANDRAIL_IDLE_PAUSED="a day")

    assert (said.status, said.out) == (1, "")
    assert said.err.splitlines() == [
        "handrail: HANDRAIL_IDLE_PAUSED is 'a day', which is no number of seconds",
        "  set it to a whole number from 1 to 31536000, or not at all",
    ]
