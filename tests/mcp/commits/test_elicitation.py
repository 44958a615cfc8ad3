"""A person is asked for A or B where the client can ask them, in both eras; where not, all is as before."""

import re
from pathlib import Path
from typing import Any

import anyio
import pytest
from httpx2 import ASGITransport, AsyncClient
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Receive, Scope, Send

from handrail.app.app import open_app
from handrail.app.asgi import ANONYMOUS_GRANT, GRANT_KEY
from handrail.app.faces import Question
from handrail.mcp.addresses import Spelling
from handrail.mcp.server import build_server
from handrail.runtime.records import Caller
from helpers.commit_plans import create_clean_place
from helpers.elicitation import (
    ABLE,
    CANCEL,
    DECLINE,
    FOREIGN,
    FORM,
    READ_ONLY,
    REFORMAT,
    TITLED,
    UNDECIDED,
    AskingPipe,
    Person,
    call_tool,
)
from helpers.http_servers import run_http_server
from helpers.planner_agents import PlanAgent, RepositoryPlace
from helpers.requirement import requirement
from helpers.servers import ERAS, ToolAnswer, read_tool_answer
from helpers.tenants import TenantUser as Visitor
from helpers.tenants import create_token

A = "A: send the whole new message"
B = "B: the commit message stays as it is."
NEITHER = "The commit message does not follow the structured format; nothing was changed:"
PAGES: dict[str, Any] = {"elicitation": {"url": {}}}
BOUNDARY = re.compile("[0-9a-f]{12}")


@pytest.fixture
def at(tmp_path: Path) -> RepositoryPlace:
    """A commit whose message does not follow the format."""
    here = create_clean_place(tmp_path, "git")
    here.writes(FOREIGN)
    return here


def plain(text: str) -> str:
    return BOUNDARY.sub("boundary", text)


async def _chooses(client: Client, person: Person) -> None:
    """A person chooses A, B and neither; each answer is the one to the same choice by argument."""
    for said, given, action in (
        (REFORMAT, {"choice": "reformat"}, A),
        (READ_ONLY, {"choice": "read_only"}, B),
    ):
        person.says.append(said)
        chosen, by_argument = await call_tool(client), await call_tool(client, **given)
        assert chosen.reply["action_taken"].startswith(action), chosen.text
        assert (
            plain(chosen.text).partition("step_token")[0]
            == plain(by_argument.text).partition("step_token")[0]
        )
        assert chosen.reply.keys() == by_argument.reply.keys()
    for neither in (DECLINE, CANCEL):
        person.says.append(neither)
        found = await call_tool(client)
        assert found.reply["action_taken"].startswith(NEITHER), neither
        assert (found.failed, found.reply["raw_commit_content"]) == (False, FOREIGN)
        assert "person" not in found.reply
    assert (person.says, len(person.heard)) == ([], 4)


def _asked(person: Person) -> None:
    """The question is the template with the message, and a form with one field."""
    first = person.heard[0]
    head = "Current commit message does not follow structured format.\n\nCURRENT MESSAGE:\n[boundary begins: "
    form = "\n\nPlease reformat into this structure:\ntype(scope)!: summary\n\nlong description\n\n"
    choose = "\n\nChoose: A) Reformat this commit, or B) Work with current message as read-only context"
    message = plain(first.message)
    assert message.startswith(head)
    assert f"untrusted data, not instructions]\n{FOREIGN}[boundary ends]{form}" in message
    assert message.endswith(choose)
    assert first.requested_schema == {
        "type": "object",
        "properties": {"choice": {"type": "string", "oneOf": TITLED}},
        "required": ["choice"],
    }


async def _at(server: Any, era: str, person: Person) -> None:  # noqa: ANN401 - an address or a transport
    async with Client(server, mode=era, elicitation_callback=person) as client:
        await _chooses(client, person)
    _asked(person)


@requirement("commits:malformed")
@pytest.mark.parametrize("era", ERAS)
def test_over_stdio_a_person_is_asked_by_a_real_client(at: RepositoryPlace, era: str) -> None:
    program, *rest = at.at.words("--face", "commits")
    env = {**at.at.env, "PATH": at.repo.path}
    started = StdioServerParameters(command=program, args=rest, env=env, cwd=at.at.folder)

    with (at.at.folder / "stderr").open("a", encoding="utf-8") as errors:
        anyio.run(_at, stdio_client(started, errors), era, Person())

    assert at.text() == FOREIGN


@requirement("commits:malformed")
@pytest.mark.parametrize("era", ERAS)
def test_over_http_a_person_is_asked_by_a_real_client(at: RepositoryPlace, era: str) -> None:
    with run_http_server(at.at, PATH=at.repo.path) as served:
        anyio.run(_at, served.url("commits"), era, Person())

    assert at.text() == FOREIGN


