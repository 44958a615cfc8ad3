"""What PostgreSQL and its driver raise for the world's doing, by the names of the house."""

from collections.abc import Mapping
from typing import Final

import psycopg
from psycopg import errors

from handrail.shell.faults import (
    Busy,
    DiskFull,
    Fault,
    Missing,
    NoServer,
    NotWritable,
    Unreadable,
)
from handrail.shell.store_address import Remote

AGAIN: Final = "send the same call again"
BACK: Final = "see that the server runs and lets this user in, then " + AGAIN
_BUSY: Final = (
    errors.LockNotAvailable,
    errors.QueryCanceled,
    errors.DeadlockDetected,
    errors.SerializationFailure,
    errors.UniqueViolation,
    errors.TooManyConnections,
)
_UNSOUND: Final = (Unreadable, "{} is no sound database", "restore a backup, or name another store")
_CLASSES: Final[Mapping[type[psycopg.Error], tuple[type[Fault], str, str]]] = {
    errors.DiskFull: (
        DiskFull,
        "there is no room on the disk of {}",
        "free some space there, then " + AGAIN,
    ),
    errors.ReadOnlySqlTransaction: (
        NotWritable,
        "{} takes no changes: it is a standby, or read only",
        "name the primary server with --store or HANDRAIL_STORE",
    ),
    errors.InsufficientPrivilege: (
        NotWritable,
        "the user of {} may not do that there",
        "have its owner grant this user what it needs: docs/guides/team-server.md",
    ),
    errors.UndefinedTable: (
        Unreadable,
        "{} has not the tables of a store",
        "restore a backup, or name another store with --store or HANDRAIL_STORE",
    ),
    errors.DataCorrupted: _UNSOUND,
    errors.IndexCorrupted: _UNSOUND,
}


class Faults:
    """A block in which what the server raises for the world's doing gets its name and its repair.

    Our own mistakes pass. One is enough for any number of blocks.
    """

    def __init__(self, place: Remote) -> None:
        self._place = place

    def __enter__(self) -> None:
        """Nothing is needed before."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raises the fault that the error of the block stands for, if it is one of the world's."""
        fault = named(self._place, error) if isinstance(error, psycopg.Error) else None
        if fault:
            raise fault from error


def named(place: Remote, error: psycopg.Error) -> Fault | None:
    """The fault that an error stands for; None if it is a mistake of ours."""
    if isinstance(error, psycopg.DataError) and error.sqlstate is None:
        return Unreadable(f"{place} cannot keep this: {said(error)}", "take it out of the text")
    if isinstance(error, _BUSY):
        return Busy(f"{place} did not come to it in time: {said(error)}", AGAIN)
    for kind, (fault, message, repair) in _CLASSES.items():
        if isinstance(error, kind):
            return fault(f"{message.format(place)}: {said(error)}", repair)
    if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
        return NoServer(f"{place} broke off, or could not go on", BACK)
    return None


def unreachable(place: Remote, error: Exception) -> Fault:
    """Why there is no connection; a database or a user that is not there will not come by waiting.

    The words are the driver's, for whoever opens the store: they name hosts, users and sockets.
    """
    words = said(error)
    if "does not exist" in words and "database" in words:
        return Missing(f"{place} is not there: {words}", "make it: createdb and its name, on that server")
    return NoServer(f"{place} cannot be reached: {words}", BACK)


def said(error: Exception) -> str:
    """What the server or the driver said, in one line."""
    return " ".join(str(error).split())
