"""A lying agent gets nowhere: every lifecycle by every call by every kind of token, as matrix.txt has it."""

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest

from handrail.app.faces import Answer, StepsStatus, Tool
from handrail.engine.refusals import RefusalCode
from handrail.mcp.addresses import Spelling
from handrail.mcp.faces.steps import StepsFace
from handrail.runtime.records import Caller
from handrail.runtime.tokens import decode_token
from helpers.agents import (
    AFTER,
    PAPER,
    SceneBuilder,
    TokenScene,
    build_arguments,
    build_arguments_by_id,
    read_expected_table,
)
from helpers.replies import find_broken_reply_rules
from helpers.requirement import requirement
from helpers.servers import InProcessClient, Place, ToolAnswer, create_place, open_in_process
from helpers.store_contents import (
    EXPIRED,
    FRESH,
    REFUSED,
    StoreContents,
    list_changes,
    list_visible_changes,
    read_store_contents,
)

EXPECTED: Final = read_expected_table(Path(__file__).with_name("matrix.txt"))
LIFECYCLES: Final = ("running", "paused", "completed", "failed", "abandoned", "diverged", "idle")
KINDS: Final = tuple(dict.fromkeys(kind for kind, _, _ in EXPECTED))
FORMS: Final = {kind: [f for k, f, c in EXPECTED if (k, c) == (kind, "idle")] for kind in KINDS}
KEPT: Final = frozenset(
    {
        "tells",
        "again",
        RefusalCode.NOT_RUNNING,
        RefusalCode.MALFORMED,
        RefusalCode.FORGED,
        RefusalCode.SUPERSEDED,
        RefusalCode.ALREADY_USED,
    }
)
"""What leaves the scene as it was."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A call: the store before and after it, the scene it was made in, and the answer."""

    scene: TokenScene
    form: str
    told: ToolAnswer
    before: StoreContents
    after: StoreContents

    def wrong(self, expected: str) -> str:
        found = self._found(expected)
        return found and f"expected {expected}: {found}"

    def _found(self, expected: str) -> str:
        change, answer = list_visible_changes(self.before, self.after), self.told
        good = self._good(expected, change) and self._unharmed(expected)
        how = f"run +{self._moved(self.scene.run)}, other +{self._moved(self.scene.other)}"
        return "" if good else f"{answer.code}, {how}, {change}"

    def _good(self, expected: str, change: dict[str, int]) -> bool:
        """Whether the answer and what it wrote are as expected."""
        answer, first = self.told, self.scene.first
        match expected:
            case "moves" | "other" | "starts" | "forks":
                return not answer.failed
            case "same-fork":
                return first is not None and (answer.code, answer.run) == (StepsStatus.OK, first.run)
            case "fresh":
                return (answer.code, change) == (StepsStatus.OK, FRESH)
            case "tells":
                return (answer.code, change) == (StepsStatus.OK, {})
            case "again":
                return answer == first and list_changes(self.before, self.after) == {}
            case _:
                wrote = EXPIRED if expected == "expired" else REFUSED
                return (answer.failed, answer.code, change) == (True, expected, wrote)

    def _unharmed(self, expected: str) -> bool:
        """Whether no run has moved but the one that should, and none was made but where it should be."""
        run, other = self.scene.run, self.scene.other
        after = AFTER.get(self.form, "running") if expected == "moves" else self.before.state(run)
        moved = (self._moved(run), self._moved(other), len(self.after.runs()) - len(self.before.runs()))
        wanted = (expected == "moves", expected == "other", expected in {"starts", "forks"})
        return moved == wanted and self.after.state(run) == after

    def _moved(self, run: str) -> int:
        return self.after.revision(run) - self.before.revision(run)


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> str:
    with open_in_process(create_place(tmp_path_factory.mktemp("foreign"), paper=PAPER)) as client:
        return client.continue_run(client.start("paper").token).token


