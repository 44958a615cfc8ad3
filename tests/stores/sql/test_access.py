"""Who may do what, as the store keeps it: a secret opens what it was given for, as long as it is good."""

import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from handrail.runtime.ports.access import (
    SECRET_PREFIX,
    AccessScope,
    AccessToken,
    Grant,
    create_secret,
    hash_secret,
)
from handrail.stores.sql.access import SqlAccessTokens
from handrail.stores.sql.sqlite import SqliteDatabase
from helpers.cleanup import close_later
from helpers.sql_stores import open_sql_runs

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
READER = Grant("ada", frozenset({AccessScope.READ}))


@pytest.fixture
def access(address: str) -> SqlAccessTokens:
    return SqlAccessTokens(open_sql_runs(address).database)


def given(access: SqlAccessTokens, grant: Grant = READER, expires: datetime | None = None) -> tuple[str, str]:
    """The secret of a new token, and its id."""
    secret = create_secret()
    access.add_token(secret.digest, AccessToken(secret.id, grant, NOW, expires))
    return secret.text, secret.id


def test_a_secret_opens_what_it_was_given_for(access: SqlAccessTokens) -> None:
    secret, name = given(access)

    shown = access.use_token(hash_secret(secret), NOW)

    assert shown is not None
    assert (shown.id, shown.grant) == (name, READER)


@pytest.mark.parametrize("changed", ["", "x", "SECRETx", "secret", "SECRE"])
def test_no_other_secret_opens_anything(access: SqlAccessTokens, changed: str) -> None:
    secret, _ = given(access)
    other = (
        changed.replace("SECRET", secret).replace("SECRE", secret[:-1]).replace("secret", secret.swapcase())
    )

    assert access.use_token(hash_secret(other), NOW) is None


def test_a_secret_is_good_until_it_expires(access: SqlAccessTokens) -> None:
    secret, _ = given(access, expires=NOW + timedelta(days=1))

    assert access.use_token(hash_secret(secret), NOW + timedelta(days=1, milliseconds=-1)) is not None
    assert access.use_token(hash_secret(secret), NOW + timedelta(days=1)) is None


def test_a_secret_is_good_until_it_is_revoked(access: SqlAccessTokens) -> None:
    secret, name = given(access)

    assert access.revoke(name, NOW)
    assert not access.revoke(name, NOW)
    assert not access.revoke("nobody's", NOW)
    assert access.use_token(hash_secret(secret), NOW) is None
    assert access.tokens()[0].revoked == NOW


def test_its_use_is_kept_to_the_minute(access: SqlAccessTokens) -> None:
    secret, _ = given(access)

    for seconds, noted in [(0, 0), (59, 0), (60, 60), (61, 60), (119, 60), (120, 120)]:
        assert access.use_token(hash_secret(secret), NOW + timedelta(seconds=seconds)) is not None
        assert access.tokens()[0].used == NOW + timedelta(seconds=noted)


def test_the_secret_itself_stands_nowhere_in_the_store(tmp_path: Path) -> None:
    access = SqlAccessTokens(close_later(SqliteDatabase(tmp_path / "handrail.db")))
    secret, _ = given(access)
    access.use_token(hash_secret(secret), NOW)

    assert secret.startswith(SECRET_PREFIX)
    for path in tmp_path.iterdir():
        assert secret.removeprefix(SECRET_PREFIX).encode() not in path.read_bytes(), path


def test_a_digest_that_is_none_is_not_taken(access: SqlAccessTokens) -> None:
    with pytest.raises((sqlite3.IntegrityError, psycopg.IntegrityError)):
        access.add_token(b"short", AccessToken("x", READER, NOW))
