"""Burr: a call loads an application from its keeper, takes one step and keeps it: safe for many processes.

The application is made as its documentation has it, with its actions and transitions; `kept` has its graph
made once, which a server that lives on could do. A journal can be named for the file.
"""

import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from functools import cache
from itertools import cycle

from burr.core import ApplicationBuilder, Graph, GraphBuilder, State, action, default, expr
from burr.core.persistence import SQLitePersister

from peers.loop import serve
from peers.work import OUTPUT, REMEMBERED, RUNS, STATES


def handed_in(state: State, output: dict[str, object]) -> State:
    """A state takes what is handed in."""
    return state.update(output=output)


def graph() -> Graph:
    """Twelve states in a ring, and the end."""
    took = action(reads=["rounds"], writes=["output"])(handed_in)
    names = [f"state_{number}" for number in range(STATES)]
    rows = []
    for number, name in enumerate(names):
        rows += [(name, "over", expr("rounds > 9")), (name, names[(number + 1) % STATES], default)]
    made = GraphBuilder().with_actions(over=took, **dict.fromkeys(names, took)).with_transitions(*rows)
    return made.build()


def prepared(keeper: object, drawn: Callable[[], Graph]) -> Callable[[], object]:
    """The call."""
    runs = cycle(range(RUNS))

    def call() -> None:
        app = (
            ApplicationBuilder()
            .with_graph(drawn())
            .with_identifiers(app_id=str(next(runs)))
            .initialize_from(
                keeper,
                resume_at_next_action=True,
                default_state={"remembered": REMEMBERED, "rounds": 0, "output": {}},
                default_entrypoint="state_0",
            )
            .with_state_persister(keeper)
            .build()
        )
        app.step(inputs={"output": OUTPUT})

    return call


def main(where: str, graphs: str, journal: str = "") -> None:
    """Serve over a file."""
    with closing(sqlite3.connect(where)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        if journal:
            connection.execute(f"PRAGMA journal_mode = {journal}")
        keeper = SQLitePersister(where, connection=connection)
        keeper.initialize()
        serve(prepared(keeper, cache(graph) if graphs == "kept" else graph))


if __name__ == "__main__":
    main(*sys.argv[1:])