def calls(stage: SceneBuilder, store: Path, kind: str, lifecycle: str) -> Iterator[tuple[str, Seen]]:
    """Every call with every token of this kind to a run in this lifecycle."""
    scene: TokenScene | None = None
    for form in FORMS[kind]:
        expected = EXPECTED[kind, form, lifecycle]
        if expected == "-":
            continue
        if scene is None or kind == "same call":
            scene = stage.scene(kind, form, lifecycle)
        given: dict[str, dict[str, Any]] = {
            name: build_arguments(form, t) for name, t in scene.tokens.items()
        }
        for name, arguments in (given or {kind: build_arguments_by_id(form, scene.run)}).items():
            before = read_store_contents(store)
            answer = stage.desk.call(arguments)
            yield (
                f"{form}, {name}, {lifecycle}",
                Seen(scene, form, answer, before, read_store_contents(store)),
            )
        if expected not in KEPT:
            scene = None


def lies(client: InProcessClient, at: Place, foreign: str, kind: str, lifecycle: str) -> Iterator[list[str]]:
    """What is wrong with the answer to each lie."""
    for name, call in calls(SceneBuilder(client, foreign), at.store, kind, lifecycle):
        found = [call.wrong(EXPECTED[kind, call.form, lifecycle]), *find_broken_reply_rules(call.told)]
        yield [f"{name}: {one}" for one in found if one]


@pytest.mark.unmeasured
@requirement("steps:life.guards", "steps:life.terminal", "steps:token.outcomes", "steps:token.retry")
@pytest.mark.parametrize("kind", KINDS)
def test_a_lying_agent_moves_no_run_that_it_should_not(
    kind: str, foreign: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    answer = list[list[str]]()
    for lifecycle in LIFECYCLES:
        at = create_place(tmp_path / lifecycle, paper=PAPER)
        with open_in_process(at) as client:
            answer += lies(client, at, foreign, kind, lifecycle)
    assert not any(answer), "\n".join(chain(*answer))
    assert len(answer) >= sum(
        EXPECTED[kind, f, lifecycle] != "-" for f in FORMS[kind] for lifecycle in LIFECYCLES
    )
    record_property("points", len(answer))


class Credulous(StepsFace):
    """Takes every token for the right one."""

    def call(self, tool: Tool, arguments: Mapping[str, Any], caller: Caller) -> Answer:
        claims = decode_token(self._app.world.key, str(arguments.get("step_token", "")))
        if isinstance(claims, str) or "model_output_so_far" not in arguments:
            return super().call(tool, arguments, caller)
        by_hand = {"execution_id": claims.run, "action": "complete_step"}
        output = {"model_output_so_far": arguments["model_output_so_far"]}
        return super().call(tool, {**by_hand, **output}, caller)


@pytest.mark.parametrize("kind", ["superseded", "used", "expired", "same call"])
def test_a_face_that_believes_every_token_is_found_out(kind: str, foreign: str, tmp_path: Path) -> None:
    at = create_place(tmp_path / "place", paper=PAPER)
    with open_in_process(at) as honest:
        client = replace(honest, face=Credulous(honest.app, Spelling.PORTABLE))
        answer = list(lies(client, at, foreign, kind, "running"))

    found = {one[0].partition(":")[0] for one in answer if one}
    assert found >= {f"continue, {kind}, running", f"complete_step, {kind}, running"}


def test_no_call_and_no_kind_of_token_is_left_out_of_the_table() -> None:
    rows = {kind: len(FORMS[kind]) for kind in KINDS}

    assert rows == {"no token": 10, **dict.fromkeys(KINDS[1:], 9)}
    assert len(KINDS) == 11
    assert len(EXPECTED) == 7 * (10 + 10 * 9)


def test_a_token_is_read_once_in_a_call(tmp_path: Path) -> None:
    reads = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal reads
        reads += event == "call" and frame.f_code is decode_token.__code__

    with open_in_process(create_place(tmp_path)) as client:
        token, found = client.start().token, []
        for call in (
            client.continue_run,
            lambda token: client.control_by_token(token, "pause"),
            client.continue_run,
        ):
            reads = 0
            sys.setprofile(count)
            try:
                answer = call(token)
            finally:
                sys.setprofile(None)
            found.append((answer.reply["status"], reads))
            token = answer.reply.get("new_step_token", token)

    assert found == [("ok", 1), ("ok", 1), ("error", 1)]
