"""The real program in a process of its own; and its commands in this process, where many are tried."""

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from threading import Timer
from typing import IO, Any

from click.testing import CliRunner

from handrail.cli.main import cli
from helpers import forks
from helpers.forks import ForkedProcess, ServedProcess, can_fork, import_program, start_process

PROGRAM = forks.PROGRAM
SECONDS = 60
import_program()


@dataclass(frozen=True)
class CommandResult:
    """How a command ended, and what it said on each stream."""

    status: int
    out: str
    err: str

    @property
    def data(self) -> dict[str, Any]:
        """Its one JSON object."""
        data = json.loads(self.out)
        assert isinstance(data, dict)
        return data


def run_handrail(
    *words: str | Path, cwd: Path | None = None, stdin: str = "", typed: str = "", **env: str
) -> CommandResult:
    """Run `handrail` with these words; it must end within a minute.

    It reads `stdin` from a file, or what is `typed` from a terminal.
    """
    given, at = {**os.environ, **env}, cwd or Path.cwd()
    with _input(stdin, typed) as source, TemporaryFile("w+") as out, TemporaryFile("w+") as err:
        if can_fork(PROGRAM, given):
            streams = [source, out.fileno(), err.fileno()]
            status = ForkedProcess([*map(str, words)], given, at, streams).wait(SECONDS)
        else:
            command = [PROGRAM, *words]
            status = subprocess.run(
                command, cwd=at, env=given, stdin=source, stdout=out, stderr=err, timeout=SECONDS, check=False
            ).returncode
        out.seek(0)
        err.seek(0)
        return CommandResult(status, out.read(), err.read())


@contextmanager
def _input(stdin: str, typed: str) -> Iterator[int]:
    """A descriptor to read this from."""
    if typed:
        ours, theirs = pty.openpty()
        os.write(ours, typed.encode())
        yield theirs
        os.close(ours)
        os.close(theirs)
    else:
        with TemporaryFile("w+") as file:
            file.write(stdin)
            file.seek(0)
            yield file.fileno()


@dataclass(frozen=True)
class RunningCommand:
    """A command that goes on until it is stopped."""

    process: ServedProcess
    errors: IO[str]

    def line(self) -> str:
        """The next line that it prints."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().decode()

    def interrupt(self) -> None:
        """Send it what Ctrl-C sends."""
        self.process.send_signal(signal.SIGINT)

    def end(self) -> CommandResult:
        """Wait for its end; what it has said since the last line."""
        assert self.process.stdout is not None
        out = self.process.stdout.read().decode()
        status = self.process.wait(SECONDS)
        self.errors.seek(0)
        return CommandResult(status, out, self.errors.read())


@contextmanager
def start_handrail(*words: str, cwd: Path | None = None) -> Iterator[RunningCommand]:
    """Start `handrail` with these words; it is killed after a minute, and at the end of the block."""
    with TemporaryFile("w+") as errors:
        process = start_process((str(PROGRAM), *words), os.environ, cwd or Path.cwd(), errors.fileno())
        limit = Timer(SECONDS, process.send_signal, [signal.SIGKILL])
        with process:
            try:
                limit.start()
                yield RunningCommand(process, errors)
            finally:
                limit.cancel()
                process.send_signal(signal.SIGKILL)


def run_command(*words: str | Path, cwd: Path) -> CommandResult:
    """Run a command of `handrail` in this process, in a folder; it takes no second to start."""
    with chdir(cwd):
        done = CliRunner().invoke(cli, list(map(str, words)), catch_exceptions=False)
    return CommandResult(done.exit_code, done.stdout, done.stderr)


def list_imports(folder: Path, *words: str) -> set[str]:
    """The modules that a process imports to do what a command asks of it, in a folder."""
    unmeasured = {"COVERAGE_PROCESS_START": "", "COVERAGE_PROCESS_CONFIG": "", "PYTHONPROFILEIMPORTTIME": "1"}
    said = run_handrail(*words, cwd=folder, **unmeasured)
    return {line.rpartition("|")[2].strip() for line in said.err.splitlines()}


def run_on_terminal(*words: str, **env: str) -> CommandResult:
    """What a command shows on a terminal."""
    given = {**os.environ, "TERM": "dumb", **env}
    assert can_fork(PROGRAM, given)
    ours, theirs = pty.openpty()
    shown = b""
    with Path(os.devnull).open() as none:
        running = ForkedProcess(words, given, Path.cwd(), [none.fileno(), theirs, 2])
    os.close(theirs)
    while chunk := _chunk(ours):
        shown += chunk
    os.close(ours)
    return CommandResult(running.wait(SECONDS), shown.decode(), "")


def _chunk(terminal: int) -> bytes:
    """What the terminal shows next; nothing once the other side has closed it."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""
