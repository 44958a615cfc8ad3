"""Many servers over one plan and one store: no change is lost, and nobody waits for another's program."""

import os
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from mcp import Client

from helpers.http_servers import FACES, run_http_program
from helpers.planner_agents import GOAL
from helpers.planner_servers import ProjectGroup, ServedProject, create_project_group
from helpers.requirement import requirement
from helpers.servers import Pipe, build_note_output, read_tool_answer, wait_until

KINDS = {"jj-16": "jj", "jj-4": "colocated", "git-16": "git", "git-4": "git"}
PLAN = "feat(tea): brew tea\n\n"


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ProjectGroup, list[Pipe]]]:
    """Sixteen servers over one store and the same projects."""
    made = create_project_group(tmp_path_factory.mktemp("servers") / "group", *KINDS)
    started = list[Pipe]()
    for _ in range(4):
        few = [made.server() for _ in range(4)]
        assert all("result" in server.ask("tools/list") for server in few)
        started += few
    yield made, started
    assert {server.close() for server in started} == {0}


@pytest.mark.unmeasured
@requirement("planner:roundtrip")
@pytest.mark.parametrize("name", KINDS)
def test_servers_that_mark_one_task_each_at_once_lose_none(
    servers: tuple[ProjectGroup, list[Pipe]], name: str
) -> None:
    made, started = servers
    repo, count = made.repo(name, KINDS[name]), int(name.partition("-")[2])
    tasks = [f"task number {number:02}" for number in range(count)]
    first = ServedProject(made, started[0], name)
    assert not first.writes("brew tea").failed
    assert not first.calls("set_plan", plan=[[False, task, []] for task in tasks]).failed

    for server, task in zip(started, tasks, strict=False):
        given = {"name": "mark_task", "arguments": {"project": name, "task_id": task}}
        server.post("tools/call", given)
    answers = [read_tool_answer(server.answer()) for server in started[:count]]

    assert [one.text for one in answers if one.failed] == []
    shown = first.calls("gather_requirements").reply["plan"]["text"]
    assert shown == PLAN + "".join(f"- [x]: {task}\n" for task in tasks)
    if repo.program == "jj":
        assert repo.jj("log", "--no-graph", "-r", "divergent()", "-T", "change_id") == ""
        repo.jj("st")
    else:
        chain = repo.git("log", "--format=%s", "refs/worktree/handrail/plan")
        assert chain == "plan\n" * (count + 2)


def waiting(made: ProjectGroup) -> tuple[str, Path]:
    """A script by which the first write is overtaken, and the second waits until the gate is written to."""
    gate, count = made.at.folder / "gate", made.at.folder / "count"
    os.mkfifo(gate)
    theirs = '"$REAL" --quiet describe -m "feat(tea): theirs"'
    done = f"if [ ! -e {count} ]; then : > {count}; {theirs}; else : > {count}.2; read -r _ < {gate}; fi"
    return f'case "$*" in *" describe "*) {done};; esac', gate


def test_a_run_of_steps_goes_on_while_jj_takes_its_time_in_another_server(tmp_path: Path) -> None:
    made = create_project_group(tmp_path / "group", "slow")
    made.repo("slow", "jj")
    script, gate = waiting(made)
    with made.server() as planner, Pipe(made.at) as steps, made.switch.doing(script):
        given = {"name": "set_overarching_goal", "arguments": {"project": "slow", "goal": GOAL}}
        planner.post("tools/call", given)
        wait_until((made.at.folder / "count.2").exists, "the second try of jj")

        answered = steps.continue_run(steps.start().token)
        assert answered.reply["next_step_contract"]["step_name"] == "two"

        gate.write_text("go on\n")
        assert not read_tool_answer(planner.answer()).failed


def test_a_run_of_steps_goes_on_while_jj_takes_its_time_in_the_same_server(tmp_path: Path) -> None:
    made = create_project_group(tmp_path / "group", "slow")
    made.repo("slow", "jj")
    script, gate = waiting(made)
    projects = ("--project", str(made.folder("slow")))
    words = (*made.at.words(*projects), "--http", "127.0.0.1:0")
    env = {**made.at.env, "PATH": str(made.switch.folder)}
    with run_http_program(made.at, words, env, FACES) as served, made.switch.doing(script):

        async def planned() -> bool:
            async with Client(served.url("planner")) as client:
                given = {"project": "slow", "goal": GOAL}
                return bool((await client.call_tool("set_overarching_goal", given)).is_error)

        async def walked() -> bool:
            project = {"project": made.at.project.name}
            async with Client(served.url("steps")) as client:
                first = await client.call_tool("workflow_next_step", {"template_name": "brief", **project})
                assert first.structured_content is not None
                token = first.structured_content["new_step_token"]
                handed = {"step_token": token, "model_output_so_far": build_note_output()}
                return bool((await client.call_tool("workflow_next_step", handed)).is_error)

        async def both() -> list[bool]:
            failed = []

            async def planning() -> None:
                failed.append(await planned())

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(planning)
                ready = (made.at.folder / "count.2").exists
                await anyio.to_thread.run_sync(wait_until, ready, "the second try of jj")
                failed.append(await walked())
                assert len(failed) == 1
                await anyio.to_thread.run_sync(gate.write_text, "go on\n")
            return failed

        assert anyio.run(both) == [False, False]


def test_a_new_plan_of_jj_is_a_new_commit_and_is_gone_on_with_by_another_server(tmp_path: Path) -> None:
    made = create_project_group(tmp_path / "group", "plans")
    repo, goal = made.repo("plans", "colocated"), {**GOAL, "title": "drink it"}
    with made.server() as pipe:
        project = ServedProject(made, pipe, "plans")
        project.works()
        assert not project.calls("set_detailed_goal", description="Why.").failed
        assert not project.calls("set_plan", plan=[[True, "Heat water", []]]).failed
        assert project.calls("finish_job").reply["stage"] == "6"
        assert "new_plan: true" in project.calls("set_overarching_goal", goal=goal).reply["error"]
        (repo.folder / "cup").write_text("tea")
        begun_ = project.calls("set_overarching_goal", goal=goal, new_plan=True)
        assert (begun_.reply["stage"], begun_.failed) == ("1", False)
    with made.server() as pipe:
        project = ServedProject(made, pipe, "plans")
        shown = project.calls("gather_requirements").reply
        assert (shown["stage"], shown["plan"]["text"]) == ("1", "feat(tea): drink it\n")
        assert shown["files"] == []
        held = project.calls("set_detailed_goal", description="Now.", step_token=begun_.reply["step_token"])
        assert held.reply["stage"] == "2/3"

    texts = repo.jj("log", "--no-graph", "-r", "::@ ~ root()", "-T", 'description ++ "----\n"')
    complete = f"{PLAN}Why.\n\n- [x]: Heat water\n\n~~~ COMPLETE ~~~\n"
    assert texts == f"feat(tea): drink it\n\nNow.\n----\n{complete}----\n"
    assert repo.jj("log", "--no-graph", "-r", "@-", "-T", "diff.files().map(|f| f.path())") == "cup"