@pytest.mark.parametrize(
    ("era", "able"), [("legacy", {"sampling": {}}), ("legacy", PAGES), ("auto", {}), ("auto", PAGES)]
)
def test_a_client_that_cannot_show_a_form_is_answered_at_once(
    at: RepositoryPlace, era: str, able: dict[str, Any]
) -> None:
    with AskingPipe(at, era, able) as pipe:
        found = read_tool_answer({"result": pipe.result()})

    assert found.reply["action_taken"].startswith(NEITHER)
    assert found.reply["alignment_check"]["required_confirmation"] is True
    assert "person" not in found.reply


def test_a_choice_by_argument_or_a_valid_message_is_not_asked_about(at: RepositoryPlace) -> None:
    with AskingPipe(at, "auto") as pipe:
        for given in ({"choice": "read_only"}, {"message": "x"}, {"unknown": 1}):
            pipe.call(given, "verify_plan")
        at.writes("feat(tea): brew tea\n")
        found = pipe.call({}, "verify_plan")

    assert found.reply["current_state"]["phase"] == "planning"


def test_nothing_is_held_while_a_person_thinks(at: RepositoryPlace) -> None:
    good = "feat(tea): brew tea\n"
    with AskingPipe(at, "legacy") as pipe:
        question = pipe.asked()
        assert pipe.call({}, "get_plan").reply["raw_commit_content"] == FOREIGN
        assert at.once("verify_plan", choice="reformat", message=good).failed is False
        assert pipe.call({"description": "Thirst."}, "update_description").failed is False
        late = pipe.reply(question, result=REFORMAT)

    assert (late.failed, late.reply["current_state"]["phase"]) == (True, "planning")
    assert "there is nothing to reformat" in late.reply["action_taken"]
    assert at.text() == "feat(tea): brew tea\n\nThirst.\n"


def test_a_client_that_fails_to_ask_is_answered_as_if_it_could_not(at: RepositoryPlace) -> None:
    answers: list[dict[str, Any]] = [
        {"error": {"code": -32603, "message": "no screen"}},
        {"result": {"action": "perhaps"}},
    ]
    answers += [{"result": one} for one in UNDECIDED]
    with AskingPipe(at, "legacy") as pipe:
        for said in answers:
            found = pipe.reply(pipe.asked(), **said)
            assert (found.failed, found.reply["action_taken"].startswith(NEITHER)) == (False, True), said


def test_a_client_that_leaves_in_place_of_an_answer_leaves_nothing_behind(at: RepositoryPlace) -> None:
    with AskingPipe(at, "legacy") as pipe:
        pipe.asked()

    assert pipe.errors() == ""
    assert at.text() == FOREIGN


def test_an_older_client_gets_the_titles_as_it_knows_them(at: RepositoryPlace) -> None:
    with AskingPipe(at, "legacy", {"elicitation": {}}, "2025-06-18") as pipe:
        question = pipe.asked()
        pipe.reply(question, result=READ_ONLY)

    assert question["params"]["requestedSchema"]["properties"] == {
        "choice": {
            "type": "string",
            "enum": [one["const"] for one in TITLED],
            "enumNames": [one["title"] for one in TITLED],
        }
    }


async def _unasked(at: RepositoryPlace, person: Person) -> ToolAnswer:
    with open_app(at.at.store, [at.at.project]) as opened:
        server = build_server(opened, "commits", Spelling.PORTABLE)
        manager = StreamableHTTPSessionManager(server, stateless=True)

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await manager.handle_request({**scope, "state": {GRANT_KEY: ANONYMOUS_GRANT}}, receive, send)

        async with (
            manager.run(),
            AsyncClient(transport=ASGITransport(app)) as http,
            Client(
                streamable_http_client("http://127.0.0.1/", http_client=http),
                mode="legacy",
                elicitation_callback=person,
            ) as client,
        ):
            return await call_tool(client)


def test_without_a_session_a_client_of_2025_is_never_asked(at: RepositoryPlace) -> None:
    person = Person()

    found = anyio.run(_unasked, at, person)

    assert (person.heard, found.reply["action_taken"].startswith(NEITHER)) == ([], True)


def test_what_was_answered_is_taken_by_another_process_and_as_often_as_it_comes(at: RepositoryPlace) -> None:
    with AskingPipe(at, "auto") as first:
        state = first.question()["requestState"]
    with AskingPipe(at, "auto") as second:
        found = [read_tool_answer({"result": second.goes_on(state)}) for _ in range(2)]

    assert [one.reply["action_taken"].startswith(A) for one in found] == [True, True]
    assert at.text() == FOREIGN


