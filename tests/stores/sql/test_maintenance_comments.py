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
from helpers.cleanup import close_later
from helpers.history import History, open_sample_store, read_archive
from helpers.store_copies import FullStore, Place, continue_run, run_copy

LATER = datetime(2026, 3, 1, tzinfo=UTC)
ADA = Caller(Actor.PERSON, "ada")


def commented(path: Path, run: str, text: str) -> None:
    with open_sample_store(path) as play:
        assert write_comment(play.world, run, text, ADA) is None
        play.send(run, "nonsense")


def test_a_store_with_comments_is_sound_and_tells_them_in_exports_and_archives(
    past: History, tmp_path: Path
) -> None:
    run = past.runs["completed"]
    commented(past.path, run, "Well done.")
    commented(past.path, past.runs["running"], "Go on.")
    keeper = SqlMaintenance(close_later(SqliteDatabase(past.path)))

    assert list(keeper.check()) == []
    answer = keeper.export(run)
    assert answer is not None
    assert isinstance(answer["events"], list)
    kinds = [event["kind"] for event in answer["events"]]
    assert kinds[-3:] == [EntryKind.COMMENT_WRITTEN, EntryKind.ERROR_OCCURRED, EntryKind.COMMENT_TOLD]
    archive = tmp_path / "a.jsonl.gz"
    keeper.prune(LATER, archive, lambda _: None)
    assert any("Well done." in str(line) for line in read_archive(archive))


@pytest.mark.parametrize("target", ["sqlite", "postgresql"])
def test_a_copy_has_what_its_agent_was_not_told_yet(target: str, filled: FullStore, new: Place) -> None:
    with open_sample_store(filled.path) as play:
        assert write_comment(play.world, filled.run, "Mind the gap.", ADA) is None
    run_copy(filled.path, to := new(target))

    assert continue_run(to, filled)["comments"] == ["ada: Mind the gap."]
