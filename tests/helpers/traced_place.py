"""A place whose server is watched by strace."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from helpers.servers import Place, create_place


@dataclass(frozen=True, slots=True)
class TracedPlace(Place):
    """`calls` says which system calls are noted, in the words of strace."""

    calls: str = "trace=%file"

    @property
    def trace(self) -> str:
        return (self.folder / "trace").read_text("utf-8", "replace")

    def words(self, *more: str) -> tuple[str, ...]:
        watched = ("strace", "-f", "-y", "-qq", "-e", self.calls, "-o", str(self.folder / "trace"))
        return (*watched, *Place(self.folder).words(*more))


def create_traced_place(folder: Path, calls: str = "trace=%file") -> TracedPlace:
    assert shutil.which("strace"), "strace is missing: run tools/setup packages"
    return TracedPlace(create_place(folder, measured=False).folder, measured=False, calls=calls)
