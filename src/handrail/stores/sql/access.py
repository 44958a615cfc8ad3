"""Who may do what, in a SQLite store."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import msgspec

from handrail.shell.access import AccessToken, Grant, Scope
from handrail.shell.records import project_id, project_name
from handrail.stores.sql.database import Database
from handrail.stores.sql.text import asked, dumped, queries, stamp, time

_EVERY: Final = timedelta(minutes=1)
"""How much later a use is before it is kept again: a call that only reads shall not write."""


class SqlAccess:
    """`Access` in one SQLite file."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("access.sql")

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

    def projects(self) -> Mapping[str, Path]:
        """The registered projects by name, in the order of their names."""
        with self._database.read() as execute:
            return {name: Path(root) for name, root in execute(self._sql["projects"], ()).fetchall()}

    def register(self, name: str, root: Path, at: datetime) -> bool:
        """Let a project be called so; False if the name or the root is taken by another."""
        text = str(root)
        made = (project_id(text), project_name(text), text, stamp(at))
        with self._database.written() as execute:
            execute(queries()["insert_project"], made)
            taken = execute(self._sql["register"], (name, made[0])).rowcount == 0
        return not taken or self.projects().get(name) == root

    def forget(self, name: str) -> bool:
        """Let no project be called so; its runs stay. False if none is."""
        with self._database.written() as execute:
            return execute(self._sql["forget"], (asked(name),)).rowcount == 1


def _token(row: Sequence[Any]) -> AccessToken:
    name, principal, scopes, projects, created, *rest = row
    expires, revoked, used = (time(at) if at else None for at in rest)
    grant = Grant(
        principal,
        frozenset(msgspec.json.decode(scopes, type=list[Scope])),
        None if projects is None else frozenset(msgspec.json.decode(projects, type=list[str])),
    )
    return AccessToken(name, grant, time(created), expires, revoked, used)
