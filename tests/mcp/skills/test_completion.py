"""Completing a skill: only the expected one moves the session, and only once."""

import pytest

from handrail.engine.refusals import RefusalCode
from helpers.requirement import requirement
from helpers.skill_sessions import (
    BUG_DONE,
    TO_BATCHES,
    TO_FIRST_ITEM,
    TO_VALIDATED,
    Agent,
    design,
    task_graph,
)


@requirement("skills:expect")
@pytest.mark.parametrize(
    "skill", ["gather-goals", "brainstorming-exploring", "", "collab-clear", "x" * 9_000]
)
def test_any_other_skill_is_refused_and_the_expected_one_is_named(agent: Agent, skill: str) -> None:
    agent.walks("collab-start")
    before = agent.state()

    told = agent.completes(skill)

    assert told.failed
    assert told.reply["code"] == RefusalCode.REFUSED
    assert "`gather-session-goals` is expected" in told.reply["error"]
    assert told.reply["why"]["needed"] == [told.reply["error"]]
    assert told.reply["state"] == "gather-goals"
    named = {"project": str(agent.root), "session": "demo"}
    assert told.reply["next"] == [
        {"tool": "complete_skill", "arguments": {**named, "skill": "gather-session-goals"}, "who": "agent"},
        {"tool": "session_status", "arguments": named, "who": "agent"},
    ]
    assert agent.state() == before


@requirement("skills:retry")
def test_the_skill_of_the_previous_call_is_answered_again_and_nothing_moves(agent: Agent) -> None:
    agent.writes("design.md", design(["code"]))
    for skill in (*TO_FIRST_ITEM, *TO_VALIDATED):
        first = agent.completes(skill)
        kept = agent.state()
        assert [agent.completes(skill) for _ in range(2)] == [first, first]
        assert agent.state() == kept


@requirement("skills:retry")
def test_the_skill_before_the_previous_one_is_not_answered_again(agent: Agent) -> None:
    agent.walks("collab-start", "gather-session-goals")

    assert agent.completes("collab-start").reply["code"] == RefusalCode.REFUSED


@requirement("skills:retry")
def test_tasks_that_were_set_since_do_not_keep_a_skill_from_being_answered_again(agent: Agent) -> None:
    agent.writes("design.md", design(["bugfix"]))
    entered = agent.walks(*TO_BATCHES)
    agent.sets("item-1", "in_progress")
    agent.sets("item-1", "failed")

    assert agent.completes("collab-clear") == entered
    assert agent.completes("ready-to-implement").failed
    assert agent.state()["batches"][0]["tasks"][0]["status"] == "failed"


@requirement("skills:retry")
def test_a_spent_token_gets_its_reply_again_and_an_older_one_is_refused(agent: Agent) -> None:
    first = agent.walks("collab-start")
    second = agent.completes("gather-session-goals", step_token=first.reply["step_token"])
    kept = agent.state()

    assert agent.completes("gather-session-goals", step_token=first.reply["step_token"]) == second
    other = agent.completes("collab-clear", step_token=first.reply["step_token"])
    assert (other.reply["code"], other.reply["state"]) == (RefusalCode.ALREADY_USED, "clear-pre-item")
    odd = [agent.completes("collab-clear", step_token=text).reply["code"] for text in ("x", "x" * 72)]
    assert odd == ["malformed", "forged"]
    assert agent.state() == kept
    agent.writes("design.md", design(["task"]))
    agent.walks("collab-clear")
    late = agent.completes("brainstorming-exploring", step_token=second.reply["step_token"])
    assert (late.reply["code"], late.reply["state"]) == (RefusalCode.SUPERSEDED, "brainstorm-exploring")
    assert not agent.completes("brainstorming-exploring", step_token=late.reply["step_token"]).failed


@requirement("skills:retry")
def test_the_last_skill_is_answered_again_when_the_session_is_over_and_no_other_is(agent: Agent) -> None:
    agent.writes("design.md", design(["bugfix"]))
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
def test_no_item_is_not_the_same_as_none_remaining(agent: Agent, text: str | None) -> None:
    if text is not None:
        agent.writes("design.md", text)
    agent.walks("collab-start", "gather-session-goals")

    told = agent.completes("collab-clear")

    assert (told.reply["code"], told.reply["state"]) == (RefusalCode.REFUSED, "clear-pre-item")
    assert "must name at least one work item" in told.reply["error"]
    assert told.reply["error"] in agent.looks().reply["blocked"]
    agent.writes("design.md", design(["code"]))
    assert agent.walks("collab-clear").reply["params"] == {"item_number": 1}


