"""Who may do what, as the store keeps it: a secret opens what it was given for, as long as it is good."""

import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from handrail.shell.access import PREFIX, AccessToken, Grant, Scope, digest_of, new_secret
from handrail.stores.sql.access import SqlAccess
from handrail.stores.sql.database import Database
from opened import kept
from tabled import tabled

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
READER = Grant("ada", frozenset({Scope.READ}))


@pytest.fixture
def access(address: str) -> SqlAccess:
    return SqlAccess(tabled(address).database)


def given(access: SqlAccess, grant: Grant = READER, expires: datetime | None = None) -> tuple[str, str]:
    """The secret of a new token, and its id."""
    secret = new_secret()
    access.give(secret.digest, AccessToken(secret.id, grant, NOW, expires))
    return secret.text, secret.id


def test_a_secret_opens_what_it_was_given_for(access: SqlAccess) -> None:
    secret, name = given(access)

    shown = access.shown(digest_of(secret), NOW)

    assert shown is not None
    assert (shown.id, shown.grant) == (name, READER)


@pytest.mark.parametrize("changed", ["", "x", "SECRETx", "secret", "SECRE"])
def test_no_other_secret_opens_anything(access: SqlAccess, changed: str) -> None:
    secret, _ = given(access)
    other = (
        changed.replace("SECRET", secret).replace("SECRE", secret[:-1]).replace("secret", secret.swapcase())
    )

    assert access.shown(digest_of(other), NOW) is None


def test_a_secret_is_good_until_it_expires(access: SqlAccess) -> None:
    secret, _ = given(access, expires=NOW + timedelta(days=1))

    assert access.shown(digest_of(secret), NOW + timedelta(days=1, milliseconds=-1)) is not None
    assert access.shown(digest_of(secret), NOW + timedelta(days=1)) is None


def test_a_secret_is_good_until_it_is_revoked(access: SqlAccess) -> None:
    secret, name = given(access)

    assert access.revoke(name, NOW)
    assert not access.revoke(name, NOW)
    assert not access.revoke("nobody's", NOW)
    assert access.shown(digest_of(secret), NOW) is None
    assert access.tokens()[0].revoked == NOW


def test_its_use_is_kept_to_the_minute(access: SqlAccess) -> None:
    secret, _ = given(access)

    for seconds, noted in [(0, 0), (59, 0), (60, 60), (61, 60), (119, 60), (120, 120)]:
        assert access.shown(digest_of(secret), NOW + timedelta(seconds=seconds)) is not None
        assert access.tokens()[0].used == NOW + timedelta(seconds=noted)


def test_the_secret_itself_stands_nowhere_in_the_store(tmp_path: Path) -> None:
    access = SqlAccess(kept(Database(tmp_path / "handrail.db")))
    secret, _ = given(access)
    access.shown(digest_of(secret), NOW)

    assert secret.startswith(PREFIX)
    for path in tmp_path.iterdir():
        assert secret.removeprefix(PREFIX).encode() not in path.read_bytes(), path


def test_a_digest_that_is_none_is_not_taken(access: SqlAccess) -> None:
    with pytest.raises((sqlite3.IntegrityError, psycopg.IntegrityError)):
        access.give(b"short", AccessToken("x", READER, NOW))
