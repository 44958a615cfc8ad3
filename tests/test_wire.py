"""Every name on the wire, compared with wire.yaml: it fails if a name is added, removed or changed."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import msgspec
import msgspec.yaml
import pytest
from mcp import Client
from mcp_types import Prompt, Tool

from handrail.app.app import open_app
from handrail.app.faces import FACES, StepsStatus
from handrail.app.run_view import CODE_MEANINGS, AwaitedThing
from handrail.cli.doctor import CheckStatus
from handrail.documents.plan.stages import Phase
from handrail.engine.lifecycle import LIFECYCLE_TABLE, LifecycleTrigger
from handrail.engine.model import Actor, Authority, Lifecycle
from handrail.engine.refusals import RefusalCode, TroubleCode
from handrail.mcp.addresses import Spelling
from handrail.mcp.faces.commits import CommitsStatus
from handrail.mcp.faces.replies import StepsAction
from handrail.mcp.faces.skills import SkillsAction
from handrail.mcp.server import FaceServer, build_server
from handrail.runtime.entries import EntryKind
from handrail.runtime.errors import FAULTS, Fault, FaultCode
from handrail.runtime.ports.access import AccessScope
from handrail.runtime.records import StepStatus
from handrail.runtime.world import TurnResult

ENUMS: Final[Mapping[str, type[StrEnum]]] = {
    "refusal_code": RefusalCode,
    "trouble_code": TroubleCode,
    "fault_code": FaultCode,
    "lifecycle": Lifecycle,
    "lifecycle_trigger": LifecycleTrigger,
    "step_status": StepStatus,
    "entry_kind": EntryKind,
    "actor": Actor,
    "authority": Authority,
    "steps_status": StepsStatus,
    "steps_action": StepsAction,
    "commits_status": CommitsStatus,
    "plan_phase": Phase,
    "skills_action": SkillsAction,
    "awaited_thing": AwaitedThing,
    "turn_result": TurnResult,
    "check_status": CheckStatus,
    "access_scope": AccessScope,
}
DEPTH: Final = 3
"""How deep names of fields are compared; tasks have children, which have children."""


class FaceNames(msgspec.Struct, forbid_unknown_fields=True):
    """The names of one face: arguments by tool, fields of a reply, arguments by prompt."""

    tools: dict[str, list[str]]
    reply: list[str]
    prompts: dict[str, list[str]]


class SourceNames(msgspec.Struct, forbid_unknown_fields=True):
    """The names that the source documents spell in another way."""

    tool: str
    resources: list[str]


class WireNames(msgspec.Struct, forbid_unknown_fields=True):
    """What wire.yaml holds."""

    names: dict[str, list[str]]
    faces: dict[str, FaceNames]
    resources: list[str]
    source_spelling: SourceNames


GOLDEN: Final = msgspec.yaml.decode(Path(__file__).with_name("wire.yaml").read_bytes(), type=WireNames)


class Listed(msgspec.Struct):
    """What a server lists to its client."""

    tools: Sequence[Tool]
    prompts: Sequence[Prompt]
    resources: Sequence[str]


async def _list(server: FaceServer) -> Listed:
    async with Client(server) as client:
        templates = (await client.list_resource_templates()).resource_templates
        fixed = (await client.list_resources()).resources
        return Listed(
            (await client.list_tools()).tools,
            (await client.list_prompts()).prompts,
            [*(one.uri_template for one in templates), *(str(one.uri) for one in fixed)],
        )


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, Spelling], Listed]]:
    """A function that lists what the server of a face offers in an empty project."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    project = tmp_path / "project"
    project.mkdir()
    with open_app(tmp_path / "handrail.db", [project]) as app:
        yield lambda face, names: asyncio.run(_list(build_server(app, face, names)))


def _fields(schema: Mapping[str, Any], depth: int = DEPTH) -> Iterator[str]:
    """The names of the fields of a schema, and below each those of its own fields."""
    if "items" in schema:
        yield from _fields(schema["items"], depth)
    named = schema.get("properties", {})
    for name in dict.fromkeys((*named, *schema.get("required", ()))):
        yield name
        if depth > 1:
            yield from (f"{name}.{below}" for below in _fields(named.get(name, {}), depth - 1))


def _arguments(prompt: Prompt) -> list[str]:
    return [one.name for one in prompt.arguments or ()]


def _choices(tool: Tool, field: str) -> object:
    return (tool.output_schema or {})["properties"][field]["enum"]


def _addresses(listed: Listed) -> list[str]:
    """The addresses of resources, without those of single personas."""
    return sorted(uri for uri in listed.resources if "{" in uri or not uri.startswith("persona:"))


def test_every_family_of_names_is_as_it_was() -> None:
    assert {family: sorted(enum) for family, enum in ENUMS.items()} == {
        family: sorted(names) for family, names in GOLDEN.names.items()
    }


def test_a_member_is_called_as_it_is_spelled() -> None:
    coded = (RefusalCode, TroubleCode, FaultCode, Lifecycle, LifecycleTrigger, EntryKind, StepsStatus)

    assert [member for enum in coded for member in enum if member.name != member.value.upper()] == []


def test_every_code_has_its_meaning_or_its_fault() -> None:
    assert CODE_MEANINGS.keys() == set(RefusalCode)
    assert {fault.code for fault in (Fault, *FAULTS)} == set(FaultCode)
    assert {trigger for row in LIFECYCLE_TABLE.values() for trigger in row} == set(LifecycleTrigger)


@pytest.mark.parametrize("face", FACES)
def test_a_server_lists_these_names_and_no_other(face: str, serve: Callable[[str, Spelling], Listed]) -> None:
    listed, golden = serve(face, Spelling.PORTABLE), GOLDEN.faces[face]

    assert {tool.name: sorted(_fields(tool.input_schema)) for tool in listed.tools} == {
        name: sorted(fields) for name, fields in golden.tools.items()
    }
    for tool in listed.tools:
        assert sorted(_fields(tool.output_schema or {})) == sorted(golden.reply), tool.name
    assert {prompt.name: _arguments(prompt) for prompt in listed.prompts} == golden.prompts
    assert _addresses(listed) == sorted(GOLDEN.resources)


def test_the_source_documents_spell_some_names_in_another_way(
    serve: Callable[[str, Spelling], Listed],
) -> None:
    listed = serve("steps", Spelling.SOURCE)

    assert [tool.name for tool in listed.tools] == [GOLDEN.source_spelling.tool]
    assert _addresses(listed) == sorted(GOLDEN.source_spelling.resources)


def test_a_schema_lists_the_members_of_its_enum(serve: Callable[[str, Spelling], Listed]) -> None:
    steps, commits, skills = (
        serve(face, Spelling.PORTABLE).tools[0] for face in ("steps", "commits", "skills")
    )

    assert steps.input_schema["properties"]["action"]["enum"] == list(StepsAction)
    assert _choices(steps, "status") == list(StepsStatus)
    assert _choices(commits, "status") == list(CommitsStatus)
    assert _choices(skills, "action") == list(SkillsAction)


def test_every_face_is_compared() -> None:
    assert set(GOLDEN.faces) == set(FACES)
