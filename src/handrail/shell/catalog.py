"""Where definitions are found: in the project, with the user, built in. What is found first hides the rest.

Anybody may have written what a project holds, so no link in its folders is followed. The other folders are
the user's own, and ours. A file that cannot be read is told of and passed over.
"""

import os
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

import handrail
from handrail.engine.problems import Place, Problem, error
from handrail.shell.faults import Fault, Missing, Unreadable
from handrail.shell.followed import LARGEST, Followed, Reads, Stamp, stamps
from handrail.shell.glimpse import Glimpse, glimpse
from handrail.shell.glimpse import Place as Looked
from handrail.shell.homes import settings_folder
from handrail.shell.reading import read_bytes, whole
from handrail.shell.workspace import Disk
from handrail.workflows.characters import safe, split_lines, unfit_characters
from handrail.workflows.load import Source
from handrail.workflows.reader import NAME

PROJECT: Final = "project"
USER: Final = "user"
BUILT_IN: Final = "built-in"
MOST: Final = 200
"""How many definitions a folder may hold, and how many texts may stand beside a workflow."""

DEFAULT: Final = "default"
"""What no persona can be called: it means another."""

FOLDER_FILE: Final = "workflow.yaml"
"""The file of a workflow that has a folder to itself."""

CODES: Final = {
    "duplicate-file": "two files of one folder are found by the same name; the second is passed over",
    "unreadable": "the file is passed over: a link in a project, no plain file, too large, or not allowed",
}
"""Every code of a problem of a file as such, besides `bad-name` and `too-large`."""

_HOMES: Final = (".handrail", "handrail")
_TOLD: Final = 20


class Kind(StrEnum):
    """What a definition is."""

    WORKFLOW = "workflow"
    PERSONA = "persona"
    GUARDRAIL = "guardrail"

    @property
    def folder(self) -> str:
        """What a folder of them is called."""
        return {Kind.WORKFLOW: "workflows", Kind.PERSONA: "agents", Kind.GUARDRAIL: "guardrails"}[self]

    @property
    def suffix(self) -> str:
        """How the name of such a file ends."""
        return ".yaml" if self is Kind.WORKFLOW else ".md"


class Rack(Struct, frozen=True):
    """A folder to look in, and the word that says whose it is."""

    origin: str
    path: Path
    files: Reads


class Found(Struct, frozen=True):
    """A definition: its name, whose it is, its text, what it hides, and whether one found earlier hides it.

    What it hides is of another rack; its text is empty if it cannot be read.
    """

    name: str
    origin: str
    path: Path
    source: Source
    hidden: bool = False
    hides: "Found | None" = None


class Lost(Struct, frozen=True):
    """A file that is passed over, and why; without a name, a folder, or what is too much in it."""

    name: str
    origin: str
    path: Path
    problems: tuple[Problem, ...]


