"""Print the results and errors of commands: data on stdout, messages on stderr, colour only on a terminal."""

import difflib
import json
import sys
from collections.abc import Callable, Sequence
from typing import IO, Any, Final

import click

from handrail.documents.text import escape_for_terminal, split_lines

SCHEMA_VERSION = 1
_AS_JSON_KEY = "handrail.as_json"


def _remember_as_json(context: click.Context, _parameter: click.Parameter, value: bool) -> bool:  # noqa: FBT001 - click calls it so
    context.meta[_AS_JSON_KEY] = value
    return value


json_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    callback=_remember_as_json,
    help="Print one JSON object of a documented shape.",
)


class Failure(click.ClickException):
    """The error that ends a command: a code, a sentence, and the repair."""

    exit_code = 1

    def __init__(self, code: str, message: str, repair: str) -> None:
        super().__init__(message)
        self.code, self.repair = code, repair
        context = click.get_current_context(silent=True)
        self.as_json = context is not None and bool(context.meta.get(_AS_JSON_KEY))

    def data(self) -> dict[str, object]:
        """Return the error as programs get it."""
        return {"code": self.code, "message": self.message, "repair": self.repair}

    def lines(self) -> tuple[str, ...]:
        """Return the lines that people get below the message."""
        return (self.repair,)

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the error on stderr for people; with `--json` also on stdout for programs."""
        if self.as_json:
            print_json({"error": self.data()})
        details = "".join(f"\n  {escape_for_terminal(line)}" for line in self.lines())
        click.echo(f"handrail: {escape_for_terminal(self.message)}{details}", file=file, err=True)


class NotFound(Failure):
    """The named thing does not exist."""

    exit_code = 3

    def __init__(self, what: str, name: str, repair: str) -> None:
        super().__init__("not_found", f"no {what} is called `{name}`", repair)


def confirm_action(message: str) -> None:
    """Ask a person to confirm an action. Without a terminal, fail and ask for `--yes`."""
    if not sys.stdin.isatty():
        raise Failure("unconfirmed", message, "say --yes to do it")
    click.confirm(f"{escape_for_terminal(message)}. Do it?", abort=True, err=True)


def print_json(data: dict[str, object]) -> None:
    """Print one JSON object on stdout, in ASCII, with the schema number first."""
    click.echo(json.dumps({"schema": SCHEMA_VERSION, **data}, indent=2))


def print_table(rows: Sequence[Sequence[str]], heads: tuple[str, ...]) -> None:
    """Print columns: on a terminal with heads and colour, otherwise separated by tabs and without heads."""
    if not rows or not sys.stdout.isatty():
        for row in rows:
            click.echo("\t".join(map(escape_for_terminal, row)))
        return
    from rich import console, table, text  # takes longer to import than most commands take to run

    grid = table.Table(*heads, box=None, pad_edge=False)
    for row in rows:
        grid.add_row(*(text.Text(escape_for_terminal(cell)) for cell in row))
    console.Console().print(grid)


def print_row(cells: Sequence[str], widths: Sequence[int]) -> None:
    """Print one line of columns at once: on a terminal with these widths, otherwise separated by tabs."""
    texts = list(map(escape_for_terminal, cells))
    if sys.stdout.isatty():
        click.echo(" ".join(text.ljust(width) for text, width in zip(texts, widths, strict=True)).rstrip())
    else:
        click.echo("\t".join(texts))


def print_text(text: str) -> None:
    """Print an untrusted text: unchanged in a pipe, with control characters escaped on a terminal."""
    if sys.stdout.isatty():
        click.echo("\n".join(map(escape_for_terminal, split_lines(text))))
    else:
        click.echo(text.encode(), nl=False)


# The highest number that a listed item can have.
MAX_NUMBER: Final = 2**63 - 1


def number_or_diff_options(what: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the argument NUMBER and the option `--diff A B`: the command prints one item or compares two."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        number = click.IntRange(1, MAX_NUMBER)
        about = f"Print what {what} B changes in {what} A."
        with_diff = click.option("--diff", type=number, nargs=2, metavar="A B", help=about)(command)
        return click.argument("number", type=number, required=False)(with_diff)

    return decorate


def print_diff(texts: tuple[str, str], heads: tuple[str, str], *, as_json: bool) -> None:
    """Print what the second text changes in the first; control characters are escaped on a terminal."""
    old, new = map(split_lines, texts)
    before, after = map(escape_for_terminal, heads)
    lines = list(difflib.unified_diff(old, new, before, after, lineterm=""))
    if as_json:
        print_json({"diff": "\n".join(lines)})
    else:
        print_diff_lines(lines)


def print_diff_lines(lines: list[str]) -> None:
    """Print the lines of a diff, with colour on a terminal."""
    if not sys.stdout.isatty():
        print_text("".join(f"{line}\n" for line in lines))
        return
    from rich import console, text  # the same reason as in `print_table`

    terminal, styles = console.Console(), {"+": "green", "-": "red", "@": "cyan"}
    for line in lines:
        terminal.print(text.Text(escape_for_terminal(line), styles.get(line[:1], "")), soft_wrap=True)
