"""What effects come to: the files as they will be, decided by reading only."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from handrail.engine.facts import Value
from handrail.engine.model import Authority, Event
from handrail.engine.refusals import RefusalCode
from handrail.runtime.gather import DraftResult, FactContext, FactReader
from handrail.runtime.records import ChangedContent
from handrail.runtime.resolve import hash_content
from handrail.stores.files.disk import DiskWorkspace
from helpers.faulty_stores import Recording
from helpers.turns import ORIGIN, TurnHarness, load_pinned

FLOW = """
workflow: files
version: 1
authority: files
tools: {go: {params: {word: string?}}, again: {}, tidy: {}, mark: {}, end: {}}
vars: {count: int}
texts:
  more: "More of {{event.word}} at {{now}}, {{task.name}}, {{run.vars.count}}"
  two: {first: One., second: Two.}
states: {Home: {}, Away: {}, Over: {terminal: true}}
transitions:
  - id: out
    from: Home
    trigger: go
    to: Away
    set: {count: 3}
    do: [{write: "{task.name}.md", template: more}, {write: kept.md, template: two, if_absent: true}]
  - id: back
    from: Away
    trigger: again
    to: Home
    do: [{archive: [plan.md, sub/plan.md, gone.md], to: old/x}]
  - id: tidy
    from: Home
    trigger: tidy
    do: [{archive: task.md, to: "{now}"}, {write: task.md, template: two}]
  - {id: mark, from: Home, trigger: mark, draft: {marked: criteria.check_off}, accept: marked.ok,
     do: [{write: plan.md, from: marked.text}]}
  - {id: end, from: Home, trigger: end, to: Over}
