"""A resident server of the tests' own, and what it says of itself."""

import os
import select
import signal
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faces.mcp.desk import BOUND, Pipe, Place
from prepared import PROGRAM, served
from program import Said, handrail


@dataclass(frozen=True, slots=True)
class Resident:
    """Where one is: the variables of whoever shall find it."""

    env: Mapping[str, str]

    @property
    def there(self) -> bool:
        """Whether somebody listens."""
        with socket.socket(socket.AF_UNIX) as asked:
            return asked.connect_ex(f"{self.env['XDG_RUNTIME_DIR']}/handrail/resident/socket") == 0

    def run(self, *words: str) -> Said:
        """A command there."""
        return handrail(*words, cwd=None, **self.env)

    @property
    def standing(self) -> dict[str, Any] | None:
        """What it says of itself; None if there is none."""
        found: dict[str, Any] | None = self.run("status", "--json").data["resident"]
        return found

    @property
    def pid(self) -> int:
        """Its process."""
        found = self.standing
        assert found is not None
        return int(found["pid"])

    def sessions(self) -> set[int]:
        """The processes that it has become for a client: they are in its folder."""
        own, here = self.pid, _folder(self.pid)
        listed = map(int, Path(f"/proc/{own}/task/{own}/children").read_text().split())
        return {one for one in listed if _folder(one) not in {"", here}}

    def pipe(self, at: Place, *words: str, era: str = "auto", **env: str) -> Pipe:
        """A program that a client starts there."""
        return Pipe(at, *words, era=era, **{"XDG_RUNTIME_DIR": self.env["XDG_RUNTIME_DIR"], **env})


@contextmanager
def resident(folder: Path) -> Iterator[Resident]:
    """One that runs; it must end well."""
    with at_rest(folder) as here, (folder / "errors").open("wb") as errors:
        words, env = [str(PROGRAM), "up", "--foreground"], {**os.environ, **here.env}
        with served(words, env, folder, errors.fileno()) as process:
            until(lambda: here.there or process.poll() is not None)
            yield here
            process.send_signal(signal.SIGTERM)
            ended = process.wait(BOUND), (folder / "errors").read_text()
        assert ended == (0, ""), ended


@contextmanager
def at_rest(folder: Path) -> Iterator[Resident]:
    """A place where none runs yet; the path of a socket must be short."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as runtime:
        here = Resident(
            {"XDG_RUNTIME_DIR": runtime, "HOME": str(folder), "XDG_CONFIG_HOME": f"{folder}/.config"}
        )
        yield here
        here.run("down")


def until(true: Any) -> None:  # noqa: ANN401 - whatever can be asked
    """Wait for a condition, within the bound."""
    last = time.monotonic() + BOUND
    while not true():
        assert time.monotonic() < last
        select.select([], [], [], 0.01)


def _folder(process: int) -> str:
    """The folder that a process is in; empty if it has ended."""
    try:
        return str(Path(f"/proc/{process}/cwd").readlink())
    except OSError:
        return ""
