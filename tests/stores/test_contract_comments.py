"""Comments in every store: each is undelivered until an entry says that a reply delivered it."""

from msgspec.structs import replace

from handrail.engine.facts import Value
from handrail.runtime.comments import Comment, collect_comments
from handrail.runtime.entries import Entry, EntryKind
from handrail.runtime.ports.turn import Runs
from helpers.stores import RUN, build_next_turn, read_journal, save_turns
from helpers.turns import NOW


def _written(name: str, text: str) -> Entry:
    return Entry(EntryKind.COMMENT_WRITTEN, "draft", data={"comment": name, "text": text, "principal": "ada"})


def _told(*names: Value) -> Entry:
    return Entry(EntryKind.COMMENT_TOLD, data={"comments": [*names]})


def _list_undelivered(runs: Runs) -> list[Value]:
    stored = runs.load(RUN)
    assert stored is not None
    assert {one.run for one in stored.undelivered} <= {RUN}
    return [one.entry.data["comment"] for one in stored.undelivered]


def test_a_comment_moves_nothing_and_is_undelivered_until_a_reply_delivers_it(runs: Runs) -> None:
    save_turns(runs, 2)
    before = runs.load(RUN)
    runs.note(RUN, NOW, (_written("one", "First"),))
    runs.note(RUN, NOW, (_written("two", "Sécond"), _written("three", "Third")))

    after = runs.load(RUN)
    assert after is not None
    assert replace(after, undelivered=()) == before
    assert _list_undelivered(runs) == ["one", "two", "three"]
    assert [one.entry for one in after.undelivered][1] == _written("two", "Sécond")

    runs.note(RUN, NOW, (_told("one", "three"),))
    assert _list_undelivered(runs) == ["two"]


def test_a_turn_that_tells_some_leaves_what_was_written_meanwhile(runs: Runs) -> None:
    following = build_next_turn(save_turns(runs, 1))
    runs.note(RUN, NOW, (_written("one", "First"),))
    runs.note(RUN, NOW, (_written("meanwhile", "Second"),))

    assert runs.commit(replace(following, entries=(*following.entries, _told("one"))))
    assert _list_undelivered(runs) == ["meanwhile"]
    assert collect_comments(read_journal(runs)) == (
        Comment("one", NOW, "ada", "First", following.at),
        Comment("meanwhile", NOW, "ada", "Second"),
    )
