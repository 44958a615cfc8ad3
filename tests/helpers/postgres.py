"""A private PostgreSQL server: one for a whole test run, and others for tests that stop or kill theirs.

It listens on no port, only on a socket in its folder, which nobody else may enter; nothing of it outlives
those who use it (`postgres_guard.py`). As root it runs as somebody else, since it refuses to be root.
"""

import fcntl
import os
import pwd
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote, urlsplit

import psycopg
from psycopg import sql

from helpers import postgres_guard
from helpers.memory_folder import find_memory_folder

PROGRAMS: Final = ("initdb", "pg_ctl", "postgres", "pg_dump", "pg_restore")
OWNER: Final = "handrail"
"""The role that databases belong to: an ordinary one, as it is elsewhere."""

ADMIN: Final = "postgres"
SECONDS: Final = 60
_LONGEST: Final = 63
"""A longer name of a cluster, which is that of its folder here, PostgreSQL would cut."""

_DEBIAN: Final = Path("/usr/lib/postgresql")
_ENVIRONMENT: Final = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
_QUICK: Final = """\
fsync = off
full_page_writes = off
shared_buffers = 16MB
min_wal_size = 32MB
max_wal_size = 128MB
"""

Mode = Literal["smart", "fast", "immediate"]


class PostgresError(Exception):
    """A program of PostgreSQL is missing or has failed: what it said, and the server's log."""


class PostgresServer:
    """A server with its files in a folder that `place` has made; this process holds it until `release`."""

    def __init__(self, folder: Path, *, fsync: bool = False) -> None:
        if len(str(folder)) > _LONGEST:
            raise PostgresError(f"{folder} is too long for a socket: set TMPDIR to a shorter folder")
        self.folder, self.fsync = folder, fsync
        self._held = os.open(folder / "held", os.O_RDWR | os.O_CLOEXEC)
        fcntl.lockf(self._held, fcntl.LOCK_SH)

    @property
    def log(self) -> Path:
        """What the server says."""
        return self.folder / "log"

    def release(self) -> None:
        """Hold the server no longer; who is the last to do so ends it."""
        os.close(self._held)

    def start(self) -> None:
        """Start the server, after `kill` too; the first time its files are made. It answers then."""
        new = not self._data.exists()
        if new:
            self._create()
        if not self.processes():
            # A process that was killed and not yet reaped would still count as one that runs.
            for left in (self._data / "postmaster.pid", self.folder / ".s.PGSQL.5432.lock"):
                left.unlink(missing_ok=True)
        self._control("start", "-t", str(SECONDS), "-l", str(self.log))
        if new:
            self._order(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(OWNER)))

    def stop(self, mode: Mode = "fast") -> None:
        """Stop the server: when the last session has ended, at once, or at once and with nothing written."""
        self._control("stop", "-t", str(SECONDS), "-m", mode)

    def restart(self, mode: Mode = "fast") -> None:
        """Stop the server and start it again."""
        self.stop(mode)
        self.start()

    def kill(self) -> None:
        """Kill the server with all its processes, as a loss of power would."""
        postgres_guard.kill_server(self.folder)

    def processes(self) -> list[int]:
        """The processes of the server."""
        return postgres_guard.list_processes(self.folder)

    def url(self, name: str, user: str = OWNER) -> str:
        """The URL of the database of this name; `ADMIN` is the user who may do everything."""
        return f"postgresql:///{quote(name)}?host={quote(str(self.folder))}&user={quote(user)}"

    def create_database(self, template: str = "template0") -> str:
        """The URL of a new database, which nobody else has: empty, or a copy of another one.

        To copy the files takes half the processor time of the way through its log, which PostgreSQL takes by
        itself since version 15.
        """
        name = f"t_{secrets.token_hex(8)}"
        order = sql.SQL("CREATE DATABASE {} TEMPLATE {} OWNER {}")
        with psycopg.connect(self.url("postgres", ADMIN), autocommit=True) as admin:
            copying = sql.SQL(" STRATEGY file_copy" if admin.info.server_version >= 150_000 else "")
            admin.execute(order.format(*map(sql.Identifier, (name, template, OWNER))) + copying)
        return self.url(name)

    def drop(self, url: str) -> None:
        """Remove a database, whoever is still connected with it; it may be gone."""
        order = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
        self._order(order.format(sql.Identifier(urlsplit(url).path.removeprefix("/"))))

    @contextmanager
    def lend_database(self) -> Iterator[str]:
        """The URL of a fresh database, which is dropped at the end."""
        url = self.create_database()
        try:
            yield url
        finally:
            self.drop(url)

    def dump(self, url: str, file: Path) -> None:
        """Write a copy of a database into a file, by `pg_dump`."""
        _run("pg_dump", "--format=custom", f"--file={file}", f"--dbname={url}")

    def restore(self, file: Path, url: str) -> None:
        """Put what a file has of `dump` into an empty database, all or nothing."""
        _run("pg_restore", "--single-transaction", "--exit-on-error", f"--dbname={url}", str(file))

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _create(self) -> None:
        known = _COMMON[0] / "initdb" if _COMMON else None
        if known and known.exists():
            _copied(known, self._data)
        else:
            words = ("--encoding=UTF8", "--locale=C.UTF-8", "--lc-collate=C", "--auth=trust", "--no-sync")
            self._serve("initdb", "-D", str(self._data), "-U", ADMIN, *words)
            if known:
                _keep(self._data, known)
        settings = [
            f"cluster_name = '{self.folder}'",
            f"unix_socket_directories = '{self.folder}'",
            "listen_addresses = ''",
            "max_connections = 300",
            "dynamic_shared_memory_type = mmap",
            "timezone = UTC",
            "" if self.fsync else _QUICK,
        ]
        with (self._data / "postgresql.conf").open("a") as file:
            file.write("\n".join(settings))

    def _control(self, what: str, *words: str) -> None:
        try:
            self._serve("pg_ctl", what, "-w", "-s", "-D", str(self._data), *words)
        except PostgresError as failed:
            raise PostgresError(f"{failed}\n{self.log.read_text() if self.log.exists() else ''}") from None

    def _serve(self, program: str, *words: str) -> None:
        _run(program, *words, folder=self.folder, account=choose_account())

    def _order(self, order: sql.Composed) -> None:
        with psycopg.connect(self.url("postgres", ADMIN), autocommit=True) as connection:
            connection.execute(order)


