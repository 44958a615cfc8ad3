"""The private PostgreSQL servers of tests: shared, kept apart from others, and never left behind."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from select import select

import psycopg
import pytest

from helpers.crash import TESTS
from helpers.postgres import (
    ADMIN,
    PROGRAMS,
    SECONDS,
    PostgresError,
    PostgresServer,
    await_end,
    find_programs,
    run_private_server,
)
from helpers.postgres_guard import list_processes

pytestmark = pytest.mark.unmeasured


def _ask(url: str, *statements: str) -> list[tuple[object, ...]]:
    """What the last of these statements answers."""
    with psycopg.connect(url) as connection:
        for statement in statements[:-1]:
            connection.execute(statement.encode())
        done = connection.execute(statements[-1].encode())
        return done.fetchall() if done.description else []


def _tables(url: str) -> list[tuple[object, ...]]:
    return _ask(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")


def test_two_databases_do_not_see_each_other(postgres: PostgresServer, database: str) -> None:
    with postgres.lend_database() as other:
        _ask(database, "CREATE TABLE runs (id int)")

        assert (_tables(database), _tables(other)) == ([("runs",)], [])


def test_a_database_belongs_to_an_ordinary_role_and_sorts_by_bytes(database: str) -> None:
    assert _ask(
        database,
        "SELECT current_user, rolsuper, datcollate, datctype, pg_encoding_to_char(encoding)"
        " FROM pg_roles JOIN pg_database ON datdba = pg_roles.oid WHERE datname = current_database()",
    ) == [("handrail", False, "C", "C.UTF-8", "UTF8")]


def test_a_database_is_dropped_while_somebody_is_connected_with_it(postgres: PostgresServer) -> None:
    with postgres.lend_database() as url:
        left = psycopg.connect(url)
    left.close()

    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(url)
    postgres.drop(url)


def test_the_server_listens_on_its_socket_only_and_confirms_nothing_to_a_disk(
    postgres: PostgresServer,
) -> None:
    names = ("listen_addresses", "unix_socket_directories", "max_connections", "fsync", "synchronous_commit")
    url = postgres.url("postgres", ADMIN)

    assert [_ask(url, f"SHOW {name}") for name in names] == [
        [("",)],
        [(str(postgres.folder),)],
        [("300",)],
        [("off",)],
        [("on",)],
    ]
    assert not postgres.folder.stat().st_mode & 0o077


def test_no_process_of_the_server_is_root_even_if_the_tests_are(postgres: PostgresServer) -> None:
    owners = set()
    for pid in postgres.processes():
        with suppress(FileNotFoundError):
            owners.add(Path(f"/proc/{pid}").stat().st_uid)

    assert len(owners) == 1
    assert 0 not in owners


def test_a_server_that_is_stopped_has_no_process_and_starts_with_what_it_had() -> None:
    with run_private_server() as server:
        url = server.create_database()
        _ask(url, "CREATE TABLE runs (id int)")
        server.stop()
        stopped = server.processes()
        server.start()

        assert (stopped, _tables(url)) == ([], [("runs",)])
        first = server.processes()[0]
        server.restart("immediate")
        assert first not in server.processes()
        assert _tables(url) == [("runs",)]
    assert not server.folder.exists()
    assert server.processes() == []


def test_a_server_that_is_killed_starts_with_what_it_had_confirmed() -> None:
    with run_private_server(fsync=True) as server:
        url = server.create_database()
        _ask(url, "CREATE TABLE runs (id int)", "INSERT INTO runs VALUES (7)")
        with psycopg.connect(url) as open_still:
            open_still.execute("INSERT INTO runs VALUES (8)")
            server.kill()
            killed = server.processes()
            with pytest.raises(psycopg.OperationalError):
                open_still.execute("SELECT 1")
        server.start()

        assert (killed, _ask(url, "SELECT id FROM runs")) == ([], [(7,)])
        assert _ask(url, "SHOW fsync") == [("on",)]


def test_a_server_that_is_killed_and_not_started_again_leaves_no_shared_memory() -> None:
    with run_private_server() as server:
        memory = (server.folder / "data" / "postmaster.pid").read_text().splitlines()[6].split()[1]
        server.kill()
        assert memory in _shared_memory()

    assert memory not in _shared_memory()


def _shared_memory() -> list[str]:
    return [line.split()[1] for line in Path("/proc/sysvipc/shm").read_text().splitlines()]


def test_a_dump_is_restored_into_another_database(
    postgres: PostgresServer, database: str, tmp_path: Path
) -> None:
    _ask(database, "CREATE TABLE runs (id int)", "INSERT INTO runs VALUES (7)")
    postgres.dump(database, tmp_path / "dump")

    with postgres.lend_database() as other:
        postgres.restore(tmp_path / "dump", other)
        assert _ask(other, "SELECT id FROM runs") == [(7,)]
        with pytest.raises(PostgresError, match='relation "runs" already exists'):
            postgres.restore(tmp_path / "dump", other)


def test_a_server_that_cannot_start_says_why() -> None:
    with run_private_server() as server:
        server.stop()
        with (server.folder / "data" / "postgresql.conf").open("a") as settings:
            settings.write("handrails = 2\n")

        with pytest.raises(PostgresError, match='unrecognized configuration parameter "handrails"'):
            server.start()


def test_a_folder_whose_path_is_too_long_for_a_socket_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PostgresError, match="is too long for a socket: set TMPDIR to a shorter folder"):
        PostgresServer(tmp_path / ("long" * 16))


def test_the_newest_version_with_all_programs_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version, names in (("9.6", PROGRAMS), ("15", PROGRAMS), ("16", PROGRAMS[:-1])):
        folder = tmp_path / version / "bin"
        folder.mkdir(parents=True)
        for name in names:
            (folder / name).touch(0o755)
    (tmp_path / "path").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "path"))

    assert find_programs(tmp_path) == tmp_path / "15" / "bin"


def test_without_its_programs_it_is_said_how_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(PostgresError) as caught:
        find_programs(tmp_path)
    assert str(caught.value) == (
        "missing: initdb, pg_ctl, postgres, pg_dump, pg_restore."
        " Install PostgreSQL's server: tools/setup packages"
    )


BENCHMARK = """
import psycopg
from servers import confirming

