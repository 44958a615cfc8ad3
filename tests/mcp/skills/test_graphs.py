"""A skill graph of one's own: chosen when a session begins, and kept by it."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from handrail.engine.refusals import RefusalCode
from helpers.program import run_command
from helpers.skill_sessions import FILE, SkillAgent

TINY = """
workflow: tiny
version: 1
authority: files
folder: .collab/sessions/{name}
state_file: collab-state.json
about: Write, then read, as long as there is something
tools:
  complete_skill: {about: A skill is done, params: {skill: string}}
  session_status: {about: Where it stands, reads: true}
states:
  writing: {phase: early, face: {skill: write}}
  sorting: {router: true}
  reading: {phase: late, face: {skill: read}}
  over: {phase: late, terminal: true}
  left: {phase: late, terminal: true}
transitions:
  - {id: OTHER, from: "*", trigger: complete_skill, accept: [event.skill != skill.expected], refuse: OTHER}
  - {id: W1, from: writing, trigger: complete_skill, to: sorting}
  - {id: S1, from: sorting, when: [items.remaining], to: reading}
  - {id: S2, from: sorting, to: left}
  - {id: R1, from: reading, trigger: complete_skill, to: over}
texts:
  OTHER: "`{{skill.expected}}` it is."
"""


def puts(agent: SkillAgent, text: str = TINY, name: str = "tiny") -> Path:
    shelf = agent.root / ".handrail" / "workflows"
    shelf.mkdir(parents=True, exist_ok=True)
    (shelf / f"{name}.yaml").write_text(text, "utf-8")
    return shelf / f"{name}.yaml"


def test_a_session_follows_the_graph_that_it_began_with(agent: SkillAgent) -> None:
    puts(agent)
    agent.writes("design.md", "## Work Items\n### Item 1: A\n")

    begun = agent.completes("write", graph="tiny")
    assert (begun.reply["next_skill"], begun.reply["state"]) == ("read", "reading")
    assert agent.completes("write").reply == begun.reply
    assert agent.completes("nothing").reply["error"] == "`read` it is."
    assert agent.looks().reply["graph"] == "tiny"
    assert agent.completes("collab-start", session="usual").reply["state"] == "gather-goals"
    assert agent.completes("read", graph="tiny").reply["state"] == "over"
    assert agent.looks().reply["state"] == "over"


def test_the_end_a_run_came_to_is_reported_when_there_are_several(agent: SkillAgent) -> None:
    puts(agent)

    assert agent.completes("write", graph="tiny").reply["state"] == "left"
    shown = agent.looks().reply
    assert (shown["state"], shown["next_skill"]) == ("left", None)


def test_a_graph_is_chosen_once(agent: SkillAgent) -> None:
    puts(agent)
    agent.completes("write", graph="tiny")
    agent.completes("collab-start", session="usual")

    assert agent.completes("read", graph="skills").reply["code"] == RefusalCode.OTHER_GRAPH
    answer = agent.completes("gather-session-goals", session="usual", graph="tiny")
    assert (answer.reply["code"], answer.reply["why"]["needed"]) == (
        RefusalCode.OTHER_GRAPH,
        ["leave it out: this session follows `skills`"],
    )


def test_a_session_that_lost_its_history_takes_its_graph_again(agent: SkillAgent) -> None:
    puts(agent)
    agent.writes("design.md", "## Work Items\n### Item 1: A\n")
    agent.completes("write", graph="tiny")
    shutil.rmtree(agent.home() / ".handrail")

    answer = agent.completes("read", graph="tiny")

    assert (answer.reply["state"], "taken as it stands" in answer.reply["note"]) == ("over", True)


@pytest.mark.parametrize(
    ("change", "code", "needed"),
    [
        (("tiny", "other"), RefusalCode.BROKEN_WORKFLOW, "the file is found as `tiny`"),
        (
            (".collab/sessions/{name}", ".collab"),
            RefusalCode.UNFIT_GRAPH,
            "`folder: .collab/sessions/{name}`",
        ),
        (("state_file: collab-state.json\n", ""), RefusalCode.UNFIT_GRAPH, "`state_file: collab-state.json`"),
        (
            ("{skill: write}", "{kind: write}"),
            RefusalCode.UNFIT_GRAPH,
            "a `skill` under `face` of its first state",
        ),
    ],
)
def test_a_workflow_that_sessions_cannot_follow_is_refused(
    agent: SkillAgent, change: tuple[str, str], code: str, needed: str
) -> None:
    puts(agent, TINY.replace(*change, 1))

    answer = agent.completes("write", graph="tiny")

    assert answer.reply["code"] == code
    assert needed in answer.text
    assert not agent.home().exists()


def test_a_workflow_without_the_tool_or_without_a_file_is_refused(agent: SkillAgent) -> None:
    puts(agent, TINY.replace("complete_skill", "skill_over"))

    assert "the tool `complete_skill` with the param `skill`" in agent.completes("write", graph="tiny").text
    assert agent.completes("write", graph="nowhere").reply["code"] == RefusalCode.UNKNOWN_WORKFLOW
    assert agent.completes("write", graph="feature").reply["code"] == RefusalCode.UNFIT_GRAPH


def test_a_graph_that_is_gone_stops_its_session_and_nothing_is_touched(agent: SkillAgent) -> None:
    file = puts(agent)
    agent.writes("design.md", "## Work Items\n### Item 1: A\n")
    agent.completes("write", graph="tiny")
    before = agent.state()
    file.unlink()

    for answer in (agent.completes("read"), agent.looks()):
        assert answer.reply["code"] == RefusalCode.UNKNOWN_WORKFLOW
    said = run_command("repair", "skills/demo", cwd=agent.root)
    assert (said.status, "follows the workflow `tiny`" in said.err) == (1, True)
    assert agent.state() == before
    puts(agent)
    assert agent.completes("read").reply["state"] == "over"


def test_a_session_with_its_own_graph_is_shown_again_in_a_store_that_was_lost(
    agent: SkillAgent, tmp_path: Path
) -> None:
    puts(agent)
    agent.writes("design.md", "## Work Items\n### Item 1: A\n")
    agent.completes("write", graph="tiny")
    store = tmp_path / "anew.db"

    run_command("store", "rebuild", "--project", agent.root, "--store", store, cwd=tmp_path)

    (run,) = run_command("runs", "list", "--store", store, "--json", cwd=tmp_path).data["runs"]
    assert (run["workflow"], run["face"], run["state"]) == ("tiny", "skills", "reading")
    assert run_command("repair", "--json", cwd=agent.root).data["state"] == "reading"
    assert agent.completes("read").reply["state"] == "over"


def test_a_project_cannot_put_another_graph_in_the_place_of_the_usual_one(agent: SkillAgent) -> None:
    puts(agent, TINY.replace("workflow: tiny", "workflow: skills"), "skills")

    assert agent.completes("collab-start").reply["state"] == "gather-goals"
    assert agent.completes("gather-session-goals", graph="skills").reply["state"] == "clear-pre-item"


def test_a_graph_that_hides_one_of_the_persons_must_be_trusted(agent: SkillAgent, home: Path) -> None:
    own = home / ".config" / "handrail" / "workflows"
    own.mkdir(parents=True)
    (own / "tiny.yaml").write_text(TINY, "utf-8")
    puts(agent, TINY.replace("about: Write", "about: Wrote"))

    assert agent.completes("write", graph="tiny").reply["code"] == RefusalCode.UNTRUSTED
    assert run_command("trust", "tiny", "--yes", cwd=agent.root).status == 0
    assert not agent.completes("write", graph="tiny").failed


def test_where_one_skill_follows_itself_only_a_token_makes_a_retry_safe(agent: SkillAgent) -> None:
    puts(agent, TINY.replace("{skill: read}", "{skill: write}"))
    agent.writes("design.md", "## Work Items\n### Item 1: A\n")
    first = agent.completes("write", graph="tiny")

    second = agent.completes("write", step_token=first.reply["step_token"])
    assert second.reply["state"] == "over"
    assert agent.completes("write", step_token=first.reply["step_token"]) == second


def _checked(text: str, folder: Path) -> list[dict[str, Any]]:
    file = folder / "tiny.yaml"
    file.write_text(text, "utf-8")
    said = run_command("workflows", "check", file, "--json", cwd=folder)
    found: list[dict[str, Any]] = said.data["problems"]
    assert said.status == int(bool(found))
    return found


def test_the_check_knows_skill_graphs(tmp_path: Path) -> None:
    assert _checked(TINY, tmp_path) == []
    same = _checked(TINY.replace("{skill: read}", "{skill: write}"), tmp_path)
    assert [(one["code"], one["severity"], one["line"]) for one in same] == [
        ("ambiguous-skill", "warning", 12)
    ]
    bare = _checked(TINY.replace(", face: {skill: read}", ""), tmp_path)
    assert [(one["code"], one["severity"], one["line"]) for one in bare] == [("missing-skill", "error", 14)]
    stuck = _checked(
        TINY.replace("from: sorting, to: left", 'from: sorting, when: ["!batches.remaining"], to: left'),
        tmp_path,
    )
    assert [(one["code"], one["line"]) for one in stuck] == [("router-stuck", 13)]
    assert run_command("workflows", "check", FILE, cwd=tmp_path).status == 0
