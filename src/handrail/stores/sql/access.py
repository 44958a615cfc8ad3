"""Store access tokens and the registered projects of a team server in SQL tables."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from handrail.runtime.ports.access import AccessScope, AccessToken, Grant, RegisteredProject
from handrail.stores.sql.rows import clean_query_text, dump_json, format_time, parse_time
from handrail.stores.sql.schema import SqlDatabase

# A use is stored only if this much later than the last one, so that reading calls rarely write.
_USE_INTERVAL: Final = timedelta(minutes=1)


class SqlAccessTokens:
    """`AccessTokens` in the tables of a database."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database
        self._sql = database.sql("access.sql")

    def add_token(self, digest: bytes, token: AccessToken) -> None:
        """Store a new token by its digest."""
        grant = token.grant
        scopes = dump_json(sorted(grant.scopes))
        projects = None if grant.projects is None else dump_json(sorted(grant.projects))
        expires = format_time(token.expires) if token.expires else None
        values = (token.id, digest, grant.principal, scopes, projects, format_time(token.created), expires)
        with self._database.transaction() as execute:
            execute(self._sql["give"], values)

    def tokens(self) -> tuple[AccessToken, ...]:
        """Return all tokens ever created, oldest first."""
        with self._database.read() as execute:
            return tuple(map(_read_token_row, execute(self._sql["tokens"], ()).fetchall()))

    def revoke(self, token: str, at: datetime) -> bool:
        """Revoke a token. False if no token has this id, or it is revoked already."""
        with self._database.transaction() as execute:
            return execute(self._sql["revoke"], (format_time(at), clean_query_text(token))).rowcount == 1

    def use_token(self, digest: bytes, at: datetime) -> AccessToken | None:
        """Return the token with this digest if it is valid, and store when it was used, to the minute."""
        with self._database.read() as execute:
            row = execute(self._sql["shown"], (digest,)).fetchone()
        token = _read_token_row(row) if row else None
        if token is None or not token.is_valid_at(at):
            return None
        if token.used is None or at - token.used >= _USE_INTERVAL:
            with self._database.transaction() as execute:
                execute(self._sql["use"], (format_time(at), token.id))
        return token


class SqlProjectRegistry:
    """`ProjectRegistry` in the tables of a database."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database
        self._sql = database.sql("access.sql")

    def add(self, project: RegisteredProject) -> bool:
        """Register a project. False, and nothing is changed, if its name or folder is taken."""
        values = (project.name, project.root, format_time(project.created))
        with self._database.transaction() as execute:
            return execute(self._sql["register"], values).rowcount == 1

    def projects(self) -> tuple[RegisteredProject, ...]:
        """Return all projects by name."""
        found = self._database.peek(self._sql["registered"], ())
        return tuple(RegisteredProject(name, root, parse_time(created)) for name, root, created in found)

    def remove(self, name: str) -> bool:
        """Unregister a project; its runs stay. False if no project has this name."""
        with self._database.transaction() as execute:
            return execute(self._sql["unregister"], (clean_query_text(name),)).rowcount == 1


def _read_token_row(row: Sequence[Any]) -> AccessToken:
    name, principal, scopes, projects, created, *rest = row
    expires, revoked, used = (parse_time(at) if at else None for at in rest)
    among = None if projects is None else msgspec.json.decode(projects, type=frozenset[str])
    grant = Grant(principal, frozenset(msgspec.json.decode(scopes, type=list[AccessScope])), among)
    return AccessToken(name, grant, parse_time(created), expires, revoked, used)
