"""The recovery table: every row for the findings it is meant for, and a row for whatever is found."""

from itertools import product

import pytest

from handrail.stores.recovery import (
    TABLE,
    Action,
    Found,
    HeadFound,
    IntentFound,
    MarkFound,
    StateFound,
    row,
)

N, H, S, M = IntentFound, HeadFound, StateFound, MarkFound

EXPECTED = [
    # the rows of the table in the protocol
    (Found(N.ABSENT, H.VALID, S.SAME), "clean", Action.SWEEP),
    (Found(N.NEXT, H.VALID, S.SAME), "redo", Action.REDO),
    (Found(N.NEXT, H.VALID, S.OTHER), "redo", Action.REDO),
    (Found(N.NEXT, H.VALID, S.ABSENT), "redo_state", Action.REDO),
    (Found(N.NEXT, H.VALID, S.MALFORMED), "redo_state", Action.REDO),
    (Found(N.NEXT, H.VALID, S.UNKNOWN), "redo_state", Action.REDO),
    (Found(N.NEXT, H.ABSENT, S.ABSENT), "redo_state", Action.REDO),
    (Found(N.SAME, H.VALID, S.SAME), "finish", Action.FINISH),
    (Found(N.SAME, H.VALID, S.MALFORMED), "finish", Action.FINISH),
    (Found(N.OTHER, H.VALID, S.SAME), "stale_intent", Action.SET_INTENT_ASIDE),
    (Found(N.BAD, H.VALID, S.SAME), "bad_intent", Action.SET_INTENT_ASIDE),
    (Found(N.BAD, H.ABSENT, S.ABSENT), "bad_intent", Action.SET_INTENT_ASIDE),
    (Found(N.ABSENT, H.VALID, S.MALFORMED), "malformed", Action.SET_STATE_ASIDE),
    (Found(N.ABSENT, H.ABSENT, S.MALFORMED), "malformed", Action.SET_STATE_ASIDE),
    (Found(N.ABSENT, H.VALID, S.ABSENT), "orphaned", Action.TELL),
    (Found(N.ABSENT, H.ABSENT, S.ABSENT), "orphaned", Action.TELL),
    (Found(N.ABSENT, H.ABSENT, S.ABSENT, traces=False), "new", Action.SWEEP),
    (Found(N.NEXT, H.VALID, S.SAME, staged=False), "stage_gone", Action.STOP),
    (Found(N.NEWER, H.VALID, S.SAME), "newer_intent", Action.REFUSE),
    (Found(N.ABSENT, H.NEWER, S.SAME), "newer_head", Action.REFUSE),
    (Found(N.BAD, H.NEWER, S.MALFORMED), "newer_head", Action.REFUSE),
    # what a person or a clone brings
    (Found(N.ABSENT, H.VALID, S.OTHER), "edited", Action.SWEEP),
    (Found(N.ABSENT, H.ABSENT, S.OTHER), "found", Action.SWEEP),
    (Found(N.ABSENT, H.ABSENT, S.SAME), "rebuilt", Action.SWEEP),
    (Found(N.ABSENT, H.BAD, S.SAME), "bad_head", Action.SET_HEAD_ASIDE),
    (Found(N.NEXT, H.BAD, S.SAME), "bad_head", Action.SET_HEAD_ASIDE),
    (Found(N.ABSENT, H.VALID, S.UNKNOWN), "unknown", Action.SET_STATE_ASIDE),
    (Found(N.ABSENT, H.VALID, S.UNSAFE), "unsafe", Action.STOP),
    (Found(N.NEXT, H.VALID, S.UNSAFE), "unsafe", Action.STOP),
    # troubles that are remembered
    (Found(N.ABSENT, H.VALID, S.SAME, M.INTENT), "diverged", Action.STOP),
    (Found(N.NEXT, H.VALID, S.SAME, M.INTENT), "redo", Action.REDO),
    (Found(N.ABSENT, H.VALID, S.ABSENT, M.STATE), "damaged", Action.STOP),
    (Found(N.ABSENT, H.VALID, S.OTHER, M.STATE), "mended", Action.FORGET),
    (Found(N.ABSENT, H.VALID, S.MALFORMED, M.STATE), "malformed", Action.SET_STATE_ASIDE),
]


@pytest.mark.parametrize(("found", "expected", "action"), EXPECTED)
def test_what_is_found_has_this_row(found: Found, expected: str, action: Action) -> None:
    assert (row(found).id, row(found).action) == (expected, action)


def test_every_row_is_shown_above() -> None:
    assert {expected for _, expected, _ in EXPECTED} == {known.id for known in TABLE}


def test_whatever_is_found_there_is_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    everything = [Found(*parts) for parts in product(N, H, S, M, (True, False), (True, False))]
    rows = [row(found) for found in everything]

    with capsys.disabled():
        print(f" [{len(rows)} findings]", end="")  # noqa: T201 - the count
    assert len(rows) == 1728
    assert {known.id for known in rows} == {known.id for known in TABLE}


def test_nothing_is_written_where_a_newer_program_was() -> None:
    everything = [Found(*parts) for parts in product(N, H, S, M, (True, False), (True, False))]
    newer = [found for found in everything if found.intent is N.NEWER or found.head is H.NEWER]

    assert {row(found).action for found in newer} == {Action.REFUSE}


def test_a_state_file_is_never_passed_over_as_if_nothing_were_there() -> None:
    everything = [Found(*parts) for parts in product(N, H, S, M, (True, False), (True, False))]
    there = [found for found in everything if found.state is not S.ABSENT]

    assert "new" not in {row(found).id for found in there}
