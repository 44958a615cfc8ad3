"""What an agent is told to do in one go: every point of the source is in it, with its literal names."""

from pathlib import Path

import pytest

from helpers.requirement import requirement
from helpers.spell_table import PARTS, Scene, lines, spells

FLOW = spells()
USER, AGENT = PARTS
BLOCKS = [
    pytest.param(
        "A1",
        [
            "Do exactly what `.ai/task/task.md` says",
            "`.ai/task/task-results.md`",
            "*Achieved*",
            "*Learned*",
            "*Errors not solved*",
            "*Acceptance Criteria satisfied*",
            "Do not edit `plan.md`",
        ],
        marks=requirement("spells:results.sections"),
    ),
    pytest.param(
        "expecto.block",
        [
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
        marks=requirement("spells:expecto.block"),
    ),
    pytest.param(
        "R1",
        [
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
        marks=requirement("spells:reparo.block"),
    ),
    pytest.param(
        "P2",
        [
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
        marks=requirement("spells:review.apply"),
    ),
    pytest.param(
        "P3",
        ["where the review is archived", "GATHER_EDITING", "what is next", "Touch no file"],
        marks=requirement("spells:review.finish"),
    ),
]


def _said(folder: Path, row: str, state: str = "") -> dict[str, str]:
    those = [one for one in lines() if one.row == row and (state in {"", one.next})]
    (text,) = Scene(folder / "project", FLOW, those[0]).cast().texts
    return dict(text)


@pytest.mark.parametrize(("row", "points"), BLOCKS)
def test_a_block_has_every_point_of_the_source(tmp_path: Path, row: str, points: list[str]) -> None:
    said = _said(tmp_path, row, "GATHER_EDITING" if row == "P3" else "")

    assert [point for point in points if point not in said[AGENT]] == []


@requirement("spells:expecto.none")
def test_without_new_links_two_answers_are_given_and_nothing_else(tmp_path: Path) -> None:
    said = _said(tmp_path, "expecto.none")

    assert said[USER].startswith("No new Jira or Confluence links in `plan.md`.")
    assert "under *References* or anywhere in it, then type **Expecto** again" in said[USER]
    assert said[AGENT].strip() == "Tell the user this, and remain in *Gather Acceptance Criteria*."
