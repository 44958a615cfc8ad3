"""Who may do what, and where, in an SQL store."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from handrail.shell.access import AccessToken, Grant, Scope
from handrail.shell.registry import Registered
from handrail.stores.sql.tables import Tables
from handrail.stores.sql.text import asked, dumped, stamp, time

_EVERY: Final = timedelta(minutes=1)
"""How much later a use is before it is kept again: a call that only reads shall not write."""


class SqlAccess:
    """`Access` in the tables of a database."""

    def __init__(self, database: Tables) -> None:
        self._database = database
        self._sql = database.sql("access.sql")

    def give(self, digest: bytes, token: AccessToken) -> None:
        """Keep what was given away."""
        grant = token.grant
        scopes = dumped(sorted(grant.scopes))
        projects = None if grant.projects is None else dumped(sorted(grant.projects))
        expires = stamp(token.expires) if token.expires else None
        values = (token.id, digest, grant.principal, scopes, projects, stamp(token.created), expires)
        with self._database.written() as execute:
            execute(self._sql["give"], values)

    def tokens(self) -> tuple[AccessToken, ...]:
        """All that were ever given away, the oldest first."""
        with self._database.read() as execute:
            return tuple(map(_token, execute(self._sql["tokens"], ()).fetchall()))

    def revoke(self, token: str, at: datetime) -> bool:
        """Let it open nothing any more; False if there is none of this id, or it is revoked already."""
        with self._database.written() as execute:
            return execute(self._sql["revoke"], (stamp(at), asked(token))).rowcount == 1

    def shown(self, digest: bytes, at: datetime) -> AccessToken | None:
        """The one that somebody shows, if it is good; that it was used is kept, to the minute."""
        with self._database.read() as execute:
            row = execute(self._sql["shown"], (digest,)).fetchone()
        token = _token(row) if row else None
        if token is None or not token.good_at(at):
            return None
        if token.used is None or at - token.used >= _EVERY:
            with self._database.written() as execute:
                execute(self._sql["use"], (stamp(at), token.id))
        return token


class SqlRegistry:
    """`Registry` in the tables of a database."""

    def __init__(self, database: Tables) -> None:
        self._database = database
        self._sql = database.sql("access.sql")

    def add(self, project: Registered) -> bool:
        """Have it served from now on; False, and nothing changed, if the name or the folder is taken."""
        values = (project.name, project.root, stamp(project.created))
        with self._database.written() as execute:
            return execute(self._sql["register"], values).rowcount == 1

    def projects(self) -> tuple[Registered, ...]:
        """All of them, by name."""
        found = self._database.peek(self._sql["registered"], ())
        return tuple(Registered(name, root, time(created)) for name, root, created in found)

    def remove(self, name: str) -> bool:
        """Serve it no longer; False if there is none of this name. What was done in it stays."""
        with self._database.written() as execute:
            return execute(self._sql["unregister"], (asked(name),)).rowcount == 1


def _token(row: Sequence[Any]) -> AccessToken:
    name, principal, scopes, projects, created, *rest = row
    expires, revoked, used = (time(at) if at else None for at in rest)
    among = None if projects is None else msgspec.json.decode(projects, type=frozenset[str])
    grant = Grant(principal, frozenset(msgspec.json.decode(scopes, type=list[Scope])), among)
    return AccessToken(name, grant, time(created), expires, revoked, used)
