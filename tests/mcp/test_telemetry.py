"""OpenTelemetry is told of turns if it is asked for; else nothing of its SDK is imported."""

import json
import logging
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from mcp.server import Server
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from handrail.app.app import open_app
from handrail.app.faces import StepsStatus
from handrail.mcp.addresses import Spelling
from handrail.mcp.exporters import start_telemetry
from handrail.mcp.server import build_server
from handrail.mcp.telemetry import TurnTelemetry, is_telemetry_requested, load_telemetry
from handrail.runtime.world import TurnReport, TurnResult
from helpers.servers import TOOL, Pipe, build_note_output, create_place
from helpers.turns import NOW

CONSOLE: Final = {"OTEL_TRACES_EXPORTER": "console", "OTEL_METRICS_EXPORTER": "console"}
PARENT: Final = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def printed(text: str) -> Iterator[dict[str, Any]]:
    """Every JSON object that stands in a text at the beginning of a line."""
    at = 0
    while found := re.compile(r"^\{", re.MULTILINE).search(text, at):
        one, at = json.JSONDecoder().raw_decode(text, found.start())
        yield one


def test_a_turn_is_a_span_of_the_clients_trace_without_texts_of_agents(tmp_path: Path) -> None:
    with Pipe(create_place(tmp_path), era="legacy", **CONSOLE) as pipe:
        answer = pipe.call({"template_name": "brief", "goal": "a text of an agent"})
        given = {
            "step_token": answer.token,
            "model_output_so_far": build_note_output(summary="a text of an agent"),
        }
        traced = {"name": TOOL, "arguments": given, "_meta": {"traceparent": PARENT}}
        assert "result" in pipe.ask("tools/call", traced)
        pipe.call({"execution_id": "a text of an agent", "action": "pause"})
        pipe.ask("tools/call", {"name": "a text of an agent", "arguments": {}})
    said = pipe.errors()
    spans = [one for one in printed(said) if one.get("name") == "turn"]

    known = {"handrail.workflow": "brief", "handrail.run": answer.run}
    assert [one["attributes"] for one in spans] == [
        {**known, "handrail.trigger": "start", "handrail.outcome": "accepted"},
        {**known, "handrail.trigger": "continue", "handrail.outcome": "accepted"},
        {"handrail.trigger": "pause", "handrail.outcome": "refused", "handrail.code": "unknown_run"},
    ]
    assert [one["parent_id"] for one in spans] == [None, "0xb7ad6b7169203331", None]
    assert spans[1]["context"]["trace_id"] == "0x0af7651916cd43dd8448eb211c80319c"
    assert spans[0]["resource"]["attributes"]["service.name"] == "handrail"
    counted = [one for one in printed(said) if "resource_metrics" in one]
    assert json.dumps(counted[-1]).count('"name": "handrail.turns"') == 1
    assert "a text of an agent" not in said


def test_a_turn_that_failed_is_a_span_with_an_error_and_its_code() -> None:
    spans, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    answer = TurnTelemetry(provider.get_tracer("tests"), MeterProvider().get_meter("tests"))
    answer.record_turn(
        TurnReport("continue", TurnResult.FAILED, "busy", "", "", NOW, NOW + timedelta(seconds=2))
    )
    (span,) = spans.get_finished_spans()

    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "busy")
    assert (span.start_time, span.end_time) == (1772366400 * 10**9, 1772366402 * 10**9)
    assert span.attributes == {
        "handrail.trigger": "continue",
        "handrail.outcome": "failed",
        "handrail.code": "busy",
    }


def test_where_the_sdk_is_switched_off_nothing_of_it_is_imported(tmp_path: Path) -> None:
    with Pipe(
        create_place(tmp_path), PYTHONPROFILEIMPORTTIME="1", OTEL_SDK_DISABLED="true", **CONSOLE
    ) as pipe:
        assert pipe.start("brief").code == StepsStatus.OK
    names = re.findall(r"\| +([\w.]+)$", pipe.errors(), re.MULTILINE)

    assert "handrail.mcp.telemetry" in names
    assert [name for name in names if name.startswith("opentelemetry.sdk")] == []


def test_the_spans_of_the_protocol_are_left_out_for_they_hold_what_agents_call_tools(tmp_path: Path) -> None:
    at = create_place(tmp_path)
    with open_app(at.store, [at.project]) as app:
        served = build_server(app, "steps", Spelling.PORTABLE)

    (spans,) = Server[None]("any").middleware
    assert type(spans) not in map(type, served.middleware)


@pytest.mark.parametrize(
    ("environ", "is_wanted"),
    [
        ({}, False),
        ({"OTEL_SERVICE_NAME": "handrail"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1"}, True),
        ({"OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, False),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "console"}, True),
        ({"OTEL_TRACES_EXPORTER": "Console"}, True),
        ({"OTEL_TRACES_EXPORTER": "console", "OTEL_SDK_DISABLED": "True"}, False),
    ],
)
def test_the_standard_variables_say_whether_it_is_asked_for(
    environ: dict[str, str], *, is_wanted: bool
) -> None:
    assert is_telemetry_requested(environ) is is_wanted
    assert is_wanted or load_telemetry(environ) is None


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({"OTEL_TRACES_EXPORTER": "nothing"}, ["traces with nothing"]),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, ["traces with otlp", "metrics with otlp"]),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, ["traces with otlp"]),
    ],
)
def test_a_missing_exporter_is_logged_and_nothing_is_traced(
    environ: dict[str, str], named: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "handrail"):
        assert start_telemetry(environ) is None

    answer = [record.getMessage() for record in caplog.records]
    assert [one.removeprefix("OpenTelemetry cannot export ").partition(";")[0] for one in answer] == named
    assert all("install opentelemetry-exporter-" in one for one in answer)
