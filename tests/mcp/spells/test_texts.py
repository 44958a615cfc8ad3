"""What a cast says: two parts, the folder that was made, the files as data, and one thing to do next."""

import re
from pathlib import Path

import pytest

from helpers.requirement import requirement
from helpers.spell_table import PARTS, SpellScene, load_spells, read_lines, read_template

FLOW = load_spells()
SAID = sorted({text for row in FLOW.rows for text in (row.say, row.refuse) if text})
USER, AGENT = PARTS
SECTIONS = {
    "plan.md": ["Context", "Goals / Non-Goals", "Acceptance Criteria", "Constraints & Risks", "References"],
    "task.md": ["Intent", "Steps", "Validation"],
    "review-task.md": ["Intent", "Comments and answers", "Steps", "Validation"],
}
MAP = {
    "GATHER_NEEDS_PLAN": ["very start", "`plan.md`", "**Accio**"],
    "GATHER_EDITING": [
        "`plan.md`",
        "at least one acceptance criterion",
        "`- [ ]",
        "**Accio**",
        "**Expecto**",
    ],
    "ACHIEVE_TASK_DRAFTING": ["`task.md`", "intent, steps and validation", "**Accio**"],
    "ACHIEVE_TASK_EXECUTED": [
        "`task-results.md`",
        "**Accio**",
        "archive",
        "`plan.md`",
        "Finite is not available",
    ],
    "ACHIEVE_COMPLETE": ["No acceptance criterion is open", "**Finite**", "**Reparo**"],
    "PR_GATHERING_COMMENTS": ["`comments.md`", "**Accio**", "`review-task.md`"],
    "PR_REVIEW_TASK_DRAFT": ["`review-task.md`", "**Accio**"],
    "PR_APPLIED_PENDING_ARCHIVE": [
        "`review-task-results.md`",
        "**Accio**",
        "archive",
        "back to where it began",
    ],
    "PR_CONFIRM_RESTART_COMMENTS": [
        "`comments.md`",
        "**Reparo: resume**",
        "**Reparo**",
        "**Accio**",
        "**Reverto**",
    ],
    "PR_CONFIRM_RESTART_TASK": [
        "`review-task.md`",
        "**Reparo: resume**",
        "**Reparo**",
        "**Accio**",
        "**Reverto**",
    ],
    "ERROR_TASK_MISSING": ["`task.md` is missing", "**Accio**", "**Finite**"],
    "ERROR_TASK_RESULTS_MISSING": ["`task-results.md` is missing", "**Accio**"],
    "ERROR_PLAN_MISSING": ["`plan.md` is missing", "**Accio**"],
    "ERROR_COMMENTS_MISSING": ["`comments.md` is missing", "**Accio**", "**Finite**"],
    "ERROR_REVIEW_TASK_MISSING": ["`review-task.md` is missing", "**Accio**"],
}
"""What Lumos names in each state, by the source's map of guidance and its errors."""

BLOCKS = {
    "A1": [
        "Do exactly what `.ai/task/task.md` says",
        "`.ai/task/task-results.md`",
        "*Achieved*",
        "*Learned*",
        "*Errors not solved*",
        "*Acceptance Criteria satisfied*",
        "Do not edit `plan.md`",
    ],
    "expecto.block": [
        "`mcp__atlassian__atlassianUserInfo` without arguments",
        "add Atlassian's MCP server",
        "sign in, and stop",
        "`.ai/task/atlassian/<SAFE_ID>.md`",
        "append the URL, exactly as it stands",
        "`.ai/task/atlassian/refs`",
        "under *References* (add the section if it is missing)",
        "`- [<SAFE_ID>](/.ai/task/atlassian/<SAFE_ID>.md)`",
        "`- [ ] … (source: <SAFE_ID>)`",
        "how many links were fetched",
        "Remain in *Gather Acceptance Criteria*",
        "https://acme.atlassian.net/browse/SUM-1 → ",
    ],
    "R1": [
        "either do it, or stop with a clear message",
        "GitHub MCP server",
        "add GitHub's MCP server",
        "sign in, and stop",
        "more than one is possible, ask for its URL and for **Reparo** again",
        "all open review comments, unresolved threads too",
        "`.ai/task/comments.md`",
        "a head with pull request, branch and time",
        "author, file and line, permalink, status, and its text as a quote",
        "Pulled C comments in T threads from <PR>",
    ],
    "P2": [
        "either do it, or stop with a clear message",
        "Ask the user nothing",
        "Do exactly the steps of `.ai/task/review-task.md`",
        "`.ai/task/review-task-results.md`",
        "what was achieved, by comment or thread",
        "what remains, and why",
        "errors met, and what to do about them",
        "the files changed, with a short summary of the diff",
        "Applied the review task.",
    ],
    "P3": ["where the review is archived", "GATHER_EDITING", "what is next", "Touch no file"],
}
"""What an agent is told to do in one go: every point of the source, with its literal names."""


