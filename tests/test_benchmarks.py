import pytest

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
