"""A store in a PostgreSQL database."""

from typing import Final

from handrail.stores.sql.opening import Kind
from handrail.stores.sql.postgresql.database import PgDatabase
from handrail.stores.sql.postgresql.runs import PgRuns
from handrail.stores.sql.postgresql.schema import there
from handrail.stores.sql.postgresql.unfinished import unfinished

THREADS: Final = 6
"""How many turns a server takes at once."""

EVERY: Final = 1.0
"""How many seconds pass between two looks for what was not notified."""

DATABASE: Final = Kind(PgDatabase, PgRuns, there, unfinished, THREADS, EVERY)
