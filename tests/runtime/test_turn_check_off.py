"""A check-off is tried on paper: what it says, and that its link names what the same turn makes."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from handrail.engine.model import Authority, Event
from handrail.engine.refusals import RefusalCode
from handrail.runtime.errors import Unreadable
from handrail.stores.files.disk import DiskWorkspace
from helpers.faulty_stores import Recording
from helpers.turns import ORIGIN, TurnHarness, load_pinned

FLOW = """
workflow: checks
version: 1
authority: files
folder: .ai/task
vars: {count: int}
texts:
  plan: "# Acceptance Criteria\\n- [ ] ...\\n"
  task: "# Do\\n"
  whole: "{{m.text}}"
  done: "{{marked.checked|bullets}} {{marked.unmatched|bullets}}"
states: {Home: {}, Over: {terminal: true}}
transitions:
  - id: done
    from: Home
    trigger: done
    when: [results.exists]
    draft: {marked: criteria.check_off}
    accept: [marked.ok]
    do:
      - {archive: task.md, to: "tasks/task-{task.name}-{now}"}
      - {archive: [task-results.md], to: "tasks/task-{task.name}-{now}"}
      - {write: plan.md, from: marked.text}
      - {write: task.md, template: task, if_absent: true}
    say: done
  - {id: kept, from: Home, trigger: kept, draft: {marked: criteria.check_off}, accept: [marked.ok],
     do: [{write: plan.md, from: marked.text}], say: done}
  - {id: many, from: Home, trigger: many, draft: {marked: criteria.check_off}, when: [task.exists],
     accept: [marked.ok], do: [{archive: task-results.md, to: "1"}, {write: plan.md, from: marked.text}]}
  - {id: more, from: Home, trigger: many, draft: {marked: criteria.check_off}, accept: [marked.ok],
     do: [{archive: task-results.md, to: "2"}, {write: plan.md, from: marked.text}]}
  - {id: vague, from: Home, trigger: vague, draft: {marked: criteria.check_off}, accept: [marked.ok],
     do: [{archive: task-results.md, to: "old-{run.vars.count}"}, {write: plan.md, from: marked.text}]}
  - {id: show, from: Home, trigger: show, draft: {m: criteria.check_off}, accept: [m.ok], say: whole}
  - {id: new, from: Home, trigger: new, set: {count: 1}, do: [{write: plan.md, template: plan}]}
  - {id: end, from: Home, trigger: end, to: Over}
"""
PLAN = b"# Acceptance Criteria\r\n- [ ] One\r\n- [ ] ...\r\n- [ ] caf\xe9\r\n"
RESULTS = b"# Acceptance Criteria\n- [x] one\n- ...\n- other\n"


@pytest.fixture
def harness(tmp_path: Path) -> TurnHarness:
    (tmp_path / "plan.md").write_bytes(PLAN)
    (tmp_path / "task-results.md").write_bytes(RESULTS)
    more: dict[str, Any] = {"workspace": DiskWorkspace(tmp_path), "lifetime": None}
    return TurnHarness(Recording(), more=more)


def after(turns: TurnHarness, trigger: str) -> tuple[dict[str, Any], dict[str, bytes | None]]:
    """What is said to an event in the first state, and the files it leaves changed."""
    run = turns.start(load_pinned(FLOW), replace(ORIGIN, authority=Authority.FILES))["run"]
    answer = turns.send(run, Event(trigger))
    assert isinstance(turns.runs, Recording)
    return answer, {final.path: final.after for final in turns.runs.turns[-1].finals}


@pytest.mark.parametrize("taken", [[], ["task-untitled-2026-03-01-1200"]])
def test_the_link_names_the_file_that_the_turn_makes(
    harness: TurnHarness, tmp_path: Path, taken: list[str]
) -> None:
    for name in taken:
        (tmp_path / "tasks" / name).mkdir(parents=True)
    answer, files = after(harness, "done")

    folder = "tasks/task-untitled-2026-03-01-1200" + "-2" * len(taken)
    assert files == {
        f"{folder}/task-results.md": RESULTS,
        "task-results.md": None,
        "plan.md": PLAN.replace(b"[ ] One", b"[x] One ([results](" + folder.encode() + b"/task-results.md))"),
        "task.md": b"# Do\n",
    }
    assert answer["texts"] == [{"text": "- One - ...\n- other"}]


def test_a_folder_that_an_archive_before_it_makes_is_taken(harness: TurnHarness, tmp_path: Path) -> None:
    (tmp_path / "task.md").write_bytes(b"---\ntask_name: Make tea\n---\n")
    _, files = after(harness, "done")

    stored = "tasks/task-make-tea-2026-03-01-1200-2/task-results.md"
    assert files[stored] == RESULTS
    assert f"[results]({stored})".encode() in (files["plan.md"] or b"")


def test_results_that_stay_are_linked_where_they_are(harness: TurnHarness) -> None:
    assert after(harness, "kept")[1] == {
        "plan.md": PLAN.replace(b"[ ] One", b"[x] One ([results](task-results.md))")
    }


def test_a_plan_that_is_not_utf_8_can_be_shown(harness: TurnHarness) -> None:
    answer, files = after(harness, "show")

    assert answer["texts"][0]["text"].endswith("- [ ] caf?\r\n")
    assert files == {}


def test_a_long_list_is_cut_with_a_count_of_the_rest(harness: TurnHarness, tmp_path: Path) -> None:
    lines = "".join(f"- {number}\n" for number in range(101))
    (tmp_path / "task-results.md").write_text(f"# Acceptance Criteria\n- {'x' * 301}\n{lines}")
    answer, files = after(harness, "kept")

    shown = answer["texts"][0]["text"].split("\n")
    assert (len(shown), len(shown[0]), shown[-2:]) == (101, 304, ["- 98", "- … and 2 more"])
    assert files == {}


def test_without_a_plan_there_is_nothing_to_check_off(harness: TurnHarness, tmp_path: Path) -> None:
    (tmp_path / "plan.md").unlink()
    answer, _ = after(harness, "kept")

    assert answer["code"] == RefusalCode.NOT_ACCEPTED
    assert harness.outcomes[-1].facts
    assert harness.outcomes[-1].facts["marked.problems"] == ["plan.md is not there"]


@pytest.mark.parametrize(
    ("trigger", "problem"),
    [
        (
            "many",
            "task-results.md would be kept as 1/task-results.md or 2/task-results.md; a link can name one",
        ),
        ("vague", "where task-results.md is kept depends on 'run.vars.count', which is no fact"),
    ],
)
def test_a_link_that_could_be_wrong_is_not_written(harness: TurnHarness, trigger: str, problem: str) -> None:
    answer, _ = after(harness, trigger)

    assert answer["code"] == RefusalCode.NOT_ACCEPTED
    assert harness.outcomes[-1].facts
    assert harness.outcomes[-1].facts["marked.problems"] == [problem]


def test_results_that_are_too_long_are_reported_with_the_repair(harness: TurnHarness, tmp_path: Path) -> None:
    (tmp_path / "task-results.md").write_bytes(b"a" * 262_145)

    with pytest.raises(Unreadable, match=r"task-results\.md has 262145 bytes; 262144 can be read"):
        after(harness, "done")
