"""The state file of a session: flat, for older programs too, and nothing of others is lost in it."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from handrail.documents.state_file import CollabStateFile, StateFileContent
from handrail.documents.strict_json import JsonFlaw
from helpers.requirement import requirement

AT = datetime(2026, 3, 1, 12, 0, 0, 123000, tzinfo=UTC)
SHAPE = CollabStateFile(
    {"start": "early", "work": "late", "end": "late"},
    {"early": ("start", {"currentItem": None}), "late": ("work", {})},
)
BATCHES = [
    {"id": "batch-1", "tasks": [{"id": "a", "status": "pending", "dependsOn": []}], "status": "pending"}
]


def said(document: Mapping[str, Any]) -> StateFileContent | JsonFlaw:
    return SHAPE.read(json.dumps(document).encode())


@requirement("skills:state.file")
def test_a_new_file_has_the_fields_in_their_order_and_a_null_item() -> None:
    given = {
        "documentedItems": 0,
        "totalItems": 2,
        "batches": None,
        "currentBatch": None,
        "hasSnapshot": False,
        "currentItem": None,
    }
    written = SHAPE.write(None, "start", given, AT, ())

    assert json.loads(written) == {
        "state": "start",
        "phase": "early",
        "lastActivity": "2026-03-01T12:00:00.123Z",
        "currentItem": None,
        "hasSnapshot": False,
        "totalItems": 2,
        "documentedItems": 0,
    }
    assert list(json.loads(written)) == [
        "state",
        "phase",
        "lastActivity",
        "currentItem",
        "hasSnapshot",
        "totalItems",
        "documentedItems",
    ]
    assert written.endswith(b"}\n")


@requirement("skills:state.file")
def test_fields_of_others_stay_where_they_are_and_a_null_one_of_ours_goes() -> None:
    old = {
        "mine": {"a": [1]},
        "state": "start",
        "currentBatch": 1,
        "phase": "early",
        "batches": BATCHES,
        "yours": None,
    }
    standing = said(old)
    assert isinstance(standing, StateFileContent)
    assert standing.variables == {"mine": {"a": [1]}, "currentBatch": 1, "batches": BATCHES, "yours": None}

    changed = {**standing.variables, "currentBatch": None, "completedTasks": [], "phase": "never"}
    document = json.loads(SHAPE.write(standing, "work", changed, AT, ()))

    assert document == {
        "mine": {"a": [1]},
        "state": "work",
        "phase": "late",
        "batches": BATCHES,
        "yours": None,
        "lastActivity": "2026-03-01T12:00:00.123Z",
        "completedTasks": [],
    }
    assert list(document)[:5] == ["mine", "state", "phase", "batches", "yours"]


@requirement("skills:state.old")
def test_a_file_without_a_state_stands_where_its_phase_says() -> None:
    early, late = said({"phase": "early", "currentItem": 3}), said({"phase": "late", "currentItem": 3})

    assert isinstance(early, StateFileContent)
    assert isinstance(late, StateFileContent)
    assert (early.state, early.variables) == ("start", {"currentItem": None})
    assert (late.state, late.variables) == ("work", {"currentItem": 3})
    assert early.body == {"phase": "early", "currentItem": 3}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({}, "`state` must be the name of a state, or `phase` one of early, late"),
        ({"phase": "middle"}, "`phase` one of early, late"),
        ({"phase": 1}, "`phase` one of early, late"),
        ({"state": "", "phase": "early"}, "`state` must be the name of a state"),
        ({"state": 1, "phase": "early"}, "`state` must be the name of a state"),
        ({"state": "start", "currentItem": "1"}, "`currentItem` must be a number, or null"),
        ({"state": "start", "currentItem": True}, "`currentItem` must be a number, or null"),
        ({"state": "start", "hasSnapshot": 1}, "`hasSnapshot` must be true or false"),
        ({"state": "start", "batches": [1]}, "`batches` must be a list of batches of tasks"),
        ({"state": "start", "currentBatch": -1}, "`currentBatch` must be a number from 0"),
        ({"state": "start", "completedTasks": [1]}, "`completedTasks` must be a list of ids"),
        ({"state": "start", "pendingTasks": "a"}, "`pendingTasks` must be a list of ids"),
        ({"state": "start", "totalItems": 1.5}, "`totalItems` must be a number"),
        ({"state": "start", "documentedItems": "1"}, "`documentedItems` must be a number"),
    ],
)
def test_a_file_that_says_nothing_says_why(wrong: Mapping[str, Any], told: str) -> None:
    found = said(wrong)

    assert isinstance(found, JsonFlaw)
    assert found.code == "wrong_type"
    assert told in found.sentence


def test_bytes_that_are_no_document_are_none_here_either() -> None:
    assert SHAPE.read(b"[]") == JsonFlaw("not_object", "it is JSON, but not an object")


def test_a_whole_file_is_its_body() -> None:
    assert SHAPE.encode_document({"state": "end"}, ({"timestamp": "never"},)) == b'{\n  "state": "end"\n}\n'
