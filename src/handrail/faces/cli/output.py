"""How commands speak: data on stdout, messages on stderr, colour only on a terminal."""

import json
import sys
from collections.abc import Sequence
from typing import IO, Any

import click

SCHEMA = 1
_AS_JSON = "handrail.as_json"


def _remember(context: click.Context, _parameter: click.Parameter, value: bool) -> bool:  # noqa: FBT001 - click calls it so
    context.meta[_AS_JSON] = value
    return value


as_json = click.option(
    "--json",
    "as_json",
    is_flag=True,
    callback=_remember,
    help="Print one JSON object of a documented shape.",
)


class Failure(click.ClickException):
    """What a command cannot do: a code, a sentence, and the repair."""

    exit_code = 1

    def __init__(self, code: str, message: str, repair: str) -> None:
        super().__init__(message)
        self.code, self.repair = code, repair
        context = click.get_current_context(silent=True)
        self.as_json = context is not None and bool(context.meta.get(_AS_JSON))

    def data(self) -> dict[str, object]:
        """What programs are told."""
        return {"code": self.code, "message": self.message, "repair": self.repair}

    def lines(self) -> tuple[str, ...]:
        """What people are told besides the message."""
        return (self.repair,)

    def show(self, file: IO[Any] | None = None) -> None:
        """On stderr for people; with `--json` also on stdout, for programs."""
        if self.as_json:
            print_json({"error": self.data()})
        told = "".join(f"\n  {one_line(line)}" for line in self.lines())
        click.echo(f"handrail: {one_line(self.message)}{told}", file=file, err=True)


class NotFound(Failure):
    """There is no such thing."""

    exit_code = 3

    def __init__(self, what: str, name: str, repair: str) -> None:
        super().__init__("not_found", f"no {what} is called `{name}`", repair)


def confirm(message: str) -> None:
    """Have a person confirm what is about to be done; where nobody can be asked, they must say `--yes`."""
    if not sys.stdin.isatty():
        raise Failure("unconfirmed", message, "say --yes to do it")
    click.confirm(f"{one_line(message)}. Do it?", abort=True, err=True)


def print_json(data: dict[str, object]) -> None:
    """One JSON object on stdout, in ASCII, with the number of its shape first."""
    click.echo(json.dumps({"schema": SCHEMA, **data}, indent=2))


def print_table(rows: Sequence[Sequence[str]], heads: tuple[str, ...]) -> None:
    """Columns: on a terminal with heads and colour, otherwise separated by tabs and without heads."""
    if not rows or not sys.stdout.isatty():
        for row in rows:
            click.echo("\t".join(map(one_line, row)))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*heads, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    Console().print(table)


def print_row(cells: Sequence[str], widths: Sequence[int]) -> None:
    """One line of columns at once: on a terminal of these widths, otherwise separated by tabs."""
    texts = list(map(one_line, cells))
    if sys.stdout.isatty():
        click.echo(" ".join(text.ljust(width) for text, width in zip(texts, widths, strict=True)).rstrip())
    else:
        click.echo("\t".join(texts))


def print_text(text: str) -> None:
    """A text of somebody else's: in a pipe byte for byte, on a terminal so that it cannot give orders."""
    if not sys.stdout.isatty():
        click.echo(text.encode(), nl=False)
        return
    from handrail.workflows.characters import split_lines

    click.echo("\n".join(map(one_line, split_lines(text))))


def one_line(text: str) -> str:
    """A text of somebody else's, so that it cannot give orders to a terminal."""
    from handrail.workflows.characters import safe

    return safe(text)
