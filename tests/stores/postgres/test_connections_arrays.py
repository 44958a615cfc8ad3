"""Columns of values arrive at PostgreSQL as they were sent, whatever is in them."""

from collections.abc import Iterator

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.runtime.store_address import DatabaseUrl
from handrail.stores.sql.postgres.connections import Connection, NumberArray, TextArray, connect
from helpers.postgres import join_run_server

TEXTS = st.lists(st.none() | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
NUMBERS = st.lists(st.none() | st.integers(-(2**63), 2**63 - 1))


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    with connect(DatabaseUrl(join_run_server().url("postgres"))) as connection:
        yield connection


@given(texts=TEXTS, numbers=NUMBERS)
def test_columns_come_back_as_they_were_sent(
    texts: list[str | None], numbers: list[int | None], connection: Connection
) -> None:
    found = connection.execute("SELECT $1, $2", (TextArray(texts), NumberArray(numbers))).fetchone()

    assert found == (texts, numbers)


def test_an_empty_column_has_its_type(connection: Connection) -> None:
    asked = "SELECT CAST(pg_typeof($1) AS TEXT), CAST(pg_typeof($2) AS TEXT)"

    assert connection.execute(asked, (TextArray(), NumberArray())).fetchone() == ("text[]", "bigint[]")


def test_a_zero_byte_is_refused_before_it_is_sent(connection: Connection) -> None:
    with pytest.raises(psycopg.DataError) as caught:
        connection.execute("SELECT $1", (TextArray(("a", None, "b\0")),))

    assert caught.value.sqlstate is None
