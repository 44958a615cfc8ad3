"""Stores in tables, of either kind; apart from `turns`, which many programs import that need no driver."""

from pathlib import Path

from handrail.shell.store_address import Remote
from handrail.stores.sql.database import Database
from handrail.stores.sql.postgresql.database import PgDatabase
from handrail.stores.sql.postgresql.runs import PgRuns
from handrail.stores.sql.runs import SqlRuns
from opened import kept


def postgresql(url: str) -> PgRuns:
    """A store in a new or old database."""
    return PgRuns(kept(PgDatabase(Remote(url))))


def tabled(address: str) -> SqlRuns | PgRuns:
    """A store in the new or old tables at this address: of a file, or of a database."""
    return postgresql(address) if "://" in address else SqlRuns(kept(Database(Path(address))))
