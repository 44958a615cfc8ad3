"""What `handrail stats` counts: runs that were moved out too, and a step that a fork has inherited once."""

from pathlib import Path

from handrail.app.insights import TABLE_NAMES
from handrail.workflows.load import WorkflowSource
from helpers.history import create_history, open_sample_store
from helpers.program import run_handrail
from helpers.requirement import requirement

LITTLE = """\
workflow: {name}
version: 1
authority: sql
steps: [{{name: think, agent: thinker, task: Think.}}]
"""


def test_runs_that_were_pruned_still_count(tmp_path: Path) -> None:
    store = create_history(tmp_path / "store" / "handrail.db").path
    words = ("stats", "--since", "2026-01-31", "--json", "--store", store)

    before = run_handrail(*words).data
    assert run_handrail("store", "prune", "--older-than", "0s", "--yes", "--store", store).status == 0

    assert run_handrail(*words).data == before


@requirement("steps:life.fork")
def test_a_step_that_a_fork_inherits_was_done_once(tmp_path: Path) -> None:
    past = create_history(tmp_path / "store" / "handrail.db")
    words = ("stats", "--since", "2026-01-31", "--json", "--store", past.path)

    before = run_handrail(*words).data
    assert run_handrail("runs", "fork", past.runs["abandoned"], "--store", past.path).status == 0
    assert run_handrail("runs", "fork", past.runs["failed"], "--store", past.path).status == 0
    after = run_handrail(*words).data

    assert after["times"] == before["times"]
    assert (before["workflows"][0]["runs"], after["workflows"][0]["runs"]) == (6, 8)


def test_people_are_shown_ten_rows_and_told_that_there_are_more(tmp_path: Path) -> None:
    with open_sample_store(tmp_path / "store" / "handrail.db") as play:
        for number in range(12):
            name = f"little-{number:02}"
            play.start("", WorkflowSource(f"{name}.yaml", LITTLE.format(name=name)))

    lines = run_handrail("stats", "--store", tmp_path / "store" / "handrail.db").out.splitlines()

    assert [line.split()[0] for line in lines[5:15]] == [f"little-{number:02}" for number in range(10)]
    assert lines[15:17] == ["  and 2 more: --json has all", ""]


def test_a_table_is_printed_as_csv(tmp_path: Path) -> None:
    store = create_history(tmp_path / "store" / "handrail.db").path

    said = run_handrail("stats", "--csv", "abandonment", "--store", store)

    assert (said.status, said.err) == (0, "")
    assert said.out.splitlines() == [
        "workflow,abandoned,abandonment_rate,mean_ms,p50_ms",
        "bug-fix,1,16.666666666666668,960000.0,960000",
    ]


def test_csv_and_json_at_once_are_refused(tmp_path: Path) -> None:
    said = run_handrail("stats", "--csv", "kinds", "--json", "--store", tmp_path / "none.db")

    assert said.status == 2
    assert "--csv and --json are two forms of the same numbers: name one of them" in said.err


def test_every_table_that_can_be_asked_for_is_there(tmp_path: Path) -> None:
    store = create_history(tmp_path / "store" / "handrail.db").path

    heads = [run_handrail("stats", "--csv", name, "--store", store).out.split(",")[0] for name in TABLE_NAMES]

    assert heads == [
        *("lifecycle", "workflow", "step", "step", "workflow", "hour", "kind", "generated", "code"),
        *("day", "day", "workflow", "workflow", "span"),
    ]


def test_a_name_that_somebody_wrote_into_the_store_gives_no_orders_to_a_terminal(tmp_path: Path) -> None:
    with open_sample_store(tmp_path / "store" / "handrail.db") as play:
        play.send(play.start(""), "nonsense")
        with play.database.transaction() as execute:
            execute("UPDATE runs SET workflow_name = ?", ("\x1b[2J\u202eflow",))
            code = '{"error_type": "\\u001b[2J\\u202ecode"}'
            execute("UPDATE events SET metadata = ? WHERE event_type = 'error_occurred'", (code,))

    said = run_handrail("stats", "--store", tmp_path / "store" / "handrail.db")

    assert said.out.count("\\u{1b}[2J\\u{202e}") == 3
    assert [sign for sign in said.out if not sign.isprintable() and sign != "\n"] == []
