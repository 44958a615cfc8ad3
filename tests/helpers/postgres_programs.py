"""Programs on one PostgreSQL database, each of which tells JSON.

Run as `python -m helpers.postgres_programs <what> <url> …`.
`open` has so many processes open it at once, each of which starts a run; `newer` is a program that knows one
migration more, and starts a run or moves one.
"""

import json
import sys
from functools import partial
from typing import Final

from handrail.runtime.store_address import DatabaseUrl
from handrail.stores.sql.postgres import schema
from handrail.stores.sql.postgres.database import PgDatabase
from handrail.stores.sql.postgres.pg_runs import PgRuns
from handrail.stores.sql.schema import load_migrations
from helpers.sqlite_crowd import ProcessReport, run_together
from helpers.turns import ENDLESS, TurnHarness, load_pinned

ADDED: Final = "CREATE TABLE added (a BIGINT);\nINSERT INTO added VALUES (7);"


def open_together(url: str, number: int) -> ProcessReport:
    """One of many that open a database at the same time, and use it."""
    runs = PgRuns(PgDatabase(DatabaseUrl(url)))
    harness = TurnHarness(runs)
    harness.ids.runs = number << 32
    key, answer = runs.load_token_key().hex(), harness.start(load_pinned(ENDLESS))
    moved = harness.send(answer["run"], "go", answer["token"])
    runs.database.close()
    return {"key": key, "revision": moved["revision"]}


def open_as_newer(url: str) -> ProcessReport:
    """A program that knows more than this one opens the database, and uses it."""
    schema._migration_scripts = lambda: (*load_migrations("postgres/migrations"), ADDED)  # noqa: SLF001 - as one would know that is newer
    return open_together(url, 1000)


if __name__ == "__main__":
    what, where, *rest = sys.argv[1:]
    told = (
        open_as_newer(where) if what == "newer" else run_together(int(rest[0]), partial(open_together, where))
    )
    sys.stdout.write(json.dumps(told))
