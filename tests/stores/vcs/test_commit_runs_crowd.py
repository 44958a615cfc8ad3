"""Many writers of one text at once: none is lost, and nothing is left to be mended."""

from pathlib import Path

import pytest

from helpers.repositories import create_repository
from helpers.store_programs import run_vcs_crowd

pytestmark = pytest.mark.unmeasured


@pytest.mark.parametrize(
    ("kind", "processes", "times"), [("colocated", 4, 4), ("jj", 16, 2), ("git", 4, 10), ("git", 16, 4)]
)
def test_every_one_of_many_writers_is_counted_once(
    kind: str, processes: int, times: int, tmp_path: Path
) -> None:
    repo = create_repository(kind, tmp_path / "project", tmp_path / "home")
    ended = run_vcs_crowd(repo.kind, repo.folder, repo.home, processes, times)

    assert len(ended) == processes
    assert all(0 <= status < 100 for status in ended), ended
    found = repo.store().read()
    assert (found.text, found.divergent) == (f"{processes * times}\n", False)
    if repo.kind == "git":
        chain = repo.git("log", "--format=%s", "refs/worktree/handrail/plan")
        assert chain == "plan\n" * processes * times
    else:
        assert repo.jj("log", "--no-graph", "-r", "divergent()", "-T", "change_id") == ""
        repo.jj("st")
