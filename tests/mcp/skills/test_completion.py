"""Completing a skill: only the expected one moves the session, and only once."""

import pytest

from handrail.engine.refusals import RefusalCode
from helpers.requirement import requirement
from helpers.skill_sessions import (
    BUG_DONE,
    TO_BATCHES,
    TO_FIRST_ITEM,
    TO_VALIDATED,
    SkillAgent,
    write_design,
    write_task_graph,
)


@requirement("skills:expect")
@pytest.mark.parametrize(
    "skill", ["gather-goals", "brainstorming-exploring", "", "collab-clear", "x" * 9_000]
)
def test_any_other_skill_is_refused_and_the_expected_one_is_named(agent: SkillAgent, skill: str) -> None:
    agent.walks("collab-start")
    before = agent.state()

    answer = agent.completes(skill)

    assert answer.failed
    assert answer.reply["code"] == RefusalCode.REFUSED
    assert "`gather-session-goals` is expected" in answer.reply["error"]
    assert answer.reply["why"]["needed"] == [answer.reply["error"]]
    assert answer.reply["state"] == "gather-goals"
    named = {"project": str(agent.root), "session": "demo"}
    assert answer.reply["next"] == [
        {"tool": "complete_skill", "arguments": {**named, "skill": "gather-session-goals"}, "who": "agent"},
        {"tool": "session_status", "arguments": named, "who": "agent"},
    ]
    assert agent.state() == before


@requirement("skills:retry")
def test_the_skill_of_the_previous_call_is_answered_again_and_nothing_moves(agent: SkillAgent) -> None:
    agent.writes("design.md", write_design(["code"]))
    for skill in (*TO_FIRST_ITEM, *TO_VALIDATED):
        first = agent.completes(skill)
        stored = agent.state()
        assert [agent.completes(skill) for _ in range(2)] == [first, first]
        assert agent.state() == stored


@requirement("skills:retry")
def test_the_skill_before_the_previous_one_is_not_answered_again(agent: SkillAgent) -> None:
    agent.walks("collab-start", "gather-session-goals")

    assert agent.completes("collab-start").reply["code"] == RefusalCode.REFUSED


@requirement("skills:retry")
def test_tasks_that_were_set_since_do_not_keep_a_skill_from_being_answered_again(agent: SkillAgent) -> None:
    agent.writes("design.md", write_design(["bugfix"]))
    entered = agent.walks(*TO_BATCHES)
    agent.sets("item-1", "in_progress")
    agent.sets("item-1", "failed")

    assert agent.completes("collab-clear") == entered
    assert agent.completes("ready-to-implement").failed
    assert agent.state()["batches"][0]["tasks"][0]["status"] == "failed"


@requirement("skills:retry")
def test_a_spent_token_gets_its_reply_again_and_an_older_one_is_refused(agent: SkillAgent) -> None:
    first = agent.walks("collab-start")
    second = agent.completes("gather-session-goals", step_token=first.reply["step_token"])
    stored = agent.state()

    assert agent.completes("gather-session-goals", step_token=first.reply["step_token"]) == second
    other = agent.completes("collab-clear", step_token=first.reply["step_token"])
    assert (other.reply["code"], other.reply["state"]) == (RefusalCode.ALREADY_USED, "clear-pre-item")
    odd = [agent.completes("collab-clear", step_token=text).reply["code"] for text in ("x", "x" * 72)]
    assert odd == ["malformed", "forged"]
    assert agent.state() == stored
    agent.writes("design.md", write_design(["task"]))
    agent.walks("collab-clear")
    late = agent.completes("brainstorming-exploring", step_token=second.reply["step_token"])
    assert (late.reply["code"], late.reply["state"]) == (RefusalCode.SUPERSEDED, "brainstorm-exploring")
    assert not agent.completes("brainstorming-exploring", step_token=late.reply["step_token"]).failed


@requirement("skills:retry")
def test_the_last_skill_is_answered_again_when_the_session_is_over_and_no_other_is(agent: SkillAgent) -> None:
    agent.writes("design.md", write_design(["bugfix"]))
    agent.walks(*TO_BATCHES)
    agent.sets("item-1")
    last = agent.walks("executing-plans", "collab-clear", "finishing-a-development-branch", "collab-cleanup")

    assert last.reply == {"next_skill": None, "params": {}, "action": "none", "state": "done"}
    assert agent.completes("collab-cleanup") == last
    again = agent.completes("collab-start")
    assert (again.reply["code"], again.reply["state"], again.reply["next_skill"]) == (
        RefusalCode.NOT_RUNNING,
        "done",
        None,
    )
    assert agent.looks().reply["state"] == "done"


