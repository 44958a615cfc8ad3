"""The state file in the shape of its source: read, written, and what is not ours kept in its place."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from handrail.documents.state_file import HistoryItem, StateFile, StateFileContent
from handrail.documents.strict_json import JsonFlaw
from helpers.requirement import requirement

AT = datetime(2025, 8, 20, 15, 30, tzinfo=UTC)
SHAPE = StateFile()
SOURCE = """{
  "current_state": "GATHER_EDITING",
  "context": {
    "pr_return_state": "ACHIEVE_TASK_DRAFTING",
    "error_original_state": "ACHIEVE_TASK_DRAFTING"
  },
  "history": [
    {
      "timestamp": "2025-08-20T15:30:00Z",
      "transition": "GATHER_NEEDS_PLAN → GATHER_EDITING",
      "trigger": "Accio"
    }
  ]
}
""".encode()


def read(data: bytes) -> StateFileContent:
    standing = SHAPE.read(data)
    assert isinstance(standing, StateFileContent), standing
    return standing


@requirement("spells:persist.shape")
def test_the_file_of_the_source_is_read_and_written_the_same() -> None:
    standing = read(SOURCE)

    assert standing.state == "GATHER_EDITING"
    assert standing.variables == {
        "pr_return_state": "ACHIEVE_TASK_DRAFTING",
        "error_original_state": "ACHIEVE_TASK_DRAFTING",
    }
    assert [item["trigger"] for item in standing.history] == ["Accio"]
    assert SHAPE.name == "state.json"
    assert SHAPE.encode_document(standing.body, standing.history) == SOURCE


@requirement("spells:persist.shape")
def test_a_new_file_has_the_shape_of_the_source() -> None:
    passage = HistoryItem("GATHER_NEEDS_PLAN", "GATHER_EDITING", "Accio")
    both = {"pr_return_state": "ACHIEVE_TASK_DRAFTING", "error_original_state": "ACHIEVE_TASK_DRAFTING"}

    assert SHAPE.write(None, "GATHER_EDITING", {**both, "other": None}, AT, (passage,)) == SOURCE


@requirement("spells:persist.shape")
def test_unknown_keys_are_kept_each_in_its_place() -> None:
    old = b"""{
  "version": 2,
  "history": [],
  "context": {
    "mine": [
      1
    ],
    "gone": "x",
    "nothing": null
  },
  "current_state": "A",
  "z": {}
}
"""

    new = SHAPE.write(read(old), "B", {"gone": None, "nothing": None, "more": True}, AT, ())

    assert (
        new.decode()
        == """{
  "version": 2,
  "history": [],
  "context": {
    "mine": [
      1
    ],
    "nothing": null,
    "more": true
  },
  "current_state": "B",
  "z": {}
}
"""
    )


def test_each_way_a_run_went_is_one_entry_with_its_note_if_it_has_one() -> None:
    east = AT.astimezone(timezone(timedelta(hours=9)))

    new = read(
        SHAPE.write(
            read(SOURCE), "C", {}, east, (HistoryItem("A", "B", "x", "why"), HistoryItem("B", "C", "y"))
        )
    )

    assert new.history[1:] == (
        {"timestamp": "2025-08-20T15:30:00Z", "transition": "A → B", "trigger": "x", "note": "why"},
        {"timestamp": "2025-08-20T15:30:00Z", "transition": "B → C", "trigger": "y"},
    )


def test_a_file_with_a_state_only_stays_small() -> None:
    bare = read(b'{"current_state": "A"}')

    assert (bare.variables, bare.history) == ({}, ())
    assert SHAPE.write(bare, "B", {"v": None}, AT, ()) == b'{\n  "current_state": "B"\n}\n'
    assert list(read(SHAPE.write(bare, "B", {"v": 1}, AT, (HistoryItem("A", "B", "x"),))).body) == [
        "current_state",
        "context",
        "history",
    ]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"{}", "`current_state` must be the name of a state"),
        (b'{"current_state": ""}', "`current_state` must be the name of a state"),
        (b'{"current_state": 7}', "`current_state` must be the name of a state"),
        (b'{"current_state": "A", "context": []}', "`context` must be an object"),
        (b'{"current_state": "A", "context": null}', "`context` must be an object"),
        (b'{"current_state": "A", "history": {}}', "`history` must be a list of objects"),
        (b'{"current_state": "A", "history": ["x"]}', "`history` must be a list of objects"),
    ],
)
def test_a_key_of_the_wrong_type_is_a_flaw(data: bytes, sentence: str) -> None:
    assert SHAPE.read(data) == JsonFlaw("wrong_type", f"a key holds something of the wrong type: {sentence}")


def test_what_is_no_json_is_a_flaw_of_the_file() -> None:
    found = SHAPE.read(b"{")

    assert isinstance(found, JsonFlaw)
    assert found.code == "not_json"
