"""A durable step on SQLite against DBOS, LangGraph and Burr: one call hands in an output, and it is kept.

Everybody runs in a process of its own and is measured there by the same loop. All confirm to the disk
(`synchronous=FULL`). DBOS and Burr use the rollback journal of SQLite unless their file says otherwise: they
are measured with it, and with the faster WAL that LangGraph and Handrail use. The peers keep the output and
what the run remembers; only ours also keeps a journal, checks a token and the answer, and gives out a token.
Burr makes its application anew for each call, as it is documented; a server that kept its graph, shown too,
would with WAL be faster than ours: it writes one row.
"""

import tempfile
from pathlib import Path

from peer import OURS, Side, compared


def main(steps: int = 100, rounds: int = 7) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name:
        files = [str(Path(name) / f"{number}.db") for number in range(9)]
        sides = (
            Side(OURS, "handrail_calls", (files[0],), theirs=False),
            Side("DBOS", "dbos_calls", (files[1],), "step_x_dbos", 6),
            Side("DBOS, with WAL", "dbos_calls", (files[2], "WAL"), "step_x_dbos_wal", 7),
            Side("LangGraph, resumed", "langgraph_calls", (files[3], "resume"), "step_x_langgraph", 3),
            Side("LangGraph, a chain", "langgraph_calls", (files[4], "chain"), "step_x_langgraph_chain", 3),
            Side("Burr", "burr_calls", (files[5], "made"), "step_x_burr", 2),
            Side("Burr, with WAL", "burr_calls", (files[6], "made", "WAL"), "step_x_burr_wal", 1),
            Side("Burr, its graph kept", "burr_calls", (files[7], "kept")),
            Side("Burr, its graph kept, with WAL", "burr_calls", (files[8], "kept", "WAL")),
        )
        compared("A durable step on SQLite, microseconds", sides, steps, rounds)


if __name__ == "__main__":
    main()
