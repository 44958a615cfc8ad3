"""Commands of the program with values that nobody would type, each in this process."""

import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import click
from click.testing import CliRunner

from handrail.__main__ import main
from handrail.cli.main import cli

SECONDS: Final = 60.0
"""How long a command may take before it counts as stuck."""

KINDS: Final = (
    *(
        "",
        "-",
        "--",
        "--json=",
        "-1",
        "1e999",
        "99999999999999999999",
        "a" * 100_000,
        "%s%n{0}{x}",
        "{}",
        "~",
    ),
    *("\n", "\t\x01\x7f", "\x1b]0;x\x07\x9b2J", "\u202e☃\u200b", "\udcff", "\udced\udca0\udc80"),
    *("../../..", "/", "folder", "empty", "binary", "fifo", "circle", "circle/x", "gone/x", "/proc/self/mem"),
    *("127.0.0.1:1", "http://[::1", "ftp://127.0.0.1/x", "postgresql://", "postgresql://127.0.0.1:1/x"),
    "00000002-0000-4000-8000-000000000000",
)
"""What is given instead of a value. Bytes that are no UTF-8 come to a program as lone surrogates."""

Words: TypeAlias = tuple[str, ...]


class StuckError(BaseException):
    """A command did not end; it is no `Exception`, so that the program takes it for nothing of its own."""


@dataclass(frozen=True)
class CommandEnd:
    """How a command ended, and all that it said; `raised` is what it has not handled."""

    status: int
    said: str
    raised: BaseException | None


def list_leaf_commands(command: click.Command = cli, *words: str) -> Iterator[tuple[Words, click.Command]]:
    """Every command that has none below it, with the words that name it."""
    if not isinstance(command, click.Group):
        yield words, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from list_leaf_commands(found, *words, name)


def build_nonsense_words(command: click.Command, good: Mapping[str, str], step: int) -> Iterator[Words]:
    """The words after a command, each of its values in turn of every kind of nonsense, and the others good.

    With a `step`, each value is of every so manieth kind only, and the next value of those after them.
    """
    values = [one for one in command.params if not (isinstance(one, click.Option) and one.is_flag)]
    json = ("--json",) if any("--json" in one.opts for one in command.params) else ()
    for first, parameter in enumerate(values):
        for at, kind in enumerate(KINDS[first % step :: step]):
            yield (*(json if at % 2 else ()), *build_good_words(command, {**good, str(parameter.name): kind}))


def build_good_words(command: click.Command, values: Mapping[str, str]) -> Words:
    """The words after a command that give these of its values; one that takes two is given the same twice."""
    options, arguments = [], []
    for parameter in command.params:
        if parameter.name in values:
            given = [values[parameter.name]] * max(1, parameter.nargs)
            if not isinstance(parameter, click.Option):
                arguments += given
            else:
                options += [parameter.opts[0], *([] if parameter.is_flag else given)]
    return (*options, "--", *arguments)


def run_to_end(words: Sequence[str]) -> CommandEnd:
    """How the program ends with these words, with nothing on stdin."""
    before, sys.argv = sys.argv, ["handrail", *words]
    status, raised = 0, None
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        with CliRunner().isolation() as (out, err, _):
            try:
                main()
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else int(end.code is not None)
            except (Exception, StuckError) as error:  # noqa: BLE001 - whatever it is, it is what is looked for
                raised = error
            sys.stdout.flush()
            return CommandEnd(status, f"{out.getvalue().decode()}\n{err.getvalue().decode()}", raised)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.argv = before


@contextmanager
def interrupt_stuck_command() -> Iterator[None]:
    """A block in which a command that does not end raises `StuckError`."""

    def stuck(*_: object) -> None:
        raise StuckError

    before = signal.signal(signal.SIGALRM, stuck)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, before)


def create_nonsense_paths(folder: Path) -> None:
    """Put there what the paths among the nonsense lead to."""
    (folder / "folder").mkdir()
    (folder / "empty").touch()
    (folder / "binary").write_bytes(bytes(range(256)) * 8)
    (folder / "circle").symlink_to("circle")
    os.mkfifo(folder / "fifo")
