"""A comment is kept as every entry is: in an export, in an archive and in a copy."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from handrail.engine.model import Actor
from handrail.runtime.comments import write_comment
from handrail.runtime.entries import EntryKind
from handrail.runtime.records import Caller
from handrail.stores.sql.maintenance import SqlMaintenance
from handrail.stores.sql.sqlite import SqliteDatabase
from helpers.cleanup import kept
from helpers.history import History, lines, played
from helpers.store_copies import Full, Place, copied, went_on

LATER = datetime(2026, 3, 1, tzinfo=UTC)
ADA = Caller(Actor.PERSON, "ada")


def commented(path: Path, run: str, text: str) -> None:
    with played(path) as play:
        assert write_comment(play.world, run, text, ADA) is None
        play.send(run, "nonsense")


def test_a_store_with_comments_is_sound_and_tells_them_in_exports_and_archives(
    past: History, tmp_path: Path
) -> None:
    run = past.runs["completed"]
    commented(past.path, run, "Well done.")
    commented(past.path, past.runs["running"], "Go on.")
    keeper = SqlMaintenance(kept(SqliteDatabase(past.path)))

    assert list(keeper.check()) == []
    told = keeper.export(run)
    assert told is not None
    assert isinstance(told["events"], list)
    kinds = [event["kind"] for event in told["events"]]
    assert kinds[-3:] == [EntryKind.COMMENT_WRITTEN, EntryKind.ERROR_OCCURRED, EntryKind.COMMENT_TOLD]
    archive = tmp_path / "a.jsonl.gz"
    keeper.prune(LATER, archive, lambda _: None)
    assert any("Well done." in str(line) for line in lines(archive))


@pytest.mark.parametrize("target", ["sqlite", "postgresql"])
def test_a_copy_has_what_its_agent_was_not_told_yet(target: str, filled: Full, new: Place) -> None:
    with played(filled.path) as play:
        assert write_comment(play.world, filled.run, "Mind the gap.", ADA) is None
    copied(filled.path, to := new(target))

    assert went_on(to, filled)["comments"] == ["ada: Mind the gap."]