def _keep(data: Path, known: Path) -> None:
    """Keep files that `initdb` has made for the next server; somebody else may have done so at once."""
    made = Path(tempfile.mkdtemp(dir=known.parent))
    shutil.copytree(data, made / "data")
    with suppress(OSError):
        (made / "data").rename(known)


def _copied(known: Path, data: Path) -> None:
    """Have the files that `initdb` would make, as its user would."""
    shutil.copytree(known, data)
    if user := choose_account():
        for path in (data, *data.rglob("*")):
            os.chown(path, user.pw_uid, user.pw_gid)


def _run(
    program: str, *words: str, folder: Path = Path("/"), account: pwd.struct_passwd | None = None
) -> None:
    done = subprocess.run(
        [find_programs() / program, *words],
        cwd=folder,
        env=_ENVIRONMENT,
        user=account and account.pw_uid,
        group=account and account.pw_gid,
        extra_groups=[] if account else None,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=2 * SECONDS,
        check=False,
    )
    if done.returncode:
        raise PostgresError(f"{program} {' '.join(words)} failed:\n{done.stdout}{done.stderr}")


@cache
def find_programs(debian: Path = _DEBIAN) -> Path:
    """The folder of PostgreSQL's programs: where the PATH leads to, else the newest of Debian's versions."""
    named = shutil.which("initdb")
    versions = sorted(debian.glob("[0-9]*/bin"), key=lambda folder: float(folder.parent.name), reverse=True)
    for folder in [*([Path(named).resolve().parent] if named else []), *versions]:
        if all(os.access(folder / program, os.X_OK) for program in PROGRAMS):
            return folder
    raise PostgresError(f"missing: {', '.join(PROGRAMS)}. Install PostgreSQL's server: tools/setup packages")


@cache
def choose_account() -> pwd.struct_passwd | None:
    """Whom the server runs as: as root somebody else, `postgres` or `nobody`; else None, as whoever asks."""
    if os.geteuid():
        return None
    with suppress(KeyError):
        return pwd.getpwnam("postgres")
    return pwd.getpwnam("nobody")


def create_server_folder(*, disk: bool = False) -> Path:
    """A new folder for a server: short, its own, in memory where that can be unless it must be on the disk.

    The folders of tests are no place for it: as root its user may not go into them.
    """
    folder = Path(tempfile.mkdtemp(prefix="handrail-pg-", dir=None if disk else find_memory_folder()))
    (folder / "held").touch()
    if user := choose_account():
        os.chown(folder, user.pw_uid, user.pw_gid)
    return folder


def start_guarded_server(*, fsync: bool = False) -> PostgresServer:
    """A new server that runs, and ends when nobody holds it, were they all killed.

    With `fsync` its files are on the disk, and PostgreSQL's own settings hold for how it writes them.
    """
    server = PostgresServer(create_server_folder(disk=fsync), fsync=fsync)
    guard = (sys.executable, "-I", "-S", postgres_guard.__file__, str(server.folder))
    try:
        subprocess.run(guard, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        server.start()
    except BaseException:
        postgres_guard.remove_server(server.folder)
        server.release()
        raise
    return server


@contextmanager
def run_private_server(*, fsync: bool = False) -> Iterator[PostgresServer]:
    """A server of its own that runs, and may be stopped and killed; at the end nothing of it is left."""
    server = start_guarded_server(fsync=fsync)
    try:
        yield server
    finally:
        server.release()
        await_end(server.folder)


def join_shared_server(common: Path) -> PostgresServer:
    """The one server of all who have this folder in common: a link there leads to its own."""
    link = common / "postgres"
    with (common / "postgres.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if server := _joined(link):
            return server
        server = start_guarded_server()
        link.unlink(missing_ok=True)
        link.symlink_to(server.folder)
        return server


_COMMON: list[Path] = []
_OURS: list[PostgresServer] = []


def set_common_folder(common: Path) -> None:
    """Have the processes of this test run meet in this folder, should one of them need the server."""
    _COMMON[:] = [common]


def join_run_server() -> PostgresServer:
    """The server of this test run, which this process holds from now on."""
    if not _OURS:
        _OURS.append(join_shared_server(_COMMON[0]))
    return _OURS[0]


def release_run_server() -> None:
    """Hold the server of this test run no longer, if this process does."""
    while _OURS:
        _OURS.pop().release()


def _joined(link: Path) -> PostgresServer | None:
    """The server a link leads to; None if there is none, or the last who held it has just let go."""
    if not (link / "held").exists():
        return None
    try:
        server = PostgresServer(link.readlink())
    except FileNotFoundError:
        return None
    if (link / "held").exists():
        return server
    server.release()
    return None


def await_end(folder: Path) -> None:
    """Wait until nothing of a server is left; those who held it have let go."""
    last = time.monotonic() + SECONDS
    while folder.exists():
        if time.monotonic() > last:
            raise PostgresError(
                f"the server in {folder.resolve()} is still used: end the tests that still run"
            )
