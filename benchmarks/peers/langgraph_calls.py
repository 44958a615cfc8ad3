"""LangGraph: a call resumes a graph that waits, or (`chain`) takes all of a chain's steps at once.

Both keep a checkpoint of each step before they go on (`durability="sync"`).
"""

import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from itertools import count, cycle
from typing import Any, Final, TypedDict

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from peers.loop import serve
from peers.work import OUTPUT, REMEMBERED, RUNS, STATES

CHAIN: Final = 10


class Kept(TypedDict):
    """What a checkpoint holds."""

    remembered: str
    rounds: int
    output: dict[str, object]


FIRST: Final[Kept] = {"remembered": REMEMBERED, "rounds": 0, "output": {}}


def config(thread: int) -> dict[str, Any]:
    """What names a run."""
    return {"configurable": {"thread_id": str(thread)}, "recursion_limit": 1_000_000}


def resumed(saver: object) -> Callable[[], object]:
    """A call hands in the output of the state where a run waits; the state after it waits then."""
    graph = StateGraph(Kept)

    def waits(number: int) -> Callable[[Kept], object]:
        return lambda _: {"output": interrupt({"task": f"Do part {number} of what the run is for."})}

    def onward(number: int) -> Callable[[Kept], str]:
        return lambda stored: END if stored["rounds"] > 9 else f"state_{(number + 1) % STATES}"

    for number in range(STATES):
        graph.add_node(f"state_{number}", waits(number))
        graph.add_conditional_edges(
            f"state_{number}", onward(number), [END, f"state_{(number + 1) % STATES}"]
        )
    graph.add_edge(START, "state_0")
    app = graph.compile(checkpointer=saver)
    for thread in range(RUNS):
        app.invoke(FIRST, config(thread), durability="sync")
    threads = cycle(range(RUNS))
    return lambda: app.invoke(Command(resume=OUTPUT), config(next(threads)), durability="sync")


def chained(saver: object) -> Callable[[], object]:
    """A call walks a new run through the whole chain, and nothing waits in it."""
    graph = StateGraph(Kept)
    names = [f"state_{number}" for number in range(CHAIN)]
    for name in names:
        graph.add_node(name, lambda _: {"output": OUTPUT})
    for start, end in zip([START, *names], [*names, END], strict=True):
        graph.add_edge(start, end)
    app, threads = graph.compile(checkpointer=saver), count()
    return lambda: app.invoke(FIRST, config(next(threads)), durability="sync")


def served(saver: Any, kind: str) -> None:  # noqa: ANN401 - one of two classes of a package without types here
    """Measure one kind over one keeper."""
    saver.setup()
    if kind == "chain":
        serve(chained(saver), CHAIN)
    else:
        serve(resumed(saver))


def main(where: str, kind: str) -> None:
    """Serve over a file, or over a database of PostgreSQL."""
    if where.startswith("postgresql://"):
        with PostgresSaver.from_conn_string(where) as saver:
            served(saver, kind)
    else:
        with closing(sqlite3.connect(where, check_same_thread=False)) as connection:
            served(SqliteSaver(connection), kind)


if __name__ == "__main__":
    main(*sys.argv[1:])
