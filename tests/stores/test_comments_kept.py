"""A comment is kept as every entry is: by an older store, in an export, in an archive and in a copy."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from handrail.engine.model import Who
from handrail.shell.comments import write
from handrail.shell.records import Caller
from handrail.stores.sql.database import Database
from handrail.stores.sql.keeper import SqlKeeper
from handrail.stores.sql.questions import SqlRecords
from handrail.stores.sql.text import migrations
from history import History, lines, played
from stores.moving import Full, Place, copied, went_on

LATER = datetime(2026, 3, 1, tzinfo=UTC)
ADA = Caller(Who.PERSON, "ada")
AT = "2026-02-01 12:00:00.000"


def commented(path: Path, run: str, text: str) -> None:
    """Write a comment, and have the agent told of it."""
    with played(path) as play:
        assert write(play.world, run, text, ADA) is None
        play.send(run, "nonsense")


def test_a_store_from_before_takes_comments_once_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "store" / "handrail.db"
    path.parent.mkdir(mode=0o700)
    with closing(sqlite3.connect(path, isolation_level=None)) as old:
        for number, script in enumerate(migrations()[:6], start=1):
            old.executescript(f"BEGIN; {script} PRAGMA user_version = {number}; COMMIT;")
        old.execute("PRAGMA application_id = 0x48524C31")
        refused = "INSERT INTO events (event_type, revision, metadata, created_at) VALUES (?, 0, '{}', ?)"
        with pytest.raises(sqlite3.IntegrityError):
            old.execute(refused, ("comment_written", AT))
        old.execute(refused, ("state_repaired", AT))

    database = Database(path)
    with database.written() as execute:
        for kind in ("comment_written", "comment_told", "state_repaired"):
            execute(refused, (kind, AT))
    assert len(SqlRecords(database).journal()) == 4
    assert list(SqlKeeper(database).check()) == []
    with pytest.raises(sqlite3.IntegrityError), database.written() as execute:
        execute(refused, ("comment", AT))
    database.close()


def test_a_store_with_comments_is_sound_and_tells_them_in_exports_and_archives(
    past: History, tmp_path: Path
) -> None:
    run = past.runs["completed"]
    commented(past.path, run, "Well done.")
    commented(past.path, past.runs["running"], "Go on.")
    database = Database(past.path)
    keeper = SqlKeeper(database)

    assert list(keeper.check()) == []
    told = keeper.export(run)
    assert told is not None
    assert isinstance(told["events"], list)
    kinds = [event["kind"] for event in told["events"]]
    assert kinds[-3:] == ["comment_written", "error_occurred", "comment_told"]
    archive = tmp_path / "a.jsonl.gz"
    keeper.prune(LATER, archive, lambda _: None)
    assert any("Well done." in str(line) for line in lines(archive))
    database.close()


@pytest.mark.parametrize("target", ["sqlite", "postgresql"])
def test_a_copy_has_what_its_agent_was_not_told_yet(target: str, filled: Full, new: Place) -> None:
    with played(filled.path) as play:
        assert write(play.world, filled.run, "Mind the gap.", ADA) is None
    copied(filled.path, to := new(target))

    assert went_on(to, filled)["comments"] == ["ada: Mind the gap."]
