from pathlib import Path

import pytest

import bench_decision
import bench_hook
import bench_http
import bench_live
import bench_memory
import bench_pages
import bench_plan
import bench_start
import bench_stdio
import bench_step_peers
import kept
import model
import peer
from handrail.documents.plan.parse import parse_plan
from helpers.requirement import requirement
from messages import MESSAGES, PLANS
from scanner import scan

pytestmark = pytest.mark.unmeasured


@requirement("steps:fig.start")
def test_the_start_of_a_server_is_measured_against_a_bare_one(capsys: pytest.CaptureFixture[str]) -> None:
    bench_start.main(rounds=1)

    name, value, goal, _ = capsys.readouterr().out.split()
    assert (name, goal) == ("start_x_bare_mcpserver", "1.15")
    assert float(value) > 0


def test_what_a_hook_costs_is_measured_against_a_bare_interpreter(capsys: pytest.CaptureFixture[str]) -> None:
    bench_hook.main(rounds=1)

    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [(name, goal) for name, _, goal, _ in lines] == [
        ("hook_prompt_x_python", "8.50"),
        ("hook_prompt_word_x_python", "8.50"),
        ("hook_prompt_talk_x_python", "3.50"),
        ("hook_edit_x_python", "8.50"),
        ("hook_session_x_python", "8.50"),
    ]


def test_calls_over_http_are_measured_against_a_bare_server(capsys: pytest.CaptureFixture[str]) -> None:
    bench_http.main(rounds=1, seconds=0.2)

    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    figures = [line for line in lines if line[-1] in {"ok", "short"}]
    assert [(name, goal) for name, _, goal, _ in figures] == [
        ("http_step_2026_x_bare", "0.45"),
        ("http_step_2025_x_bare", "0.45"),
    ]
    assert len(lines) == len(figures) + 6


def test_an_open_page_is_measured_against_how_often_the_feed_looks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    bench_live.main(rounds=5)

    counted, figure = capsys.readouterr().out.splitlines()
    name, value, goal, _ = figure.split()
    assert counted.startswith("# 5 calls, median ")
    assert (name, goal) == ("live_page_x_poll_and_fetch", "1.00")
    assert float(value) > 0


def test_pages_over_many_runs_are_measured_against_few(capsys: pytest.CaptureFixture[str]) -> None:
    bench_pages.main(large=2000, rounds=1)

    figures = [line.split() for line in capsys.readouterr().out.splitlines() if line[0] != "#"]
    assert [(name, goal) for name, _, goal, _ in figures] == [
        ("pages_overview_x_1000_runs", "10.00"),
        ("pages_run_x_1000_runs", "10.00"),
    ]


def test_a_store_with_many_runs_is_filled_once_and_its_runs_go_on(tmp_path: Path) -> None:
    file = tmp_path / "many.db"
    for _ in range(2):
        with kept.store(file, 20, 2) as play:
            runs = play.database.reader().execute("SELECT count(*) FROM runs").fetchone()
            for run in play.tokens:
                play.turn(run)
            assert (runs, len(play.tokens)) == ((20,), 2)


def _figures(printed: str) -> list[tuple[str, str]]:
    """The names and goals of the figures, in order."""
    return [(name, goal) for name, _, goal, _ in map(str.split, printed.splitlines()) if name != "#"]


def test_calls_over_stdio_are_measured_against_a_bare_server(capsys: pytest.CaptureFixture[str]) -> None:
    bench_stdio.main(calls=2, rounds=1)

    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" = ")[0] for line in lines[:3]] == [
        "# bar A call over stdio, microseconds: A bare server's no-op",
        "# bar A call over stdio, microseconds: A read",
        "# bar A call over stdio, microseconds: A durable step",
    ]
    assert _figures("\n".join(lines[3:])) == [("stdio_read_x_bare", "1.60"), ("stdio_step_x_bare", "2.30")]


def test_the_memory_of_a_server_is_measured_against_a_bare_one(capsys: pytest.CaptureFixture[str]) -> None:
    bench_memory.main(calls=1)

    remark, figure = capsys.readouterr().out.splitlines()
    assert remark.startswith("# ")
    assert _figures(figure) == [("memory_x_bare", "1.30")]


@pytest.fixture
def no_peers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No peer is installed, whatever this machine has."""
    monkeypatch.setenv("HANDRAIL_BENCH_PEERS", str(tmp_path / "python"))


@pytest.mark.usefixtures("no_peers")
def test_a_step_is_measured_where_no_peer_is_installed_and_they_are_named_as_missing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    bench_step_peers.main(steps=2, rounds=1)

    out, err = capsys.readouterr()
    drawn, *figures = out.splitlines()
    assert drawn.startswith("# bar A durable step on SQLite, microseconds: Handrail = ")
    assert figures == [
        "step_x_dbos - 6.00 missing",
        "step_x_dbos_wal - 7.00 missing",
        "step_x_langgraph - 3.00 missing",
        "step_x_langgraph_chain - 3.00 missing",
        "step_x_burr - 2.00 missing",
        "step_x_burr_wal - 1.00 missing",
    ]
    assert err.splitlines()[0] == "DBOS is missing: run tools/setup peers"


@pytest.mark.usefixtures("no_peers")
def test_a_decision_is_measured_against_a_floor_though_no_peer_is_installed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    bench_decision.main(steps=10, rounds=1)

    figures = [line for line in capsys.readouterr().out.splitlines() if line[0] != "#"]
    assert figures[:2] == [
        "decision_x_transitions - 3.00 missing",
        "decision_x_python_statemachine - 25.00 missing",
    ]
    assert _figures(figures[2]) == [("decision_x_dict_and_guards", "10.00")]


def test_a_peer_whose_process_does_not_start_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    with peer.started(peer.Side("Nobody", "nobody", theirs=False)) as process:
        assert process is None

    assert capsys.readouterr().err == "Nobody is missing: its process did not start\n"


def test_the_plan_parser_is_measured_against_four_others(capsys: pytest.CaptureFixture[str]) -> None:
    bench_plan.main(MESSAGES[:5], rounds=1)

    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line[0] != "#"]
    assert [(name, goal) for name, _, goal, _ in lines] == [
        ("plan_x_bare_scanner", "0.60"),
        ("plan_x_conventional_commits_parser", "20.00"),
        ("plan_x_commitlint", "20.00"),
        ("plan_x_markdown_it", "20.00"),
        ("plan_twice_the_text", "2.50"),
    ]


def test_the_bare_scanner_reads_messages_as_the_parser_does() -> None:
    for text in (*MESSAGES, *PLANS):
        assert scan(text)["state"] == parse_plan(text).state, text


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
