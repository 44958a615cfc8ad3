"""The address of a store: a SQLite file, or a PostgreSQL database on a server."""

import re
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import unquote

from msgspec import Struct

from handrail.shell.faults import Unreadable
from handrail.shell.homes import store_file

_SQLITE: Final = "sqlite://"
_SERVERS: Final = ("postgresql://", "postgres://")
_PASSWORD: Final = re.compile(r"(?<=[?&])(?:password|sslpassword)=[^&]*&?")
_SECRET: Final = re.compile(r"(?<=://)([^/@:]*):[^/@]*(?=@)")


class Remote(Struct, frozen=True):
    """A database on a server, by its address; as a text it has no password."""

    url: str

    def __repr__(self) -> str:
        """The same: a traceback must not show the password either."""
        return f"Remote({str(self)!r})"

    def __str__(self) -> str:
        """The address as people may see it."""
        return _PASSWORD.sub("", _SECRET.sub(r"\1", self.url)).rstrip("?&")

    def unfit(self, why: str) -> Unreadable:
        """That the address is none."""
        repair = "write postgresql://user@host:port/database, with --store or HANDRAIL_STORE"
        return Unreadable(f"{self} is no address of a database: {why}", repair)


Where: TypeAlias = Path | Remote
"""Where a store is: a file, or a database on a server."""


def located(address: str) -> Where:
    """The file of a store, by its path or `sqlite:///path`; by nothing, the one in the user's data folder.

    Or a database, by `postgresql://` and so on, whose users libpq's own variables and files can name too.

    Raises `Unreadable` for the address of something else.
    """
    if address.startswith(_SQLITE):
        path = unquote(address.removeprefix(_SQLITE))
        if not path.startswith("/"):
            raise Unreadable(f"`{address}` names no file", "write sqlite:// and a path that begins with /")
        return Path("/" + path.lstrip("/"))
    if address.startswith(_SERVERS):
        return Remote(address)
    if "://" in address:
        kind = address.partition("://")[0]
        repair = (
            "name a file, sqlite:// and its path, or postgresql:// and so on, with --store or HANDRAIL_STORE"
        )
        raise Unreadable(f"this Handrail keeps no runs in {kind}", repair)
    if address:
        return Path(address)
    return store_file()
