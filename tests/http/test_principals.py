"""Who somebody is goes with everything they do: sessions, subscriptions, tokens, and the journal."""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from handrail.app.faces import StepsStatus
from handrail.engine.refusals import RefusalCode
from handrail.runtime.entries import EntryKind
from helpers.http_servers import FACES
from helpers.program import run_command
from helpers.servers import BOUND, META, TOOL, build_note_output, wait_until
from helpers.tenants import ACCEPTS, TenantServer, TenantUser, create_token, run_json_command, use_every_face

LIST = {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {}}


@pytest.mark.parametrize("face", FACES)
def test_a_session_is_there_for_who_began_it_and_for_nobody_else(
    house: TenantServer, ann: TenantUser, bob: TenantUser, face: str
) -> None:
    session = ann.greet(face)
    beside = house.person("amy", "alpha")
    herself = house.person("ann", "alpha", "beta")

    never = bob.in_session(face, "0" * 32, LIST)
    assert never.status == 404
    for other in (bob, beside, herself, house.person("all")):
        for how in ("POST", "GET", "DELETE"):
            found = other.in_session(face, session, LIST if how == "POST" else None, how)
            assert (found.status, found.text) == (never.status, never.text)
    assert ann.in_session(face, session, LIST).status == 200
    assert house.person("ann", "alpha").in_session(face, session, LIST).status == 200


def test_a_token_that_is_revoked_or_too_old_ends_its_session_at_the_next_request(house: TenantServer) -> None:
    made = create_token(house.at, "cat", "alpha")
    cat = TenantUser(house.served, made["secret"], house.heard)
    session = cat.greet("steps")
    assert cat.in_session("steps", session, LIST).status == 200
    assert (
        run_command("token", "revoke", made["id"], "--store", house.at.store, cwd=house.at.folder).status == 0
    )
    assert cat.in_session("steps", session, LIST).status == 401

    brief = house.person("dan", "alpha", expires="1s")
    wait_until(lambda: brief.send("steps", {}, LIST).status == 401, "the token is too old")


@contextmanager
def listening(person: TenantUser, uris: list[str], session: str = "") -> Iterator[http.client.HTTPResponse]:
    """A stream that tells of these resources: that of a session, or without one that of 2026."""
    connection = http.client.HTTPConnection("127.0.0.1", person.served.port, timeout=BOUND)
    usual = {
        "Authorization": f"Bearer {person.secret}",
        "Accept": ACCEPTS,
        "Content-Type": "application/json",
    }
    if session:
        for uri in uris:
            asked = {"jsonrpc": "2.0", "id": 3, "method": "resources/subscribe", "params": {"uri": uri}}
            assert person.in_session("steps", session, asked).status == 200
        headers = {"mcp-protocol-version": "2025-11-25", "mcp-session-id": session}
        connection.request("GET", "/mcp/steps", headers={**usual, **headers})
    else:
        method = "subscriptions/listen"
        wanted = {"notifications": {"resourceSubscriptions": uris}, "_meta": META}
        message = {"jsonrpc": "2.0", "id": 3, "method": method, "params": wanted}
        headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": method}
        connection.request("POST", "/mcp/steps", json.dumps(message), {**usual, **headers})
    try:
        yield connection.getresponse()
    finally:
        connection.close()


def told(stream: http.client.HTTPResponse, last: str) -> list[str]:
    """The resources that a stream tells of, up to this one."""
    found: list[str] = []
    while last not in found:
        line = stream.readline().decode()
        assert line, "the stream has ended"
        if line.startswith("data: ") and line.strip() != "data:":
            message: dict[str, Any] = json.loads(line.removeprefix("data: "))
            if message.get("method") == "notifications/resources/updated":
                found.append(message["params"]["uri"])
    return found


@pytest.mark.parametrize("era", ["legacy", "auto"])
def test_who_listens_hears_of_their_own_projects_and_of_nothing_else(
    ann: TenantUser, bob: TenantUser, era: str
) -> None:
    hers, his = ann.step(template_name="walk"), bob.step(template_name="walk")
    uris = [
        f"workflow-status://{hers.run}",
        f"current-step://{hers.run}",
        "workflow-artifacts://recent",
        f"workflow-status://{his.run}",
    ]
    with listening(bob, uris, bob.greet("steps") if era == "legacy" else "") as stream:
        if era == "auto":
            while "acknowledged" not in stream.readline().decode():
                pass
        moved = ann.step(step_token=hers.token, model_output_so_far=build_note_output())
        assert (
            ann.step(step_token=moved.token, model_output_so_far=build_note_output()).code == StepsStatus.OK
        )
        assert bob.step(step_token=his.token, model_output_so_far=build_note_output()).code == StepsStatus.OK

        heard = told(stream, f"workflow-status://{his.run}")

    assert not any(hers.run in uri for uri in heard)
    assert heard.count("workflow-artifacts://recent") <= 1


