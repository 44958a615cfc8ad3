"""`handrail runs`, as a person and as a program use it."""

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail.engine.model import Lifecycle
from handrail.engine.refusals import RefusalCode
from handrail.runtime.entries import EntryKind
from helpers.history import GATE, PROJECT, History, create_history, open_sample_store
from helpers.program import CommandResult, run_handrail, start_handrail
from helpers.requirement import requirement
from tools.sample_store import Played

HOSTILE = "\x1b[2J\u202egnp.exe\u200b\x9b31m\x07\r\nnext"


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> History:
    return create_history(tmp_path_factory.mktemp("past") / "handrail.db")


@pytest.fixture(autouse=True)
def named(past: History, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDRAIL_STORE", str(past.path))


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Played]:
    """A store of its own, that goes on while the program looks at it."""
    monkeypatch.setenv("HANDRAIL_STORE", str(tmp_path / "own" / "handrail.db"))
    with open_sample_store(tmp_path / "own" / "handrail.db") as found:
        yield found


# --- list ---------------------------------------------------------------------------------------------------


def test_the_list_has_a_line_for_each_run_the_last_started_first(past: History) -> None:
    said = run_handrail("runs", "list")

    assert (said.status, said.err) == (0, "")
    assert [line.split("\t")[2:4] for line in said.out.splitlines()] == [
        ["running, waiting", "build"],
        ["diverged", ""],
        ["abandoned", ""],
        ["failed", ""],
        ["completed", ""],
        ["paused, quiet", "diagnose"],
        ["running, quiet", "mend"],
    ]
    assert said.out.splitlines()[-1] == (
        f"{past.runs['running']}\tbug-fix\trunning, quiet\tmend\t2026-01-31T09:01:00.000Z\tTo be running"
    )


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("--lifecycle", "failed", "--lifecycle", "paused"), ["failed", "paused"]),
        (("--workflow", "gate"), ["waiting"]),
        (("--project", PROJECT, "--text", "be p"), ["paused"]),
        (("--project", f"{PROJECT}/x/../", "--text", "be p"), ["paused"]),
        (("--project", "editor", "--lifecycle", "completed"), ["completed"]),
        (("--face", "steps", "--text", "00000004"), ["failed"]),
        (("--face", "spells"), []),
        (("--since", "2026-01-31T09:06Z"), ["waiting", "diverged"]),
        (("--until", "2026-01-31T10:02+01:00"), ["running"]),
        (("--until", "2026-01-31"), []),
        (("--since", "1s"), []),
    ],
)
def test_filters_combine(words: tuple[str, ...], found: list[str], past: History) -> None:
    by_id = {run: name for name, run in past.runs.items()}

    data = run_handrail("runs", "list", *words, "--json").data

    assert [by_id[run["id"]] for run in data["runs"]] == found


def test_a_text_that_is_too_long_to_search_for_is_refused() -> None:
    said = run_handrail("runs", "list", "--text", "a" * 201)

    assert (said.status, said.out) == (2, "")
    assert said.err.endswith("Invalid value for '--text': has more than 200 characters\n")


def test_the_next_page_is_behind_the_last_run_shown(past: History) -> None:
    first = run_handrail("runs", "list", "--limit", "3")
    last = first.out.splitlines()[-1].split("\t")[0]
    second = run_handrail("runs", "list", "--limit", "4", "--after", last)

    assert first.err == f"there are more: the same with --after {past.runs['abandoned']}\n"
    assert second.err == ""
    assert [line.split("\t")[2] for line in second.out.splitlines()] == [
        "failed",
        "completed",
        "paused, quiet",
        "running, quiet",
    ]


@requirement("steps:db.page")
def test_pages_of_a_hundred_as_json(play: Played) -> None:
    play.database.writer_connection().execute("PRAGMA synchronous = OFF")
    started = [play.start("", GATE) for _ in range(101)]

    first = run_handrail("runs", "list", "--json").data
    second = run_handrail("runs", "list", "--json", "--after", str(first["next"])).data

    assert [run["id"] for run in first["runs"]] == started[:0:-1]
    assert (len(first["runs"]), first["next"]) == (100, started[1])
    assert ([run["id"] for run in second["runs"]], second["next"]) == ([started[0]], None)


def test_a_list_without_runs_says_so_on_stderr() -> None:
    said = run_handrail("runs", "list", "--text", "no such thing")

    assert (said.status, said.out, said.err) == (0, "", "no such run\n")


@pytest.mark.parametrize(
    "words",
    [
        ("--since", "yesterday"),
        ("--since", "99999999w"),
        ("--limit", "0"),
        ("--lifecycle", "asleep"),
        ("--text", b"\xff".decode("utf-8", "surrogateescape")),
    ],
)
def test_what_cannot_be_meant_is_status_2(words: tuple[str, ...]) -> None:
    said = run_handrail("runs", "list", *words)

    assert (said.status, said.out) == (2, "")
    assert "Traceback" not in said.err


