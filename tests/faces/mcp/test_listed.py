"""What the tool costs an agent: `tools/list` to the byte, and the bytes of whole runs."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from faces.mcp.desk import ERAS, Desk, Pipe, Told, inside, note, place
from requirement import requirement
from workflows.library_cases import GIVEN, HONEST

LONGEST: Final = 2_200
"""How many bytes `tools/list` may have, with its output schema and all that the era adds."""

DELIVERED: Final = 30_000
"""How many bytes a run of six steps may deliver."""


def compact(value: object) -> str:
    """As JSON, without a blank that could be left out."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def size(value: object) -> int:
    """How many bytes that has."""
    return len(compact(value).encode())


@pytest.fixture(scope="module", params=ERAS)
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What two server processes list, twenty times each, to a client of this era."""
    at, found = place(tmp_path_factory.mktemp("listed")), list[dict[str, Any]]()
    for _ in range(2):
        with Pipe(at, era=request.param) as pipe:
            found += [{**pipe.ask("tools/list")["result"], "era": request.param} for _ in range(20)]
    return found


@requirement("steps:tool.one")
def test_the_list_is_the_same_to_the_byte_whoever_asks_and_however_often(
    results: list[dict[str, Any]],
) -> None:
    golden = Path(__file__).with_name(f"tools.{results[0]['era']}.json")

    assert len({compact(result) for result in results}) == 1
    assert len(results) == 40
    assert len(results[0]["tools"]) == 1
    assert compact(results[0]["tools"]) == golden.read_text("utf-8").removesuffix("\n")


def test_the_list_is_short(
    results: list[dict[str, Any]], record_property: Callable[[str, object], None]
) -> None:
    result = {name: value for name, value in results[0].items() if name != "era"}

    assert size(result) <= LONGEST
    record_property("points", size(result))


def titles(value: object, path: str = "") -> Iterator[str]:
    """Where a key is called `title`."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        if key == "title":
            yield path
        yield from titles(part, f"{path}/{key}")


def test_no_field_has_a_title_but_the_tool_itself(results: list[dict[str, Any]]) -> None:
    assert list(titles(results[0]["tools"])) == ["/0/annotations"]
    assert results[0]["tools"][0]["annotations"] == {
        "title": "Next step",
        "readOnlyHint": False,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }


@requirement("steps:tool.names")
@pytest.mark.parametrize(
    ("words", "name"),
    [((), "workflow_next_step"), (("--names", "source"), "workflow.next_step")],
)
def test_the_setting_decides_which_name_is_listed_and_both_are_taken(
    tmp_path: Path, words: tuple[str, ...], name: str
) -> None:
    with Pipe(place(tmp_path / "place"), *words) as pipe:
        assert [tool["name"] for tool in pipe.ask("tools/list")["result"]["tools"]] == [name]
        for other in ("workflow_next_step", "workflow.next_step"):
            told = pipe.call({"template_name": "walk"}, other)
            assert told.code == "ok"
        refused = pipe.call({"step_token": told.token, "model_output_so_far": {}})
        assert [call["tool"] for call in refused.reply["next"]] == [name]


# --- a whole run --------------------------------------------------------------------------------------------


def delivered(told: Told) -> int:
    """What an agent is given by a reply: the larger of its two forms."""
    return max(size(told.reply), len(told.text.encode()))


def walked(desk: Desk, workflow: str) -> Iterator[Told]:
    """Every reply of a run that an honest agent takes to its end."""
    told = desk.start(workflow, goal="Something worth doing.", inputs=GIVEN.get(workflow, {}))
    yield told
    while told.reply["status"] != "task_closed":
        step = told.reply["next_step_contract"]["step_name"]
        kind, more = HONEST[workflow][step] if workflow in HONEST else ("note", {})
        artifact = {"type": kind, "title": "What was found", "content": "As it was found."}
        told = desk.go_on(told.token, **note(artifacts=[artifact], confidence=0.9, **more))
        assert not told.failed, told.text
        yield told


@pytest.mark.parametrize("workflow", ["walk", *HONEST])
def test_a_whole_run_delivers_little(
    tmp_path: Path, workflow: str, record_property: Callable[[str, object], None]
) -> None:
    with inside(place(tmp_path / "place")) as desk:
        replies = list(walked(desk, workflow))

    assert sum(map(delivered, replies)) < DELIVERED, [delivered(told) for told in replies]
    record_property("points", sum(map(delivered, replies)))


def test_the_longest_of_the_built_in_workflows_has_six_steps(tmp_path: Path) -> None:
    with inside(place(tmp_path / "place")) as desk:
        steps = {workflow: len(list(walked(desk, workflow))) - 1 for workflow in HONEST}

    assert max(steps.values()) == 6, steps


@pytest.mark.parametrize("era", ERAS)
def test_an_agent_is_taught_the_face_before_its_first_call(tmp_path: Path, era: str) -> None:
    with Pipe(place(tmp_path / "place"), era=era) as pipe:
        told = pipe.hello if era == "legacy" else pipe.ask("server/discover")["result"]

    said = told["instructions"]
    assert len(said.encode()) < 1_500
    for word in ("template_name", "step_token", "model_output_so_far", "execution_id", '"why"', "pause"):
        assert word in said
