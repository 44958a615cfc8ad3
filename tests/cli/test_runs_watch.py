"""`handrail watch`: the runs of a project and how far each has come, live."""

import json
import os
import pty
import signal
from pathlib import Path

import pytest

from handrail.app.faces import StepsStatus
from handrail.engine.model import Lifecycle
from helpers.forks import ForkedProcess
from helpers.hooks import HookProject
from helpers.program import SECONDS, run_command, start_handrail


@pytest.fixture
def shop(tmp_path: Path) -> HookProject:
    (tmp_path / "shop").mkdir()
    return HookProject(tmp_path / "shop")


def test_each_run_is_shown_with_its_rail(shop: HookProject) -> None:
    shop.say("Accio")
    run = shop.start()

    said = run_command("watch", "--once", cwd=shop.root)

    lines = said.out.splitlines()
    assert lines[:2] == ["▶○○○  survey  refactor, running", f"    {run}"]
    assert lines[2] == "●▶○○○○○○○○○○○○○  GATHER_EDITING  spells, running"


def test_nothing_is_wider_than_the_terminal_and_nothing_gives_orders(shop: HookProject) -> None:
    reply = shop.step(template_name="refactor", goal="\x1b[2J" + "long " * 50, inputs={"target": "x"})
    assert reply["status"] == StepsStatus.OK

    said = run_command("watch", "--once", cwd=shop.root)

    assert max(map(len, said.out.splitlines())) == 80
    assert "\x1b" not in said.out
    assert said.out.splitlines()[1].endswith("…")


def test_without_a_run_or_a_store_it_says_so(shop: HookProject, tmp_path: Path) -> None:
    none = run_command("watch", "--once", cwd=shop.root)
    assert (none.status, none.err.startswith("handrail: no store is called")) == (3, True)

    (tmp_path / "other").mkdir()
    HookProject(tmp_path / "other").start()
    said = run_command("watch", "--once", cwd=shop.root)
    assert said.out == "no run is under way here; handrail runs list shows those that have ended\n"


def test_as_json_it_names_each_state_and_how_the_run_stands_to_it(shop: HookProject) -> None:
    run = shop.start()

    (one,) = run_command("watch", "--once", "--json", cwd=shop.root).data["runs"]

    assert (one["run"], one["state"], one["waiting"]) == (run, "survey", False)
    assert one["rail"] == [
        {"state": "survey", "mark": "here"},
        {"state": "pin-down", "mark": "ahead"},
        {"state": "reshape", "mark": "ahead"},
        {"state": "compare", "mark": "ahead"},
    ]


def test_it_goes_on_as_things_happen_until_somebody_stops_it(shop: HookProject) -> None:
    run = shop.start()
    with start_handrail("watch", "--json", cwd=shop.root) as watch:
        first = json.loads(watch.line())
        shop.step(execution_id=run, action="pause")
        second = json.loads(watch.line())
        watch.interrupt()
        status = watch.end().status

    assert [first["runs"][0]["lifecycle"], second["runs"][0]["lifecycle"]] == [
        Lifecycle.RUNNING,
        Lifecycle.PAUSED,
    ]
    assert status == 130


def test_on_a_terminal_it_is_shown_in_place_and_without_colour(shop: HookProject) -> None:
    run = shop.start()
    ours, theirs = pty.openpty()
    env = {**os.environ, "NO_COLOR": "1", "TERM": "xterm", "COLUMNS": "80"}
    shown = b""
    with Path(os.devnull).open() as none:
        watch = ForkedProcess(["watch"], env, shop.root, [none.fileno(), theirs, 2])
    os.close(theirs)
    while run.encode() not in shown:
        shown += os.read(ours, 65536)
    watch.send_signal(signal.SIGINT)
    status = watch.wait(SECONDS)
    os.close(ours)

    assert status == 130
    assert "▶○○○  survey  refactor, running" in shown.decode()
    assert b"\x1b[3" not in shown


def test_a_long_rail_is_told_in_numbers(shop: HookProject) -> None:
    steps = "".join(f"  - {{name: s{number}, agent: writer, task: Write.}}\n" for number in range(20))
    own = shop.root / ".handrail" / "workflows" / "long.yaml"
    own.parent.mkdir(parents=True)
    own.write_text(f"workflow: long\nversion: 1\nauthority: sql\nsteps:\n{steps}")
    assert shop.step(template_name="long")["status"] == "ok"

    assert run_command("watch", "--once", cwd=shop.root).out.startswith("●0 ▶ ○19  s0  long, running\n")
