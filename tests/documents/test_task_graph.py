"""The task graph: read from fenced YAML, layered into batches, and the statuses of its tasks."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.documents.task_graph import (
    Task,
    TaskGraph,
    complete_batch,
    describe_open_tasks,
    find_next_batch,
    is_batch_list,
    layer_tasks,
    list_task_ids,
    parse_task_graph,
    update_task,
)
from helpers.requirement import requirement


def fenced(body: str, word: str = "yaml") -> str:
    return f"# Plan\n\n```{word}\n{body}\n```\n"


def batch(number: int, *tasks: tuple[str, str, list[str]], status: str = "pending") -> dict[str, Any]:
    answer = [{"id": name, "status": how, "dependsOn": of} for name, how, of in tasks]
    return {"id": f"batch-{number}", "tasks": answer, "status": status}


def problems(text: str) -> tuple[str, ...]:
    found = parse_task_graph(text)
    assert found is not None
    return found.problems


def test_the_tasks_of_every_such_fence_are_read_in_order() -> None:
    text = fenced("tasks:\n- id: a\n  files: [x.py]\n  description: no\n- {id: b, depends-on: [a, a]}")
    text += "```yaml\nother: 1\n```\n" + fenced("tasks:\n  - id: 01\n    depends-on:", "YML")

    assert parse_task_graph(text) == TaskGraph((Task("a"), Task("b", ("a",)), Task("01")))


@pytest.mark.parametrize(
    "text", ["", "tasks:\n- id: a\n", fenced("tasks: []", "json"), fenced("  tasks: []")]
)
def test_a_text_without_such_a_fence_has_no_graph(text: str) -> None:
    assert parse_task_graph(text) is None


@requirement("skills:batches.layers")
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("tasks:\n- {id: a, depends-on: [a]}", "tasks depend on each other in a circle: a → a"),
        (
            "tasks:\n- {id: x, depends-on: [a]}\n- {id: a, depends-on: [b]}\n- {id: b, depends-on: [a]}",
            "tasks depend on each other in a circle: a → b → a",
        ),
        ("tasks:\n- {id: a, depends-on: [z]}", "task `a` depends on 'z', which is no task"),
        ("tasks:\n- id: a\n- id: a\n- id: a", "the id `a` stands there 3 times"),
        ("tasks: []", "the task graph has no task"),
        ("tasks:", "line 4: `tasks` must be a list"),
        ("tasks:\n- a", "line 4: each task is a mapping with an `id`"),
        ("tasks:\n- {id: [a]}", "line 4: each task is a mapping with an `id`"),
        ("tasks:\n- {id: a, depends-on: b}", "line 4: `depends-on` of task 'a' must be a list of ids"),
        ("tasks:\n- {id: a, depends-on: [[b]]}", "line 4: `depends-on` of task 'a' must be a list of ids"),
        ("tasks:\n- {id: a b}", "line 4: 'a b' is no id: it is one word of at most 100 characters"),
        (
            "tasks: &x\n- {id: a, files: *x}",
            "line 5: an alias (`*name`) is not read here; write out what it stands for",
        ),
        ("tasks:\n- {id: a, files: [[[[[[[x]]]]]]]}", "line 5: it nests deeper than 8 levels"),
        ("tasks:\n- id: a\n  id: b", "line 5: the key 'id' stands twice in one place"),
        ("tasks:\n- {id: a", "line 6: it is not YAML: expected ',' or '}', but got '<stream end>'"),
        ("%YAML 1.1\n---\ntasks:\n- id: a", "line 4: a directive (`%`) is not read here"),
        ("tasks:\n- id: a\x07", "line 4: it is not YAML: it has a character that is no text"),
        ("tasks:\n- id: a\n---\ntasks: []", "line 6: it is not YAML: but found another document"),
    ],
)
def test_what_is_wrong_is_named(body: str, said: str) -> None:
    assert problems(fenced(body)) == (said,)


def test_every_problem_of_a_graph_is_told_at_once() -> None:
    text = fenced("tasks:\n- {id: a, depends-on: [y]}\n- {id: a}\n- {id: b, depends-on: [b, z]}")

    assert problems(text) == (
        "the id `a` stands there 2 times",
        "task `a` depends on 'y', which is no task",
        "task `b` depends on 'z', which is no task",
        "tasks depend on each other in a circle: b → b",
    )


def test_of_many_problems_the_first_are_told_and_the_rest_counted() -> None:
    found = problems(fenced("tasks:\n" + "\n".join(f"- {{id: t{n}, depends-on: [x]}}" for n in range(30))))

    assert (len(found), found[-1]) == (21, "and 10 more")


def test_more_tasks_than_a_graph_may_have_are_counted_and_not_layered() -> None:
    text = fenced("tasks:\n" + "\n".join(f"- id: t{number}" for number in range(1_001)))

    assert problems(text) == ("there are 1001 tasks; 1000 are the most",)


@requirement("skills:batches.layers")
def test_a_batch_holds_every_task_whose_dependencies_lie_in_earlier_ones() -> None:
    tasks = [Task("d", ("b", "c")), Task("a"), Task("b", ("a",)), Task("c", ("a",)), Task("e")]

    assert layer_tasks(tasks) == [
        batch(1, ("a", "pending", []), ("e", "pending", [])),
        batch(2, ("b", "pending", ["a"]), ("c", "pending", ["a"])),
        batch(3, ("d", "pending", ["b", "c"])),
    ]
    assert layer_tasks([Task("x", ("x",))]) == []


@given(st.lists(st.lists(st.integers(0, 8), max_size=4), min_size=1, max_size=9))
def test_layers_hold_each_task_once_behind_all_it_depends_on(of: list[list[int]]) -> None:
    tasks = [
        Task(f"t{number}", tuple(dict.fromkeys(f"t{other}" for other in others if other < number)))
        for number, others in enumerate(of)
    ]
    place = {task["id"]: at for at, one in enumerate(layer_tasks(tasks)) for task in one["tasks"]}

    assert place == {
        task.id: 1 + max((place[name] for name in task.depends_on), default=-1) for task in tasks
    }


def two() -> list[dict[str, Any]]:
    return [
        batch(1, ("a", "completed", []), ("b", "failed", []), status="in_progress"),
        batch(2, ("c", "pending", ["a"]), ("d", "pending", ["a", "b"])),
    ]


@requirement("skills:task.status")
def test_a_task_is_set_once_what_it_depends_on_is_completed() -> None:
    assert update_task(two(), "c", "in_progress") == [
        two()[0],
        batch(2, ("c", "in_progress", ["a"]), ("d", "pending", ["a", "b"]), status="in_progress"),
    ]
    assert update_task(two(), "d", "completed") == "task `d` depends on what is not completed: `b` is failed"
    assert update_task(two(), "z", "completed") == "there is no task 'z'; there are a, b, c, d"
    assert (
        update_task(complete_batch(two(), 0), "b", "completed")
        == "batch `batch-1` is completed, and task `b` with it"
    )
    lost = [batch(1, ("a", "pending", ["gone"]))]
    assert update_task(lost, "a", "failed") == "task `a` depends on what is not completed: `gone` is no task"


def test_a_batch_whose_tasks_are_all_put_back_is_pending_again() -> None:
    one = [batch(1, ("a", "in_progress", []), status="in_progress")]

    assert update_task(one, "a", "pending") == [batch(1, ("a", "pending", []))]


def test_what_is_open_and_what_follows_is_told() -> None:
    assert describe_open_tasks(two()[0]) == ["task `b` is failed"]
    assert list_task_ids(two(), completed=True) == ["a"]
    assert list_task_ids(two(), completed=False) == ["b", "c", "d"]
    assert (find_next_batch(two()), find_next_batch(complete_batch(two(), 0)), find_next_batch([])) == (
        0,
        1,
        None,
    )


GOOD: Mapping[str, Any] = batch(1, ("a", "pending", []))
TASK: Mapping[str, Any] = GOOD["tasks"][0]


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        ["a"],
        [{**GOOD, "id": 1}],
        [{**GOOD, "status": "failed"}],
        [{**GOOD, "tasks": {}}],
        [{**GOOD, "tasks": ["a"]}],
        [{**GOOD, "tasks": [{**TASK, "id": None}]}],
        [{**GOOD, "tasks": [{**TASK, "status": "done"}]}],
        [{**GOOD, "tasks": [{**TASK, "dependsOn": "a"}]}],
        [{**GOOD, "tasks": [{**TASK, "dependsOn": [1]}]}],
    ],
)
def test_what_is_no_list_of_batches_is_told(wrong: Sequence[Any]) -> None:
    assert is_batch_list([GOOD])
    assert not is_batch_list(wrong)
