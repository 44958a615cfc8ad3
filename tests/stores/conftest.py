"""A place for the data of each kind of store, and a store on it; a database with a past, and its keeper."""

import secrets
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from handrail.runtime.ports.turn import Runs
from handrail.runtime.store_address import DatabaseUrl, StoreLocation
from handrail.stores.sql.maintenance import SqlMaintenance
from handrail.stores.sql.sqlite import SqliteDatabase
from helpers import store_copies
from helpers.history import History, create_history
from helpers.postgres import PostgresServer, join_run_server
from helpers.sql_stores import create_store
from helpers.store_copies import FullStore, create_full_store
from helpers.stores import PLACES, StorePlace


@pytest.fixture(params=list(PLACES))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StorePlace]:
    """Where the data of a store is, empty; closed at the end."""
    there = PLACES[request.param](tmp_path)
    yield there
    there.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a store in tables is opened: a new file, or a new database, which is dropped at the end."""
    if request.param == "sqlite":
        yield str(tmp_path / "store" / "handrail.db")
        return
    url = create_store(join_run_server())
    yield url
    join_run_server().drop(url)


@pytest.fixture
def runs(place: StorePlace) -> Runs:
    return place.open()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> History:
    return create_history(tmp_path_factory.mktemp("sound") / "handrail.db")


@pytest.fixture
def past(sound: History, tmp_path: Path) -> History:
    """A copy of the store to be changed."""
    path = tmp_path / "store" / "handrail.db"
    path.parent.mkdir(mode=0o700)
    shutil.copy(sound.path, path)
    return History(path, sound.runs)


@pytest.fixture(scope="module")
def full_once(tmp_path_factory: pytest.TempPathFactory) -> FullStore:
    return create_full_store(tmp_path_factory.mktemp("full") / "handrail.db")


@pytest.fixture
def filled(full_once: FullStore, tmp_path: Path) -> FullStore:
    """A store with something in every table, to be changed."""
    path = tmp_path / "filled" / "handrail.db"
    path.parent.mkdir(mode=0o700)
    shutil.copy(full_once.path, path)
    return replace(full_once, path=path)


@pytest.fixture
def new(postgres: PostgresServer, tmp_path: Path) -> Iterator[store_copies.Place]:
    """Makes a place for a store of this kind, where none is yet."""
    lent: list[str] = []
    folder = tmp_path / "new"
    folder.mkdir(mode=0o700)

    def place(kind: str) -> StoreLocation:
        if kind == "sqlite":
            return folder / f"{secrets.token_hex(4)}.db"
        lent.append(postgres.create_database())
        return DatabaseUrl(lent[-1])

    yield place
    for url in lent:
        postgres.drop(url)


@pytest.fixture
def database(past: History) -> Iterator[SqliteDatabase]:
    found = SqliteDatabase(past.path)
    yield found
    found.close()


@pytest.fixture
def keeper(database: SqliteDatabase) -> SqlMaintenance:
    return SqlMaintenance(database)