@requirement("skills:items.read")
def test_an_unknown_type_is_refused_with_its_line_wherever_it_matters(agent: Agent) -> None:
    agent.writes("design.md", design(["code", "feature"]))
    agent.walks("collab-start", "gather-session-goals")
    assert "line 12: the type of item 2 is 'feature'" in agent.completes("collab-clear").reply["error"]

    agent.writes("design.md", design(["code", "bugfix"]))
    agent.walks("collab-clear", *TO_VALIDATED[:-1])
    agent.writes("design.md", design(["feature", "bugfix"]))
    told = agent.completes("brainstorming-validating")
    assert "line 7: the type of item 1 is 'feature'" in told.reply["error"]
    assert told.reply["state"] == "brainstorm-validating"


@requirement("skills:items.mark")
def test_an_item_is_documented_by_one_line_and_the_counts_are_kept(agent: Agent) -> None:
    agent.writes("design.md", "\ufeff" + design(["bugfix", "bugfix"]).replace("\n", "\r\n"))
    agent.walks(*TO_FIRST_ITEM)
    before = agent.design()
    assert agent.state()["currentItem"] == 1

    agent.walks("systematic-debugging")

    assert agent.design() == before.replace("pending", "documented", 1)
    kept = agent.state()
    assert (kept["currentItem"], kept["totalItems"], kept["documentedItems"]) == (None, 2, 1)


@requirement("skills:items.mark")
def test_an_item_that_is_gone_cannot_be_documented_and_is_named(agent: Agent) -> None:
    agent.writes("design.md", design(["bugfix", "bugfix"]))
    agent.walks(*TO_FIRST_ITEM)
    agent.writes("design.md", design(["bugfix", "bugfix"]).replace("Item 1", "Item 7"))

    told = agent.completes("systematic-debugging")

    assert "has no item 1 any more" in told.reply["error"]
    assert agent.state()["state"] == "systematic-debugging"


def test_an_item_that_is_gone_when_nothing_else_is_pending_is_asked_for(agent: Agent) -> None:
    agent.writes("design.md", design(["task"]))
    agent.walks(*TO_FIRST_ITEM, *TO_VALIDATED[:-1])
    agent.writes("design.md", "# Design\n")

    told = agent.completes("brainstorming-validating")

    assert "Put it back" in told.reply["error"]
    assert told.reply["state"] == "brainstorm-validating"


@requirement("skills:cond.item_type")
def test_the_type_of_an_item_that_is_done_never_leads_back_to_it(agent: Agent) -> None:
    agent.writes("design.md", design(["bugfix"]))
    assert agent.walks(*BUG_DONE).reply["state"] == "ready-to-implement"

    agent.writes("design.md", design(["bugfix", "task"], documented=[1]))
    agent.puts(state="clear-post-item", phase="brainstorming", currentItem=1, hasSnapshot=False)
    told = agent.walks("collab-clear")
    assert (told.reply["state"], told.reply["params"]) == ("brainstorm-exploring", {"item_number": 2})


def test_a_type_that_changes_while_an_item_is_explored_decides_its_way(agent: Agent) -> None:
    agent.writes("design.md", design(["code", "task"]))
    agent.walks(*TO_FIRST_ITEM, *TO_VALIDATED[:-1])
    agent.writes("design.md", design(["bugfix", "task"]))

    told = agent.walks("brainstorming-validating")

    assert (told.reply["state"], told.reply["params"]) == ("systematic-debugging", {"item_number": 1})


@requirement("skills:batches.none")
def test_without_a_graph_there_is_one_batch_with_a_task_for_each_item(agent: Agent) -> None:
    agent.writes("design.md", design(["bugfix", "code"], documented=[2]))
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


def test_the_graph_may_stand_in_the_design_document_and_its_own_file_comes_first(agent: Agent) -> None:
    agent.writes("design.md", design(["bugfix"]) + task_graph({"a": ()}))
    agent.writes("task-graph.md", "# None here\n")
    agent.walks(*TO_BATCHES)

    assert agent.state()["pendingTasks"] == ["a"]


