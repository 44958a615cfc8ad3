"""What is of another project is not there: every tool and every resource of every face answers so."""

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

import pytest

from handrail.app.app import open_app
from handrail.app.faces import StepsStatus
from handrail.runtime.tokens import TokenClaims, sign_token
from helpers.crash import Record
from helpers.http_servers import FACES
from helpers.servers import TOOL, build_note_output
from helpers.tenants import GOAL, TenantServer, TenantUser, TenantWork, run_json_command, use_every_face

NEVER: Final = "00000000-0000-4000-8000-00000000000a"
"""A run that never was."""

TOLD: Final[Mapping[str, Mapping[str, Any]]] = {
    TOOL: {},
    **{word: {} for word in ("accio", "expecto", "reparo", "reverto", "finite", "lumos")},
    "complete_skill": {"project": "beta", "session": "beta-session", "skill": "later"},
    "update_task_status": {
        "project": "beta",
        "session": "beta-session",
        "task_id": "t",
        "status": "completed",
    },
    "session_status": {"project": "beta", "session": "beta-session"},
    "gather_requirements": {},
    "set_overarching_goal": {"goal": GOAL},
    "set_detailed_goal": {"description": "Words."},
    "set_plan": {"plan": []},
    "mark_task": {"task": "1"},
    "finish_job": {},
    **{tool: {} for tool in ("get_plan", "get_constraints", "get_tasks", "unfinish_job", "verify_plan")},
    "start_planning": {"type": "feat", "summary": "brew tea"},
    "update_goal": {"summary": "brew tea"},
    "update_description": {"description": "Words."},
    "set_constraints": {"constraints": []},
    "set_tasks": {"tasks": []},
}
"""Each tool of each face, and what a call of it needs in any case."""

NAMING: Final = frozenset({"execution_id", "step_token", "project", "session"})
"""Arguments that name something which may be another's."""

_RANDOM: Final = re.compile(r"\b[0-9a-f]{12}(?= begins| ends)|[A-Za-z0-9_-]{72}")
"""Boundaries and fresh tokens: another one each time, whatever was asked."""

HERS: Final = re.compile("alpha")
"""What everything of ann's has in it."""

ACTIONS: Final = ("pause", "resume", "diverge", "abandon", "fail", "complete_step", "fork", "why")


@pytest.fixture(scope="module")
def hers(ann: TenantUser) -> TenantWork:
    return use_every_face(ann, "alpha")


@pytest.fixture(scope="module", autouse=True)
def his(bob: TenantUser, hers: TenantWork) -> TenantWork:
    """What bob has done, after ann."""
    assert hers.run
    return use_every_face(bob, "beta")


def never_issued(house: TenantServer, old: str) -> str:
    """A token that this store could have issued, for a run that never was; as long as the old one."""
    with open_app(house.at.store) as app:
        made = sign_token(
            app.world.key, TokenClaims(NEVER, 2, 2, datetime(2026, 3, 1, tzinfo=UTC), b"noncen")
        )
    assert len(made) == len(old)
    return made


def run_of(token: str) -> str:
    """The run that a token is for: whoever holds it can read that."""
    return str(UUID(bytes=urlsafe_b64decode(token)[:16]))


def answered(person: TenantUser, face: str, method: str, params: Mapping[str, Any], *values: str) -> str:
    """The whole answer, with a word in the place of the values that were sent, or stand in a token."""
    text = json.dumps(person.ask(face, method, params))
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, "WHAT WAS ASKED FOR")
    return _RANDOM.sub("RANDOM", text)


def variants(house: TenantServer, hers: TenantWork, argument: str) -> tuple[tuple[str, ...], str]:
    """What is ann's, by such an argument; and what is nobody's."""
    match argument:
        case "execution_id":
            return (hers.run, hers.over), NEVER
        case "step_token":
            theirs = (hers.token, hers.spell, hers.skill, hers.plan)
            return theirs, never_issued(house, hers.token)
        case "project":
            paths = (str(house.alpha), str(house.beta), f"{house.alpha}/", "../alpha-root", "/etc", "alpha/")
            return ("alpha", *paths), "nobody"
        case _:
            return ("alpha-session",), "nobodys-session"


def calls(tool: str, argument: str, value: str) -> Iterator[dict[str, Any]]:
    """The calls of a tool in which an argument names something."""
    if tool != TOOL:
        yield {**TOLD[tool], argument: value}
    elif argument == "project":
        yield {"template_name": "brief", "project": value}
        yield {"execution_id": NEVER, "project": value}
    else:
        more = {"model_output_so_far": build_note_output()}
        yield {argument: value, **(more if argument == "step_token" else {})}
        for action in ACTIONS:
            given = {"reason": "r", "step_name": "one"} if action == "fork" else {"reason": "r"}
            yield {argument: value, "action": action, **given, **(more if action == "complete_step" else {})}


def test_every_tool_answers_about_what_is_anothers_as_about_what_never_was(
    house: TenantServer, bob: TenantUser, hers: TenantWork, record_property: Record
) -> None:
    tried = 0
    seen = set()
    for face in FACES:
        for tool in bob.ask(face, "tools/list", {})["result"]["tools"]:
            seen.add(tool["name"])
            for argument in sorted(NAMING & set(tool["inputSchema"]["properties"])):
                theirs, nobodys = variants(house, hers, argument)
                ids = (hers.over, NEVER, *map(run_of, (hers.token, hers.spell, hers.skill, hers.plan)))
                expected = [
                    answered(
                        bob, face, "tools/call", {"name": tool["name"], "arguments": call}, nobodys, *ids
                    )
                    for call in calls(tool["name"], argument, nobodys)
                ]
                for value in theirs:
                    found = [
                        answered(
                            bob, face, "tools/call", {"name": tool["name"], "arguments": call}, value, *ids
                        )
                        for call in calls(tool["name"], argument, value)
                    ]
                    assert found == expected, (tool["name"], argument)
                    assert not any(HERS.search(one) for one in found), found
                    tried += len(found)
    assert seen == set(TOLD)
    record_property("points", tried)
    assert tried > 100