"""


def named(_: FactContext, __: tuple[str, ...]) -> Value:
    return "tea"


def exists(asked: FactContext, of: tuple[str, ...]) -> Value:
    return asked.snapshot.read(of[0]) is not None


READERS: dict[str, FactReader] = {"frontmatter.slug": named, "file.exists": exists}


@pytest.fixture
def harness(tmp_path: Path) -> TurnHarness:
    def drafted(asked: FactContext) -> DraftResult:
        plan = (asked.snapshot.read("plan.md") or b"").decode()
        return DraftResult({"ok": bool(plan), "problems": []}, {"text": plan.replace("[ ]", "[x]")})

    more: dict[str, Any] = {
        "workspace": DiskWorkspace(tmp_path),
        "readers": lambda: READERS,
        "lifetime": None,
    }
    more["drafters"] = lambda: {"criteria.check_off": drafted}
    return TurnHarness(Recording(), more=more)


def finals(turns: TurnHarness, event: Event) -> tuple[ChangedContent, ...]:
    """What the files will be after an event in the first state, or in the second for `again`."""
    run = turns.start(load_pinned(FLOW), replace(ORIGIN, authority=Authority.FILES))["run"]
    if event.trigger == "again":
        assert turns.send(run, Event("go"))["status"] == "ok"
    answer = turns.send(run, event)
    assert answer["status"] == "ok", answer
    assert isinstance(turns.runs, Recording)
    return turns.runs.turns[-1].finals


def test_a_template_is_filled_with_facts_the_event_and_the_run_as_the_turn_leaves_it(
    harness: TurnHarness,
) -> None:
    text = b"More of leaves at 2026-03-01T12:00:00Z, tea, 3"

    assert finals(harness, Event("go", {"word": "leaves"})) == (
        ChangedContent("tea.md", None, text),
        ChangedContent("kept.md", None, b"One.\n\nTwo."),
    )


def test_a_file_that_is_there_is_left_if_the_row_says_so(harness: TurnHarness, tmp_path: Path) -> None:
    (tmp_path / "kept.md").write_text("mine")
    (tmp_path / "tea.md").write_text("old")

    (final,) = finals(harness, Event("go"))
    assert (final.path, final.before) == ("tea.md", hash_content(b"old"))


def test_a_file_that_would_be_as_it_is_is_left_out(harness: TurnHarness, tmp_path: Path) -> None:
    (tmp_path / "kept.md").write_text("mine")
    (tmp_path / "tea.md").write_bytes(b"More of  at 2026-03-01T12:00:00Z, tea, 3")

    assert [final.path for final in finals(harness, Event("go", {"word": ""}))] == []


def test_files_move_into_a_new_folder_and_those_of_one_name_beside_each_other(
    harness: TurnHarness, tmp_path: Path
) -> None:
    (tmp_path / "plan.md").write_text("a")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "plan.md").write_text("b")

    assert finals(harness, Event("again")) == (
        ChangedContent("old/x/plan.md", None, b"a"),
        ChangedContent("plan.md", hash_content(b"a"), None),
        ChangedContent("old/x/plan-2.md", None, b"b"),
        ChangedContent("sub/plan.md", hash_content(b"b"), None),
    )


@pytest.mark.parametrize(
    ("taken", "free"), [([], "old/x"), (["x"], "old/x-2"), (["x", "x-2", "x-4"], "old/x-3")]
)
def test_a_folder_that_is_there_is_never_used_again(
    harness: TurnHarness, tmp_path: Path, taken: list[str], free: str
) -> None:
    (tmp_path / "plan.md").write_text("a")
    for name in taken:
        (tmp_path / "old" / name).mkdir(parents=True)

    assert finals(harness, Event("again"))[0].path == f"{free}/plan.md"


def test_nothing_to_archive_makes_no_folder(harness: TurnHarness) -> None:
    assert finals(harness, Event("again")) == ()


def test_an_effect_sees_what_those_before_it_leave_and_now_is_a_minute_in_a_path(
    harness: TurnHarness, tmp_path: Path
) -> None:
    (tmp_path / "task.md").write_text("do it")
    (tmp_path / "2026-03-01-1200").mkdir()

    assert finals(harness, Event("tidy")) == (
        ChangedContent("2026-03-01-1200-2/task.md", None, b"do it"),
        ChangedContent("task.md", hash_content(b"do it"), b"One.\n\nTwo."),
    )


def test_a_draft_is_written_as_it_was_tried(harness: TurnHarness, tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text("- [ ] tea")

    assert finals(harness, Event("mark")) == (
        ChangedContent("plan.md", hash_content(b"- [ ] tea"), b"- [x] tea"),
    )


def test_a_refused_row_writes_nothing_and_reads_only(harness: TurnHarness, tmp_path: Path) -> None:
    run = harness.start(load_pinned(FLOW), replace(ORIGIN, authority=Authority.FILES))["run"]

    assert harness.send(run, "mark")["code"] == RefusalCode.NOT_ACCEPTED
    assert list(tmp_path.iterdir()) == []
    assert isinstance(harness.runs, Recording)
    assert len(harness.runs.turns) == 1


def test_where_the_state_lives_in_files_the_first_event_begins_the_run(harness: TurnHarness) -> None:
    flow = load_pinned(FLOW)
    assert flow.workflow
    from_files = replace(ORIGIN, authority=Authority.FILES)
    answer = harness.start_with_event(flow, from_files, Event("go", {"word": "x"}))

    assert (answer["status"], answer["state"], answer["revision"]) == ("ok", "Away", 1)
    assert harness.start_with_event(load_pinned(FLOW), ORIGIN, Event("go"))["code"] == RefusalCode.NOT_RUNNING


def test_a_missing_file_differs_from_an_empty_one() -> None:
    assert hash_content(None) is None
    assert hash_content(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


DERIVED = """
workflow: plan
version: 1
authority: description
derive: plan.stage
states: {empty: {}, tasks: {}}
transitions:
  - {id: add, from: empty, trigger: add, draft: {next: plan.with_tasks}, accept: next.ok, to: "@derived",
     do: [{describe: next.text}]}
"""


def test_the_description_becomes_what_the_draft_made_and_the_state_is_read_from_it() -> None:
    text = [""]

    def drafted(_: FactContext) -> DraftResult:
        return DraftResult({"ok": True, "problems": [], "stage": "tasks"}, {"text": "1. tea"})

    more: dict[str, Any] = {
        "readers": lambda: {"plan.stage": lambda _, __: "tasks" if text[-1] else "empty"},
        "drafters": lambda: {"plan.with_tasks": drafted},
        "lifetime": None,
    }
    runs = Recording()
    turns = TurnHarness(runs, more=more)
    run = turns.start(load_pinned(DERIVED), replace(ORIGIN, authority=Authority.DESCRIPTION))["run"]
    answer = turns.send(run, Event("add"))

    assert answer["status"] == "ok"
    assert runs.turns[-1].describes == "1. tea"
    assert turns.outcomes[-1].facts == {
        "plan.stage": "empty",
        "next.ok": True,
        "next.problems": [],
        "next.stage": "tasks",
    }
    text.append("1. tea")
    assert turns.send(run, Event("add"))["code"] == RefusalCode.NO_ROW
