"""Settings to world to faces: the only file that knows every name."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from handrail.faces.cli.main import cli

if TYPE_CHECKING:
    from handrail.shell.opening import Store


def main() -> None:
    """The program."""
    cli.main(prog_name="handrail", obj=open_store)


def open_store(path: Path) -> "AbstractContextManager[Store]":
    """The store in this file, for the commands that ask for one."""
    from handrail.stores.sql.opening import opened  # noqa: PLC0415 - most commands start without a database

    return opened(path)
