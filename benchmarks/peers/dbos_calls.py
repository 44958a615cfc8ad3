"""DBOS: a call is a workflow of one step, whose result is kept. A journal can be named for its file."""

import sqlite3
import sys
from collections.abc import Callable
from itertools import count

from dbos import DBOS

from peers.loop import serve
from peers.work import OUTPUT, REMEMBERED


def prepared() -> Callable[[], object]:
    """The call."""
    numbers = count()

    def handed_in(number: int) -> dict[str, object]:
        return {**OUTPUT, "number": number}

    step = DBOS.step()(handed_in)

    def walked(number: int, remembered: str) -> object:
        return step(number) if remembered else None

    workflow = DBOS.workflow()(walked)
    return lambda: workflow(next(numbers), REMEMBERED)


def main(where: str, journal: str = "") -> None:
    """Serve over a file, or over a database of PostgreSQL."""
    remote = where.startswith("postgresql://")
    if journal:
        with sqlite3.connect(where) as connection:
            connection.execute(f"PRAGMA journal_mode = {journal}")
        connection.close()
    url = where.replace("postgresql://", "postgresql+psycopg://") if remote else f"sqlite:///{where}"
    DBOS(
        config={
            "name": "bench",
            "system_database_url": url,
            "log_level": "ERROR",
            "run_admin_server": False,
        }
    )
    call = prepared()
    DBOS.launch()
    serve(call)
    DBOS.destroy()


if __name__ == "__main__":
    main(*sys.argv[1:])
