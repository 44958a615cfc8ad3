"""`handrail store`, and what every command over a store says when the store is not what it should be."""

import gzip
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NoReturn

import pytest
from click.testing import CliRunner

from handrail.cli.main import cli
from handrail.runtime.errors import FAULTS, Fault, SyncFailed
from handrail.runtime.store_address import locate_store
from helpers.history import History, create_history
from helpers.program import run_handrail

COMMANDS = [
    ("runs", "list"),
    ("runs", "show", "x"),
    ("runs", "events", "x"),
    ("runs", "artifacts", "x"),
    ("runs", "export", "x"),
    ("store", "check"),
    ("store", "vacuum"),
    ("store", "prune", "--older-than", "30d", "--yes"),
]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> History:
    return create_history(tmp_path_factory.mktemp("played") / "handrail.db")


@pytest.fixture
def past(played: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    """A copy of the store to be changed."""
    path = tmp_path / "store" / "handrail.db"
    path.parent.mkdir(mode=0o700)
    shutil.copy(played.path, path)
    monkeypatch.setenv("HANDRAIL_STORE", str(path))
    return History(path, played.runs)


# --- where it is --------------------------------------------------------------------------------------------


def test_the_store_is_in_the_data_folder_unless_it_is_named(home: Path, tmp_path: Path) -> None:
    default = str(home / ".local" / "share" / "handrail" / "handrail.db")

    assert run_handrail("store", "path").out == f"{default}\n"
    assert run_handrail("store", "path", XDG_DATA_HOME="").out == f"{default}\n"
    assert run_handrail("store", "path", XDG_DATA_HOME="/data").out == "/data/handrail/handrail.db\n"
    assert run_handrail("store", "path", HANDRAIL_STORE="mine.db").out == "mine.db\n"
    assert run_handrail("store", "path", "--store", "yours.db", HANDRAIL_STORE="mine.db").out == "yours.db\n"
    assert not list(tmp_path.iterdir())


def test_the_path_as_json_says_whether_it_is_there(past: History) -> None:
    assert run_handrail("store", "path", "--json").data == {
        "schema": 1,
        "path": str(past.path),
        "exists": True,
    }
    assert run_handrail("store", "path", "--json", "--store", "none.db").data["exists"] is False


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("sqlite:///a/b.db", "/a/b.db"),
        ("sqlite:////a/b.db", "/a/b.db"),
        ("sqlite:///a%20b.db", "/a b.db"),
        ("a%20b.db", "a%20b.db"),
    ],
)
def test_an_address_is_a_path_or_sqlite_and_a_path(address: str, path: str) -> None:
    assert locate_store(address) == Path(path)


NO_SOCKET = (
    'connection is bad: connection to server on socket "/nowhere/.s.PGSQL.5432" failed: '
    "No such file or directory Is the server running locally and accepting connections on that socket?"
)
NONSENSE = 'invalid URI query parameter: "nonsense"'


