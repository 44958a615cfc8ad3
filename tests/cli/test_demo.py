from pathlib import Path

import pytest

from handrail.engine.refusals import RefusalCode
from helpers.program import CommandResult, run_handrail

REFUSED = [
    RefusalCode.ARGUMENTS,
    RefusalCode.NOT_ENDED,
    RefusalCode.CONTRACT,
    RefusalCode.FORGED,
    RefusalCode.ALREADY_USED,
    RefusalCode.NOT_RUNNING,
    RefusalCode.NOT_ACCEPTED,
]

MINE = "workflow: bug-fix\n"
"""A workflow of the project that has the name of the one that is shown, and is none."""


@pytest.fixture(scope="module")
def around(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an empty home, and a project with a workflow."""
    folder = tmp_path_factory.mktemp("around")
    shelf = folder / "project" / ".handrail" / "workflows"
    shelf.mkdir(parents=True)
    (shelf / "bug-fix.yaml").write_text(MINE)
    (folder / "home").mkdir()
    return folder


@pytest.fixture(scope="module")
def said(around: Path) -> CommandResult:
    """The demo, once: it starts two servers and two commands."""
    return run_handrail("demo", cwd=around / "project", HOME=str(around / "home"))


def test_the_demo_shows_each_attempt_to_cheat_and_ends_by_itself(said: CommandResult) -> None:
    assert (said.status, said.err) == (0, "")
    refused = [line.split()[2].rstrip(".") for line in said.out.splitlines() if "✘ refused" in line]
    assert refused == REFUSED
    assert "The workflow is complete: 6 steps, 7 calls refused, 1 server killed" in said.out
    assert "> Fails without the change, passes with it, nothing else of the kind is left." in said.out


def test_the_demo_kills_the_server_and_nothing_is_done_twice(said: CommandResult) -> None:
    killed = said.out.partition("killed (kill -9)")[2].splitlines()
    assert killed[1] == "   ✔ the same answer, to the last character: nothing was done twice"
    assert killed[2] == "   ✔ now in step diagnose"


def test_the_demo_reveals_one_step_at_a_time(said: CommandResult) -> None:
    before_first_move = said.out.partition("now in step diagnose")[0]
    assert "Find one command that fails because of this" in before_first_move
    assert "Find the first place where something is wrong" not in before_first_move


def test_what_you_have_is_neither_used_nor_touched_by_the_demo(said: CommandResult, around: Path) -> None:
    workflows = "project/.handrail/workflows"

    assert said.status == 0
    assert sorted(str(path.relative_to(around)) for path in around.rglob("*")) == [
        "home",
        "project",
        "project/.handrail",
        workflows,
        f"{workflows}/bug-fix.yaml",
    ]
    assert (around / workflows / "bug-fix.yaml").read_text() == MINE