@requirement("skills:items.none")
@pytest.mark.parametrize("text", [None, "", "# Design\n", "## Work Items\n\nNone yet.\n", "### Item 1: A\n"])
def test_no_item_is_not_the_same_as_none_remaining(agent: SkillAgent, text: str | None) -> None:
    if text is not None:
        agent.writes("design.md", text)
    agent.walks("collab-start", "gather-session-goals")

    answer = agent.completes("collab-clear")

    assert (answer.reply["code"], answer.reply["state"]) == (RefusalCode.REFUSED, "clear-pre-item")
    assert "must name at least one work item" in answer.reply["error"]
    assert answer.reply["error"] in agent.looks().reply["blocked"]
    agent.writes("design.md", write_design(["code"]))
    assert agent.walks("collab-clear").reply["params"] == {"item_number": 1}


@requirement("skills:items.read")
def test_an_unknown_type_is_refused_with_its_line_wherever_it_matters(agent: SkillAgent) -> None:
    agent.writes("design.md", write_design(["code", "feature"]))
    agent.walks("collab-start", "gather-session-goals")
    assert "line 12: the type of item 2 is 'feature'" in agent.completes("collab-clear").reply["error"]

    agent.writes("design.md", write_design(["code", "bugfix"]))
    agent.walks("collab-clear", *TO_VALIDATED[:-1])
    agent.writes("design.md", write_design(["feature", "bugfix"]))
    answer = agent.completes("brainstorming-validating")
    assert "line 7: the type of item 1 is 'feature'" in answer.reply["error"]
    assert answer.reply["state"] == "brainstorm-validating"


@requirement("skills:items.mark")
def test_an_item_is_documented_by_one_line_and_the_counts_are_kept(agent: SkillAgent) -> None:
    agent.writes("design.md", "\ufeff" + write_design(["bugfix", "bugfix"]).replace("\n", "\r\n"))
    agent.walks(*TO_FIRST_ITEM)
    before = agent.design()
    assert agent.state()["currentItem"] == 1

    agent.walks("systematic-debugging")

    assert agent.design() == before.replace("pending", "documented", 1)
    stored = agent.state()
    assert (stored["currentItem"], stored["totalItems"], stored["documentedItems"]) == (None, 2, 1)


@requirement("skills:items.mark")
def test_an_item_that_is_gone_cannot_be_documented_and_is_named(agent: SkillAgent) -> None:
    agent.writes("design.md", write_design(["bugfix", "bugfix"]))
    agent.walks(*TO_FIRST_ITEM)
    agent.writes("design.md", write_design(["bugfix", "bugfix"]).replace("Item 1", "Item 7"))

    answer = agent.completes("systematic-debugging")

    assert "has no item 1 any more" in answer.reply["error"]
    assert agent.state()["state"] == "systematic-debugging"


def test_an_item_that_is_gone_when_nothing_else_is_pending_is_asked_for(agent: SkillAgent) -> None:
    agent.writes("design.md", write_design(["task"]))
    agent.walks(*TO_FIRST_ITEM, *TO_VALIDATED[:-1])
    agent.writes("design.md", "# Design\n")

    answer = agent.completes("brainstorming-validating")

    assert "Put it back" in answer.reply["error"]
    assert answer.reply["state"] == "brainstorm-validating"


@requirement("skills:cond.item_type")
def test_the_type_of_an_item_that_is_done_never_leads_back_to_it(agent: SkillAgent) -> None:
    agent.writes("design.md", write_design(["bugfix"]))
    assert agent.walks(*BUG_DONE).reply["state"] == "ready-to-implement"

    agent.writes("design.md", write_design(["bugfix", "task"], documented=[1]))
    agent.puts(state="clear-post-item", phase="brainstorming", currentItem=1, hasSnapshot=False)
    answer = agent.walks("collab-clear")
    assert (answer.reply["state"], answer.reply["params"]) == ("brainstorm-exploring", {"item_number": 2})


def test_a_type_that_changes_while_an_item_is_explored_decides_its_way(agent: SkillAgent) -> None:
    agent.writes("design.md", write_design(["code", "task"]))
    agent.walks(*TO_FIRST_ITEM, *TO_VALIDATED[:-1])
    agent.writes("design.md", write_design(["bugfix", "task"]))

    answer = agent.walks("brainstorming-validating")

    assert (answer.reply["state"], answer.reply["params"]) == ("systematic-debugging", {"item_number": 1})


@requirement("skills:batches.none")
def test_without_a_graph_there_is_one_batch_with_a_task_for_each_item(agent: SkillAgent) -> None:
    agent.writes("design.md", write_design(["bugfix", "code"], documented=[2]))
    agent.walks(*TO_BATCHES)

    assert agent.state()["batches"] == [
        {
            "id": "batch-1",
            "tasks": [
                {"id": "item-1", "status": "pending", "dependsOn": []},
                {"id": "item-2", "status": "pending", "dependsOn": []},
            ],
            "status": "pending",
        }
    ]
    assert (agent.state()["pendingTasks"], agent.state()["currentBatch"]) == (["item-1", "item-2"], 0)


