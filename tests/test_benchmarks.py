from pathlib import Path

import pytest

import bench_http
import bench_plan
import bench_start
import model
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


def test_the_model_of_more_machines_agrees_with_what_can_be_worked_out_by_hand() -> None:
    one = model.Station(0.01)

    assert model.solved([one], 0, 0, 1) == (100, 0.01)
    assert model.solved([one], 0, 0, 8) == pytest.approx((100, 0.08))
    assert model.solved([one], 0.02, 0.97, 1) == pytest.approx((1, 0.03))
    assert model.solved([model.Station(0.01, 2)], 0, 0, 1) == pytest.approx((100, 0.01))
    assert model.solved([model.Station(0.01, 2)], 0, 0, 500)[0] == pytest.approx(200, rel=0.01)


def test_the_model_reads_what_benchmarks_print(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "figures"
    file.write_text(
        "pg_writers 1: 500 turns/s, p50 2.0 ms\npg_processor: 600 us here, 400 us at the server\n"
        "pg_http_processor: 2000 us in a replica, 1000 us at the server\n"
    )
    model.main(str(file))

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "a turn: 1000 us of a core and 1000 us of waiting"
    assert lines[3] == "| 1 | 500 | 500 |"
    assert lines[5] == "a step over HTTP: 2000 us of a replica, 1000 us of the database"
    assert lines[8].startswith("| 1 | 2 | 500 | 3, 4.0 |")
