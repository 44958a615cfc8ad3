"""Find the definition files of workflows, personas and guardrails.

They are searched in the project, in the user's folder and among the built-in ones. The first file of a name
hides the others. Project files are untrusted, so no link in a project folder is followed. An unreadable file
is reported and skipped. Start with `open_catalog`.
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
from handrail.app.user_files import (
    MAX_FILE_BYTES,
    FileStamp,
    LinkFollowingFolder,
    stamp_folder,
)
from handrail.documents.text import escape_for_terminal, split_lines
from handrail.engine.problems import Place, Problem, build_error
from handrail.runtime.errors import Fault, Missing, Unreadable
from handrail.runtime.ports.turn import Files
from handrail.runtime.system import read_bytes, resolve_path, settings_folder
from handrail.stores.files.disk import DiskWorkspace
from handrail.workflows.load import WorkflowSource
from handrail.workflows.nodes import NAME_PATTERN, list_character_problems

PROJECT_ORIGIN: Final = "project"
USER_ORIGIN: Final = "user"
BUILT_IN_ORIGIN: Final = "built-in"
MAX_DEFINITIONS: Final = 200  # that are read from one folder, and texts beside one workflow
DEFAULT_PERSONA: Final = "default"  # it refers to another persona, so no persona file may have this name
WORKFLOW_FILE_NAME: Final = "workflow.yaml"  # of a workflow that has its own folder
_HOME_FOLDERS: Final = (".handrail", "handrail")
_MAX_PROBLEMS: Final = 20

# Problems with a file itself, besides `bad-name` and `too-large`.
FILE_PROBLEM_CODES: Final = {
    "duplicate-file": "two files of one folder are found by the same name; the second is passed over",
    "unreadable": "the file is passed over: a link in a project, no plain file, too large, or not allowed",
}


class DefinitionKind(StrEnum):
    """The kinds of definition files."""

    WORKFLOW = "workflow"
    PERSONA = "persona"
    GUARDRAIL = "guardrail"

    @property
    def folder(self) -> str:
        """The name of the folder that holds this kind."""
        return "agents" if self is DefinitionKind.PERSONA else f"{self}s"

    @property
    def suffix(self) -> str:
        """The file name suffix of this kind."""
        return ".yaml" if self is DefinitionKind.WORKFLOW else ".md"


class DefinitionFolder(Struct, frozen=True):
    """A folder to search. `origin` says whose it is: the project's, the user's or built in."""

    origin: str
    path: Path
    files: Files


class FoundDefinition(Struct, frozen=True):
    """A definition file and its text. `hidden` is true if an earlier folder has the same name.

    `hides` is the definition in a later folder that this one replaces. Its text is empty if it cannot be
    read.
    """

    name: str
    origin: str
    path: Path
    source: WorkflowSource
    hidden: bool = False
    hides: "FoundDefinition | None" = None


class SkippedFile(Struct, frozen=True):
    """A skipped file and why. Without a name it is a folder, or the surplus files of one."""

    name: str
    origin: str
    path: Path
    problems: tuple[Problem, ...]


class Catalog(Struct, frozen=True):
    """The folders with definitions of one kind, in search order."""

    kind: DefinitionKind
    racks: tuple[DefinitionFolder, ...]

    def list_with_skipped(self) -> tuple[tuple[FoundDefinition, ...], tuple[SkippedFile, ...]]:
        """List all definitions by name, each hidden one after its replacement; and the skipped files."""
        return merge_folders(self.read_folders())

    def read_folders(self) -> tuple[tuple[FoundDefinition | SkippedFile, ...], ...]:
        """Read every folder now. Built-in folders are read once per process."""
        return tuple(
            _read_built_in(self.kind, folder.path)
            if folder.origin == BUILT_IN_ORIGIN
            else self.entries(folder)
            for folder in self.racks
        )

    def all(self) -> tuple[FoundDefinition, ...]:
        """List all definitions sorted by name, each hidden one after its replacement."""
        return self.list_with_skipped()[0]

    def find(self, name: str) -> FoundDefinition | None:
        """Return the first definition of this name, the one that is not hidden."""
        return next((entry for entry in self.all() if entry.name == name), None)

    def name_of(self, path: Path) -> str:
        """Return the name under which this catalog finds the file; empty if it does not."""
        wanted = resolve_path(path)
        return next((entry.name for entry in self.all() if resolve_path(entry.path) == wanted), "")

    def source(self, name: str) -> WorkflowSource | None:
        """Return the text of the definition of this name; None if there is none."""
        found = self.find(name)
        return found.source if found else None

    def stamps(self) -> Iterator[FileStamp]:
        """Yield stamps that differ when a file is added, removed or changed.

        Built-in files are left out: they do not change while the program runs.
        """
        for folder in (folder for folder in self.racks if folder.origin != BUILT_IN_ORIGIN):
            yield from stamp_folder(folder.path, 1 if self.kind is DefinitionKind.WORKFLOW else 0)

    def entries(self, folder: DefinitionFolder) -> tuple[FoundDefinition | SkippedFile, ...]:
        """Read a folder now."""
        try:
            files = tuple(self._list_files(folder))
        except Missing:
            return ()
        except Fault as fault:
            return (SkippedFile("", folder.origin, folder.path, (_unreadable_problem(folder.path, fault),)),)
        seen: set[str] = set()
        entries: list[FoundDefinition | SkippedFile] = []
        for name, file in files[:MAX_DEFINITIONS]:
            entries.append(self._read_entry(folder, name, file, is_duplicate=name in seen))
            seen.add(name)
        if len(files) > MAX_DEFINITIONS:
            message = f"there are {len(files)} {self.kind}s in this folder, and {MAX_DEFINITIONS} are read"
            problem = build_error("too-large", _file_place(folder.path), message, "move some of them away")
            entries.append(SkippedFile("", folder.origin, folder.path, (problem,)))
        return tuple(entries)

    def _list_files(self, folder: DefinitionFolder) -> Iterator[tuple[str, str]]:
        """Yield the name and the file of everything named like a definition."""
        for name in folder.files.names(""):
            if name.endswith(self.kind.suffix) and name != WORKFLOW_FILE_NAME:
                yield name.removesuffix(self.kind.suffix), name
            elif self.kind is DefinitionKind.WORKFLOW and _has_workflow(folder.path / name):
                yield name, f"{name}/{WORKFLOW_FILE_NAME}"

    def _read_entry(
        self, folder: DefinitionFolder, name: str, file: str, *, is_duplicate: bool
    ) -> FoundDefinition | SkippedFile:
        path = folder.path / file
        try:
            if problem := _name_problem(self.kind, name, path, is_duplicate=is_duplicate):
                return SkippedFile(name, folder.origin, path, (problem,))
            source = _read_folder_source(folder, name, file)
        except Fault as fault:
            return SkippedFile(name, folder.origin, path, (_unreadable_problem(path, fault),))
        plain, shown = self.kind is not DefinitionKind.WORKFLOW, escape_for_terminal(str(path))
        if plain and (problems := tuple(find_character_problems(source.text, shown))):
            return SkippedFile(name, folder.origin, path, problems)
        return FoundDefinition(name, folder.origin, path, source)


def open_catalog(project: Path, kind: DefinitionKind = DefinitionKind.WORKFLOW) -> Catalog:
    """Open the catalog of one kind for a project: project, user and built-in folders."""
    within, own = f".handrail/{kind.folder}", settings_folder() / kind.folder
    disk = DiskWorkspace(project, within, most=MAX_FILE_BYTES)
    shipped = Path(handrail.__file__).parent / "workflows"
    built_in = [shipped / f"{kind}s"]
    if kind is DefinitionKind.WORKFLOW:
        built_in = sorted(folder for folder in (shipped / "library").iterdir() if folder.is_dir())
    return Catalog(
        kind,
        (
            DefinitionFolder(PROJECT_ORIGIN, project / within, disk),
            DefinitionFolder(USER_ORIGIN, own, LinkFollowingFolder(own)),
            *(DefinitionFolder(BUILT_IN_ORIGIN, path, LinkFollowingFolder(path)) for path in built_in),
        ),
    )


def merge_folders(
    contents: Sequence[Sequence[FoundDefinition | SkippedFile]],
) -> tuple[tuple[FoundDefinition, ...], tuple[SkippedFile, ...]]:
    """Merge folders that were read into the result of `Catalog.list_with_skipped`."""
    below: dict[str, FoundDefinition] = {}
    found: list[FoundDefinition] = []
    skipped: list[SkippedFile] = []
    for entries in reversed(contents):
        readable = [entry for entry in entries if isinstance(entry, FoundDefinition)]
        found = [*(replace(entry, hides=below.get(entry.name)) for entry in readable), *found]
        skipped = [*(entry for entry in entries if isinstance(entry, SkippedFile)), *skipped]
        for entry in reversed(entries):
            # A skipped file is hidden too, with an empty text.
            below[entry.name] = (
                entry
                if isinstance(entry, FoundDefinition)
                else FoundDefinition(
                    entry.name, entry.origin, entry.path, WorkflowSource(str(entry.path), "")
                )
            )
    found.sort(key=lambda entry: entry.name)
    previous = ["", *(entry.name for entry in found)]
    marked = [
        replace(entry, hidden=entry.name == before) for entry, before in zip(found, previous, strict=False)
    ]
    return tuple(marked), tuple(skipped)


@cache
def _read_built_in(kind: DefinitionKind, folder: Path) -> tuple[FoundDefinition | SkippedFile, ...]:
    """Read a built-in folder, once per process."""
    return Catalog(kind, ()).entries(DefinitionFolder(BUILT_IN_ORIGIN, folder, LinkFollowingFolder(folder)))


def open_sibling_catalog(file: Path) -> Catalog:
    """Open the catalog of the workflows in the same folder as a file."""
    folder = DefinitionFolder("beside", file.parent, LinkFollowingFolder(file.parent))
    return Catalog(DefinitionKind.WORKFLOW, (folder,))


def read_source(path: Path, name: str = "") -> WorkflowSource:
    """Read a workflow file and the texts beside it. `name` is the name it must have, if that matters.

    A file called `workflow.yaml` has its own folder, where every `*.md` is a text. Bytes that are not UTF-8
    are escaped, so that the loader reports them. Raises `OSError`.
    """
    texts = {}
    if path.name == WORKFLOW_FILE_NAME:
        texts = {text.stem: (str(text), read_text(text)) for text in sorted(path.parent.glob("*.md"))}
    return WorkflowSource(str(path), read_text(path), texts, name)


def read_text(path: Path) -> str:
    """Read a text and keep its line breaks. Bytes that are not UTF-8 become lone surrogates."""
    return read_bytes(path).decode("utf-8", "surrogateescape")


def find_definition_files(path: Path) -> Iterator[Path]:
    """Yield the definition files of a path: the file itself, or those below a folder."""
    if not path.is_dir():
        yield path
        return
    suffixes = tuple(kind.suffix for kind in DefinitionKind)
    below = (os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)  # noqa: PTH118 - faster: a folder may hold a million files
    for file in sorted(Path(name) for name in below if name.endswith(suffixes)):
        if file.suffix == DefinitionKind.WORKFLOW.suffix or detect_kind(file):
            yield file


def detect_kind(file: Path) -> DefinitionKind | None:
    """Return the kind of a definition file by its folder; None outside a folder of definitions."""
    folder = file.absolute().parent
    kinds = (kind for kind in DefinitionKind if (kind.folder, kind.suffix) == (folder.name, file.suffix))
    return next(kinds, None) if folder.parent.name in _HOME_FOLDERS else None


def find_character_problems(text: str, file: str) -> Iterator[Problem]:
    """Yield the first characters that a Markdown text must not have, and bytes that are not UTF-8."""
    yield from islice(list_character_problems(split_lines(text.removeprefix("\ufeff")), file), _MAX_PROBLEMS)


def _name_problem(kind: DefinitionKind, name: str, path: Path, *, is_duplicate: bool) -> Problem | None:
    """Return what is wrong with the name of a file; None if it is fine."""
    if not NAME_PATTERN.fullmatch(name):
        repair = "use letters, digits, `_`, `-` and `.`, beginning with a letter, at most 64"
        message = f"a {kind} cannot be called `{escape_for_terminal(name)}`"
        return build_error("bad-name", _file_place(path), message, repair)
    if kind is DefinitionKind.PERSONA and name == DEFAULT_PERSONA:
        message = f"`{DEFAULT_PERSONA}` means another persona, so none can be called so"
        return build_error("bad-name", _file_place(path), message, "give it another name")
    if is_duplicate:
        message = f"two {kind}s of this folder are called `{name}`"
        return build_error("duplicate-file", _file_place(path), message, "remove one of them")
    return None


def _read_folder_source(folder: DefinitionFolder, name: str, file: str) -> WorkflowSource:
    """Read a file of this folder, and the texts beside it if it has its own folder."""
    texts = {}
    if file != (subfolder := file.removesuffix(f"/{WORKFLOW_FILE_NAME}")):
        names = [text for text in folder.files.names(subfolder) if text.endswith(".md")]
        if len(names) > MAX_DEFINITIONS:
            message = f"`{folder.path / subfolder}` holds {len(names)} texts"
            raise Unreadable(message, f"keep to {MAX_DEFINITIONS}, or put short ones into the workflow")
        for text in names:
            path = f"{subfolder}/{text}"
            texts[text.removesuffix(".md")] = (str(folder.path / path), _read_folder_text(folder, path))
    return WorkflowSource(str(folder.path / file), _read_folder_text(folder, file), texts, name)


def _read_folder_text(folder: DefinitionFolder, file: str) -> str:
    data = folder.files.read(file)
    if data is None:
        raise Missing(f"`{folder.path / file}` is not there", "put it back, or remove what leads to it")
    return data.decode("utf-8", "surrogateescape")


def _has_workflow(folder: Path) -> bool:
    """True if a folder has a workflow file. An unreadable folder counts, so that it is reported."""
    try:
        return (folder / WORKFLOW_FILE_NAME).is_file()
    except OSError:
        return True


def _unreadable_problem(path: Path, fault: Fault) -> Problem:
    message, repair = escape_for_terminal(fault.message), escape_for_terminal(fault.repair)
    return build_error("unreadable", _file_place(path), message, repair)


def _file_place(path: Path) -> Place:
    return Place(escape_for_terminal(str(path)), 1, 1)
