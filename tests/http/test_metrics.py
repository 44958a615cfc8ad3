"""What Prometheus reads: counted over the real server, with labels that no agent can fill."""

import re
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from mcp import Client

from handrail.app.faces import Answer, StepsStatus, Tool
from handrail.http.metrics import Metrics
from helpers.http_clients import WireClient
from helpers.http_servers import FACES, HttpServer, create_token, run_http_server
from helpers.metrics import parse_samples, read_metrics
from helpers.servers import ERAS, TOOL, Pipe, Place, build_note_output, create_place, wait_until


async def _calls(served: HttpServer, era: str) -> None:
    async with Client(served.url("steps"), mode=era) as client:
        begun = await client.call_tool(TOOL, {"template_name": "brief"})
        assert begun.structured_content is not None
        token = {"step_token": begun.structured_content["new_step_token"]}
        for _ in range(2):
            await client.call_tool(TOOL, {**token, "model_output_so_far": build_note_output()})
        await client.call_tool(TOOL, {"template_name": "a text of an agent"})
        await client.call_tool(TOOL, {"execution_id": "another text of an agent"})


@pytest.mark.parametrize("era", ERAS)
def test_calls_turns_and_refusals_are_counted_and_no_label_holds_what_an_agent_said(
    served: HttpServer, era: str
) -> None:
    before = parse_samples(read_metrics(served).text)
    anyio.run(_calls, served, era)
    answered = read_metrics(served)
    after = parse_samples(answered.text)

    assert answered.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    grown = {
        name: value - before.get(name, 0) for name, value in after.items() if name.startswith("handrail_")
    }
    answer = {
        name: value
        for name, value in grown.items()
        if value and not re.search("_created|_sum|le=|_memory_", name)
    }
    assert answer == {
        f"handrail_calls_total{{face=steps,outcome=ok,tool={TOOL}}}": 3,
        f"handrail_calls_total{{face=steps,outcome=refused,tool={TOOL}}}": 2,
        "handrail_refusals_total{code=unknown_run}": 1,
        "handrail_refusals_total{code=unknown_workflow}": 1,
        "handrail_turn_seconds_count{outcome=accepted}": 2,
        "handrail_turn_seconds_count{outcome=repeated}": 1,
    }
    assert "text of an agent" not in answered.text


async def _standing(served: HttpServer) -> tuple[dict[str, float], dict[str, float]]:
    """The figures while a client of 2025 has a session and two subscriptions, and when it has gone."""
    wire = WireClient(served, "steps", "legacy")
    await wire.greet()
    for number, name in enumerate(("default", "tester"), 2):
        await wire.ask(number, "resources/subscribe", {"uri": f"persona://{name}"})
    during = parse_samples(await anyio.to_thread.run_sync(lambda: read_metrics(served).text))
    await wire.leave()
    return during, parse_samples(await anyio.to_thread.run_sync(lambda: read_metrics(served).text))


def test_how_a_server_stands_is_told(served: HttpServer) -> None:
    during, after = anyio.run(_standing, served)

    assert [during[f"handrail_sessions{{face={face}}}"] for face in FACES] == [0, 0, 0, 0, 1]
    assert [during[f"handrail_subscriptions{{face={face}}}"] for face in FACES] == [0, 0, 0, 0, 2]
    assert [after[f"handrail_sessions{{face={face}}}"] for face in FACES] == [0, 0, 0, 0, 0]
    assert (after["handrail_writer_waiting"], after["handrail_feed_behind"]) == (0, 0)
    assert after["handrail_calls_under_way"] == 0
    assert after["process_open_fds"] > 0


def test_a_code_that_is_not_ours_and_a_busy_store_have_their_places() -> None:
    metrics, tool = Metrics(), Tool(("go", "walk"), {})
    for code in ("busy", "busy", "internal", "a text of an agent"):
        metrics.record_call("steps", tool, Answer({"code": code}, "", failed=True))
    metrics.record_call("steps", tool, Answer({"code": "in a good answer it is none"}, "", failed=False))
    metrics.set_load(None)
    answer = {
        name: value
        for name, value in parse_samples(metrics.text().decode()).items()
        if "_created" not in name
    }

    assert answer["handrail_calls_total{face=steps,outcome=failed,tool=go}"] == 3
    assert answer["handrail_calls_total{face=steps,outcome=refused,tool=go}"] == 1
    assert answer["handrail_calls_total{face=steps,outcome=ok,tool=go}"] == 1
    assert {name: value for name, value in answer.items() if "refusals" in name} == {
        "handrail_refusals_total{code=busy}": 2,
        "handrail_refusals_total{code=internal}": 1,
        "handrail_refusals_total{code=other}": 1,
    }
    assert answer["handrail_store_busy_total"] == 2
    assert str(answer["handrail_feed_behind"]) == "nan"


@pytest.mark.parametrize(
    "more",
    [
        {"X-Forwarded-For": "127.0.0.1"},
        {"X-Forwarded-For": "192.0.2.1"},
        {"Forwarded": "for=127.0.0.1"},
        {"Via": "1.1 proxy"},
        {"X-Real-IP": "127.0.0.1"},
        {"Authorization": "Bearer hr_x"},
    ],
)
def test_where_tokens_are_asked_for_who_is_near_needs_none_unless_they_speak_for_somebody(
    guarded: HttpServer, more: dict[str, str]
) -> None:
    assert read_metrics(guarded).status == 200
    assert read_metrics(guarded, **more).status == 401


@pytest.fixture(scope="module")
def guarded(at: Place) -> Iterator[HttpServer]:
    create_token(at, "keeper", "admin")
    with run_http_server(at, "--auth", "token") as made:
        yield made


def test_behind_a_proxy_nobody_is_near_and_a_token_needs_the_scope(at: Place) -> None:
    reader, writer = (create_token(at, name, f"run:{name}")["secret"] for name in ("read", "write"))
    with run_http_server(at, "--auth", "token", "--known-as", "team.example:443") as served:
        statuses = [read_metrics(served).status, read_metrics(served, Host="team.example:443").status]
        forbidden = read_metrics(served, Authorization=f"Bearer {writer}")
        assert read_metrics(served, Authorization=f"Bearer {reader}").status == 200

    assert statuses == [401, 401]
    assert (forbidden.status, "a token for all projects with the scope run:read" in forbidden.text) == (
        403,
        True,
    )


def test_only_a_server_over_http_imports_what_counts(tmp_path: Path) -> None:
    """The interpreter says what is imported; the face that is served is the only one."""
    at = create_place(tmp_path)
    with Pipe(at, PYTHONPROFILEIMPORTTIME="1") as pipe:
        assert pipe.start("brief").code == StepsStatus.OK
    names = set(re.findall(r"\| +([\w.]+)$", pipe.errors(), re.MULTILINE))

    faces = {f"handrail.mcp.faces.{face}" for face in FACES}
    assert names & faces == {"handrail.mcp.faces.steps"}
    unwanted = ("prometheus_client", "opentelemetry.sdk", "handrail.http", "handrail.mcp.faces.shared")
    assert [name for name in sorted(names) if name.startswith(unwanted)] == []


def test_the_feed_is_no_longer_behind_once_it_has_told(served: HttpServer) -> None:
    async def heard() -> None:
        wire = WireClient(served, "steps", "legacy")
        await wire.greet()
        await wire.ask(2, "resources/subscribe", {"uri": "persona://default"})
        await wire.call(3, TOOL, {"template_name": "brief"})

    anyio.run(heard)
    wait_until(lambda: parse_samples(read_metrics(served).text)["handrail_feed_behind"] == 0, "all is told")
