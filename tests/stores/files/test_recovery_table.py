"""The recovery table: every row for the findings it is meant for, and a row for whatever is found."""

from itertools import product

import pytest

from handrail.stores.files.recovery import (
    RECOVERY_TABLE,
    Findings,
    HeadStatus,
    IntentStatus,
    RecoveryAction,
    StateFileStatus,
    TroubleMarkStatus,
    find_recovery_row,
)
from helpers.crash import Record

N, H, S, M = IntentStatus, HeadStatus, StateFileStatus, TroubleMarkStatus
EVERYTHING = [Findings(*parts) for parts in product(N, H, S, M, (True, False), (True, False))]
EXPECTED = [
    # the rows of the table in the protocol
    (Findings(N.ABSENT, H.VALID, S.SAME), "clean", RecoveryAction.SWEEP),
    (Findings(N.NEXT, H.VALID, S.SAME), "redo", RecoveryAction.REDO),
    (Findings(N.NEXT, H.VALID, S.OTHER), "redo", RecoveryAction.REDO),
    (Findings(N.NEXT, H.VALID, S.ABSENT), "redo_state", RecoveryAction.REDO),
    (Findings(N.NEXT, H.VALID, S.MALFORMED), "redo_state", RecoveryAction.REDO),
    (Findings(N.NEXT, H.VALID, S.UNKNOWN), "redo_state", RecoveryAction.REDO),
    (Findings(N.NEXT, H.ABSENT, S.ABSENT), "redo_state", RecoveryAction.REDO),
    (Findings(N.SAME, H.VALID, S.SAME), "finish", RecoveryAction.FINISH),
    (Findings(N.SAME, H.VALID, S.MALFORMED), "finish", RecoveryAction.FINISH),
    (Findings(N.OTHER, H.VALID, S.SAME), "stale_intent", RecoveryAction.SET_INTENT_ASIDE),
    (Findings(N.BAD, H.VALID, S.SAME), "bad_intent", RecoveryAction.SET_INTENT_ASIDE),
    (Findings(N.BAD, H.ABSENT, S.ABSENT), "bad_intent", RecoveryAction.SET_INTENT_ASIDE),
    (Findings(N.ABSENT, H.VALID, S.MALFORMED), "malformed", RecoveryAction.SET_STATE_ASIDE),
    (Findings(N.ABSENT, H.ABSENT, S.MALFORMED), "malformed", RecoveryAction.SET_STATE_ASIDE),
    (Findings(N.ABSENT, H.VALID, S.ABSENT), "orphaned", RecoveryAction.TELL),
    (Findings(N.ABSENT, H.ABSENT, S.ABSENT), "orphaned", RecoveryAction.TELL),
    (Findings(N.ABSENT, H.ABSENT, S.ABSENT, traces=False), "new", RecoveryAction.SWEEP),
    (Findings(N.NEXT, H.VALID, S.SAME, staged=False), "stage_gone", RecoveryAction.STOP),
    (Findings(N.NEWER, H.VALID, S.SAME), "newer_intent", RecoveryAction.REFUSE),
    (Findings(N.ABSENT, H.NEWER, S.SAME), "newer_head", RecoveryAction.REFUSE),
    (Findings(N.BAD, H.NEWER, S.MALFORMED), "newer_head", RecoveryAction.REFUSE),
    # what a person or a clone brings
    (Findings(N.ABSENT, H.VALID, S.OTHER), "edited", RecoveryAction.SWEEP),
    (Findings(N.ABSENT, H.ABSENT, S.OTHER), "found", RecoveryAction.SWEEP),
    (Findings(N.ABSENT, H.ABSENT, S.SAME), "rebuilt", RecoveryAction.SWEEP),
    (Findings(N.ABSENT, H.BAD, S.SAME), "bad_head", RecoveryAction.SET_HEAD_ASIDE),
    (Findings(N.NEXT, H.BAD, S.SAME), "bad_head", RecoveryAction.SET_HEAD_ASIDE),
    (Findings(N.ABSENT, H.VALID, S.UNKNOWN), "unknown", RecoveryAction.SET_STATE_ASIDE),
    (Findings(N.ABSENT, H.VALID, S.UNSAFE), "unsafe", RecoveryAction.STOP),
    (Findings(N.NEXT, H.VALID, S.UNSAFE), "unsafe", RecoveryAction.STOP),
    # troubles that are remembered
    (Findings(N.ABSENT, H.VALID, S.SAME, M.INTENT), "diverged", RecoveryAction.STOP),
    (Findings(N.NEXT, H.VALID, S.SAME, M.INTENT), "redo", RecoveryAction.REDO),
    (Findings(N.ABSENT, H.VALID, S.ABSENT, M.STATE), "damaged", RecoveryAction.STOP),
    (Findings(N.ABSENT, H.VALID, S.OTHER, M.STATE), "mended", RecoveryAction.FORGET),
    (Findings(N.ABSENT, H.VALID, S.MALFORMED, M.STATE), "malformed", RecoveryAction.SET_STATE_ASIDE),
]


@pytest.mark.parametrize(("found", "expected", "action"), EXPECTED)
def test_what_is_found_has_this_row(found: Findings, expected: str, action: RecoveryAction) -> None:
    assert (find_recovery_row(found).id, find_recovery_row(found).action) == (expected, action)


def test_every_row_is_shown_above() -> None:
    assert {expected for _, expected, _ in EXPECTED} == {known.id for known in RECOVERY_TABLE}


def test_whatever_is_found_there_is_a_row(record_property: Record) -> None:
    rows = [find_recovery_row(found) for found in EVERYTHING]

    record_property("points", len(rows))
    assert len(rows) == 1728
    assert {known.id for known in rows} == {known.id for known in RECOVERY_TABLE}


def test_nothing_is_written_where_a_newer_program_was() -> None:
    newer = [found for found in EVERYTHING if found.intent is N.NEWER or found.head is H.NEWER]

    assert {find_recovery_row(found).action for found in newer} == {RecoveryAction.REFUSE}


def test_a_state_file_is_never_passed_over_as_if_nothing_were_there() -> None:
    there = [found for found in EVERYTHING if found.state is not S.ABSENT]

    assert "new" not in {find_recovery_row(found).id for found in there}