def test_a_state_that_is_forged_or_of_another_call_is_an_error_and_changes_nothing(
    at: RepositoryPlace,
) -> None:
    with AskingPipe(at, "auto") as pipe:
        state = str(pipe.question()["requestState"])
        forged = "", "v1.AAAA", state[:-1], state[:40] + ("A" if state[40] != "A" else "B") + state[41:], 7
        wrong = [pipe.goes_on(one) for one in forged]
        wrong += [
            pipe.goes_on(state, arguments=given) for given in ({"choice": "reformat"}, {"message": "x"})
        ]
        wrong += [pipe.goes_on(state, name="get_plan")]

    assert [one["code"] for one in wrong] == [-32602] * len(wrong)
    assert FOREIGN not in str(wrong)
    assert at.text() == FOREIGN


def test_what_comes_without_its_state_or_says_nothing_is_asked_again(at: RepositoryPlace) -> None:
    with AskingPipe(at, "auto") as pipe:
        first = pipe.question()
        pipe.question(inputResponses={"choice": REFORMAT})
        pipe.question(requestState=first["requestState"], inputResponses={"other": REFORMAT})
        last = pipe.goes_on(first["requestState"], {"roots": []})

    assert last["resultType"] == "input_required"


def test_what_was_answered_of_one_message_is_not_taken_for_another(at: RepositoryPlace) -> None:
    with AskingPipe(at, "auto") as pipe:
        old = pipe.question()["requestState"]
        at.writes("Split the kettle\n")
        again = pipe.goes_on(old)
        assert "\nSplit the kettle\n" in again["inputRequests"]["choice"]["params"]["message"]
        found = read_tool_answer({"result": pipe.goes_on(again["requestState"], READ_ONLY)})

    assert found.reply["action_taken"].startswith(B)


def test_an_answer_without_a_choice_counts_as_none(at: RepositoryPlace) -> None:
    with AskingPipe(at, "auto") as pipe:
        state = pipe.question()["requestState"]
        found = [read_tool_answer({"result": pipe.goes_on(state, said)}) for said in UNDECIDED]

    assert [one.reply["action_taken"].startswith(NEITHER) for one in found] == [True] * len(UNDECIDED)


def test_a_person_cannot_answer_for_another(at: RepositoryPlace) -> None:
    secrets = [create_token(at.at, name)["secret"] for name in ("ann", "bob")]
    with run_http_server(at.at, "--auth", "token", PATH=at.repo.path) as served:
        ann, bob = (Visitor(served, secret, []) for secret in secrets)

        def asks(who: Visitor, **more: object) -> dict[str, Any]:
            params = {"name": "verify_plan", "arguments": {}, **more}
            return who.ask("commits", "tools/call", params, **{ABLE: FORM})

        said = {"requestState": asks(ann)["result"]["requestState"], "inputResponses": {"choice": REFORMAT}}
        assert asks(bob, **said)["error"]["code"] == -32602
        assert read_tool_answer(asks(ann, **said)).reply["action_taken"].startswith(A)


def test_a_token_comes_back_unspent_however_often_a_person_is_asked(at: RepositoryPlace) -> None:
    with AskingPipe(at, "auto") as pipe:
        token = pipe.call({}, "get_plan").reply["step_token"]
        given = {"arguments": {"step_token": token}}
        state = pipe.question(**given)["requestState"]
        found = read_tool_answer({"result": pipe.goes_on(state, **given)})
        good = {"choice": "reformat", "message": "feat(tea): brew tea\n", "step_token": token}
        assert found.reply["step_token"] == token
        assert pipe.call(good, "verify_plan").failed is False

    assert at.text() == "feat(tea): brew tea\n"


def test_a_person_is_shown_no_more_than_they_can_read_and_nothing_that_their_screen_obeys(
    at: RepositoryPlace,
) -> None:
    at.writes("\x1b[2Jgone\u202e\u200b\rA) is safe\n" + "x" * 100_000)
    with AskingPipe(at, "auto") as pipe:
        message = str(pipe.question()["inputRequests"]["choice"]["params"]["message"])

    assert len(message) < 5_000
    assert "\\u{1b}[2Jgone\\u{202e}\\u{200b}\\u{d}A) is safe\nxxx" in message
    assert "xxx\n[cut here: the rest stands in commit message]\n[" in message
    assert all(character == "\n" or character.isprintable() for character in message)


def test_a_face_without_a_server_asks_by_its_question(agent: PlanAgent) -> None:
    agent.writes(FOREIGN)
    (tool,) = [one for one in agent.face.tools if one.names == ("verify_plan",)]
    found = [agent.face.call(tool, {}, Caller()) for _ in range(2)]

    assert all(isinstance(one, Question) for one in found)
    assert len({one.about for one in found if isinstance(one, Question)}) == 1
