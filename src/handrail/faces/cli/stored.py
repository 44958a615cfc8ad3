"""Commands over a store: the option that names it, how it is opened, and how times and ids are typed."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from handrail.faces.cli.output import Failure, NotFound, one_line
from handrail.shell.opening import Openings, Store
from handrail.shell.reading import whole
from handrail.shell.store_address import located
from handrail.shell.system import SystemClock
from handrail.shell.view import NAMED, Records, RunRow

_AGE = re.compile(r"(\d{1,9})([smhdw])")
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Text(click.ParamType[str]):
    """A text that can be kept: one that is UTF-8, and has so many characters at most if there is a limit."""

    name = "text"

    def __init__(self, longest: int | None = None) -> None:
        self.longest = longest

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text as it is."""
        try:
            value.encode()
        except UnicodeEncodeError:
            self.fail("is not UTF-8", param, ctx)
        if self.longest is not None and len(value) > self.longest:
            self.fail(f"has more than {self.longest} characters", param, ctx)
        return value


class Moment(click.ParamType[datetime]):
    """A time: ISO 8601, in UTC unless it says otherwise, or how long ago it was, such as `2d`."""

    name = "time"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """The time in UTC."""
        try:
            return moment(value)
        except (ValueError, OverflowError):
            message = f"`{one_line(value)}` is neither a time like 2026-01-31T12:00 nor an age like 30d"
            self.fail(message, param, ctx)


def aged(text: str) -> timedelta | None:
    """How long a text such as `2d` says, if it says that."""
    found = _AGE.fullmatch(text)
    return timedelta(**{UNITS[found[2]]: int(found[1])}) if found else None


def moment(text: str) -> datetime:
    """The time that a text gives. Raises `ValueError` or `OverflowError` if it gives none."""
    return _ago(text) or _on(text)


def _ago(text: str) -> datetime | None:
    age = aged(text)
    return None if age is None else SystemClock().now() - age


def _on(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


the_run = click.argument("run", type=Text())

at_store = click.option(
    "--store",
    type=Text(),
    metavar="URL",
    envvar="HANDRAIL_STORE",
    help="The store: a file, or postgresql://user@host/name; else handrail.db in your data folder.",
)


@contextmanager
def opened(store: str | None, *, made: bool = False) -> Iterator[Store]:
    """The store that was named, if it is there: asking makes none, unless it shall be `made`."""
    where, opens = located(store or ""), openings()
    if not (made or opens.there(where)):
        repair = "name another with --store or HANDRAIL_STORE; the first run makes one"
        raise NotFound("store", str(where), repair)
    with opens.store(where) as found:
        yield found


def openings(vcs: str = "") -> Openings:
    """How what is kept is opened: whoever started the program says so. `vcs` forces jj or git."""
    found: Openings = click.get_current_context().obj(vcs)
    return found


def found_run(records: Records, given: str) -> RunRow:
    """The run of this id, or the only one whose id begins so."""
    row = records.run(given)
    if row is not None:
        return row
    named = records.named(given)
    row = records.run(named[0]) if len(named) == 1 else None
    if row is not None:
        return row
    if not named:
        raise NotFound("run", given, "handrail runs list")
    some = f"{', '.join(named)}{', …' if len(named) == NAMED else ''}"
    raise Failure("ambiguous", f"several runs begin with `{given}`", f"say which: {some}")


def folder_or_name(project: str) -> str:
    """A project as the store knows it: a path in full, a name as it is."""
    return str(whole(Path(project))) if "/" in project or project.startswith(".") else project
