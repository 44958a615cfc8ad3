"""Burr: a call loads an application from its keeper, takes one step and keeps it: safe for many processes.

A journal can be named for its file.
"""

import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from itertools import cycle

from burr.core import ApplicationBuilder, GraphBuilder, State, action, default, expr
from burr.core.persistence import SQLitePersister

from peers.loop import serve
from peers.work import OUTPUT, REMEMBERED, RUNS, STATES


def handed_in(state: State, output: dict[str, object]) -> State:
    """A state takes what is handed in."""
    return state.update(output=output)


def prepared(keeper: object) -> Callable[[], object]:
    """The call."""
    took = action(reads=["rounds"], writes=["output"])(handed_in)
    names = [f"state_{number}" for number in range(STATES)]
    rows = []
    for number, name in enumerate(names):
        rows += [(name, "over", expr("rounds > 9")), (name, names[(number + 1) % STATES], default)]
    graph = GraphBuilder().with_actions(over=took, **dict.fromkeys(names, took)).with_transitions(*rows)
    built, runs = graph.build(), cycle(range(RUNS))

    def call() -> None:
        app = (
            ApplicationBuilder()
            .with_graph(built)
            .with_identifiers(app_id=str(next(runs)))
            .initialize_from(
                keeper,
                resume_at_next_action=True,
                default_state={"remembered": REMEMBERED, "rounds": 0, "output": {}},
                default_entrypoint=names[0],
            )
            .with_state_persister(keeper)
            .build()
        )
        app.step(inputs={"output": OUTPUT})

    return call


def main(where: str, journal: str = "") -> None:
    """Serve over a file."""
    with closing(sqlite3.connect(where)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        if journal:
            connection.execute(f"PRAGMA journal_mode = {journal}")
        keeper = SQLitePersister(where, connection=connection)
        keeper.initialize()
        serve(prepared(keeper))


if __name__ == "__main__":
    main(*sys.argv[1:])