with confirming() as server, psycopg.connect(server.create_database()) as connection:
    print(server.folder, connection.execute("SHOW fsync").fetchone())
"""


def test_a_benchmark_has_a_server_that_confirms_to_the_disk() -> None:
    path = {"PYTHONPATH": str(TESTS.parent / "benchmarks")}
    command = (sys.executable, "-c", BENCHMARK)
    done = subprocess.run(command, env=path, capture_output=True, text=True, check=True, timeout=SECONDS)

    folder, said = done.stdout.split(maxsplit=1)
    assert said == "('on',)\n"
    assert not Path(folder).exists()


# --- other test runs ----------------------------------------------------------------------------------------

TOGETHER = """
import os
from pathlib import Path

def test_that_says_which_server_it_has_and_waits_for_the_other(postgres):
    Path(f"{os.environ['PYTEST_XDIST_WORKER']}.said").symlink_to(postgres.folder)
    while len(list(Path.cwd().glob("*.said"))) < 2:
        pass
    with postgres.lend_database():
        pass
"""
FOREVER = """
import signal
from pathlib import Path

def test_that_never_ends(database, postgres):
    Path("said").write_text(str(postgres.folder))
    signal.pause()
"""


def _pytest(folder: Path, text: str, *words: str) -> subprocess.Popen[str]:
    """A test run of its own over one file."""
    (folder / "test_it.py").write_text(text)
    path = os.pathsep.join([str(TESTS), *sys.path])
    env = {name: value for name, value in os.environ.items() if not name.startswith(("COVERAGE_", "PYTEST_"))}
    plugins = ("-p", "conftest", "-p", "no:cacheprovider")
    places = (f"--rootdir={folder}", f"--basetemp={folder / 'base'}")
    return subprocess.Popen(
        (sys.executable, "-m", "pytest", *plugins, *places, "-W", "error", *words, "test_it.py"),
        cwd=folder,
        env={**env, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def test_two_workers_share_one_server_which_is_gone_when_their_run_ends(tmp_path: Path) -> None:
    with _pytest(tmp_path, TOGETHER, "--dist=each", "--tx=2*popen") as run:
        said, _ = run.communicate(timeout=SECONDS)

    assert run.returncode == 0, said
    first, second = (tmp_path / f"gw{number}.said" for number in (0, 1))
    assert first.readlink() == second.readlink()
    assert not first.exists()
    assert list_processes(first.readlink()) == []


@pytest.mark.parametrize("words", [(), ("-n", "1")])
def test_a_test_run_that_is_killed_leaves_no_server(tmp_path: Path, words: tuple[str, ...]) -> None:
    os.mkfifo(tmp_path / "said")
    said = os.open(tmp_path / "said", os.O_RDONLY | os.O_NONBLOCK)
    with _pytest(tmp_path, FOREVER, *words) as run:
        select([said], [], [], SECONDS)
        folder = Path(os.read(said, 100).decode())
        before = list_processes(folder)
        os.killpg(run.pid, signal.SIGKILL)
    os.close(said)
    await_end(folder)

    assert before != []
    assert list_processes(folder) == []