def test_every_entry_of_the_journal_says_which_principal_client_and_agent_it_was(house: TenantServer) -> None:
    both = {name: house.person(name, "alpha") for name in ("eva", "fay")}
    begun = both["eva"].call("steps", TOOL, {"template_name": "walk"}, **{"handrail/agent": "planner-1"})
    given = {"step_token": begun.token, "model_output_so_far": build_note_output()}
    both["fay"].call("steps", TOOL, given, **{"handrail/agent": "worker-2"})
    both["eva"].call("steps", TOOL, {"execution_id": begun.run})
    both["fay"].call("steps", TOOL, {"execution_id": begun.run, "action": "pause"}, **{"handrail/agent": 7})
    both["eva"].call("steps", TOOL, given)

    events = run_json_command(house.at, "runs", "events", begun.run)["events"]

    who = [tuple(one["data"].get(name, "") for name in ("principal", "client", "agent")) for one in events]
    kinds = [one["kind"] for one in events]
    assert list(zip(kinds, who, strict=True)) == [
        *((kind, ("eva", "bench 1", "planner-1")) for kind in BEGUN),
        *((kind, ("fay", "bench 1", "worker-2")) for kind in GONE_ON),
        (EntryKind.TOKEN_GENERATED, ("eva", "bench 1", "")),
        (EntryKind.WORKFLOW_STATE_TRANSITION, ("fay", "bench 1", "")),
    ]
    shown = run_command("runs", "events", begun.run, "--store", house.at.store, cwd=house.at.folder).out
    assert all('"principal":' in line for line in shown.splitlines())


BEGUN = (
    EntryKind.WORKFLOW_CREATED,
    EntryKind.STEP_STARTED,
    EntryKind.TOKEN_GENERATED,
    EntryKind.WORKFLOW_STATE_TRANSITION,
)
GONE_ON = (
    EntryKind.TOKEN_VALIDATED,
    EntryKind.STEP_COMPLETED,
    EntryKind.ARTIFACT_STORED,
    EntryKind.STEP_STARTED,
    EntryKind.TOKEN_GENERATED,
)


def test_the_faces_over_files_and_commits_work_in_the_project_of_who_calls(
    house: TenantServer, ann: TenantUser, bob: TenantUser
) -> None:
    hers, his = use_every_face(ann, "alpha"), use_every_face(bob, "beta")

    for person, name, root in ((ann, "alpha", house.alpha), (bob, "beta", house.beta)):
        other = "beta" if name == "alpha" else "alpha"
        plan = person.call("planner", "gather_requirements", {})
        assert plan.reply["plan"]["text"].startswith(f"feat({name}): keep the secret of {name}")
        assert (root / ".ai" / "task" / "state.json").is_file()
        sessions = root / ".collab" / "sessions"
        assert [one.name for one in sessions.iterdir()] == [f"{name}-session"]
        shown = person.call("skills", "session_status", {"project": name, "session": f"{name}-session"})
        assert not shown.failed
        assert {"project": name, "session": f"{name}-session"} == {
            key: one for key, one in next_of(person, name).items() if key != "skill"
        }
        assert person.call("spells", "lumos", {"project": other}).reply["code"] == RefusalCode.UNKNOWN_PROJECT
    assert his.plan != hers.plan


def next_of(person: TenantUser, name: str) -> dict[str, Any]:
    """What a refused call of a skill says may be called instead."""
    given = {"project": name, "session": f"{name}-session", "skill": "no-such-skill"}
    found: dict[str, Any] = person.call("skills", "complete_skill", given).reply["next"][0]["arguments"]
    return found


def test_a_project_is_served_as_soon_as_it_is_added_and_no_longer_once_it_is_removed(
    house: TenantServer, ann: TenantUser
) -> None:
    root = house.at.folder / "srv" / "gamma-root"
    root.mkdir()
    everyone = house.person("gus")
    session = everyone.greet("steps")
    run_json_command(house.at, "project", "add", "gamma", root)
    wait_until(lambda: "gamma" in everyone.read("available-workflows://all"), "the project is served")
    narrow = house.person("hal", "gamma")

    assert narrow.step(template_name="docs").reply["code"] == RefusalCode.ARGUMENTS
    assert "gamma" not in ann.read("available-workflows://all")
    run_json_command(house.at, "project", "remove", "gamma")
    wait_until(lambda: "gamma" not in everyone.read("available-workflows://all"), "it is served no longer")

    told_ = narrow.step(template_name="docs")
    assert told_.reply["code"] == RefusalCode.NO_PROJECT
    assert told_.reply["why"]["needed"] == [
        "a token for a project that is served: ask whoever runs the server"
    ]
    assert everyone.in_session("steps", session, LIST).status == 200
