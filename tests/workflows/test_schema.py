"""The schema for editors agrees with the loader."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

import handrail
from handrail.workflows.declarations import (
    CONTRACT_KEYS,
    NEXT_KEYS,
    PROMPT_KEYS,
    ROW_KEYS,
    STATE_KEYS,
    STEP_KEYS,
    TOOL_KEYS,
    TOP_KEYS,
    VARIABLE_KEYS,
)
from handrail.workflows.nodes import read_yaml, to_plain
from helpers.workflow_files import FOLDER, SOUND

WORKFLOWS = Path(handrail.__file__).parent / "workflows"
SCHEMA: Mapping[str, Any] = json.loads((WORKFLOWS / "schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema_rs.Draft202012Validator(dict(SCHEMA))

SHAPES = [
    "bad-name",
    "bad-name-2",
    "bad-name-3",
    "bad-name-6",
    "both-forms",
    "missing-key",
    "missing-key-2",
    "missing-key-3",
    "missing-key-4",
    "no-source",
    "no-states",
    "no-states-2",
    "unknown-key",
    "unknown-key-2",
    "unknown-key-3",
    "unknown-key-4",
    "unknown-type",
    "unknown-value",
    "unknown-value-2",
    *(f"wrong-type-{number}" for number in (2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13)),
    "wrong-type",
]
"""The broken files of which an editor can tell; the rest is about names and meanings."""


def defined(name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = SCHEMA["$defs"][name]
    return found


def tree(path: Path) -> object:
    root = read_yaml(path.read_bytes().decode(), path.name).root
    assert root is not None
    return to_plain(root)


def test_the_schema_knows_exactly_the_keys_that_the_loader_knows() -> None:
    assert set(SCHEMA["properties"]) == set(TOP_KEYS)
    assert set(defined("state")["oneOf"][1]["properties"]) == set(STATE_KEYS)
    assert set(defined("row")["properties"]) == set(ROW_KEYS)
    assert set(defined("step")["properties"]) == set(STEP_KEYS)
    assert set(defined("next")["properties"]) == set(NEXT_KEYS)
    assert set(defined("tool")["properties"]) == set(TOOL_KEYS)
    assert set(defined("prompt")["properties"]) == set(PROMPT_KEYS)
    assert set(defined("variable")["oneOf"][2]["properties"]) == set(VARIABLE_KEYS)
    assert set(defined("contract")["properties"]) == set(CONTRACT_KEYS)


@pytest.mark.parametrize(
    "path",
    [*sorted(SOUND.rglob("*.yaml")), *sorted((WORKFLOWS / "library").rglob("*.yaml"))],
    ids=lambda path: path.name,
)
def test_a_sound_file_keeps_to_the_schema(path: Path) -> None:
    assert [fault.message for fault in VALIDATOR.iter_errors(tree(path))] == []


@pytest.mark.parametrize("name", SHAPES)
def test_a_file_of_the_wrong_shape_does_not(name: str) -> None:
    assert not VALIDATOR.is_valid(tree(FOLDER / f"{name}.yaml"))
