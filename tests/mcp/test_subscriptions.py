"""Who subscribes hears of a move, whoever made it, and of lists that have changed; in both eras."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from handrail.app.app import open_app
from handrail.app.faces import StepsStatus
from handrail.mcp.addresses import Spelling
from handrail.mcp.server import FaceServer, build_server
from helpers.program import run_handrail
from helpers.requirement import requirement
from helpers.servers import ERAS, Pipe, Place

UPDATED = "notifications/resources/updated"


@pytest.fixture(params=ERAS)
def listener(request: pytest.FixtureRequest, at: Place) -> Iterator[Pipe]:
    with Pipe(at, era=request.param) as pipe:
        yield pipe


def subscribe(pipe: Pipe, *uris: str) -> None:
    """Ask to hear of these, in the way of the era."""
    if pipe.era == "legacy":
        for uri in uris:
            assert pipe.ask("resources/subscribe", {"uri": uri})["result"] == {}
        return
    wanted = {"resourceSubscriptions": list(uris), "resourcesListChanged": True, "promptsListChanged": True}
    pipe.post("subscriptions/listen", {"notifications": wanted})
    assert notified(pipe)["method"] == "notifications/subscriptions/acknowledged"


def notified(pipe: Pipe) -> dict[str, Any]:
    """The next message that the server sends of its own accord."""
    while not pipe.unasked:
        line = pipe.line()
        assert line, pipe.errors()
        message: dict[str, Any] = json.loads(line)
        if "id" not in message:
            return message
    return pipe.unasked.pop(0)


def heard(pipe: Pipe, uri: str) -> None:
    """Wait until the server tells that this has changed."""
    while True:
        message = notified(pipe)
        assert message["method"] == UPDATED, message
        if message["params"]["uri"] == uri:
            return


@requirement("steps:res.subscribe")
def test_a_subscriber_hears_of_a_move_made_by_its_own_server(listener: Pipe) -> None:
    answer = listener.start()
    subscribe(listener, f"current-step://{answer.run}")

    assert listener.continue_run(answer.token).code == StepsStatus.OK

    heard(listener, f"current-step://{answer.run}")


@requirement("steps:res.subscribe")
@pytest.mark.parametrize("spelled", ["workflow-status", "workflow_status"])
def test_a_subscriber_hears_of_a_move_made_by_another_server(listener: Pipe, at: Place, spelled: str) -> None:
    answer = listener.start()
    uri = f"{spelled}://{answer.run}"
    subscribe(listener, uri)

    with Pipe(at) as other:
        assert other.continue_run(answer.token).code == StepsStatus.OK

    heard(listener, uri)


@requirement("steps:res.subscribe")
def test_a_subscriber_hears_of_what_a_person_does_on_the_command_line(listener: Pipe, at: Place) -> None:
    answer = listener.start()
    subscribe(listener, f"workflow-status://{answer.run}")

    said = run_handrail("runs", "pause", answer.run, "--store", at.store, HOME=at.env["HOME"])

    assert said.status == 0, said.err
    heard(listener, f"workflow-status://{answer.run}")


@requirement("steps:res.subscribe")
def test_a_subscriber_of_one_run_hears_of_no_other(listener: Pipe) -> None:
    one, other = listener.start(), listener.start()
    subscribe(listener, f"current-step://{one.run}")

    assert listener.continue_run(other.token).code == StepsStatus.OK
    assert listener.continue_run(one.token).code == StepsStatus.OK

    assert notified(listener)["params"]["uri"] == f"current-step://{one.run}"


@requirement("steps:res.subscribe")
def test_an_unsubscribed_client_hears_nothing_more(at: Place) -> None:
    with Pipe(at, era="legacy") as listener:
        one, other = listener.start(), listener.start()
        subscribe(listener, f"current-step://{one.run}", f"current-step://{other.run}")
        assert listener.ask("resources/unsubscribe", {"uri": f"current-step://{one.run}"})["result"] == {}

        assert listener.continue_run(one.token).code == StepsStatus.OK
        assert listener.continue_run(other.token).code == StepsStatus.OK

        assert notified(listener)["params"]["uri"] == f"current-step://{other.run}"


def test_a_client_of_2025_subscribes_to_so_many_resources_and_to_no_more(at: Place) -> None:
    with Pipe(at, era="legacy") as listener:
        for number in range(256):
            assert "result" in listener.ask("resources/subscribe", {"uri": f"current-step://{number}"})
        again = listener.ask("resources/subscribe", {"uri": "current-step://0"})
        more = listener.ask("resources/subscribe", {"uri": "current-step://256"})
        listener.ask("resources/unsubscribe", {"uri": "current-step://0"})
        freed = listener.ask("resources/subscribe", {"uri": "current-step://256"})

    assert ("result" in again, "result" in freed) == (True, True)
    assert more["error"]["message"] == (
        "a client can subscribe to 256 resources at once: unsubscribe from some"
    )


def test_a_workflow_that_is_added_changes_the_lists(listener: Pipe, at: Place) -> None:
    subscribe(listener, "persona://default")
    before = [prompt["name"] for prompt in listener.ask("prompts/list")["result"]["prompts"]]
    assert "mine" not in before

    text = "workflow: mine\nversion: 1\nauthority: sql\nsteps: [{name: a, agent: writer, task: Do it.}]\n"
    (at.project / ".handrail" / "workflows" / "mine.yaml").write_text(text, "utf-8")

    answer = {notified(listener)["method"], notified(listener)["method"]}
    assert answer == {"notifications/prompts/list_changed", "notifications/resources/list_changed"}
    after = [prompt["name"] for prompt in listener.ask("prompts/list")["result"]["prompts"]]
    assert sorted(set(after) - set(before)) == ["mine"]


def test_once_a_server_has_ended_nothing_of_it_reads_the_store(at: Place) -> None:
    async def subscribed(server: FaceServer) -> bool:
        async with server.close_afterwards():
            server.bus.subscribe(lambda _: None)
            return listening()

    def listening() -> bool:
        return any(thread.name == "handrail-feed" for thread in threading.enumerate())

    with open_app(at.store, [at.project]) as app:
        assert anyio.run(subscribed, build_server(app, "steps", Spelling.PORTABLE))
        assert not listening()


@pytest.mark.parametrize("era", ERAS)
def test_every_client_learns_that_lists_and_resources_can_change(at: Place, era: str) -> None:
    with Pipe(at, era=era) as pipe:
        answer = pipe.hello if era == "legacy" else pipe.ask("server/discover")["result"]

    assert answer["capabilities"]["resources"] == {"subscribe": True, "listChanged": True}
    assert answer["capabilities"]["prompts"] == {"listChanged": True}