# --- one run ------------------------------------------------------------------------------------------------


def test_show_tells_where_a_run_stands_and_explains_its_refusals(past: History) -> None:
    said = run_handrail("runs", "show", "00000001")

    refused, no_row = "in reproduce was refused as", "this state does not know the trigger"
    contract = "the step output breaks the step's contract"
    assert (said.status, said.err) == (0, "")
    assert said.out.splitlines() == [
        f"run {past.runs['running']}",
        "  bug-fix, face steps, authority sql",
        "  goal To be running",
        "  project /home/ada/editor",
        "  running in mend, revision 3",
        "  started 2026-01-31T09:01:00.000Z, last called 2026-01-31T09:10:00.000Z",
        "  waits for the output of mend, from the implementer",
        "  quiet: given up from 2026-01-31T09:40:00.000Z on, unless it is called",
        "",
        "steps",
        "  1 reproduce by debugger: completed, 8 min",
        "  2 diagnose by debugger: completed, 1 min",
        "  3 mend by implementer: running, -",
        "",
        "last refusals",
        f"  25 2026-01-31T09:07:00.000Z continue {refused} contract by reproduce: {contract}",
        f"  26 2026-01-31T09:08:00.000Z finish {refused} no_row by reproduce: {no_row}",
    ]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("waiting", "  waits for tests.pass in build"),
        ("paused", "  waits for a person to resume it"),
        ("failed", "  ended 2026-01-31T09:20:00.000Z after 16 min"),
        ("diverged", "  reason done elsewhere"),
    ],
)
def test_show_tells_what_a_run_waits_for_or_how_it_ended(name: str, line: str, past: History) -> None:
    assert line in run_handrail("runs", "show", past.runs[name]).out.splitlines()


def test_show_as_json_has_the_same(past: History) -> None:
    data = run_handrail("runs", "show", "00000001", "--json").data

    assert (data["schema"], data["run"]["id"], data["run"]["state"]) == (1, past.runs["running"], "mend")
    assert [step["status"] for step in data["steps"]] == ["completed", "completed", "running"]
    assert data["waits"] == [{"what": "output", "state": "mend", "agent": "implementer", "facts": []}]
    assert [refusal["data"]["error_type"] for refusal in data["refusals"]] == [
        RefusalCode.CONTRACT,
        RefusalCode.NO_ROW,
    ]
    assert data["refusals"][0]["meaning"] == "the step output breaks the step's contract"


def test_only_the_last_five_refusals_are_shown_and_an_unknown_code_stands_alone(play: Played) -> None:
    run = play.start("", GATE)
    for number in range(7):
        play.send(run, f"trigger-{number}")
    with play.database.transaction() as execute:
        execute('UPDATE events SET metadata = \'{"error_type": "new"}\' WHERE id = 11', ())

    lines = run_handrail("runs", "show", run).out.splitlines()

    assert [line.split()[2] for line in lines[-5:-1]] == [f"trigger-{number}" for number in range(2, 6)]
    assert lines[-1].endswith("Z  in build was refused as new by ")


def test_a_run_with_more_steps_and_entries_than_a_page_is_told_to_the_end(play: Played) -> None:
    run = play.start("")
    play.database.writer_connection().execute("PRAGMA synchronous = OFF")
    for _ in range(120):
        play.send(run, "nonsense")

    assert len(run_handrail("runs", "events", run).out.splitlines()) == 124


def test_the_beginning_of_several_ids_lists_them(past: History) -> None:
    said = run_handrail("runs", "show", "0000000", "--json")

    assert said.status == 1
    error = said.data["error"]
    assert (error["code"], error["message"]) == ("ambiguous", "several runs begin with `0000000`")
    assert error["repair"].startswith(f"say which: {past.runs['running']}, {past.runs['paused']}, ")


@pytest.mark.parametrize("command", ["show", "events", "artifacts", "export"])
def test_a_run_that_is_not_there_is_status_3(command: str) -> None:
    said = run_handrail("runs", command, "nothing")

    assert (said.status, said.out) == (3, "")
    assert said.err == "handrail: no run is called `nothing`\n  handrail runs list\n"


# --- events -------------------------------------------------------------------------------------------------


def test_events_are_one_line_each_from_behind_a_number(past: History) -> None:
    said = run_handrail("runs", "events", past.runs["running"], "--after", "34")

    assert said.out == (
        '35\t2026-01-31T09:10:00.000Z\tstep_started\tmend\t{"number":3,"by":"agent"}\n'
        '36\t2026-01-31T09:10:00.000Z\ttoken_generated\tmend\t{"by":"agent"}\n'
    )


def test_events_as_json(past: History) -> None:
    data = run_handrail("runs", "events", past.runs["running"], "--after", "34", "--json").data

    assert data["events"][0] == {
        "number": 35,
        "run": past.runs["running"],
        "revision": 3,
        "at": "2026-01-31T09:10:00.000Z",
        "kind": EntryKind.STEP_STARTED,
        "step": "mend",
        "agent": "implementer",
        "data": {"number": 3, "by": "agent"},
    }


