"""A durable step on PostgreSQL against DBOS and LangGraph: the same work as on SQLite, on one server.

Everybody has a database of its own on it, and a process of its own that is measured by the same loop.
"""

from peer import OURS, Side, compared
from servers import as_admin, confirming


def main(steps: int = 100, rounds: int = 7) -> None:
    """Print the figures."""
    with confirming() as server:
        ours, *theirs = (server.create_database() for _ in range(4))
        urls = [as_admin(server, url) for url in theirs]
        sides = (
            Side(OURS, "handrail_calls", (ours,), theirs=False),
            Side("DBOS", "dbos_calls", (urls[0],), "pg_step_x_dbos", 5),
            Side("LangGraph, resumed", "langgraph_calls", (urls[1], "resume"), "pg_step_x_langgraph", 3),
            Side("LangGraph, a chain", "langgraph_calls", (urls[2], "chain"), "pg_step_x_langgraph_chain", 2),
        )
        compared("A durable step on PostgreSQL, microseconds", sides, steps, rounds)


if __name__ == "__main__":
    main()
