"""Opening a store: made whole under a lock, safe from other users, and never somebody else's file."""

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread

import pytest

from handrail.app.app import open_app
from handrail.runtime.errors import Fault, NewerFormat, NotWritable, Unreadable
from handrail.stores.sql.schema import APPLICATION_ID, load_migrations
from handrail.stores.sql.sqlite import SqliteDatabase
from helpers.cleanup import close_later
from helpers.requirement import requirement
from helpers.store_programs import run_sqlite_crowd
from helpers.stores import RUN, build_first_turn, build_next_turn, save_turns
from helpers.turns import NOW, open_sqlite


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "store" / "handrail.db"


@pytest.fixture
def open_umask() -> Iterator[None]:
    old = os.umask(0)
    yield
    os.umask(old)


def _raw(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as store:
        for statement in statements:
            store.execute(statement)


def _refused(file: Path) -> Fault:
    """Why a file is not opened; it is the same afterwards, byte for byte."""
    before = file.read_bytes()
    with pytest.raises(Fault) as caught:
        SqliteDatabase(file)
    assert file.read_bytes() == before
    assert caught.value.repair
    return caught.value


@requirement("steps:db.migrate")
def test_16_processes_that_open_a_new_store_at_once_open_the_same_one(file: Path) -> None:
    for _ in range(4):
        answer = run_sqlite_crowd("open", file, 16)
        assert [one for one in answer if "error" in one] == []
        assert len({one["key"] for one in answer}) == 1
        for left in file.parent.iterdir():
            left.unlink()


@requirement("steps:db.migrate")
def test_a_new_store_says_whose_it_is_and_how_far_it_is_migrated(file: Path) -> None:
    store = close_later(SqliteDatabase(file))
    ask = store.reader().execute

    assert ask("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert ask("PRAGMA user_version").fetchone() == (len(load_migrations()),)
    assert ask("PRAGMA journal_mode").fetchone() == ("wal",)


@requirement("steps:db.migrate")
def test_a_store_is_opened_again_and_not_migrated_again(file: Path) -> None:
    first = open_sqlite(file.parent.parent)
    stored = save_turns(first, 3)
    first.database.close()
    before = file.read_bytes()
    SqliteDatabase(file).close()

    assert file.read_bytes() == before
    again = open_sqlite(file.parent.parent)
    assert again.load(RUN) == stored


@requirement("steps:db.migrate")
def test_a_store_of_a_newer_program_is_refused_and_left_alone(file: Path) -> None:
    SqliteDatabase(file).close()
    _raw(file, f"PRAGMA user_version = {len(load_migrations()) + 1}")

    fault = _refused(file)
    assert isinstance(fault, NewerFormat)
    assert (
        f"schema {len(load_migrations()) + 1}, this program knows {len(load_migrations())}" in fault.message
    )
    assert "update Handrail" in fault.repair


@requirement("steps:db.migrate")
def test_a_newer_schema_that_comes_while_the_store_is_open_is_refused_at_the_next_write(file: Path) -> None:
    runs = open_sqlite(file.parent.parent)
    stored = save_turns(runs, 1)
    _raw(file, f"PRAGMA user_version = {len(load_migrations()) + 1}")

    for write in (
        lambda: runs.commit(build_next_turn(stored)),
        lambda: runs.note(RUN, NOW, ()),
        lambda: runs.touch(RUN, NOW),
        lambda: runs.renew_tokens(stored, {1: "x"}, NOW, ()),
    ):
        with pytest.raises(NewerFormat, match="a newer Handrail"):
            write()
    assert runs.load(RUN) == stored


def _planted(monkeypatch: pytest.MonkeyPatch, script: str) -> int:
    """Add a migration, as the next version of the program would; the number of the schema it makes."""
    scripts = (*load_migrations(), script)
    monkeypatch.setattr("handrail.stores.sql.sqlite.load_migrations", lambda: scripts)
    return len(scripts)


@requirement("steps:db.migrate")
def test_a_store_of_an_older_schema_is_brought_up_once_and_keeps_its_rows(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = open_sqlite(file.parent.parent)
    stored = save_turns(old, 2)
    added = _planted(monkeypatch, "CREATE TABLE added (a);\nINSERT INTO added SELECT revision FROM runs;")

    for _ in range(2):
        new = open_sqlite(file.parent.parent)
        ask = new.database.reader().execute
        assert ask("PRAGMA user_version").fetchone() == (added,)
        assert ask("SELECT a FROM added").fetchall() == [(2,)]
        assert new.load(RUN) == stored
        new.database.close()
    with pytest.raises(NewerFormat, match=f"a newer Handrail has brought .* to schema {added}"):
        old.commit(build_next_turn(stored))
    new = open_sqlite(file.parent.parent)
    assert new.commit(build_next_turn(stored))


def test_a_migration_that_fails_leaves_the_old_schema(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = open_sqlite(file.parent.parent)
    stored = save_turns(runs, 2)
    runs.database.close()
    _planted(monkeypatch, "CREATE TABLE half (a);\nDROP TABLE steps;\nINSERT INTO nowhere VALUES (1);")

    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        SqliteDatabase(file)
    monkeypatch.undo()
    again = open_sqlite(file.parent.parent)
    assert again.load(RUN) == stored
    ask = again.database.reader().execute
    assert ask("PRAGMA user_version").fetchone() == (len(load_migrations()),)
    assert ask("SELECT name FROM sqlite_schema WHERE name = 'half'").fetchall() == []


@pytest.mark.parametrize(
    "statements",
    [
        ("CREATE TABLE theirs (a)",),
        ("CREATE TABLE theirs (a)", "PRAGMA user_version = 1"),
        ("CREATE TABLE theirs (a)", "PRAGMA application_id = 7"),
        ("PRAGMA application_id = 7", "PRAGMA user_version = 1"),
    ],
)
def test_a_database_of_another_program_is_refused_and_left_alone(
    file: Path, statements: tuple[str, ...]
) -> None:
    file.parent.mkdir(mode=0o700)
    _raw(file, *statements)

    fault = _refused(file)
    assert isinstance(fault, Unreadable)
    assert "another program" in fault.message


@pytest.mark.parametrize("text", ["Dear diary,\n" * 400, "SQLite format 3\0" + "x" * 4080, "Hi"])
def test_a_file_that_is_no_database_is_refused_and_left_alone(file: Path, text: str) -> None:
    file.parent.mkdir(mode=0o700)
    file.write_text(text)

    assert isinstance(_refused(file), Unreadable)


@pytest.mark.parametrize("kind", ["folder", "link", "dangling link", "pipe"])
def test_what_is_no_plain_file_is_refused(file: Path, kind: str) -> None:
    file.parent.mkdir(mode=0o700)
    target = file.parent / "target"
    match kind:
        case "folder":
            file.mkdir()
        case "link":
            target.write_text("")
            file.symlink_to(target)
        case "dangling link":
            file.symlink_to(target)
        case _:
            os.mkfifo(file)

    with pytest.raises(Fault) as caught:
        SqliteDatabase(file)
    assert kind == "link" or not target.exists()
    if kind == "pipe":
        assert "is no regular file" in caught.value.message
        assert caught.value.repair == "name another with --store or HANDRAIL_STORE"


@pytest.mark.usefixtures("open_umask")
def test_only_its_owner_may_read_any_file_or_folder_of_a_store(tmp_path: Path) -> None:
    runs = open_sqlite(tmp_path / "some" / "where")
    runs.commit(build_first_turn())

    modes = {
        path.name: oct(stat.S_IMODE(path.stat().st_mode))
        for path in [tmp_path / "some", *(tmp_path / "some").rglob("*")]
    }
    assert modes == {
        "some": "0o700",
        "where": "0o700",
        "store": "0o700",
        "handrail.db": "0o600",
        "handrail.db-wal": "0o600",
        "handrail.db-shm": "0o600",
        "handrail.db.queue": "0o600",
        "handrail.db.service": "0o600",
    }


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777, 0o1777])
def test_a_folder_that_others_may_write_is_refused(file: Path, mode: int) -> None:
    file.parent.mkdir()
    file.parent.chmod(mode)

    with pytest.raises(NotWritable, match="others may replace files") as caught:
        SqliteDatabase(file)
    assert caught.value.repair == f"chmod go-w {file.parent}"
    assert list(file.parent.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_named(file: Path) -> None:
    file.parent.write_text("a file where the folder should be")

    with pytest.raises(NotWritable, match=r"handrail\.db cannot be opened") as caught:
        SqliteDatabase(file)
    assert "HANDRAIL_STORE" in caught.value.repair


def test_a_refused_file_leaves_nothing_open(file: Path) -> None:
    file.parent.mkdir(mode=0o700)
    file.write_text("x" * 200)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        with pytest.raises(Unreadable):
            SqliteDatabase(file)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_thread_that_has_ended_leaves_no_connection_behind(file: Path) -> None:
    runs = open_sqlite(file.parent.parent)
    stored = save_turns(runs, 1)
    found: list[object] = []

    def opened() -> int:
        thread = Thread(target=lambda: found.append(runs.load(RUN)))
        thread.start()
        thread.join(10)
        return len(list(Path("/proc/self/fd").iterdir()))

    first = opened()
    assert {opened() for _ in range(20)} == {first}
    assert found == [stored] * 21


@requirement("steps:db.nobuffer")
def test_what_is_acknowledged_is_there_for_a_process_that_opens_the_file_next(file: Path) -> None:
    runs = open_sqlite(file.parent.parent)
    save_turns(runs, 2)
    program = "import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute('SELECT revision FROM runs'))"
    done = subprocess.run([sys.executable, "-c", program, file], capture_output=True, text=True, check=True)

    assert done.stdout == "(2,)\n"


def test_what_a_server_seals_is_opened_by_the_next_one_and_by_no_token_key(file: Path) -> None:
    with open_app(file) as first:
        sealed, key = first.secret, first.world.key
    with open_app(file) as second:
        assert second.secret == sealed

    assert len(sealed) == 32
    assert sealed != key
    with open_app(file.with_name("other.db")) as other:
        assert other.secret != sealed
