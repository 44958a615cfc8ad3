"""Another machine goes on with a plan from what version control brought it, and from nothing else."""

from pathlib import Path

import pytest

from helpers.planner_agents import CONSTRAINTS, DETAIL, GOAL, TASKS, RepositoryPlace, create_repository_place
from helpers.program import CommandResult, run_command
from helpers.repositories import GIT_SETTINGS, SETTINGS, Repo, create_repository
from helpers.servers import connect_agent, create_place

WAY = (
    ("set_overarching_goal", {"goal": GOAL}),
    ("set_detailed_goal", {"description": DETAIL, "constraints": CONSTRAINTS}),
    ("set_plan", {"plan": TASKS}),
    ("mark_task", {"task_id": "kettle"}),
)


def planned(at: RepositoryPlace) -> str:
    """Go the way up to a marked task; the id that the run is shown by."""
    with at.server() as pipe:
        for tool, given in WAY:
            answer = pipe.call(dict(given), tool)
            assert not answer.failed, answer.text
    return shown(at)


def typed(at: RepositoryPlace, *words: str | Path) -> CommandResult:
    """A command in the project, by somebody with its home."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**at.at.env, **at.repo.env}.items():
            patch.setenv(name, value)
        return run_command(*words, cwd=at.at.project)


def shown(at: RepositoryPlace) -> str:
    (run,) = typed(at, "runs", "list", "--store", at.at.store, "--json").data["runs"]
    return str(run["id"])


def gone_on(at: RepositoryPlace, text: str, run: str) -> None:
    """A real client goes on, at a server of its own, where the first one was, to the end."""
    with connect_agent(at.at, "auto", "--face", "planner") as client:
        answer = client.call({}, "gather_requirements")
        assert (answer.reply["stage"], answer.reply["plan"]["text"]) == ("5", text)
        for task in ("heat water", "leaves"):
            assert not client.call({"task_id": task}, "mark_task").failed
        assert client.call({}, "finish_job").reply["stage"] == "6"
    assert shown(at) == run


def test_git_goes_on_in_a_clone_after_a_pull(tmp_path: Path) -> None:
    one = create_repository_place(tmp_path / "one", "git")
    far = tmp_path / "far.git"
    one.repo.git("init", "-q", "--bare", "-b", "main", str(far))
    one.repo.git("remote", "add", "origin", str(far))
    one.repo.git("push", "-q", "origin", "main")
    run = planned(one)
    assert typed(one, "plan", "push").status == 0

    at = create_place(tmp_path / "two")
    (at.folder / "home" / ".gitconfig").write_text(GIT_SETTINGS)
    two = RepositoryPlace(at, Repo("git", at.project, at.folder / "home"))
    two.repo.run("git", "clone", "-q", str(far), "clone", folder=at.folder)
    (at.folder / "clone" / ".git").rename(at.project / ".git")
    assert typed(two, "plan", "pull").status == 0
    gone_on(two, one.text(), run)

    assert typed(two, "plan", "push").status == 0
    assert typed(one, "plan", "pull").status == 0
    assert one.text() == two.text()


def test_jj_goes_on_in_a_clone_of_the_pushed_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = create_repository_place(tmp_path / "one", "jj")
    monkeypatch.setenv("PATH", one.repo.path)
    far = tmp_path / "far.git"
    one.repo.git("init", "-q", "--bare", str(far))
    one.repo.jj("git", "remote", "add", "origin", str(far))
    run = planned(one)
    (said,) = [line for line in typed(one, "plan", "push").err.splitlines() if "run it yourself: " in line]
    one.repo.jj(*said.partition("run it yourself: jj ")[2].split())

    at = create_place(tmp_path / "two")
    two = RepositoryPlace(at, create_repository("colocated", at.project, at.folder / "home"))
    two.repo.settings.write_text(SETTINGS)
    (change,) = one.repo.jj("log", "--no-graph", "-r", "@", "-T", "change_id").split()
    two.repo.git("remote", "add", "origin", str(far))
    two.repo.git("fetch", "-q", "origin")  # as `jj git fetch` does, which needs a newer git than Debian's
    bookmark = f"push-{change[:12]}@origin"
    two.repo.jj("bookmark", "track", bookmark)
    two.repo.jj("edit", change)
    gone_on(two, one.text(), run)
