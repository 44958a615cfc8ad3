"""Nothing of a session is lost: moves killed, without power, and made by many at once."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from handrail.engine.refusals import RefusalCode
from handrail.runtime.errors import FaultCode
from helpers.crash import TESTS, run_crash_program
from helpers.requirement import requirement
from helpers.run_folders import check_chain
from helpers.servers import Pipe
from helpers.simulated_disk import PowerLoss, SimulatedWorkspace, StopAtChange
from helpers.skill_moves import LATER, MOVES, Move, open_session_runs
from helpers.traced_place import create_traced_place

pytestmark = pytest.mark.unmeasured
MANY = 16


@requirement("skills:state.file")
def test_a_move_killed_anywhere_has_happened_or_not_and_its_token_gets_the_one_reply(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = run_crash_program("helpers/skill_crash.py")

    with capsys.disabled():
        print(f" [{len(said['points'])} moves, {sum(said['points'].values())} kill points]", end="")  # noqa: T201 - the count
    assert list(said["points"]) == [move.name for move in MOVES]
    assert min(said["points"].values()) > 20
    assert said["wrong"] == []


def cut(move: Move, start: SimulatedWorkspace, token: str, at: int) -> tuple[SimulatedWorkspace, bool]:
    """The workspace when the power went before the k-th change, and whether the move was answered."""
    workspace = start.copy()
    workspace.before = StopAtChange(at)
    try:
        return workspace, bool(move.take(workspace, token))
    except PowerLoss:
        return workspace, False


def wrong(move: Move, image: SimulatedWorkspace, token: str, *, acknowledged: bool) -> list[str]:
    """What is wrong once the power is back, and the same call is made again, and again."""
    with open_session_runs(image).hold_lock("", 0):
        found = move.judged(image)
    if found != "after" and (acknowledged or found != "before"):
        return [f"acknowledged {acknowledged}: {found}"]
    answer, again = (move.take(image, token, ids) for ids in (LATER, 2 * LATER))
    good = answer == again and answer["accepted"] and move.judged(image) == "after"
    return [] if good else [f"{found}, then {move.judged(image)}: {answer}, {again}"]


@requirement("skills:state.file")
@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.name)
def test_a_move_without_power_has_happened_or_not_and_if_answered_it_has(
    move: Move, capsys: pytest.CaptureFixture[str]
) -> None:
    start, found, images = SimulatedWorkspace(), list[str](), 0
    token = move.lay_out(start)
    seen: set[tuple[object, ...]] = set()
    at, acknowledged = 0, False
    while not acknowledged:
        at += 1
        workspace, acknowledged = cut(move, start, token, at)
        for image in workspace.images():
            key = (*sorted(image.everything().items()), *sorted(image.names_now), acknowledged)
            if key not in seen:
                seen.add(key)
                images += 1
                said = wrong(move, image, token, acknowledged=acknowledged)
                found += [f"power lost before change {at}: {what}" for what in said]

    with capsys.disabled():
        print(f" [{at - 1} changes, {images} images]", end="")  # noqa: T201 - the count
    assert images > 20
    assert found == []


@requirement("skills:expect", "skills:retry")
def test_of_sixteen_processes_that_complete_the_same_skills_one_wins_each_state(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "helpers.skills_crowd", str(tmp_path), str(MANY)],
        cwd=TESTS,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)

    assert [one.get("error") for one in answer] == [None] * MANY
    states = [state for state, _ in {(state, token) for one in answer for state, token in one["won"]}]
    assert sorted(states) == [
        *["clear-post-item"] * 3,
        "clear-pre-item",
        "gather-goals",
        "ready-to-implement",
        *["systematic-debugging"] * 3,
    ]
    assert {code for one in answer for code in one["lost"]} <= {RefusalCode.REFUSED}
    history = (tmp_path / "project/.collab/sessions/demo/.handrail/history.jsonl").read_bytes()
    assert check_chain(history) == [*range(1, 10)]


@requirement("skills:session.name")
def test_nothing_outside_the_project_is_opened_whatever_is_asked_for(tmp_path: Path) -> None:
    at, outside = create_traced_place(tmp_path / "here"), tmp_path / "outside"
    (outside / "documents").mkdir(parents=True)
    (at.folder / "project-evil").mkdir()
    sessions = at.project / ".collab" / "sessions"
    sessions.mkdir(parents=True)
    (sessions / "linked").symlink_to(outside)
    (sessions / "demo").mkdir()
    (sessions / "demo" / "documents").symlink_to(outside / "documents")
    with Pipe(at, "--face", "skills") as pipe:
        for project in (str(outside), f"{at.project}-evil", f"{at.project}/../../outside", "/"):
            for session in ("demo", "linked", "../../../outside"):
                given = {"project": project, "session": session, "skill": "collab-start"}
                assert pipe.call(given, "complete_skill").failed
        for session in ("linked", "../../../../outside", "..", "/etc"):
            given = {"project": str(at.project), "session": session, "skill": "collab-start"}
            assert pipe.call(given, "complete_skill").failed
        given = {"project": str(at.project), "session": "demo"}
        assert not pipe.call({**given, "skill": "collab-start"}, "complete_skill").failed
        answer = pipe.call({**given, "skill": "gather-session-goals"}, "complete_skill")
        assert answer.reply["code"] == FaultCode.UNSAFE_PATH

    trace = at.trace.splitlines()
    assert any(str(sessions / "demo") in line for line in trace)
    beyond = re.compile(rf"{re.escape(str(outside))}|{re.escape(str(at.project))}-evil")
    assert [line for line in trace if beyond.search(line)] == []
