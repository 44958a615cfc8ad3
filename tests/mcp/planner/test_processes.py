"""How many processes of jj or git a call starts: one to look; to write three of jj, and one of git."""

from pathlib import Path

from helpers.planner_agents import DETAIL, GOAL, TASKS, RepositoryPlace, create_repository_place
from helpers.repositories import replace_program
from helpers.servers import Pipe


class Counting:
    """A server whose programs are the real ones, each counted as it starts."""

    def __init__(self, at: RepositoryPlace) -> None:
        self.log = at.repo.home / "started"
        self.log.touch()
        self.at = RepositoryPlace(at.at, replace_program(at.repo, f"echo >> {self.log}"))

    def started(self, pipe: Pipe, tool: str, **given: object) -> int:
        """How many programs were started until the call was answered."""
        before = len(self.log.read_bytes())
        pipe.call(given, tool)
        return len(self.log.read_bytes()) - before


def test_jj_is_started_once_to_look_and_three_times_to_write(tmp_path: Path) -> None:
    counting = Counting(create_repository_place(tmp_path, "colocated"))
    with counting.at.server() as pipe:
        assert counting.started(pipe, "gather_requirements") == 2, "and once for its version"
        assert counting.started(pipe, "gather_requirements") == 1
        assert counting.started(pipe, "set_overarching_goal", goal=GOAL) == 4, "and once for who writes"
        assert counting.started(pipe, "set_plan", plan=TASKS) == 3
        assert counting.started(pipe, "finish_job") == 1, "it is refused"
        (counting.at.repo.folder / "file").write_text("tea")
        assert counting.started(pipe, "mark_task", task_id="leaves") == 3
        assert counting.started(pipe, "gather_requirements") == 1


def test_git_is_started_once_to_look_and_once_to_write(tmp_path: Path) -> None:
    at = create_repository_place(tmp_path, "git")
    counting = Counting(at)
    with counting.at.server() as pipe:
        assert counting.started(pipe, "gather_requirements") == 3, "the text, the filters, the files"
        assert counting.started(pipe, "gather_requirements") == 2, "that there is no text, the files"
        assert counting.started(pipe, "set_overarching_goal", goal=GOAL) == 4, "and where, and who writes"
        assert counting.started(pipe, "set_plan", plan=TASKS) == 1
        assert counting.started(pipe, "finish_job") == 0, "it is refused"
        (at.repo.folder / "file").write_text("tea")
        assert counting.started(pipe, "gather_requirements") == 1
        at.writes("feat(tea): brew coffee\n")
        assert counting.started(pipe, "gather_requirements") == 2, "the text is a new one"
        at.repo.git("config", "core.autocrlf", "false")
        assert counting.started(pipe, "gather_requirements") == 2, "the settings are new ones"
        assert counting.started(pipe, "gather_requirements") == 1


def test_git_is_started_once_more_to_archive_what_is_complete_and_never_for_what_is_archived(
    tmp_path: Path,
) -> None:
    counting = Counting(create_repository_place(tmp_path, "git"))
    with counting.at.server() as pipe:
        pipe.call({"goal": GOAL}, "set_overarching_goal")
        pipe.call({"plan": [[True, "Heat water", []]]}, "set_plan")
        assert counting.started(pipe, "finish_job") == 2
        assert counting.started(pipe, "finish_job") == 0, "nothing is new"
        more = counting.started(pipe, "set_detailed_goal", description=DETAIL)
        assert more == 3, "and once for what was archived before"
        assert counting.started(pipe, "set_overarching_goal", goal=GOAL, new_plan=True) == 2


def test_jj_is_started_no_more_for_what_is_complete(tmp_path: Path) -> None:
    counting = Counting(create_repository_place(tmp_path, "colocated"))
    with counting.at.server() as pipe:
        pipe.call({"goal": GOAL}, "set_overarching_goal")
        pipe.call({"plan": [[True, "Heat water", []]]}, "set_plan")
        assert counting.started(pipe, "finish_job") == 3


def test_git_whose_settings_include_others_is_asked_for_filters_every_time(tmp_path: Path) -> None:
    at = create_repository_place(tmp_path, "git")
    at.repo.git("config", "include.path", "../settings")
    counting = Counting(at)
    store, answer = counting.at.repo.store(), list[int]()
    store.swap(store.read(), "feat(tea): brew tea\n")
    for _ in range(2):
        before = len(counting.log.read_bytes())
        store.changes(5)
        answer.append(len(counting.log.read_bytes()) - before)

    assert answer == [2, 2]