def test_following_a_run_that_has_ended_ends(past: History) -> None:
    said = run_handrail("runs", "events", "-f", past.runs["abandoned"])

    assert (said.status, len(said.out.splitlines())) == (0, 5)


def test_following_shows_what_happens_as_it_happens_until_the_run_ends(play: Played) -> None:
    run = play.start("", GATE)
    with start_handrail("runs", "events", "--follow", run, "--json") as following:
        seen = [json.loads(following.line())["event"]["kind"] for _ in range(4)]
        play.start("another", GATE)
        play.send(run, "pause")
        seen += [json.loads(following.line())["event"]["kind"]]
        play.send(run, "abandon", note="enough")
        said = following.end()

    assert seen[0] == EntryKind.WORKFLOW_CREATED
    assert seen[4] == EntryKind.WORKFLOW_STATE_TRANSITION
    assert [json.loads(line)["event"]["data"]["to"] for line in said.out.splitlines()] == ["abandoned"]
    assert (said.status, said.err) == (0, "")


def test_ctrl_c_ends_following_with_status_130_and_without_a_word(play: Played) -> None:
    run = play.start("", GATE)
    with start_handrail("runs", "events", "--follow", run) as following:
        for _ in range(4):
            following.line()
        following.interrupt()

        assert following.end() == CommandResult(130, "", "")


def test_following_a_run_that_is_pruned_ends(play: Played) -> None:
    run = play.start("", GATE)
    with start_handrail("runs", "events", "--follow", run) as following:
        for _ in range(4):
            following.line()
        with play.database.transaction() as execute:
            for table in ("replies", "steps", "events"):
                execute(f"DELETE FROM {table}", ())  # noqa: S608 - the names stand above
            execute("DELETE FROM runs", ())

        assert following.end().status == 0


# --- artifacts and export -----------------------------------------------------------------------------------


def test_artifacts_are_listed_and_one_is_printed_as_it_is(past: History) -> None:
    listed = run_handrail("runs", "artifacts", past.runs["completed"])
    text = run_handrail("runs", "artifacts", past.runs["completed"], "3")

    assert listed.out.splitlines()[2] == "3\tpatch\tCompare hashes\tmend\tfinal\t38"
    assert (text.status, text.out) == (0, "- if stamp > last\n+ if digest != last\n")


def test_artifacts_as_json(past: History) -> None:
    listed = run_handrail("runs", "artifacts", past.runs["failed"], "--json").data["artifacts"]
    one = run_handrail("runs", "artifacts", past.runs["failed"], "1", "--json").data["artifact"]

    assert [(artifact["number"], artifact["final"]) for artifact in listed] == [
        (1, False),
        (2, False),
        (3, False),
    ]
    assert one == {**listed[0], "content": "def test_save_twice(): ...\n"}


def test_an_artifact_that_is_not_there_is_status_3_and_names_the_list(past: History) -> None:
    said = run_handrail("runs", "artifacts", past.runs["paused"], "2")

    assert said.status == 3
    assert said.err.endswith(f"  handrail runs artifacts {past.runs['paused']}\n")


def test_a_run_without_artifacts_says_so(past: History) -> None:
    said = run_handrail("runs", "artifacts", past.runs["abandoned"])

    assert (said.status, said.out, said.err) == (0, "", "no artifact yet\n")


def test_a_difference_of_two_artifacts(past: History) -> None:
    words = ("runs", "artifacts", past.runs["completed"], "--diff", "1", "2")
    expected = (
        "--- 1 Save twice\n+++ 2 Timestamps too coarse\n@@ -1,2 +1,2 @@\n-def test_save_twice(): ...\n"
        "+src/save.py:41 drops equal stamps\n \n"
    )

    assert run_handrail(*words).out == expected
    assert run_handrail(*words, "--json").data["diff"] == expected[:-1]
    assert run_handrail(*words[:4], "1", "1").out == ""
    assert run_handrail(*words, "3").status == 2


def test_an_export_is_one_object_on_stdout_or_in_a_new_file_for_its_owner(
    past: History, tmp_path: Path
) -> None:
    words = ("runs", "export", past.runs["paused"])
    printed = run_handrail(*words)
    written = run_handrail(*words, "--to", "out.json", cwd=tmp_path)
    again = run_handrail(*words, "--to", "out.json", cwd=tmp_path)

    assert printed.data["run"]["lifecycle"] == Lifecycle.PAUSED
    assert json.loads((tmp_path / "out.json").read_text()) == printed.data
    assert stat.S_IMODE((tmp_path / "out.json").stat().st_mode) == 0o600
    assert (written.status, written.out, written.err) == (0, "", "written to out.json\n")
    assert (again.status, again.err.splitlines()[0]) == (1, "handrail: out.json is there already")
