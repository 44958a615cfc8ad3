"""Parse the address of a store: a SQLite file, or a PostgreSQL database on a server."""

import re
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import unquote

from msgspec import Struct

from handrail.runtime.errors import Missing, Unreadable
from handrail.runtime.system import default_store_path

_SQLITE_SCHEME: Final = "sqlite://"
_POSTGRES_SCHEMES: Final = ("postgresql://", "postgres://")
_PASSWORD_PARAMETER: Final = re.compile(r"(?<=[?&])(?:password|sslpassword)=[^&]*&?")
_URL_PASSWORD: Final = re.compile(r"(?<=://)([^/@:]*):[^/@]*(?=@)")


class DatabaseUrl(Struct, frozen=True):
    """The address of a database on a server. Converted to text, it has no password."""

    url: str

    def __repr__(self) -> str:
        """Return it without the password, so that a traceback does not show it."""
        return f"Remote({str(self)!r})"

    def __str__(self) -> str:
        """Return the address without the password."""
        return _PASSWORD_PARAMETER.sub("", _URL_PASSWORD.sub(r"\1", self.url)).rstrip("?&")

    def missing_driver(self, error: ModuleNotFoundError) -> Missing:
        """Return the fault for optional PostgreSQL packages that are not installed."""
        message = f"{self} is a PostgreSQL database, and the driver `{error.name}` is not installed"
        return Missing(message, "pip install 'handrail[postgresql]'")

    def unfit(self, why: str) -> Unreadable:
        """Return the fault for an address that is not valid."""
        repair = "write postgresql://user@host:port/database, with --store or HANDRAIL_STORE"
        return Unreadable(f"{self} is no address of a database: {why}", repair)


StoreLocation: TypeAlias = Path | DatabaseUrl


def locate_store(address: str) -> StoreLocation:
    """Return the location of a store: a path, `sqlite:///path`, or `postgresql://…`.

    An empty address means the default file in the user's data folder. For PostgreSQL, user and password may
    also come from libpq's own variables and files. Raises `Unreadable` for any other address.
    """
    if address.startswith(_SQLITE_SCHEME):
        path = unquote(address.removeprefix(_SQLITE_SCHEME))
        if not path.startswith("/"):
            raise Unreadable(f"`{address}` names no file", "write sqlite:// and a path that begins with /")
        return Path("/" + path.lstrip("/"))
    if address.startswith(_POSTGRES_SCHEMES):
        return DatabaseUrl(address)
    if "://" in address:
        message = f"this Handrail keeps no runs in {address.partition('://')[0]}"
        what = "name a file, sqlite:// and its path, or postgresql:// and so on"
        raise Unreadable(message, f"{what}, with --store or HANDRAIL_STORE")
    return Path(address) if address else default_store_path()
