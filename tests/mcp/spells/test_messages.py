"""The casts that promise that nothing changes: no file does, the journal has them, the token stays good."""

import json
from pathlib import Path

import pytest

from handrail.engine.model import Actor, Event
from handrail.runtime.entries import EntryKind
from handrail.runtime.status import inspect_run
from handrail.runtime.turn import Call, Outcome, Reply, take_turn
from helpers.requirement import requirement
from helpers.spell_table import SpellScene, load_spells, read_lines

FLOW = load_spells()
ROWS = [
    pytest.param("F.noop", marks=requirement("spells:F.noop")),
    pytest.param("expecto.none", marks=requirement("spells:expecto.none")),
    pytest.param("expecto.start", marks=requirement("spells:expecto.start")),
]


def _scene(folder: Path, row: str) -> SpellScene:
    return SpellScene(folder / "project", FLOW, next(line for line in read_lines() if line.row == row))


JOURNAL = ".handrail/history.jsonl"


def _everything(scene: SpellScene) -> dict[str, bytes]:
    """All files, those that keep the run safe too."""
    found = (path for path in scene.task.rglob("*") if path.is_file())
    return {path.relative_to(scene.task).as_posix(): path.read_bytes() for path in found}


def _entered(data: bytes) -> list[tuple[str, list[str]]]:
    """What these lines of the journal tell: each entry by its kind, and the rows that were taken."""
    bodies = [json.loads(line)["body"] for line in data.splitlines() if line]
    return [(one["kind"], one["data"]["rows"]) for body in bodies for one in body["entries"]]


def _said(scene: SpellScene, word: str, token: str) -> Reply:
    def told(outcome: Outcome) -> Reply:
        (made,) = (outcome.tokens or {}).values()
        assert outcome.stored
        return {"state": outcome.stored.run.open[0].state, "token": made, "revision": outcome.stored.revision}

    return take_turn(scene.world(), Call("", Event(word, by=Actor.PERSON), token=token), told)


@pytest.mark.parametrize("row", ROWS)
def test_no_file_changes_but_the_journal_and_the_token_stays_good(tmp_path: Path, row: str) -> None:
    scene = _scene(tmp_path, row)
    scene.cast("Accio" if scene.line.state == "GATHER_EDITING" else "Reparo")
    scene.cast("Finite" if scene.line.state == "GATHER_EDITING" else "Reverto")
    before = _everything(scene)
    world = scene.world()
    (token,) = (inspect_run(world, world.runs.load("") or pytest.fail("no run")).tokens or {}).values()

    said = [_said(scene, scene.line.trigger, token) for _ in range(2)]
    scene.cast()

    assert said == [{"state": scene.line.state, "token": token, "revision": 2}] * 2
    after = _everything(scene)
    assert {**after, JOURNAL: b""} == {**before, JOURNAL: b""}
    assert after[JOURNAL].startswith(before[JOURNAL])
    added = _entered(after[JOURNAL].removeprefix(before[JOURNAL]))
    assert added == [(EntryKind.STEP_STAYED, [row])] * 3
    assert _said(scene, "Reparo", token)["revision"] == 3


@pytest.mark.parametrize("row", ROWS)
def test_a_foreign_state_file_is_not_even_reformatted(tmp_path: Path, row: str) -> None:
    scene = _scene(tmp_path, row)
    before = {**scene.files(), "state.json": scene.state_file()}

    said = _said(scene, scene.line.trigger, "")

    stored = {path: data for path, data in _everything(scene).items() if not path.startswith(".handrail/")}
    assert stored == before
    assert (said["state"], said["revision"]) == (scene.line.state, 0)
    assert not (scene.task / ".handrail" / "head.json").exists()
    assert _entered((scene.task / JOURNAL).read_bytes()) == [(EntryKind.STEP_STAYED, [row])]
    assert _said(scene, "Reparo", str(said["token"]))["revision"] == 1


@requirement("spells:expecto.start")
def test_before_anything_began_no_state_file_is_made(tmp_path: Path) -> None:
    scene = _scene(tmp_path, "expecto.start")
    (scene.task / "state.json").unlink()

    said = _said(scene, "Expecto", "")

    assert (said["state"], said["revision"], scene.files()) == ("GATHER_NEEDS_PLAN", 0, {})
    assert not (scene.task / "state.json").exists()
    assert _said(scene, "Accio", str(said["token"]))["state"] == "GATHER_EDITING"
    assert len(json.loads((scene.task / "state.json").read_bytes())["history"]) == 1