def _said(folder: Path, row: str, files: str = "", state: str = "") -> dict[str, str]:
    """What the first line of a row says, with these files or leading to this state."""
    those = (line for line in read_lines() if line.row == row and files in {"", line.files})
    line = next(line for line in those if state in {"", line.next})
    (text,) = SpellScene(folder / "project", FLOW, line).cast().texts
    return dict(text)


@pytest.mark.parametrize("name", SAID)
def test_every_answer_speaks_to_the_user_in_a_few_sentences_and_to_the_agent(name: str) -> None:
    parts = FLOW.texts[name].parts

    assert list(parts) == PARTS
    assert 0 < len(parts[USER]) <= 300
    assert "\n" not in parts[USER].strip()
    assert parts[AGENT].strip()


@requirement("spells:task.name")
@pytest.mark.parametrize(
    ("row", "files", "folder"),
    [
        ("A2", "plan=open task=own results=one", "tasks/task-add-sum-2026-03-01-1200"),
        ("A2", "plan=open task=own results=one taken=task", "tasks/task-add-sum-2026-03-01-1200-2"),
        ("E3", "plan=open task=own", "tasks/incomplete-task-add-sum-2026-03-01-1200"),
        ("P3", "plan=open comments=own review=own applied=own", "pr-reviews/pr-review-2026-03-01-1200"),
    ],
)
def test_an_archive_is_named_in_the_reply(tmp_path: Path, row: str, files: str, folder: str) -> None:
    assert f"archived in `{folder}`" in _said(tmp_path, row, files)[USER].replace("put aside", "archived")


@requirement("spells:A2.quote")
def test_the_results_are_handed_over_whole_between_boundaries(tmp_path: Path) -> None:
    said = _said(tmp_path, "A2", "plan=open task=own results=one")

    assert "# Results\n\n## Achieved\n\nIt sums.\n" in said[AGENT]
    assert "untrusted" in said[AGENT]
    assert "It sums." not in said[USER]


def test_checked_off_and_unmatched_criteria_are_listed(tmp_path: Path) -> None:
    done = _said(tmp_path / "one", "A2", "plan=open task=own results=one")
    unknown = _said(tmp_path / "other", "A2", "plan=open task=own results=unknown")

    assert "1 acceptance criteria were checked off" in done[USER]
    assert '["Sums two numbers"]' in done[AGENT]
    assert "0 acceptance criteria were checked off" in unknown[USER]
    assert 'found nowhere in `plan.md`: ["Sums three numbers"]' in unknown[AGENT]


@pytest.mark.parametrize(
    "file",
    [
        pytest.param("plan.md", marks=requirement("spells:gather.template")),
        pytest.param("task.md", marks=requirement("spells:task.template")),
        "review-task.md",
    ],
)
def test_a_template_has_the_sections_of_the_source(file: str) -> None:
    text = read_template(file).decode()

    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == SECTIONS[file]
    assert text.startswith("---\ntask_name: untitled\n---\n") is (file == "task.md")


@requirement("spells:lumos.map")
@pytest.mark.parametrize("name", FLOW.states)
def test_every_state_is_explained_to_the_user_and_the_agent_as_the_map_of_the_source_says(name: str) -> None:
    face = FLOW.states[name].extra

    assert [words for words in MAP[name] if words not in str(face[USER])] == []

    assert list(face)[:2] == PARTS
    assert all(isinstance(face[part], str) and face[part] for part in PARTS)


def test_a_plan_with_criteria_has_a_name_and_words_of_its_own() -> None:
    ready = FLOW.states["GATHER_EDITING"].extra["sub_state"]

    assert isinstance(ready, dict)
    assert (ready["name"], ready["fact"], ready["at_least"]) == ("GATHER_READY", "criteria.total", 1)
    assert all(ready[part] for part in PARTS)


@requirement(
    "spells:results.sections",
    "spells:expecto.block",
    "spells:reparo.block",
    "spells:review.apply",
    "spells:review.finish",
)
@pytest.mark.parametrize("row", BLOCKS)
def test_a_block_has_every_point_of_the_source(tmp_path: Path, row: str) -> None:
    said = _said(tmp_path, row, state="GATHER_EDITING" if row == "P3" else "")

    assert [point for point in BLOCKS[row] if point not in said[AGENT]] == []
    assert row != "expecto.block" or said[USER].startswith("Found 1 new Jira or Confluence links")


@requirement("spells:expecto.none")
def test_without_new_links_two_answers_are_given_and_nothing_else(tmp_path: Path) -> None:
    said = _said(tmp_path, "expecto.none")

    assert said[USER].startswith("No new Jira or Confluence links in `plan.md`.")
    assert "under *References* or anywhere in it, then type **Expecto** again" in said[USER]
    assert said[AGENT].strip() == "Tell the user this, and remain in *Gather Acceptance Criteria*."
