"""PostgreSQL for benchmarks: a server as tests have it, here on the disk and with what it confirms to it."""

import os
import secrets
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from helpers.postgres import ADMIN, OWNER, PostgresServer, run_private_server

__all__ = ["PostgresServer", "as_admin", "confirming", "copied", "on_one_core", "processor"]


@contextmanager
def confirming() -> Iterator[PostgresServer]:
    """A server that runs until the end, and writes as PostgreSQL does by itself."""
    with run_private_server(fsync=True) as server:
        yield server


def as_admin(server: PostgresServer, url: str) -> str:
    """The same database for somebody who may do everything."""
    return server.url(_name(url), ADMIN)


def copied(server: PostgresServer, url: str) -> str:
    """The URL of a copy of a database that nobody is connected with."""
    name = f"b_{secrets.token_hex(8)}"
    order = sql.SQL("CREATE DATABASE {} TEMPLATE {} OWNER {}")
    with psycopg.connect(server.url("postgres", ADMIN), autocommit=True) as connection:
        connection.execute(order.format(*map(sql.Identifier, (name, _name(url), OWNER))))
    return server.url(name)


def processor(processes: Iterable[int]) -> float:
    """The seconds that these processes have run so far, all their threads."""
    fields = [Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split() for one in processes]
    return sum(int(some[11]) + int(some[12]) for some in fields) / os.sysconf("SC_CLK_TCK")


@contextmanager
def on_one_core(processes: Iterable[int]) -> Iterator[None]:
    """A block in which this thread and these processes share one core.

    One that sleeps on another core is woken later, as if its question took 1.7 times as long, and for seconds
    each stays where it is: then what is compared is where they happen to be.
    """
    together, before = (0, *processes), os.sched_getaffinity(0)
    try:
        for one in together:
            os.sched_setaffinity(one, {max(before)})
        yield
    finally:
        for one in together:
            os.sched_setaffinity(one, before)


def _name(url: str) -> str:
    return urlsplit(url).path.removeprefix("/")
