"""What `ports.Runs` promises, held against every store there is."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from handrail.engine.facts import Value
from handrail.engine.model import Lifecycle, Step
from handrail.engine.refusals import RefusalCode
from handrail.runtime.entries import Entry, EntryKind
from handrail.runtime.errors import Unreadable
from handrail.runtime.journal import get_run_after
from handrail.runtime.ports.turn import Runs
from handrail.runtime.records import Artifact, Definition, OpenedStep, RecordedCall
from helpers.requirement import requirement
from helpers.stores import (
    DEFINITION,
    DIGEST,
    OTHER,
    RUN,
    StorePlace,
    build_first_turn,
    build_last_turn,
    build_next_turn,
    load_after_look,
    read_all,
    read_journal,
    save_turns,
)
from helpers.turns import NOW, ORIGIN

REFUSAL = (
    Entry(EntryKind.ERROR_OCCURRED, "draft", "writer", {"error_type": RefusalCode.CONTRACT, "by": "agent"}),
)
TEXTS = {
    "nothing": "",
    "NUL": "a\0b",
    "characters": "é \u2028 \ufeff 🙂 \U0010ffff",
    "quotes": "'; DROP TABLE runs; -- \" ` {{x}} %s ?1 :a \\u0000",
    "controls": "".join(map(chr, range(32))) + "\x7f\x9b",
    "much": "ß" * 1_000_000,
}
UNTOLD = {"NUL", "controls", "much"}
"""Those that a file for people cannot hold."""


def test_a_run_that_was_never_saved_is_not_there(place: StorePlace, runs: Runs) -> None:
    assert runs.load(RUN) == place.new
    assert runs.load(OTHER) is None
    assert runs.find_recorded_call(RUN, 0) is None
    assert runs.entries(RUN) == ()
    assert runs.definition(DIGEST) is None
    assert runs.steps(RUN) == ()


def test_a_name_that_is_no_text_is_nobodys(runs: Runs) -> None:
    save_turns(runs, 1)

    half = "\ud800"
    assert (runs.load(half), runs.find_recorded_call(half, 0), runs.entries(half)) == (None, None, ())
    assert runs.steps(half) == ()
    assert runs.definition(half) is None
    runs.touch(half, NOW)


@requirement("steps:db.nobuffer")
def test_what_a_turn_leaves_is_what_is_loaded_also_by_another_store(place: StorePlace) -> None:
    runs = place.open()
    first = build_first_turn(marks={"auto": True})
    assert runs.commit(first)
    assert runs.load(RUN) == place.open().load(RUN) == load_after_look(place, get_run_after(first))

    second = build_next_turn(get_run_after(first), at=NOW + timedelta(seconds=3), marks={"team": "red"})
    assert runs.commit(second)
    assert runs.load(RUN) == place.open().load(RUN) == load_after_look(place, get_run_after(second))

    loaded = runs.load(RUN)
    assert loaded is not None
    assert (loaded.revision, loaded.started, loaded.updated) == (2, NOW, NOW + timedelta(seconds=3))
    assert loaded.tokens == ({2: "hash-2"} if place.tokens else {})
    assert loaded.opened == {2: NOW + timedelta(seconds=3)}
    assert loaded.origin == replace(ORIGIN, metadata={"team": "red", "auto": True})


@requirement("steps:token.once")
def test_a_turn_on_a_revision_that_has_moved_on_saves_nothing(runs: Runs) -> None:
    stored = save_turns(runs, 2)
    late = build_next_turn(
        get_run_after(build_first_turn()), artifacts=(Artifact("a", "draft", "writer", "t", "T", "text"),)
    )
    before = read_all(runs)

    assert runs.commit(late) is False
    assert read_all(runs) == before
    assert runs.commit(build_next_turn(stored)) is True


def test_a_step_that_stays_open_keeps_the_time_it_was_opened(place: StorePlace) -> None:
    runs, later = place.open(), NOW + timedelta(minutes=5)
    stored = save_turns(runs, 2)
    run = replace(stored.run, open=(*stored.run.open, Step(3, "draft", 2)), steps=3)
    tokens = {2: "hash-2b", 3: "hash-3"}
    opened = (OpenedStep(3, "draft", "writer"),)
    assert runs.commit(build_next_turn(stored, run=run, at=later, closed=(), opened=opened, tokens=tokens))

    loaded = place.open().load(RUN)
    assert loaded is not None
    assert (loaded.run, loaded.opened) == (run, {2: NOW, 3: later})
    assert loaded.tokens == (tokens if place.tokens else {})


def test_a_run_begins_once_and_at_its_beginning(place: StorePlace, runs: Runs) -> None:
    late = replace(build_first_turn(), before=replace(build_first_turn().before, revision=3))
    assert runs.commit(late) is False
    assert runs.load(RUN) == place.new

    assert runs.commit(build_first_turn()) is True
    before = read_all(runs)
    assert runs.commit(build_first_turn(at=NOW + timedelta(days=1))) is False
    assert read_all(runs) == before


@pytest.mark.parametrize("lifecycle", [Lifecycle.COMPLETED, Lifecycle.FAILED, Lifecycle.ABANDONED])
def test_a_run_that_has_ended_has_no_step_and_no_token(runs: Runs, lifecycle: Lifecycle) -> None:
    turn = build_last_turn(save_turns(runs, 2), lifecycle)
    assert runs.commit(turn)

    loaded = runs.load(RUN)
    assert loaded == get_run_after(turn)
    assert loaded is not None
    assert (loaded.run.lifecycle, dict(loaded.tokens), loaded.opened) == (lifecycle, {}, {})


@requirement("steps:token.retry")
def test_the_last_64_replies_are_kept_and_no_more(place: StorePlace) -> None:
    save_turns(place.open(), 70)

    stored = [revision for revision in range(80) if place.open().find_recorded_call(RUN, revision)]
    assert stored == list(range(6, 70))
    assert place.open().find_recorded_call(RUN, 6) == RecordedCall("token-6", "request-6", b'{"reply":6}')


def test_runs_do_not_know_of_each_other(place: StorePlace, runs: Runs) -> None:
    stored = save_turns(runs, 3)
    before, other = read_all(runs), replace(stored, run=replace(stored.run, id=OTHER))
    if not place.many:
        assert runs.commit(build_first_turn(OTHER)) is False
        assert runs.commit(build_next_turn(other)) is False
        assert runs.renew_tokens(other, {3: "hash-3b"}, NOW, REFUSAL) is False
        assert read_all(runs) == before
        assert read_all(runs, OTHER) == (None, (None,), (), None, ())
        return
    save_turns(runs, 5, OTHER)

    assert read_all(runs) == before
    assert runs.load(OTHER) is not None
    assert {line.run for line in read_journal(runs, OTHER)} == {OTHER}
    numbers = [line.number for line in (*read_journal(runs), *read_journal(runs, OTHER))]
    assert sorted(numbers) == list(range(1, len(numbers) + 1))


def test_tokens_are_replaced_and_nothing_else_moves(place: StorePlace, runs: Runs) -> None:
    stored, later = save_turns(runs, 2), NOW + timedelta(minutes=1)
    entries = (Entry(EntryKind.TOKEN_GENERATED, "review", data={"why": "recover"}),)
    before = read_journal(runs)

    assert runs.renew_tokens(stored, {2: "hash-2b"}, later, entries) is True
    assert runs.load(RUN) == load_after_look(place, replace(stored, tokens={2: "hash-2b"}), later)
    assert [(line.revision, line.at, line.entry) for line in read_journal(runs)[len(before) :]] == [
        (0, later, entries[0])
    ]


@pytest.mark.parametrize("moved", ["revision", "tokens", "nothing is there"])
def test_tokens_are_not_replaced_if_something_moved(place: StorePlace, runs: Runs, moved: str) -> None:
    stored = get_run_after(build_first_turn())
    if moved != "nothing is there":
        save_turns(runs, 1)
    if moved == "revision":
        assert runs.commit(build_next_turn(stored))
    if moved == "tokens":
        assert runs.renew_tokens(stored, {1: "hash-1b"}, NOW, ())
    before, noted = read_all(runs), read_journal(runs)

    renewed = runs.renew_tokens(stored, {1: "hash-1c"}, NOW, REFUSAL)
    if moved == "tokens" and not place.tokens:
        assert renewed is True
        assert [line.entry for line in read_journal(runs)] == [*(line.entry for line in noted), *REFUSAL]
        assert runs.load(RUN) == load_after_look(place, stored)
    else:
        assert renewed is False
        assert read_all(runs) == before


@requirement("steps:tel.errors")
def test_a_note_is_entered_and_touches_nothing_else(runs: Runs) -> None:
    save_turns(runs, 2)
    stored, spent, lines, definition, steps = read_all(runs)
    runs.note(RUN, NOW + timedelta(hours=1), REFUSAL)

    after = read_all(runs)
    assert (after[0], after[1], *after[3:]) == (stored, spent, definition, steps)
    assert isinstance(after[2], tuple)
    assert isinstance(lines, tuple)
    assert after[2][:-1] == lines
    assert (after[2][-1].revision, after[2][-1].entry) == (0, REFUSAL[0])


def test_a_note_about_no_run_or_an_unknown_one_is_in_no_runs_journal(place: StorePlace, runs: Runs) -> None:
    save_turns(runs, 1)
    before = read_all(runs)
    runs.note(OTHER, NOW, REFUSAL)
    runs.note("\ud800", NOW, REFUSAL)
    assert read_all(runs) == before
    assert runs.entries(OTHER) == ()

    runs.note("", NOW, REFUSAL)
    if place.many:
        assert read_all(runs) == before
        assert runs.entries("") == ()
    else:
        assert [line.entry for line in read_journal(runs)] == [*build_first_turn().entries, *REFUSAL]
        assert runs.entries("") == read_journal(runs)


@pytest.mark.parametrize(("by", "seen"), [(60, 60), (0, 0), (-60, 0)])
def test_a_look_at_a_run_is_noted_and_never_makes_it_older(
    place: StorePlace, runs: Runs, by: int, seen: int
) -> None:
    stored = save_turns(runs, 2)
    lines = read_journal(runs)
    runs.touch(RUN, NOW + timedelta(seconds=by))

    assert runs.load(RUN) == load_after_look(place, stored, NOW + timedelta(seconds=seen))
    assert read_journal(runs) == lines
    runs.touch(OTHER, NOW)
    assert runs.load(OTHER) is None


def test_the_journal_is_in_order_and_has_no_gap(place: StorePlace) -> None:
    runs = place.open()
    stored = save_turns(runs, 3)
    runs.note(RUN, NOW, REFUSAL)
    assert runs.commit(build_next_turn(stored))

    lines = read_journal(place.open())
    assert [line.number for line in lines] == list(range(1, 10))
    assert [line.revision for line in lines] == [1, 1, 2, 2, 3, 3, 0, 4, 4]
    assert lines[0].entry == build_first_turn().entries[0]


def test_the_journal_is_read_page_by_page(runs: Runs) -> None:
    save_turns(runs, 60)
    whole = read_journal(runs)
    assert len(whole) == 120
    assert runs.entries(RUN) == whole[:100]

    pages, after = [], 0
    while page := runs.entries(RUN, after, 7):
        pages.append(page)
        after = page[-1].number
    assert [len(page) for page in pages] == [7] * 17 + [1]
    assert tuple(line for page in pages for line in page) == whole


@requirement("steps:db.time")
def test_a_clock_that_jumps_changes_no_order(place: StorePlace, runs: Runs) -> None:
    jumps = [timedelta(hours=-1), timedelta(days=-365), timedelta(days=3650), timedelta(0), timedelta(0)]
    stored = save_turns(runs, 1)
    for jump in jumps:
        turn = build_next_turn(stored, at=NOW + jump)
        assert runs.commit(turn)
        stored = get_run_after(turn)
        assert runs.load(RUN) == load_after_look(place, stored)

    lines = read_journal(runs)
    assert [line.revision for line in lines] == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
    assert [line.at - NOW for line in lines[2::2]] == jumps


@requirement("steps:def.pinned")
def test_the_text_that_a_run_began_with_is_kept(place: StorePlace) -> None:
    save_turns(place.open(), 2)

    assert place.open().definition(DIGEST) == (DEFINITION if place.texts else None)
    assert place.open().definition("e" * 64) is None


def test_a_text_is_kept_whichever_turn_brings_it_and_is_never_replaced(place: StorePlace, runs: Runs) -> None:
    stored = save_turns(runs, 1)
    changed = Definition(DIGEST, "paper", 2, b"another text")
    assert runs.commit(build_next_turn(stored, definition=changed))
    assert runs.definition(DIGEST) == (DEFINITION if place.texts else None)

    loaded = runs.load(RUN)
    assert loaded is not None
    mended = Definition("e" * 64, "paper", 2, b"a mended text")
    assert runs.commit(build_next_turn(loaded, definition=mended))
    assert runs.definition("e" * 64) == (mended if place.texts else None)


@pytest.mark.parametrize("kind", TEXTS)
def test_any_text_comes_back_as_it_was(place: StorePlace, runs: Runs, kind: str) -> None:
    text, answer = TEXTS[kind], not place.told or kind not in UNTOLD
    origin = replace(ORIGIN, goal=text, principal=text, metadata={text: text})
    turn = build_first_turn(
        before=replace(build_first_turn().before, origin=origin),
        run=replace(
            build_first_turn().run,
            vars={"n": [text, {text: None}]} if answer else {},
            inputs={"who": text},
            reason=text,
        ),
        entries=(Entry(EntryKind.STEP_STAYED, "draft", "writer", {text: [text], "note": text}),),
        artifacts=(Artifact("a-1", "draft", "writer", text, text, text, text),),
        spent=RecordedCall("t", "r", text.encode()),
        marks={"mark": text},
    )
    if "\0" in text and not place.nul:
        with pytest.raises(Unreadable, match="NUL"):
            runs.commit(turn)
        assert runs.load(RUN) == place.new
        return
    assert runs.commit(turn)

    again = place.open()
    assert again.load(RUN) == load_after_look(place, get_run_after(turn))
    assert [line.entry for line in read_journal(again)] == list(turn.entries)
    assert again.find_recorded_call(RUN, 0) == turn.spent


@pytest.mark.parametrize("kind", sorted(UNTOLD))
def test_only_what_a_file_for_people_cannot_hold_is_refused_and_then_whole(
    place: StorePlace, runs: Runs, kind: str
) -> None:
    stored = save_turns(runs, 1)
    turn = build_next_turn(stored, run=replace(build_next_turn(stored).run, vars={"n": TEXTS[kind]}))
    before = read_all(runs)
    if place.told:
        with pytest.raises(Unreadable, match="could not be read again"):
            runs.commit(turn)
        assert read_all(runs) == before
    else:
        assert runs.commit(turn)
        assert runs.load(RUN) == get_run_after(turn)


@pytest.mark.parametrize(
    "value", [None, True, 0, -(2**63), 2**63 - 1, 0.1, -1e308, 5e-324, [], {}, [[{"a": [0, ""]}]]]
)
def test_any_value_comes_back_as_it_was(place: StorePlace, runs: Runs, value: Value) -> None:
    turn = build_first_turn(
        run=replace(build_first_turn().run, vars={"n": value}),
        entries=(Entry(EntryKind.STEP_STAYED, data={"value": value}),),
        marks={"mark": value},
    )
    assert runs.commit(turn)

    loaded = runs.load(RUN)
    assert loaded == load_after_look(place, get_run_after(turn))
    assert loaded is not None
    assert repr(loaded.run.vars) == repr({"n": value})
    assert repr(read_journal(runs)[0].entry.data) == repr({"value": value})


@pytest.mark.parametrize("part", ["goal", "vars", "entry"])
def test_half_a_character_is_kept_as_it_is_or_refused_whole(place: StorePlace, runs: Runs, part: str) -> None:
    stored, half = save_turns(runs, 1), "\ud800"
    turn = {
        "goal": build_next_turn(stored, marks={"goal": half}),
        "vars": build_next_turn(stored, run=replace(stored.run, vars={"n": half})),
        "entry": build_next_turn(stored, entries=(Entry(EntryKind.STEP_STAYED, data={"note": half}),)),
    }[part]
    before = read_all(runs)
    try:
        runs.commit(turn)
    except ValueError:
        assert read_all(runs) == before
    else:
        assert runs.load(RUN) == load_after_look(place, get_run_after(turn))
        assert [line.entry for line in read_journal(runs) if line.revision == 2] == list(turn.entries)
