"""Sessions from the command line: found, repaired, and shown again in a store that was lost."""

import json
from pathlib import Path

from handrail.engine.refusals import TroubleCode
from helpers.program import run_command
from helpers.skill_sessions import TO_FIRST_ITEM, SkillAgent, write_design


def test_a_session_is_looked_at_and_repaired_by_its_name(agent: SkillAgent) -> None:
    agent.writes("design.md", write_design(["code"]))
    agent.walks(*TO_FIRST_ITEM)
    agent.completes("collab-start", session="other")

    several = run_command("repair", cwd=agent.root)
    assert (several.status, "skills/demo, skills/other" in several.err) == (1, True)
    shown = run_command("repair", "skills/demo", "--json", cwd=agent.root).data
    assert (shown["workflow"], shown["state"], shown["revision"]) == ("skills", "brainstorm-exploring", 3)
    assert shown["folder"] == str(agent.home())
    moved = run_command("repair", "skills/demo", "--adopt", "clear-pre-item", "--json", cwd=agent.root).data
    assert moved["state"] == "clear-pre-item"
    assert agent.state()["state"] == "clear-pre-item"
    assert "`collab-clear` is expected" in agent.completes("collab-start").reply["error"]
    back = run_command("repair", "skills/demo", "--restore", "3", "--json", cwd=agent.root).data
    assert (back["state"], agent.state()["currentItem"]) == ("brainstorm-exploring", 1)
    assert run_command("repair", "skills/other", "--json", cwd=agent.root).data["state"] == "gather-goals"


def test_a_damaged_state_file_is_set_aside_and_the_last_turn_brought_back(agent: SkillAgent) -> None:
    agent.walks("collab-start", "gather-session-goals")
    whole = agent.state()
    (agent.home() / "collab-state.json").write_bytes(b'{"state": "clear-pre')

    answer = agent.completes("collab-clear")
    assert answer.reply["code"] == TroubleCode.DAMAGED
    assert "handrail repair --restore 2" in answer.text
    assert run_command("repair", "skills/demo", "--restore", "2", cwd=agent.root).status == 0
    assert agent.state() == whole


def test_a_store_that_was_lost_shows_every_session_again(agent: SkillAgent, tmp_path: Path) -> None:
    agent.writes("design.md", write_design(["code"]))
    agent.walks(*TO_FIRST_ITEM)
    agent.completes("collab-start", session="other")
    store = tmp_path / "anew.db"

    rebuilt = run_command(
        "store", "rebuild", "--project", agent.root, "--store", store, "--json", cwd=tmp_path
    )
    listed = run_command("runs", "list", "--store", store, "--json", cwd=tmp_path).data["runs"]

    assert sorted(Path(run["folder"]).name for run in rebuilt.data["runs"]) == ["demo", "other"]
    assert sorted((run["goal"], run["state"], run["face"]) for run in listed) == [
        ("demo", "brainstorm-exploring", "skills"),
        ("other", "gather-goals", "skills"),
    ]
    (run,) = [run["id"] for run in listed if run["goal"] == "demo"]
    artifacts = run_command("runs", "artifacts", run, "--store", store, "--json", cwd=tmp_path).data[
        "artifacts"
    ]
    assert [(one["type"], one["title"]) for one in artifacts] == [("design", "documents/design.md")]
    refused = run_command("runs", "pause", run, "--store", store, cwd=tmp_path)
    assert f"is kept in {agent.home()}" in refused.err
    assert f"handrail repair skills/demo --project {agent.root}" in refused.err


def test_files_links_and_bad_names_are_not_sessions(agent: SkillAgent) -> None:
    agent.completes("collab-start")
    (agent.home("file")).write_text("no folder", "utf-8")
    agent.home("link").symlink_to(agent.home())
    agent.home("not a name").mkdir()
    agent.home("empty").mkdir()

    found = run_command("repair", cwd=agent.root)
    assert "skills/demo, skills/empty" in found.err
    assert json.loads(run_command("repair", "skills/empty", "--json", cwd=agent.root).out)["revision"] == 0