class Catalog(Struct, frozen=True):
    """Folders with definitions of one kind, in the order in which they are looked in."""

    kind: Kind
    racks: tuple[Rack, ...]

    def look(self) -> tuple[tuple[Found, ...], tuple[Lost, ...]]:
        """Every definition by name, a hidden one after the one that hides it; and what is passed over."""
        return put_together(self.read())

    def read(self) -> tuple[tuple[Found | Lost, ...], ...]:
        """What is in each folder, read now; what came with the program is read once."""
        return tuple(
            _shipped(self.kind, rack.path) if rack.origin == BUILT_IN else self.entries(rack)
            for rack in self.racks
        )

    def glimpse(self, racks: Sequence[Sequence[Found | Lost]], before: int) -> Glimpse | None:
        """What tells whether these, just read, are what would be read again; None if nothing does.

        So it is with workflows, which may have folders to themselves, where something is passed over, and
        where a file was changed after `before`, in nanoseconds.
        """
        changing = [
            (rack, here) for rack, here in zip(self.racks, racks, strict=True) if rack.origin != BUILT_IN
        ]
        if self.kind is Kind.WORKFLOW or any(isinstance(one, Lost) for _, here in changing for one in here):
            return None
        return glimpse(
            (
                Looked(rack.path, tuple(one.path for one in here), follows=rack.origin != PROJECT)
                for rack, here in changing
            ),
            before,
        )

    def all(self) -> tuple[Found, ...]:
        """Every definition there is, by name; a hidden one stands after the one that hides it."""
        return self.look()[0]

    def find(self, name: str) -> Found | None:
        """The definition of this name that comes first."""
        return next((entry for entry in self.all() if entry.name == name), None)

    def name_of(self, path: Path) -> str:
        """What the definition in this file must be called: the name it is found by here, if it is."""
        here = whole(path)
        return next((entry.name for entry in self.all() if whole(entry.path) == here), "")

    def source(self, name: str) -> Source | None:
        """Its text."""
        found = self.find(name)
        return found.source if found else None

    def stamps(self) -> Iterator[Stamp]:
        """What changes when a file is added, removed or changed: names, and what the system says of them.

        What came with the program does not change under it.
        """
        for rack in (rack for rack in self.racks if rack.origin != BUILT_IN):
            yield from stamps(rack.path, 1 if self.kind is Kind.WORKFLOW else 0)

    def entries(self, rack: Rack) -> tuple[Found | Lost, ...]:
        """What is in a folder, read now."""
        try:
            files = tuple(self._files(rack))
        except Missing:
            return ()
        except Fault as fault:
            return (Lost("", rack.origin, rack.path, (_unreadable(rack.path, fault),)),)
        seen: set[str] = set()
        found: list[Found | Lost] = []
        for name, file in files[:MOST]:
            found.append(self._entry(rack, name, file, twice=name in seen))
            seen.add(name)
        if len(files) > MOST:
            message = f"there are {len(files)} {self.kind}s in this folder, and {MOST} are read"
            problem = error("too-large", _place(rack.path), message, "move some of them away")
            found.append(Lost("", rack.origin, rack.path, (problem,)))
        return tuple(found)

    def _files(self, rack: Rack) -> Iterator[tuple[str, str]]:
        """What is called like a definition, and its file."""
        for name in rack.files.names(""):
            if name.endswith(self.kind.suffix) and name != FOLDER_FILE:
                yield name.removesuffix(self.kind.suffix), name
            elif self.kind is Kind.WORKFLOW and _has_workflow(rack.path / name):
                yield name, f"{name}/{FOLDER_FILE}"

    def _entry(self, rack: Rack, name: str, file: str, *, twice: bool) -> Found | Lost:
        path = rack.path / file
        if problem := _misfit(self.kind, name, path, twice=twice):
            return Lost(name, rack.origin, path, (problem,))
        try:
            source = _source(rack, name, file)
        except Fault as fault:
            return Lost(name, rack.origin, path, (_unreadable(path, fault),))
        plain = self.kind is not Kind.WORKFLOW
        if unfit := tuple(unfit_in(source.text, safe(str(path)))) if plain else ():
            return Lost(name, rack.origin, path, unfit)
        return Found(name, rack.origin, path, source)


def catalog(project: Path, kind: Kind = Kind.WORKFLOW) -> Catalog:
    """The definitions of a kind as seen from a project."""
    within = f".handrail/{kind.folder}"
    own = settings_folder() / kind.folder
    return Catalog(
        kind,
        (
            Rack(PROJECT, project / within, Disk(project, within, most=LARGEST)),
            Rack(USER, own, Followed(own)),
            *(Rack(BUILT_IN, folder, Followed(folder)) for folder in _library(kind)),
        ),
    )


def put_together(racks: Sequence[Sequence[Found | Lost]]) -> tuple[tuple[Found, ...], tuple[Lost, ...]]:
    """What was read, as `Catalog.look` gives it."""
    below: dict[str, Found] = {}
    found: list[Found] = []
    lost: list[Lost] = []
    for here in reversed(racks):
        readable = [entry for entry in here if isinstance(entry, Found)]
        found = [*(replace(entry, hides=below.get(entry.name)) for entry in readable), *found]
        lost = [*(entry for entry in here if isinstance(entry, Lost)), *lost]
        below |= {entry.name: _standing(entry) for entry in reversed(here)}
    return tuple(_marked(sorted(found, key=lambda one: one.name))), tuple(lost)


@cache
def _shipped(kind: Kind, folder: Path) -> tuple[Found | Lost, ...]:
    """What came with the program, read once."""
    return Catalog(kind, ()).entries(Rack(BUILT_IN, folder, Followed(folder)))


def beside(file: Path) -> Catalog:
    """The workflows in the folder of a file that a person has named."""
    return Catalog(Kind.WORKFLOW, (Rack("beside", file.parent, Followed(file.parent)),))


