"""The face `skills` over the wire: from the first skill of a session to its last."""

import json
from typing import TypeAlias

import pytest

from handrail.engine.model import Lifecycle
from handrail.engine.refusals import RefusalCode
from helpers.program import run_handrail
from helpers.requirement import requirement
from helpers.servers import ERAS, Pipe, Place, ToolAnswer, connect_agent

DESIGN = """# Sort the list

## Work Items

### Item 1: Sort it

**Type:** code
**Status:** pending

## Notes
"""
GRAPH = """# Tasks

```yaml
tasks:
  - id: sort
    files: [sort.py]
    description: Sort it
  - id: test
    depends-on: [sort]
```
"""
Way: TypeAlias = tuple[str, str | None, dict[str, int], str, str]
WAY: tuple[Way, ...] = (
    # the skill that is completed; then the next one, its params, the action and the state, as ruled
    ("collab-start", "gather-session-goals", {}, "none", "gather-goals"),
    ("gather-session-goals", "collab-clear", {}, "clear", "clear-pre-item"),
    ("collab-clear", "brainstorming-exploring", {"item_number": 1}, "none", "brainstorm-exploring"),
    ("brainstorming-exploring", "collab-clear", {"item_number": 1}, "clear", "clear-bs1"),
    ("collab-clear", "brainstorming-clarifying", {"item_number": 1}, "none", "brainstorm-clarifying"),
    ("brainstorming-clarifying", "collab-clear", {"item_number": 1}, "clear", "clear-bs2"),
    ("collab-clear", "brainstorming-designing", {"item_number": 1}, "none", "brainstorm-designing"),
    ("brainstorming-designing", "collab-clear", {"item_number": 1}, "clear", "clear-bs3"),
    ("collab-clear", "brainstorming-validating", {"item_number": 1}, "none", "brainstorm-validating"),
    ("brainstorming-validating", "collab-clear", {"item_number": 1}, "clear", "clear-pre-rough"),
    ("collab-clear", "rough-draft-interface", {"item_number": 1}, "none", "rough-draft-interface"),
    ("rough-draft-interface", "collab-clear", {"item_number": 1}, "clear", "clear-rd1"),
    ("collab-clear", "rough-draft-pseudocode", {"item_number": 1}, "none", "rough-draft-pseudocode"),
    ("rough-draft-pseudocode", "collab-clear", {"item_number": 1}, "clear", "clear-rd2"),
    ("collab-clear", "rough-draft-skeleton", {"item_number": 1}, "none", "rough-draft-skeleton"),
    ("rough-draft-skeleton", "collab-clear", {"item_number": 1}, "clear", "clear-rd3"),
    ("collab-clear", "build-task-graph", {"item_number": 1}, "none", "build-task-graph"),
    ("build-task-graph", "collab-clear", {"item_number": 1}, "clear", "clear-rd4"),
    ("collab-clear", "rough-draft-handoff", {"item_number": 1}, "none", "rough-draft-handoff"),
    ("rough-draft-handoff", "collab-clear", {}, "clear", "clear-post-item"),
    ("collab-clear", "ready-to-implement", {}, "none", "ready-to-implement"),
    ("ready-to-implement", "collab-clear", {}, "clear", "clear-pre-execute"),
    ("collab-clear", "executing-plans", {"batch_index": 0}, "none", "execute-batch"),
    ("executing-plans", "collab-clear", {}, "clear", "clear-post-batch"),
    ("collab-clear", "executing-plans", {"batch_index": 1}, "none", "execute-batch"),
    ("executing-plans", "collab-clear", {}, "clear", "clear-post-batch"),
    ("collab-clear", "finishing-a-development-branch", {}, "none", "workflow-complete"),
    ("finishing-a-development-branch", "collab-cleanup", {}, "none", "cleanup"),
    ("collab-cleanup", None, {}, "none", "done"),
)


def call(pipe: Pipe, at: Place, tool: str, **more: object) -> ToolAnswer:
    return pipe.call({"project": str(at.project), "session": "demo", **more}, tool)


@requirement("skills:tool.output", "skills:done")
@pytest.mark.parametrize("era", ERAS)
def test_the_whole_way_of_a_session_with_one_item_of_code(at: Place, era: str) -> None:
    home = at.project / ".collab" / "sessions" / "demo"
    (home / "documents").mkdir(parents=True)
    (home / "documents" / "design.md").write_text(DESIGN, "utf-8")
    (home / "documents" / "task-graph.md").write_text(GRAPH, "utf-8")
    tasks = iter(("sort", "test"))
    with Pipe(at, "--face", "skills", era=era) as pipe:
        for done, skill, params, action, state in WAY:
            if done == "executing-plans":
                set_ = call(pipe, at, "update_task_status", task_id=next(tasks), status="completed")
                assert not set_.failed, set_.text
            answer = call(pipe, at, "complete_skill", skill=done)
            assert not answer.failed, answer.text
            reply = answer.reply
            assert (reply["next_skill"], reply["params"], reply["action"], reply["state"]) == (
                skill,
                params,
                action,
                state,
            )
        shown = call(pipe, at, "session_status")

    assert shown.reply["state"] == "done"
    assert (home / "documents" / "design.md").read_text("utf-8") == DESIGN.replace("pending", "documented")
    stored = json.loads((home / "collab-state.json").read_text("utf-8"))
    assert (stored["state"], stored["phase"], stored["completedTasks"]) == (
        "done",
        "complete",
        ["sort", "test"],
    )
    listed = run_handrail("runs", "list", "--store", at.store, "--json", HOME=at.env["HOME"]).data["runs"]
    (run,) = listed
    assert (run["face"], run["goal"], run["lifecycle"]) == ("skills", "demo", Lifecycle.COMPLETED)


@requirement("skills:tool.output")
@pytest.mark.parametrize("era", ERAS)
def test_a_real_client_takes_every_kind_of_reply(at: Place, era: str) -> None:
    named = {"project": str(at.project), "session": "demo"}
    with connect_agent(at, era, "--face", "skills") as client:
        unknown = client.call(named, "session_status")
        begun = client.call({**named, "skill": "collab-start"}, "complete_skill")
        refused = client.call({**named, "skill": "collab-clear"}, "complete_skill")
        shown = client.call(named, "session_status")

    assert [one.failed for one in (unknown, begun, refused, shown)] == [True, False, True, False]
    assert unknown.reply["code"] == RefusalCode.UNKNOWN_SESSION
    assert begun.reply["next_skill"] == refused.reply["next_skill"] == shown.reply["next_skill"]
    assert "flowchart TD" in shown.text
