"""`handrail runs complete-step`: a step that a person did, handed in as an agent would."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.engine.model import Lifecycle
from handrail.runtime.entries import EntryKind
from handrail.stores.sql.queries import SqlRunQueries
from helpers.history import open_sample_store
from helpers.program import CommandResult, run_handrail
from helpers.requirement import requirement
from tools.sample_store import OUTPUTS, Played


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Played]:
    """A store that goes on while the program acts on it."""
    monkeypatch.setenv("HANDRAIL_STORE", str(tmp_path / "store" / "handrail.db"))
    with open_sample_store(tmp_path / "store" / "handrail.db") as found:
        yield found


def entries(play: Played, run: str) -> list[tuple[str, dict[str, Any]]]:
    found = SqlRunQueries(play.database).journal(run=run, most=1000)
    return [(str(written.entry.kind), dict(written.entry.data)) for written in found]


def by_hand(run: str, output: object, *words: str) -> CommandResult:
    """A step completed with an output that is written to stdin."""
    text = output if isinstance(output, str) else json.dumps(output)
    return run_handrail("runs", "complete-step", run, "--output", "-", *words, stdin=text)


@requirement("steps:life.override")
def test_a_step_done_by_hand_is_completed_as_external(play: Played, tmp_path: Path) -> None:
    run = play.start("By hand")
    (tmp_path / "out.json").write_text(json.dumps(OUTPUTS[0]))

    said = run_handrail("runs", "complete-step", run, "--output", "out.json", cwd=tmp_path)

    assert (said.status, said.out) == (
        0,
        f"reproduce was completed by hand; run {run} is running in diagnose\n",
    )
    assert said.err == f"  tell the agent: call workflow_next_step with execution_id {run}\n"
    (done,) = [data for kind, data in entries(play, run) if kind == EntryKind.STEP_COMPLETED]
    assert (done["external"], done["by"], done["client"]) == (True, "person", "cli")
    assert run_handrail("runs", "artifacts", run).out == "1\treproduction\tSave twice\treproduce\t\t27\n"


@requirement("steps:life.override")
def test_a_step_done_by_hand_meets_the_same_contract(play: Played) -> None:
    run = play.start("By hand")

    said = by_hand(run, {**OUTPUTS[0], "artifacts": [], "confidence": "very"})

    assert (said.status, said.out) == (1, "")
    assert said.err.splitlines() == [
        "handrail: complete-step was refused as contract: the step output breaks the step's contract",
        '  seen: output.confidence = "very"',
        "  seen: output.artifacts = []",
        "  needed: confidence must be a number from 0 to 1",
        "  needed: artifacts must hold one of type `reproduction`; types handed in: none",
        f"  possible now: continue, by the agent, or by you: handrail runs complete-step {run} --output FILE",
    ]
    assert run_handrail("runs", "show", run, "--json").data["run"]["revision"] == 1


@requirement("steps:life.complete")
def test_the_last_step_done_by_hand_completes_the_run(play: Played) -> None:
    run = play.start("By hand")
    play.walk(run, 3)

    said = by_hand(run, OUTPUTS[3], "--json")

    assert (said.status, said.data["lifecycle"], said.data["state"]) == (0, Lifecycle.COMPLETED, "")
    assert said.data["told"] == f"prove was completed by hand; run {run} is completed"
    assert said.data["then"] == f"what it made: handrail runs artifacts {run}"


@pytest.mark.parametrize(
    ("text", "code", "sentence"),
    [
        ("", "not_json", "it is not JSON: Expecting value, line 1, column 1"),
        ("[]", "not_object", "it is JSON, but not an object"),
        ('{"summary": "a", "summary": "b"}', "duplicate_key", 'a key stands twice in one object: "summary"'),
        ('{"confidence": NaN}', "not_finite", "it has a number that is not finite: NaN"),
        ('"' + "x" * 1024 * 1024, "too_large", "it is larger than 1048576 bytes"),
    ],
    ids=["nothing", "a list", "a key twice", "no number", "too much"],
)
def test_what_is_no_json_object_is_told_before_anything_is_asked_of_the_store(
    text: str, code: str, sentence: str, play: Played
) -> None:
    run = play.start("By hand")
    before = entries(play, run)

    said = by_hand(run, text, "--json")

    assert (said.status, said.data["error"]["code"]) == (1, code)
    assert said.data["error"]["message"] == f"`-` is no step output: {sentence}"
    assert entries(play, run) == before


def test_an_output_that_is_not_there_is_status_3(play: Played, tmp_path: Path) -> None:
    run = play.start("By hand")

    said = run_handrail("runs", "complete-step", run, "--output", "none.json", cwd=tmp_path)
    folder = run_handrail("runs", "complete-step", run, "--output", tmp_path)

    assert (said.status, said.err.splitlines()[0]) == (3, "handrail: no file is called `none.json`")
    assert (folder.status, folder.err.splitlines()[0]) == (1, f"handrail: {tmp_path}: Is a directory")