def filled(template: str, value: str) -> str:
    return re.sub(r"\{\+?\w+\}", lambda _: value, template)


def resources(house: TenantServer, hers: TenantWork, template: str) -> list[tuple[str, str]]:
    """For a template: addresses of what is ann's, each with one of what is nobody's."""
    match template.partition("://")[0].replace("-", "_"):
        case "persona":
            return [("alpha-hand", "nobodys-hand")]
        case "current_step" | "workflow_status":
            return [(hers.run, NEVER), (hers.over, NEVER)]
        case "project_context":
            return [(house.project_id("alpha"), "0" * 16), ("alpha", "nobody")]
        case "workflow_artifacts":
            runs = [(f"final/{run}", f"final/{NEVER}") for run in (hers.run, hers.over)]
            return [*runs, ("type/alpha-kind", "type/nobodys-kind")]
        case other:
            raise AssertionError(other)


@pytest.mark.parametrize("face", FACES)
def test_every_resource_that_is_anothers_is_told_of_as_one_that_never_was(
    house: TenantServer, bob: TenantUser, hers: TenantWork, his: TenantWork, face: str
) -> None:
    templates = [
        one["uriTemplate"]
        for one in bob.ask(face, "resources/templates/list", {})["result"]["resourceTemplates"]
    ]
    assert len(templates) == 5
    for template in templates:
        for theirs, nobodys in resources(house, hers, template):
            found, expected = (
                answered(
                    bob,
                    face,
                    "resources/read",
                    {"uri": filled(template, one)},
                    one,
                    one.removeprefix("final/"),
                )
                for one in (theirs, nobodys)
            )
            assert found == expected, template
            assert not HERS.search(found)
    for one in bob.ask(face, "resources/list", {})["result"]["resources"]:
        assert not HERS.search(bob.read(one["uri"], face)), one
    assert his.over in bob.read("workflow-artifacts://recent", face)
    assert his.over in bob.read("workflow-artifacts://final", face)
    assert "Keep to the rules of alpha" not in bob.read("guardrails://active", face)


@pytest.mark.parametrize("face", FACES)
def test_nothing_of_anothers_is_offered_to_who_fills_something_in(
    house: TenantServer, ann: TenantUser, bob: TenantUser, hers: TenantWork, face: str
) -> None:
    asked = [
        ("persona://{agent}", "agent", "alpha"),
        *(("current-step://{execution_id}", "execution_id", run[:8]) for run in (hers.run, hers.over)),
        ("workflow-status://{execution_id}", "execution_id", hers.run),
        ("project-context://{project_id}", "project_id", "alpha"),
        ("project-context://{project_id}", "project_id", house.project_id("alpha")[:8]),
        ("workflow-artifacts://{+pattern}", "pattern", f"final/{hers.over[:8]}"),
        ("workflow-artifacts://{+pattern}", "pattern", "type/alpha"),
    ]
    for template, name, value in asked:
        given = {"ref": {"type": "ref/resource", "uri": template}, "argument": {"name": name, "value": value}}
        mine = ann.ask(face, "completion/complete", given)["result"]["completion"]["values"]
        assert len(mine) == 1, (template, value)
        assert bob.ask(face, "completion/complete", given)["result"]["completion"]["values"] == []


def test_prompts_and_what_may_be_written_into_them_are_of_ones_own_projects(
    ann: TenantUser, bob: TenantUser, hers: TenantWork
) -> None:
    def prompts(person: TenantUser) -> list[str]:
        return [one["name"] for one in person.ask("steps", "prompts/list", {})["result"]["prompts"]]

    assert sorted(set(prompts(ann)) - set(prompts(bob))) == ["alpha-only"]
    found = answered(bob, "steps", "prompts/get", {"name": "alpha-only"}, "alpha-only")
    assert found == answered(bob, "steps", "prompts/get", {"name": "nobodys"}, "nobodys")
    ref = {"type": "ref/prompt", "name": "resume"}
    given = {"ref": ref, "argument": {"name": "execution_id", "value": hers.run[:6]}}
    assert ann.ask("steps", "completion/complete", given)["result"]["completion"]["values"] == [hers.run]
    assert bob.ask("steps", "completion/complete", given)["result"]["completion"]["values"] == []
    resumed = {"name": "resume", "arguments": {"execution_id": hers.run}}
    never = {"name": "resume", "arguments": {"execution_id": NEVER}}
    assert answered(bob, "steps", "prompts/get", resumed, hers.run) == answered(
        bob, "steps", "prompts/get", never, NEVER
    )
    assert hers.run not in json.dumps(bob.ask("steps", "prompts/get", {"name": "resume"}))


def test_what_was_tried_on_a_run_from_another_project_is_not_in_its_journal_and_moved_nothing(
    house: TenantServer, ann: TenantUser, bob: TenantUser, hers: TenantWork
) -> None:
    before = run_json_command(house.at, "runs", "events", hers.run)["events"]
    bob.step(execution_id=hers.run, action="abandon", reason="spite")
    bob.step(step_token=hers.token, model_output_so_far=build_note_output())

    assert run_json_command(house.at, "runs", "events", hers.run)["events"] == before
    assert {one["data"]["principal"] for one in before} == {"ann"}
    assert ann.step(execution_id=hers.run, action="why").reply["status"] == StepsStatus.OK
