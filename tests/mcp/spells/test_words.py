"""Only a spell moves the task: what files say and what stands behind a word are read, and never obeyed."""

import json
from pathlib import Path
from typing import Final

import pytest

from handrail.engine.model import Actor, Event
from handrail.runtime.turn import Call, take_turn
from helpers.hostile_documents import ORDERS
from helpers.requirement import requirement
from helpers.spell_table import Line, SpellScene, load_spells, read_lines
from helpers.task_project import format_outcome

FLOW: Final = load_spells()
LOOKED_AT: Final = {
    # which files are there, whether they are untouched or empty, and three numbers: no word of any text
    "plan.exists",
    "task.exists",
    "task.untouched",
    "results.exists",
    "comments.exists",
    "comments.empty",
    "review_task.exists",
    "review_task.untouched",
    "review_results.exists",
    "criteria.total",
    "criteria.unchecked",
    "links.new",
    "marked.ok",
    "event.resume",
    "run.vars.pr_return_state",
    "run.vars.confirm_return_state",
    "run.vars.error_original_state",
}
KEPT: Final = {name: order for name, order in ORDERS.items() if "\0" not in order}
ROWS: Final = ("G3", "A1d", "P1", "R2", "F1", "V1")
SOME: Final = [next(line for line in read_lines() if line.row == row and not line.refused) for row in ROWS]


@requirement("spells:words.never")
def test_no_row_looks_at_the_words_of_a_file_or_of_a_note() -> None:
    guards = [guard for row in FLOW.rows for guard in (*row.when, *row.accept)]

    assert {fact.name for guard in guards for fact in guard.facts} == LOOKED_AT


def _cast(
    folder: Path, line: Line, note: str
) -> tuple[dict[str, bytes], dict[str, object], dict[str, object]]:
    """The files, the state file without its last entry, and that entry."""
    scene = SpellScene(folder, FLOW, line)
    event = Event(line.trigger, by=Actor.PERSON, note=note)
    assert take_turn(scene.world(), Call("", event), format_outcome)["accepted"]
    document = json.loads((scene.task / "state.json").read_bytes())
    return scene.files(), document, document["history"].pop()


@requirement("spells:words.never", "spells:note")
@pytest.mark.parametrize("line", SOME, ids=lambda line: f"{line.state}-{line.row}")
def test_a_note_that_gives_orders_is_kept_word_for_word_and_moves_nothing_else(
    tmp_path: Path, line: Line
) -> None:
    files, document, entry = _cast(tmp_path / "without", line, "")
    assert "note" not in entry

    for number, order in enumerate(KEPT.values()):
        answer = _cast(tmp_path / str(number), line, order)

        assert answer == (files, document, {**entry, "note": order}), order
    assert len(KEPT) >= 20
