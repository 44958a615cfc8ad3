"""Where workflows are found: in the project, with the user, built in. What is found first hides the rest."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import handrail
from handrail.workflows.load import Source

_SUFFIX = ".yaml"
_FOLDER_FILE = "workflow.yaml"


@dataclass(frozen=True, slots=True)
class Found:
    """A workflow file: its name, whose it is, and whether one found earlier hides it."""

    name: str
    origin: str
    path: Path
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Catalog:
    """Folders to look in, in order, with the word that says whose they are."""

    folders: tuple[tuple[str, Path], ...]

    def all(self) -> tuple[Found, ...]:
        """Every workflow there is, by name; a hidden one stands after the one that hides it."""
        seen: set[str] = set()
        found: list[Found] = []
        for origin, folder in self.folders:
            here = [Found(name, origin, path, hidden=name in seen) for name, path in _in(folder)]
            seen |= {entry.name for entry in here}
            found += here
        return tuple(sorted(found, key=lambda entry: entry.name))

    def find(self, name: str) -> Found | None:
        """The workflow of this name that is used."""
        return next((entry for entry in self.all() if entry.name == name and not entry.hidden), None)

    def name_of(self, path: Path) -> str:
        """What the workflow in this file must be called: the name it is found by here, if it is."""
        return next((entry.name for entry in self.all() if entry.path.resolve() == path.resolve()), "")

    def source(self, name: str) -> Source | None:
        """Its text."""
        found = self.find(name)
        return read_source(found.path, name) if found else None


def catalog(project: Path) -> Catalog:
    """The catalog as seen from a project."""
    config = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    library = Path(handrail.__file__).parent / "workflows" / "library"
    return Catalog(
        (
            ("project", project / ".handrail" / "workflows"),
            ("user", Path(config) / "handrail" / "workflows"),
            *(("built-in", folder) for folder in sorted(library.iterdir())),
        )
    )


def read_source(path: Path, name: str = "") -> Source:
    """The text of a workflow file and of those beside it; `name` is what it must be called, if that matters.

    A file called `workflow.yaml` has a folder to itself: every `*.md` in it is a text. Bytes that are not
    UTF-8 are escaped, so that loading finds them. Raises `OSError`.
    """
    beside = {}
    if path.name == _FOLDER_FILE:
        beside = {text.stem: (str(text), read_text(text)) for text in sorted(path.parent.glob("*.md"))}
    return Source(str(path), read_text(path), beside, name)


def read_text(path: Path) -> str:
    """The text of a file, line breaks as they are; a byte that is not UTF-8 becomes a lone surrogate."""
    return path.read_bytes().decode("utf-8", "surrogateescape")


def workflow_files(path: Path) -> Iterator[Path]:
    """The workflow files a path stands for: itself, or those below a folder."""
    if path.is_dir():
        yield from sorted(file for file in path.rglob(f"*{_SUFFIX}") if not file.is_dir())
    else:
        yield path


def _in(folder: Path) -> Iterator[tuple[str, Path]]:
    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        if path.suffix == _SUFFIX and path.name != _FOLDER_FILE and not path.is_dir():
            yield path.stem, path
        elif (path / _FOLDER_FILE).is_file():
            yield path.name, path / _FOLDER_FILE
