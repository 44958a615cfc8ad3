"""What one text changes in another, as a person reads it and as a program does."""

import difflib
import sys
from collections.abc import Callable
from typing import Final

import click

from handrail.faces.cli.output import one_line, print_json, print_text
from handrail.workflows.characters import split_lines

LAST: Final = 2**63 - 1
"""The highest number that anything listed can have."""


def one_or_diff(what: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The argument NUMBER and the option `--diff A B`, of a command that prints one thing or compares two."""

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        number = click.IntRange(1, LAST)
        about = f"Print what {what} B changes in {what} A."
        compared = click.option("--diff", type=number, nargs=2, metavar="A B", help=about)(command)
        return click.argument("number", type=number, required=False)(compared)

    return decorated


def print_diff(texts: tuple[str, str], heads: tuple[str, str], *, as_json: bool) -> None:
    """Print what the second text changes in the first; on a terminal neither can give orders to it."""
    old, new = map(split_lines, texts)
    lines = list(difflib.unified_diff(old, new, one_line(heads[0]), one_line(heads[1]), lineterm=""))
    if as_json:
        print_json({"diff": "\n".join(lines)})
    else:
        print_changes(lines)


def print_changes(lines: list[str]) -> None:
    """Print the lines of a difference, with colour on a terminal."""
    if not sys.stdout.isatty():
        print_text("".join(f"{line}\n" for line in lines))
        return
    from rich.console import Console
    from rich.text import Text as Styled

    console, styles = Console(), {"+": "green", "-": "red", "@": "cyan"}
    for line in lines:
        console.print(Styled(one_line(line), styles.get(line[:1], "")), soft_wrap=True)
