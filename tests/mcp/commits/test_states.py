"""Every state: its PlanState, and what is recommended, blocked and available there."""

import pytest

from handrail.mcp.faces.commits import CommitsStatus
from helpers.planner_agents import PlanAgent
from helpers.requirement import requirement

READS = ["get_plan", "get_constraints", "get_tasks"]
HEAD = "feat(tea): brew tea\n"
BODY = f"{HEAD}\nWhy.\n"
BOUND = f"{BODY}\nConstraints: none\n"
OPEN = f"{BODY}\nTasks [ ]:\n- [ ] a: one\n  - [x] b: two\n  - [ ] c: three\n- [ ] d: four\n"
LAST = OPEN.replace("- [ ] d", "- [x] d")
TICKED = OPEN.replace("- [ ]", "- [x]")
DONE = TICKED.replace("Tasks [ ]", "Tasks [X]")
NO_PLAN = "there is no plan; call `start_planning` first"
ACTIVE = "a plan is under way, and there is one at a time; `finish_job` ends it, `update_goal` changes it"
NO_TASKS = "the plan has no tasks; call `set_tasks` first"
NOT_FINISHED = "the scope is not marked as complete"
WRITERS = [
    "update_goal",
    "update_description",
    "set_constraints",
    "set_tasks",
    "mark_task",
    "finish_job",
    "unfinish_job",
    "verify_plan",
]
PLANNING = [
    f"start_planning: {ACTIVE}",
    f"mark_task: {NO_TASKS}",
    f"finish_job: {NO_TASKS}",
    f"unfinish_job: {NOT_FINISHED}",
]
EXECUTING = [PLANNING[0], PLANNING[3]]

EARLY = """There are no tasks yet; missing: [description, constraints, tasks]. Confirm that the goal is \
still the right one, then go on with what is missing."""
EACH = """3 of 4 tasks are open; missing: [constraints]. Compare each task with what was really done, and \
confirm its box, or change it with `mark_task`:
- [ ] a
- [x] a/b
- [ ] a/c
- [ ] d"""


@requirement("commits:state", "commits:next", "commits:K23")
@pytest.mark.parametrize(
    ("text", "phase", "recommended", "blocked"),
    [
        ("", "uninitialized", ["start_planning"], [f"{tool}: {NO_PLAN}" for tool in WRITERS]),
        (HEAD, "planning", ["update_description"], PLANNING),
        (BODY, "planning", ["set_constraints", "set_tasks"], PLANNING),
        (BOUND, "planning", ["set_tasks"], PLANNING),
        (OPEN, "executing", ["mark_task"], [PLANNING[0], "finish_job: 2 tasks open (a/c, d)", PLANNING[3]]),
        (LAST, "executing", ["mark_task"], [PLANNING[0], "finish_job: 1 task open (a/c)", PLANNING[3]]),
        (TICKED, "executing", ["verify_plan", "finish_job"], EXECUTING),
        (DONE, "complete", ["start_planning"], ["finish_job: the scope is marked as complete already"]),
    ],
)
def test_what_is_there_decides_what_is_recommended_and_what_is_blocked(
    agent: PlanAgent, text: str, phase: str, recommended: list[str], blocked: list[str]
) -> None:
    if text:
        agent.writes(text)

    reply = agent.calls("get_plan").reply

    assert (reply["status"], reply["current_state"]["phase"]) == (CommitsStatus.SUCCESS, phase)
    actions = reply["next_actions"]
    assert [one.partition(":")[0] for one in actions["recommended"]] == recommended
    assert actions["blocked"] == blocked
    shut = [one.partition(":")[0] for one in blocked]
    assert actions["available"] == [t.names[0] for t in agent.face.tools if t.names[0] not in shut]
    assert set(READS) <= set(actions["available"])
    assert agent.text() == text


@requirement("commits:state")
@pytest.mark.parametrize(
    ("text", "has", "current", "counts"),
    [
        ("", (False, False, False, False), None, (0, 0)),
        (HEAD, (True, False, False, False), None, (0, 0)),
        (BOUND, (True, True, True, False), None, (0, 0)),
        (f"{HEAD}\nConstraints:\n- Never: x\n", (True, False, True, False), None, (0, 0)),
        (OPEN, (True, True, False, True), "a/c", (4, 1)),
        (TICKED, (True, True, False, True), None, (4, 4)),
        (DONE, (True, True, False, True), None, (4, 4)),
    ],
)
def test_the_plan_state_says_what_there_is(
    agent: PlanAgent,
    text: str,
    has: tuple[bool, bool, bool, bool],
    current: str | None,
    counts: tuple[int, int],
) -> None:
    if text:
        agent.writes(text)

    state = agent.calls("get_tasks").reply["current_state"]

    named = ("has_goal", "has_description", "has_constraints", "has_tasks")
    assert tuple(state[name] for name in named) == has
    assert state.get("current_task_id") == current
    assert (state["total_tasks"], state["completed_tasks"]) == counts


def test_the_task_to_work_on_is_named_by_its_path(agent: PlanAgent) -> None:
    agent.writes(OPEN)

    (recommended,) = agent.calls("get_plan").reply["next_actions"]["recommended"]

    assert recommended == "mark_task: work on `a/c` and on nothing else, then mark it"


def test_no_more_than_ten_open_tasks_are_named(agent: PlanAgent) -> None:
    agent.writes(f"{HEAD}\nTasks [ ]:\n" + "".join(f"- [ ] t{n}: x\n" for n in range(12)))

    blocked = agent.calls("get_plan").reply["next_actions"]["blocked"]

    assert "finish_job: 12 tasks open (t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, and 2 more)" in blocked


@requirement("commits:verify")
@pytest.mark.parametrize(("text", "question"), [(HEAD, EARLY), (OPEN, EACH)])
def test_a_valid_plan_is_verified_task_by_task_and_nothing_is_changed(
    agent: PlanAgent, text: str, question: str
) -> None:
    agent.writes(text)

    answer = agent.calls("verify_plan")

    assert (answer.reply["status"], answer.failed) == (CommitsStatus.SUCCESS, False)
    assert answer.reply["alignment_check"] == {"question": question, "required_confirmation": True}
    assert answer.reply["plan"]["header"]["summary"] == "brew tea"
    assert agent.text() == text
