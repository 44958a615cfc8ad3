import pytest

import bench_http
import bench_plan
import bench_start
from handrail.plan.parse import parse
from messages import MESSAGES, PLANS
from requirement import requirement
from scanner import scan

pytestmark = pytest.mark.unmeasured


@requirement("steps:fig.start")
def test_the_start_of_a_server_is_measured_against_a_bare_one(capsys: pytest.CaptureFixture[str]) -> None:
    bench_start.main(rounds=1)

    name, value, goal, _ = capsys.readouterr().out.split()
    assert (name, goal) == ("start_x_bare_mcpserver", "1.10")
    assert float(value) > 0


def test_calls_over_http_are_measured_against_a_bare_server(capsys: pytest.CaptureFixture[str]) -> None:
    bench_http.main(rounds=1, seconds=0.2)

    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    figures = [line for line in lines if line[-1] in {"ok", "short"}]
    assert [(name, goal) for name, _, goal, _ in figures] == [
        ("http_read_2026_x_bare", "0.70"),
        ("http_step_2026_x_bare", "0.70"),
        ("http_read_2025_x_bare", "0.70"),
        ("http_step_2025_x_bare", "0.70"),
    ]
    assert len(lines) == len(figures) + 6


def test_the_plan_parser_is_measured_against_three_others(capsys: pytest.CaptureFixture[str]) -> None:
    bench_plan.main(MESSAGES[:5], rounds=1)

    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [(name, goal) for name, _, goal, _ in lines] == [
        ("plan_x_bare_scanner", "0.60"),
        ("plan_x_conventional_commits_parser", "20.00"),
        ("plan_x_markdown_it", "20.00"),
        ("plan_twice_the_text", "2.50"),
    ]


def test_the_bare_scanner_reads_messages_as_the_parser_does() -> None:
    for text in (*MESSAGES, *PLANS):
        assert scan(text)["state"] == parse(text).state, text
