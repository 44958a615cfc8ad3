from pathlib import Path

import pytest

from program import Said, handrail

REFUSED = [
    "arguments",
    "not_ended",
    "contract",
    "forged",
    "already_used",
    "not_running",
    "not_accepted",
]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Said:
    """The demo, once: it starts two servers and two commands."""
    home = tmp_path_factory.mktemp("home")
    project = tmp_path_factory.mktemp("project")
    folder = project / ".handrail" / "workflows"
    folder.mkdir(parents=True)
    (folder / "bug-fix.yaml").write_text("workflow: bug-fix\n")
    return handrail("demo", cwd=project, HOME=str(home))


def test_the_demo_shows_each_attempt_to_cheat_and_ends_by_itself(said: Said) -> None:
    assert (said.status, said.err) == (0, "")
    refused = [line.split()[2].rstrip(".") for line in said.out.splitlines() if "✘ refused" in line]
    assert refused == REFUSED
    assert "The workflow is complete: 6 steps, 7 calls refused, 1 server killed" in said.out
    assert "> Fails without the change, passes with it, nothing else of the kind is left." in said.out


def test_the_demo_kills_the_server_and_nothing_is_done_twice(said: Said) -> None:
    killed = said.out.partition("killed (kill -9)")[2].splitlines()
    assert killed[1] == "   ✔ the same answer, to the last character: nothing was done twice"
    assert killed[2] == "   ✔ now in step diagnose"


def test_the_demo_reveals_one_step_at_a_time(said: Said) -> None:
    before_first_move = said.out.partition("now in step diagnose")[0]
    assert "Find one command that fails because of this" in before_first_move
    assert "Find the first place where something is wrong" not in before_first_move


def test_what_you_have_is_neither_used_nor_touched_by_the_demo(said: Said, tmp_path: Path) -> None:
    again = handrail("demo", cwd=tmp_path, HOME=str(tmp_path))
    assert (again.status, said.status) == (0, 0)
    assert list(tmp_path.iterdir()) == []