def test_the_graph_may_stand_in_the_design_document_and_its_own_file_comes_first(agent: SkillAgent) -> None:
    agent.writes("design.md", write_design(["bugfix"]) + write_task_graph({"a": ()}))
    agent.writes("task-graph.md", "# None here\n")
    agent.walks(*TO_BATCHES)

    assert agent.state()["pendingTasks"] == ["a"]


@requirement("skills:batches.layers")
@pytest.mark.parametrize(
    ("graph", "said"),
    [
        (
            write_task_graph({"a": ("b",), "b": ("a",)}),
            "documents/task-graph.md: tasks depend on each other in a circle",
        ),
        (write_task_graph({"a": ("z",)}), "task `a` depends on 'z', which is no task"),
        (write_task_graph({"a": ()}) * 2, "the id `a` stands there 2 times"),
        ("```yaml\ntasks: []\n```\n", "the task graph has no task"),
    ],
)
def test_a_graph_that_cannot_be_layered_is_refused_and_nothing_moves(
    agent: SkillAgent, graph: str, said: str
) -> None:
    agent.writes("design.md", write_design(["bugfix"]))
    agent.writes("task-graph.md", graph)
    agent.walks(*TO_BATCHES[:-1])

    answer = agent.completes("collab-clear")

    assert (answer.reply["code"], answer.reply["state"]) == (RefusalCode.REFUSED, "clear-pre-execute")
    assert said in answer.reply["error"]
    assert said in agent.looks().reply["blocked"]
    assert "batches" not in agent.state()


def test_nothing_to_do_is_an_error_when_the_items_are_gone(agent: SkillAgent) -> None:
    agent.writes("design.md", write_design(["bugfix"]))
    agent.walks(*TO_BATCHES[:-1])
    agent.writes("design.md", "# Design\n")

    assert "neither a task graph" in agent.completes("collab-clear").reply["error"]


@requirement("skills:batch.gate")
def test_a_batch_stays_until_each_task_is_completed_and_the_reply_lists_them(agent: SkillAgent) -> None:
    agent.writes("design.md", write_design(["bugfix"]))
    agent.writes("task-graph.md", write_task_graph({"a": (), "b": (), "c": ("a",)}))
    agent.walks(*TO_BATCHES)
    agent.sets("a")
    agent.sets("b", "failed")

    answer = agent.completes("executing-plans")

    assert (answer.reply["code"], answer.reply["state"]) == (RefusalCode.REFUSED, "execute-batch")
    assert "- task `b` is failed" in answer.reply["error"]
    assert "`a`" not in answer.reply["error"]
    assert "`c`" not in answer.reply["error"]
    assert answer.reply["params"] == {"batch_index": 0}


@requirement("skills:task.status")
def test_a_task_is_refused_before_its_dependencies_and_after_its_batch(agent: SkillAgent) -> None:
    agent.writes("design.md", write_design(["bugfix"]))
    agent.writes("task-graph.md", write_task_graph({"a": (), "b": ("a",)}))
    assert agent.sets("a").reply["code"] == RefusalCode.UNKNOWN_SESSION
    agent.walks(*TO_BATCHES[:-1])
    assert "No batch of tasks is under way" in agent.sets("a").reply["error"]
    agent.walks("collab-clear")

    assert "`a` is pending" in agent.sets("b").reply["error"]
    assert "there is no task 'z'" in agent.sets("z").reply["error"]
    assert agent.sets("a", "done").reply["code"] == RefusalCode.ARGUMENTS
    answer = agent.sets("a")
    assert answer.reply["tasks"] == [{"id": "a", "status": "completed"}]
    assert (agent.state()["completedTasks"], agent.state()["pendingTasks"]) == (["a"], ["b"])
    assert not agent.sets("b", "in_progress").failed
    agent.walks("executing-plans")
    assert "is completed" in agent.sets("a", "failed").reply["error"]
    assert not agent.sets("b", "failed").failed


def test_a_batch_that_a_person_took_out_of_the_state_file_is_missed(agent: SkillAgent) -> None:
    agent.writes("design.md", write_design(["bugfix"]))
    agent.walks(*TO_BATCHES)
    agent.puts(**{name: value for name, value in agent.state().items() if name != "currentBatch"})

    assert "there is no current batch" in agent.completes("executing-plans").reply["error"]
    assert agent.sets("item-1").reply["tasks"] == []


def test_a_task_set_twice_with_one_token_is_set_once(agent: SkillAgent) -> None:
    agent.writes("design.md", write_design(["bugfix"]))
    entered = agent.walks(*TO_BATCHES)
    first = agent.sets("item-1", "failed", step_token=entered.reply["step_token"])
    agent.sets("item-1", "completed")

    assert agent.sets("item-1", "failed", step_token=entered.reply["step_token"]) == first
    assert agent.state()["completedTasks"] == ["item-1"]
