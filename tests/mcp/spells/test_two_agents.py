"""Two agents at two servers cast the same word on the same task at once: one after the other, never mixed."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec.structs import replace

from handrail.engine.refusals import RefusalCode
from handrail.runtime.turn import Call, take_turn
from handrail.stores.files.disk import DiskWorkspace
from helpers.run_folders import check_chain
from helpers.servers import Pipe, Place, ToolAnswer, create_place, read_tool_answer
from helpers.simulated_disk import SimulatedWorkspace
from helpers.spell_casts import (
    FLOW,
    Cast,
    Past,
    build_world,
    list_casts,
    select_changing_casts,
    select_one_of_each_kind,
)
from helpers.task_project import format_outcome
from helpers.turns import NOW, ManualClock

pytestmark = pytest.mark.unmeasured
AGENTS: Final = ("ann", "bob")
MINUTE: Final = re.compile(r"(?!2026-03-01)\d{4}-\d\d-\d\d-\d{4}")
"""The minute of an archive, but for those that were there before."""


@dataclass(frozen=True, slots=True)
class Round:
    """A project of its own, in which a word is cast by two at once."""

    root: Path
    cast: Cast

    @property
    def task(self) -> Path:
        return self.root / ".ai" / "task"

    def lay_out(self) -> None:
        self.root.mkdir(parents=True)
        self.cast.lay_out(DiskWorkspace(self.root, FLOW.folder))

    def said(self, pipes: Mapping[str, Pipe], **more: object) -> dict[str, ToolAnswer]:
        """What each is answered; both ask before either answer is read."""
        resume = {"resume": True} if self.cast.line.spell.endswith(" resume") else {}
        for name, pipe in pipes.items():
            given = {"project": str(self.root), "note": f"by {name}", **resume, **more}
            pipe.post("tools/call", {"name": self.cast.line.trigger.lower(), "arguments": given})
        return {name: read_tool_answer(pipe.answer()) for name, pipe in pipes.items()}

    def state(self) -> dict[str, Any]:
        return _undated(json.loads((self.task / "state.json").read_bytes()))

    def files(self) -> dict[str, str]:
        """The files of the user, whatever minute they were archived in."""
        found = (path for path in self.task.rglob("*") if path.is_file())
        named = {path.relative_to(self.task).as_posix(): path.read_text("utf-8") for path in found}
        own = {path: text for path, text in named.items() if not path.startswith((".handrail/", "state."))}
        return _timeless(own)

    def turns(self) -> list[int]:
        """The turns of the history that keeps the run safe."""
        return check_chain((self.task / ".handrail" / "history.jsonl").read_bytes())


def _timeless(files: Mapping[str, str]) -> dict[str, str]:
    return {MINUTE.sub("MINUTE", path): MINUTE.sub("MINUTE", text) for path, text in files.items()}


def _alone(cast: Cast, names: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, str]]:
    """The state file, without its times, and the files if these cast one after the other."""
    workspace = SimulatedWorkspace()
    cast.lay_out(workspace)
    later = replace(build_world(workspace), clock=ManualClock(NOW + timedelta(days=1)))
    for name in names:
        call = Call("", replace(cast.event, note=f"by {name}"))
        assert take_turn(later, call, format_outcome)["accepted"]
    own = {path: data.decode() for path, data in workspace.tree().items()}
    return _undated(json.loads(own.pop("state.json"))), _timeless(own)


def _undated(document: Mapping[str, Any]) -> dict[str, Any]:
    answer = [{key: entry[key] for key in entry if key != "timestamp"} for entry in document["history"]]
    return {"state": document["current_state"], "context": document["context"], "history": answer}


@contextmanager
def _two(at: Place, *rounds: Round) -> Iterator[dict[str, Pipe]]:
    """Two servers for the projects of these rounds, both awake."""
    words = [word for one in rounds for word in ("--project", str(one.root))]
    with Pipe(at, "--face", "spells", *words) as ann, Pipe(at, "--face", "spells", *words) as bob:
        pipes = dict(zip(AGENTS, (ann, bob), strict=True))
        for pipe in pipes.values():
            assert not pipe.call({"project": str(rounds[0].root)}, "lumos").failed
        yield pipes


def _rounds(folder: Path, those: list[Cast]) -> list[Round]:
    rounds = [Round(folder / f"{number}-{cast.row}", cast) for number, cast in enumerate(those)]
    for one in rounds:
        one.lay_out()
    return rounds


def test_two_agents_that_cast_the_same_word_at_once_take_a_turn_each_in_one_of_two_orders(
    on_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rounds = _rounds(on_disk / "rounds", select_changing_casts(list_casts(Past.BROUGHT)))
    first = dict.fromkeys(AGENTS, 0)

    with _two(create_place(on_disk, measured=False), *rounds) as pipes:
        for one in rounds:
            said = one.said(pipes)
            state = one.state()
            names = tuple(entry["note"].removeprefix("by ") for entry in state["history"][1:])
            assert sorted(names) == list(AGENTS), said
            assert (state, one.files()) == _alone(one.cast, names), said
            assert [said[name].reply["state"] for name in names] == [one.cast.line.next, state["state"]]
            assert one.turns() == [1, 2]
            first[names[0]] += 1

    with capsys.disabled():
        print(f" [{len(rounds)} rounds, first were {first}]", end="")  # noqa: T201 - the count
    assert len(rounds) >= 20


def test_two_agents_with_the_same_token_take_one_turn(
    on_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    some = select_one_of_each_kind(select_changing_casts(list_casts(Past.BROUGHT)))
    rounds, same = (_rounds(on_disk / name, some) for name in ("rounds", "same"))

    with _two(create_place(on_disk, measured=False), *rounds, *same) as pipes:
        for one in rounds:
            said = one.said(pipes, step_token=_token(pipes["ann"], one))
            winner, loser = sorted(AGENTS, key=lambda name: said[name].failed)
            assert (said[winner].failed, said[loser].reply["code"]) == (False, RefusalCode.ALREADY_USED)
            assert (one.state(), one.files(), one.turns()) == (*_alone(one.cast, (winner,)), [1])
        for one in same:
            said = one.said(pipes, step_token=_token(pipes["bob"], one), note="by both")
            assert said["ann"].reply == said["bob"].reply
            assert (one.state(), one.files(), one.turns()) == (*_alone(one.cast, ("both",)), [1])

    with capsys.disabled():
        print(f" [{len(rounds)} + {len(same)} rounds]", end="")  # noqa: T201 - the count
    assert rounds


def _token(pipe: Pipe, one: Round) -> str:
    return str(pipe.call({"project": str(one.root)}, "lumos").reply["step_token"])