@pytest.mark.parametrize(
    ("address", "message", "repair"),
    [
        (
            "mysql://ada:secret@db/handrail",
            "this Handrail keeps no runs in mysql",
            "name a file, sqlite:// and its path, or postgresql:// and so on, with --store or HANDRAIL_STORE",
        ),
        (
            "postgresql://ada:secret@/handrail?password=secret&host=/nowhere&sslpassword=secret",
            f"postgresql://ada@/handrail?host=/nowhere cannot be reached: {NO_SOCKET}",
            "see that the server runs and lets this user in, then send the same call again",
        ),
        (
            "postgresql://ada:secret@/handrail?nonsense=1",
            f"postgresql://ada@/handrail?nonsense=1 is no address of a database: {NONSENSE}",
            "write postgresql://user@host:port/database, with --store or HANDRAIL_STORE",
        ),
        (
            "sqlite://relative.db",
            "`sqlite://relative.db` names no file",
            "write sqlite:// and a path that begins with /",
        ),
    ],
)
def test_an_address_of_something_else_is_refused_without_repeating_its_password(
    address: str, message: str, repair: str
) -> None:
    said = run_handrail("runs", "list", "--store", address)

    assert (said.status, said.out, said.err) == (1, "", f"handrail: {message}\n  {repair}\n")


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_store_that_is_not_there_is_status_3_and_is_not_made(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "none" / "handrail.db"

    said = run_handrail(*words, "--store", path)

    assert (said.status, said.out) == (3, "")
    assert said.err == (
        f"handrail: no store is called `{path}`\n"
        "  name another with --store or HANDRAIL_STORE; the first run makes one\n"
    )
    assert not path.parent.exists()


# --- what the world does to it ------------------------------------------------------------------------------


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_file_that_is_no_database_is_said_in_one_line_with_a_repair(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / "handrail.db").write_text("Dear diary, " * 100)

    said = run_handrail(*words, "--store", tmp_path / "handrail.db")

    assert (said.status, said.out) == (1, "")
    assert said.err == (
        f"handrail: {tmp_path / 'handrail.db'} is no sound database\n"
        "  restore a backup, or name another store\n"
    )


def test_a_fault_is_json_too_if_json_was_asked_for(past: History) -> None:
    with closing(sqlite3.connect(past.path)) as newer, newer:
        newer.execute("PRAGMA user_version = 1000")

    said = run_handrail("runs", "list", "--json")

    assert said.status == 1
    assert said.data["error"]["code"] == "newer"
    assert said.data["error"]["repair"] == "update Handrail, or name another store with HANDRAIL_STORE"


def test_a_database_of_another_program_is_let_be(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with closing(sqlite3.connect(tmp_path / "other.db")) as other, other:
        other.execute("CREATE TABLE mine (x)")

    said = run_handrail("store", "vacuum", "--store", tmp_path / "other.db")

    assert said.status == 1
    assert said.err.startswith(f"handrail: {tmp_path / 'other.db'} is a database of another program\n")


@pytest.mark.parametrize("kind", FAULTS, ids=lambda kind: kind.code)
def test_each_fault_is_a_failure_also_those_that_a_sound_disk_cannot_produce(
    kind: type[Fault], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "handrail.db").touch()

    def broken(*_: object) -> NoReturn:
        raise kind("it went wrong", "mend it")

    monkeypatch.setattr("handrail.cli.store.store_exists", broken)
    words = ["store", "check", "--store", str(tmp_path / "handrail.db")]
    done = CliRunner().invoke(cli, words)

    assert done.exit_code == (75 if kind is SyncFailed else 1)
    assert (done.stdout, done.stderr) == ("", "handrail: it went wrong\n  mend it\n")


def test_ctrl_c_at_an_instant_that_no_test_can_hit_is_status_130(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "handrail.db").touch()

    def stopped(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr("handrail.cli.store.store_exists", stopped)
    words = ["store", "check", "--store", str(tmp_path / "handrail.db")]

    assert CliRunner().invoke(cli, words).exit_code == 130


# --- check and vacuum ---------------------------------------------------------------------------------------


def test_a_sound_store_is_silent_on_stdout(past: History) -> None:
    said = run_handrail("store", "check")

    assert (said.status, said.out, said.err) == (0, "", "no damage\n")
    data = run_handrail("store", "check", "--json").data
    assert (data["path"], data["damage"]) == (str(past.path), [])
    assert data["bytes"] >= past.path.stat().st_size


def test_damage_is_a_line_each_and_status_1(past: History) -> None:
    with closing(sqlite3.connect(past.path)) as planted, planted:
        planted.execute("UPDATE runs SET current_step = ? WHERE k = 1", ("\x1b[2J",))
        planted.execute("UPDATE runs SET chain = x'00' WHERE k = 2")

    said = run_handrail("store", "check")

    assert said.status == 1
    assert said.out.splitlines() == [
        f"columns\t{past.runs['running']}\tcurrent_step is '\\x1b[2J', the record says 'mend'",
        f"chain\t{past.runs['paused']}\tits entries do not give the hash that its turns left",
    ]
    assert said.err.startswith(f"2 found in {past.path}\n  stop what uses it and restore a backup; ")
    codes = [damage["code"] for damage in run_handrail("store", "check", "--json").data["damage"]]
    assert codes == ["columns", "chain"]


def test_vacuum_says_the_bytes_before_and_after(past: History) -> None:
    said = run_handrail("store", "vacuum", "--json")
    once = past.path.stat().st_size
    answer = run_handrail("store", "vacuum")

    assert said.data["after"] == once
    assert said.data["before"] >= 100_000
    assert answer.err == f"{once} bytes before, {past.path.stat().st_size} bytes now\n"


# --- prune --------------------------------------------------------------------------------------------------


def left() -> list[str]:
    return [line.split("\t")[2] for line in run_handrail("runs", "list").out.splitlines()]


def test_prune_asks_for_yes_where_nobody_can_be_asked(past: History) -> None:
    said = run_handrail("store", "prune", "--older-than", "0s")

    assert (said.status, said.out) == (1, "")
    assert said.err.startswith(f"handrail: 4 runs would be moved to {past.path.parent}/archive/runs-20")
    assert said.err.endswith(".jsonl.gz\n  say --yes to do it\n")
    assert len(left()) == 7


def test_prune_moves_what_is_old_and_names_the_archive(past: History) -> None:
    said = run_handrail("store", "prune", "--older-than", "0s", "--yes")

    archive = Path(said.out.strip())
    assert said.status == 0
    assert said.err.splitlines() == [
        "4 of 4 runs archived",
        f"reading {archive} back",
        "4 of 4 runs deleted",
        "4 runs moved; `handrail store vacuum` gives room",
    ]
    assert archive.parent == past.path.parent / "archive"
    assert len(gzip.decompress(archive.read_bytes()).splitlines()) == 7
    assert left() == ["running, waiting", "paused, quiet", "running, quiet"]


def test_prune_as_json(past: History, tmp_path: Path) -> None:
    words = ("store", "prune", "--older-than", "2026-06-01", "--yes", "--archive", tmp_path / "a.jsonl.gz")
    first, second = run_handrail(*words, "--json"), run_handrail(*words, "--json")

    assert past.path.exists()
    assert first.data == {
        "schema": 1,
        "archive": str(tmp_path / "a.jsonl.gz"),
        "archived": {"runs": 4, "steps": 10, "artifacts": 8, "events": 55},
        "kept": 0,
    }
    assert json.loads(second.out) == {"schema": 1, "archive": None}


def test_prune_of_nothing_makes_no_archive(past: History) -> None:
    said = run_handrail("store", "prune", "--older-than", "2026-01-01")

    assert (said.status, said.out, said.err) == (0, "", "nothing is that old\n")
    assert not (past.path.parent / "archive").exists()


@pytest.mark.parametrize(("answer", "status", "runs"), [("y\n", 0, 3), ("n\n", 1, 7)])
def test_prune_asks_on_a_terminal(answer: str, status: int, runs: int, past: History) -> None:
    said = run_handrail("store", "prune", "--older-than", "0s", typed=answer)

    assert said.status == status
    assert f"4 runs would be moved to {past.path.parent}/archive/" in said.err
    assert len(left()) == runs
