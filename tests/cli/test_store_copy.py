"""`handrail store copy`: what people and programs are told of it."""

import os
import pty
import subprocess
from pathlib import Path

import pytest

from handrail.runtime.errors import FaultCode
from helpers.history import History, create_history
from helpers.program import PROGRAM, run_handrail

COUNTS = {
    "settings": 1,
    "definitions": 2,
    "projects": 1,
    "runs": 7,
    "steps": 16,
    "artifacts": 11,
    "events": 88,
    "replies": 22,
    "folded": 1,
    "summary_runs": 0,
    "summary_days": 0,
    "summary_steps": 0,
    "summary_hours": 0,
    "summary_states": 0,
    "summary_run_times": 0,
    "summary_step_times": 0,
    "summary_errors": 0,
    "summary_daily": 0,
    "access_tokens": 0,
    "registered": 0,
}


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> History:
    return create_history(tmp_path_factory.mktemp("past") / "handrail.db")


def test_a_store_is_copied_to_postgresql_and_back(past: History, database: str, tmp_path: Path) -> None:
    there = run_handrail("store", "copy", past.path, database)
    back = run_handrail("store", "copy", database, tmp_path / "back" / "handrail.db", "--json")

    assert (there.status, there.out) == (0, "".join(f"{name}\t{rows}\n" for name, rows in COUNTS.items()))
    assert back.data == {
        "schema": 1,
        "from": database,
        "to": str(tmp_path / "back" / "handrail.db"),
        "continued": False,
        "tables": COUNTS,
    }
    assert (
        run_handrail("runs", "list", "--store", database).out
        == run_handrail("runs", "list", "--store", tmp_path / "back" / "handrail.db").out
    )
    assert run_handrail("store", "check", "--store", database).status == 0


def test_how_far_it_is_is_told_now_and_then(past: History, tmp_path: Path) -> None:
    said = run_handrail("store", "copy", past.path, tmp_path / "new" / "handrail.db")

    assert said.err.splitlines() == [
        "copying: 1 of 149 rows",
        "copying: 27 of 149 rows",
        "copying: 38 of 149 rows",
        "copying: 126 of 149 rows",
        "copying: 148 of 149 rows",
        "copying: 149 of 149 rows",
        "reading back: 1 of 149 rows",
        "reading back: 27 of 149 rows",
        "reading back: 38 of 149 rows",
        "reading back: 126 of 149 rows",
        "reading back: 148 of 149 rows",
        "reading back: 149 of 149 rows",
    ]


def test_on_a_terminal_a_bar_shows_how_far_it_is(past: History, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    words = [str(PROGRAM), "store", "copy", str(past.path), str(tmp_path / "new" / "handrail.db")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=theirs, text=True) as copying:
        os.close(theirs)
        shown = b""
        while chunk := _read(ours):
            shown += chunk
        out, _ = copying.communicate(timeout=60)
    os.close(ours)

    assert (copying.returncode, out.splitlines()[0]) == (0, "settings\t1")
    assert b"reading back" in shown
    assert b"100%" in shown


def _read(terminal: int) -> bytes:
    """What is shown next; nothing at the end, which Linux tells as an error."""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


def test_a_store_that_is_not_there_is_status_3_and_nothing_is_made(tmp_path: Path, database: str) -> None:
    missing = run_handrail("store", "copy", tmp_path / "none.db", tmp_path / "new" / "handrail.db")
    empty = run_handrail("store", "copy", database, tmp_path / "new" / "handrail.db")

    assert (missing.status, empty.status) == (3, 3)
    assert missing.err == (
        f"handrail: no store is called `{tmp_path / 'none.db'}`\n"
        "  name the store to copy first, and the new one behind it\n"
    )
    assert not (tmp_path / "new").exists()


def test_a_refusal_is_json_too_if_json_was_asked_for(past: History, tmp_path: Path) -> None:
    words = ("store", "copy", past.path, tmp_path / "new" / "handrail.db", "--json")
    run_handrail(*words)

    said = run_handrail(*words)

    assert said.status == 1
    assert said.data["error"] == {
        "code": FaultCode.NOT_WRITABLE,
        "message": f"{tmp_path / 'new' / 'handrail.db'} is a store already",
        "repair": "name a file that is not there, or an empty database",
    }