@requirement("skills:batches.layers")
@pytest.mark.parametrize(
    ("graph", "said"),
    [
        (
            task_graph({"a": ("b",), "b": ("a",)}),
            "documents/task-graph.md: tasks depend on each other in a circle",
        ),
        (task_graph({"a": ("z",)}), "task `a` depends on 'z', which is no task"),
        (task_graph({"a": ()}) * 2, "the id `a` stands there 2 times"),
        ("```yaml\ntasks: []\n```\n", "the task graph has no task"),
    ],
)
def test_a_graph_that_cannot_be_layered_is_refused_and_nothing_moves(
    agent: Agent, graph: str, said: str
) -> None:
    agent.writes("design.md", design(["bugfix"]))
    agent.writes("task-graph.md", graph)
    agent.walks(*TO_BATCHES[:-1])

    told = agent.completes("collab-clear")

    assert (told.reply["code"], told.reply["state"]) == (RefusalCode.REFUSED, "clear-pre-execute")
    assert said in told.reply["error"]
    assert said in agent.looks().reply["blocked"]
    assert "batches" not in agent.state()


def test_nothing_to_do_is_an_error_when_the_items_are_gone(agent: Agent) -> None:
    agent.writes("design.md", design(["bugfix"]))
    agent.walks(*TO_BATCHES[:-1])
    agent.writes("design.md", "# Design\n")

    assert "neither a task graph" in agent.completes("collab-clear").reply["error"]


@requirement("skills:batch.gate")
def test_a_batch_stays_until_each_task_is_completed_and_the_reply_lists_them(agent: Agent) -> None:
    agent.writes("design.md", design(["bugfix"]))
    agent.writes("task-graph.md", task_graph({"a": (), "b": (), "c": ("a",)}))
    agent.walks(*TO_BATCHES)
    agent.sets("a")
    agent.sets("b", "failed")

    told = agent.completes("executing-plans")

    assert (told.reply["code"], told.reply["state"]) == (RefusalCode.REFUSED, "execute-batch")
    assert "- task `b` is failed" in told.reply["error"]
    assert "`a`" not in told.reply["error"]
    assert "`c`" not in told.reply["error"]
    assert told.reply["params"] == {"batch_index": 0}


@requirement("skills:task.status")
def test_a_task_is_refused_before_its_dependencies_and_after_its_batch(agent: Agent) -> None:
    agent.writes("design.md", design(["bugfix"]))
    agent.writes("task-graph.md", task_graph({"a": (), "b": ("a",)}))
    assert agent.sets("a").reply["code"] == RefusalCode.UNKNOWN_SESSION
    agent.walks(*TO_BATCHES[:-1])
    assert "No batch of tasks is under way" in agent.sets("a").reply["error"]
    agent.walks("collab-clear")

    assert "`a` is pending" in agent.sets("b").reply["error"]
    assert "there is no task 'z'" in agent.sets("z").reply["error"]
    assert agent.sets("a", "done").reply["code"] == RefusalCode.ARGUMENTS
    told = agent.sets("a")
    assert told.reply["tasks"] == [{"id": "a", "status": "completed"}]
    assert (agent.state()["completedTasks"], agent.state()["pendingTasks"]) == (["a"], ["b"])
    assert not agent.sets("b", "in_progress").failed
    agent.walks("executing-plans")
    assert "is completed" in agent.sets("a", "failed").reply["error"]
    assert not agent.sets("b", "failed").failed


def test_a_batch_that_a_person_took_out_of_the_state_file_is_missed(agent: Agent) -> None:
    agent.writes("design.md", design(["bugfix"]))
    agent.walks(*TO_BATCHES)
    agent.puts(**{name: value for name, value in agent.state().items() if name != "currentBatch"})

    assert "there is no current batch" in agent.completes("executing-plans").reply["error"]
    assert agent.sets("item-1").reply["tasks"] == []


def test_a_task_set_twice_with_one_token_is_set_once(agent: Agent) -> None:
    agent.writes("design.md", design(["bugfix"]))
    entered = agent.walks(*TO_BATCHES)
    first = agent.sets("item-1", "failed", step_token=entered.reply["step_token"])
    agent.sets("item-1", "completed")

    assert agent.sets("item-1", "failed", step_token=entered.reply["step_token"]) == first
    assert agent.state()["completedTasks"] == ["item-1"]
