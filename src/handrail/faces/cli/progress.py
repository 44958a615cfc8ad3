"""How far something long has come: on a terminal a bar, otherwise a line now and then; always on stderr."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from handrail.shell.keeping import Progress

_TENTHS = 10


@contextmanager
def followed() -> Iterator[Progress]:
    """What is to be told how far it is, until the block ends."""
    if not sys.stderr.isatty():
        yield Lines()
        return
    from rich.console import Console
    from rich.progress import Progress as Bars

    with Bars(console=Console(stderr=True), transient=True) as bars:
        shown = bars.add_task("", total=None)
        yield lambda what, done, of: bars.update(shown, description=what, completed=done, total=of)


class Lines:
    """Tells of each tenth once."""

    def __init__(self) -> None:
        self._told = ("", 0)

    def __call__(self, what: str, done: int, of: int) -> None:
        """Say it if it is worth a line."""
        tenth = done * _TENTHS // of
        if (what, tenth) != self._told:
            self._told = what, tenth
            click.echo(f"{what}: {done} of {of} rows", err=True)
