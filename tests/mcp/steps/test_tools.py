"""What the tool costs an agent: `tools/list` to the byte, and the bytes of whole runs."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.app.faces import FACES, StepsStatus
from helpers.library_outputs import HONEST
from helpers.reply_sizes import (
    DELIVERED,
    LISTED,
    count_bytes,
    count_delivered_bytes,
    format_compact_json,
    walk_workflow,
)
from helpers.requirement import requirement
from helpers.servers import ERAS, Pipe, create_place, open_in_process


@pytest.fixture(scope="module", params=ERAS)
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What two server processes list, twenty times each, to a client of this era."""
    at, found = create_place(tmp_path_factory.mktemp("listed")), list[dict[str, Any]]()
    for _ in range(2):
        with Pipe(at, era=request.param) as pipe:
            found += [{**pipe.ask("tools/list")["result"], "era": request.param} for _ in range(20)]
    return found


@requirement("steps:tool.one")
def test_the_list_is_the_same_to_the_byte_every_time(results: list[dict[str, Any]]) -> None:
    golden = Path(__file__).with_name(f"tools.{results[0]['era']}.json")

    assert len({format_compact_json(result) for result in results}) == 1
    assert len(results) == 40
    assert len(results[0]["tools"]) == 1
    assert format_compact_json(results[0]["tools"]) == golden.read_text("utf-8").removesuffix("\n")


def test_the_list_is_short(
    results: list[dict[str, Any]], record_property: Callable[[str, object], None]
) -> None:
    result = {name: value for name, value in results[0].items() if name != "era"}

    assert count_bytes(result) <= LISTED["steps"]
    record_property("points", count_bytes(result))


@pytest.mark.parametrize("face", sorted(set(LISTED) - {"steps"}))
def test_the_list_of_every_other_face_stays_below_its_ceiling(
    tmp_path: Path, face: str, record_property: Callable[[str, object], None]
) -> None:
    with Pipe(create_place(tmp_path / "place"), "--face", face) as pipe:
        listed = count_bytes(pipe.ask("tools/list")["result"])

    assert listed <= LISTED[face]
    record_property("points", listed)


def test_every_face_has_a_ceiling() -> None:
    assert sorted(LISTED) == sorted(FACES)


def titles(value: object, path: str = "") -> Iterator[str]:
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
    ("words", "name"), [((), "workflow_next_step"), (("--names", "source"), "workflow.next_step")]
)
def test_the_setting_decides_which_name_is_listed_and_both_are_taken(
    tmp_path: Path, words: tuple[str, ...], name: str
) -> None:
    with Pipe(create_place(tmp_path / "place"), *words) as pipe:
        assert [tool["name"] for tool in pipe.ask("tools/list")["result"]["tools"]] == [name]
        for other in ("workflow_next_step", "workflow.next_step"):
            answer = pipe.call({"template_name": "walk"}, other)
            assert answer.code == StepsStatus.OK
        refused = pipe.call({"step_token": answer.token, "model_output_so_far": {}})
        assert [call["tool"] for call in refused.reply["next"]] == [name]


@pytest.mark.parametrize("workflow", ["walk", *HONEST])
def test_a_whole_run_delivers_little(
    tmp_path: Path, workflow: str, record_property: Callable[[str, object], None]
) -> None:
    with open_in_process(create_place(tmp_path / "place")) as client:
        replies = list(walk_workflow(client, workflow))

    assert sum(map(count_delivered_bytes, replies)) < DELIVERED, [
        count_delivered_bytes(answer) for answer in replies
    ]
    record_property("points", sum(map(count_delivered_bytes, replies)))


def test_the_longest_of_the_built_in_workflows_has_six_steps(tmp_path: Path) -> None:
    with open_in_process(create_place(tmp_path / "place")) as client:
        steps = {workflow: len(list(walk_workflow(client, workflow))) - 1 for workflow in HONEST}

    assert max(steps.values()) == 6, steps


@pytest.mark.parametrize("era", ERAS)
def test_an_agent_is_taught_the_face_before_its_first_call(tmp_path: Path, era: str) -> None:
    with Pipe(create_place(tmp_path / "place"), era=era) as pipe:
        answer = pipe.hello if era == "legacy" else pipe.ask("server/discover")["result"]

    said = answer["instructions"]
    assert len(said.encode()) < 1_500
    for word in ("template_name", "step_token", "model_output_so_far", "execution_id", '"why"', "pause"):
        assert word in said