def read_source(path: Path, name: str = "") -> Source:
    """The text of a workflow file and of those beside it; `name` is what it must be called, if that matters.

    A file called `workflow.yaml` has a folder to itself: every `*.md` in it is a text. Bytes that are not
    UTF-8 are escaped, so that loading finds them. Raises `OSError`.
    """
    texts = {}
    if path.name == FOLDER_FILE:
        texts = {text.stem: (str(text), read_text(text)) for text in sorted(path.parent.glob("*.md"))}
    return Source(str(path), read_text(path), texts, name)


def read_text(path: Path) -> str:
    """The text of a file, line breaks as they are; a byte that is not UTF-8 becomes a lone surrogate."""
    return _decoded(read_bytes(path))


def definition_files(path: Path) -> Iterator[Path]:
    """The definition files a path stands for: itself, or those below a folder."""
    if not path.is_dir():
        yield path
        return
    suffixes = tuple(kind.suffix for kind in Kind)
    below = (os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)  # noqa: PTH118 - below a folder there may be a million files
    for file in sorted(Path(name) for name in below if name.endswith(suffixes)):
        if file.suffix == Kind.WORKFLOW.suffix or kind_of(file):
            yield file


def kind_of(file: Path) -> Kind | None:
    """What a file holds, if it lies where such are looked for."""
    folder = file.absolute().parent
    kinds = (kind for kind in Kind if (kind.folder, kind.suffix) == (folder.name, file.suffix))
    return next(kinds, None) if folder.parent.name in _HOMES else None


def unfit_in(text: str, file: str) -> Iterator[Problem]:
    """The first characters of a Markdown text that have no place in one, and bytes that are not UTF-8."""
    yield from islice(unfit_characters(split_lines(text.removeprefix("\ufeff")), file), _TOLD)


def _library(kind: Kind) -> list[Path]:
    ours = Path(handrail.__file__).parent / "workflows"
    if kind is Kind.WORKFLOW:
        return sorted(folder for folder in (ours / "library").iterdir() if folder.is_dir())
    return [ours / f"{kind}s"]


def _standing(entry: Found | Lost) -> Found:
    """What is hidden by one found earlier, also if it cannot be read."""
    if isinstance(entry, Found):
        return entry
    return Found(entry.name, entry.origin, entry.path, Source(str(entry.path), ""))


def _marked(found: list[Found]) -> Iterator[Found]:
    """The same, with those marked as hidden of which the name was met before."""
    name = ""
    for entry in found:
        yield replace(entry, hidden=entry.name == name)
        name = entry.name


def _misfit(kind: Kind, name: str, path: Path, *, twice: bool) -> Problem | None:
    """Why a file cannot be found by its name."""
    if not NAME.fullmatch(name):
        repair = "use letters, digits, `_`, `-` and `.`, beginning with a letter, at most 64"
        return error("bad-name", _place(path), f"a {kind} cannot be called `{safe(name)}`", repair)
    if kind is Kind.PERSONA and name == DEFAULT:
        message = f"`{DEFAULT}` means another persona, so none can be called so"
        return error("bad-name", _place(path), message, "give it another name")
    if twice:
        message = f"two {kind}s of this folder are called `{name}`"
        return error("duplicate-file", _place(path), message, "remove one of them")
    return None


def _source(rack: Rack, name: str, file: str) -> Source:
    """The text of a file of this rack, and those beside it if it has a folder to itself."""
    texts = {}
    if file != (folder := file.removesuffix(f"/{FOLDER_FILE}")):
        names = [text for text in rack.files.names(folder) if text.endswith(".md")]
        if len(names) > MOST:
            message = f"`{rack.path / folder}` holds {len(names)} texts"
            raise Unreadable(message, f"keep to {MOST}, or put short ones into the workflow")
        for text in names:
            beside_it = f"{folder}/{text}"
            texts[text.removesuffix(".md")] = (str(rack.path / beside_it), _text(rack, beside_it))
    return Source(str(rack.path / file), _text(rack, file), texts, name)


def _text(rack: Rack, file: str) -> str:
    data = rack.files.read(file)
    if data is None:
        raise Missing(f"`{rack.path / file}` is not there", "put it back, or remove what leads to it")
    return _decoded(data)


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _has_workflow(folder: Path) -> bool:
    """True if it looks like the folder of a workflow; one that cannot be looked into does."""
    try:
        return (folder / FOLDER_FILE).is_file()
    except OSError:
        return True


def _unreadable(path: Path, fault: Fault) -> Problem:
    return error("unreadable", _place(path), safe(fault.message), safe(fault.repair))


def _place(path: Path) -> Place:
    return Place(safe(str(path)), 1, 1)
