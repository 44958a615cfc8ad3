"""Whoever listens hears every change, whichever process made it, in order, and only while they listen."""

import subprocess
import sys
from pathlib import Path
from queue import Queue
from threading import enumerate as threads

from handrail.shell.records import Change
from handrail.stores.sql.feed import SqlFeed
from tables import Table, sqlite

SECONDS = 30
"""How long a change may take to be heard: for liveness only."""

ANOTHER_PROCESS = """
import sys
from pathlib import Path
from tables import Table, sqlite
table = Table(sqlite(Path(sys.argv[1])))
run, token = table.start()
table.go_on(run, token)
print(run)
"""


def test_a_change_of_this_process_is_heard_without_waiting_for_the_next_look(tmp_path: Path) -> None:
    runs = sqlite(tmp_path / "store")
    table = Table(runs, feed=SqlFeed(runs.database, every=SECONDS))
    heard: Queue[Change] = Queue()
    stop = table.feed.listen(heard.put)
    run, token = table.start()
    assert heard.get(timeout=SECONDS) == Change(run, 1)

    table.go_on(run, token)

    assert heard.get(timeout=SECONDS) == Change(run, 2)
    stop()


def test_a_change_of_another_process_is_heard(tmp_path: Path) -> None:
    runs = sqlite(tmp_path / "store")
    heard: Queue[Change] = Queue()
    stop = SqlFeed(runs.database).listen(heard.put)
    command = [sys.executable, "-c", ANOTHER_PROCESS, str(tmp_path / "store")]
    done = subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(Path(__file__).parents[1])},
    )
    run = done.stdout.strip()

    last = heard.get(timeout=SECONDS)
    while last.revision < 2:
        last = heard.get(timeout=SECONDS)
    assert last == Change(run, 2)
    stop()


def test_a_refusal_is_heard_too_and_moves_no_revision(tmp_path: Path) -> None:
    runs = sqlite(tmp_path / "store")
    table = Table(runs)
    run, token = table.start()
    heard: Queue[Change] = Queue()
    stop = SqlFeed(runs.database).listen(heard.put)

    assert table.go_on(run, token, summary="")["code"] == "contract"

    assert heard.get(timeout=SECONDS) == Change(run, 1)
    stop()


def test_what_happened_before_is_not_told_and_nobody_looks_when_nobody_listens(tmp_path: Path) -> None:
    runs = sqlite(tmp_path / "store")
    table = Table(runs)
    table.start()
    feed = SqlFeed(runs.database)
    first: Queue[Change] = Queue()
    second: Queue[Change] = Queue()
    stops = [feed.listen(first.put), feed.listen(second.put)]
    run, _ = table.start()

    assert first.get(timeout=SECONDS) == second.get(timeout=SECONDS) == Change(run, 1)
    stops[0]()
    table.control(run, "pause")
    assert second.get(timeout=SECONDS) == Change(run, 2)
    stops[1]()

    assert first.empty()
    assert "handrail-feed" not in [thread.name for thread in threads()]
    third: Queue[Change] = Queue()
    stop = feed.listen(third.put)
    table.control(run, "resume")
    assert third.get(timeout=SECONDS) == Change(run, 3)
    stop()
