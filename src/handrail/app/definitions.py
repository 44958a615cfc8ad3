"""The workflows, personas and guardrails that a project may use, with trust and caching applied.

`Definitions` is the entry. It reads the files of `app.catalog` and asks `app.trust` about project files that
hide others. `find_startable` decides whether a workflow can be started.
"""

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, groupby
from pathlib import Path
from typing import Final, Generic, TypeAlias, TypeVar

from msgspec import Struct

from handrail.app.catalog import (
    BUILT_IN_ORIGIN,
    DEFAULT_PERSONA,
    PROJECT_ORIGIN,
    Catalog,
    DefinitionKind,
    FoundDefinition,
    SkippedFile,
    find_character_problems,
    merge_folders,
    open_catalog,
)
from handrail.app.trust import TrustMark, TrustStore, UntrustedFile, find_untrusted, format_root
from handrail.app.user_files import stat_path
from handrail.documents.front_matter import list_field_texts, parse_front_matter
from handrail.documents.text import escape_for_terminal
from handrail.engine.model import Authority, FactReading, Refused, Workflow
from handrail.engine.problems import Place, Problem, build_error
from handrail.engine.refusals import RefusalCode
from handrail.engine.soundness import check_soundness
from handrail.runtime.ports.turn import IdSource
from handrail.runtime.records import Definition
from handrail.runtime.world import PinnedWorkflow, pin_workflow
from handrail.workflows.load import SourceFinder, WorkflowSource, load_workflow
from handrail.workflows.templates import Texts, quote_text, truncate_text

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _CachedResult(Generic[Result]):
    """A result, its source, and the sources that were looked up by name (None if not found)."""

    source: WorkflowSource
    found: Mapping[str, WorkflowSource | None]
    result: Result

    def is_current(self, source: WorkflowSource, find: SourceFinder) -> bool:
        """True if computing it again would give the same result."""
        return self.source == source and all(find(name) == was for name, was in self.found.items())


class SourceCache(Generic[Result]):
    """Caches what `make` computes from a source and the sources that it names.

    A result is computed again only if one of these sources has changed. The `most` last used results are
    kept. Safe to call from many threads.
    """

    def __init__(self, make: Callable[[WorkflowSource, SourceFinder], Result], most: int = 256) -> None:
        self._make, self._most = make, most
        self._made: dict[str, _CachedResult[Result]] = {}

    def __call__(self, source: WorkflowSource, find: SourceFinder) -> Result:
        """Return the result for this source. `find` looks up other sources by name."""
        cached = self._made.pop(source.file, None)
        if cached is None or not cached.is_current(source, find):
            found: dict[str, WorkflowSource | None] = {}

            def find_and_record(name: str) -> WorkflowSource | None:
                found[name] = find(name)
                return found[name]

            cached = _CachedResult(source, found, self._make(source, find_and_record))
        self._made[source.file] = cached
        for file in list(self._made)[: max(0, len(self._made) - self._most)]:
            self._made.pop(file, None)
        return cached.result


SUPERVISOR: Final = "supervisor"
"""The persona that `default` refers to."""

FRONT_MATTER_KEYS: Final[Mapping[DefinitionKind, tuple[str, ...]]] = {
    DefinitionKind.PERSONA: ("about",),
    DefinitionKind.GUARDRAIL: ("about", "workflows", "steps"),
}
"""The keys that the front matter of each kind may have."""


class Persona(Struct, frozen=True):
    """A role that an agent takes in a step. `text` is the instruction for the agent.

    If the file cannot be read, `problem` says why, and `text` tells the agent so.
    """

    name: str
    about: str
    text: str
    origin: str
    path: Path
    problem: str = ""


class Guardrail(Struct, frozen=True):
    """A project rule. The agent gets it unasked in the named workflows and steps."""

    name: str
    text: str
    origin: str
    path: Path
    workflows: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()

    def applies_to(self, workflow: str, state: str) -> bool:
        """True if it names the workflow or the state. A nested state also matches by its last name."""
        return workflow in self.workflows or bool({state, state.rpartition("/")[2]} & set(self.steps))


class HidingFile(Struct, frozen=True):
    """A project file that hides another, and whether a person has trusted it."""

    file: UntrustedFile
    trusted: bool


SETTLED_NANOSECONDS: Final = 3_000_000_000
"""Minimum age of the last change for a snapshot, in nanoseconds: the coarsest file clocks tick every 2 s."""

_FileSignature: TypeAlias = tuple[int, int, int, int, int]


class _SignedPath(Struct, frozen=True):
    """The signature of a path. `follows` is true if it is that of a link's target."""

    path: str
    follows: bool
    sign: _FileSignature


class StatSnapshot(Struct, frozen=True):
    """The signatures of files and folders at one moment."""

    seen: tuple[_SignedPath, ...]

    def is_current(self) -> bool:
        """True if none of them has changed since then."""
        for path in self.seen:  # noqa: SIM110 - runs on every call; a generator is slower
            if _stat_signature(path.path, follows=path.follows) != path.sign:
                return False
        return True


class ScannedFolder(Struct, frozen=True):
    """A folder that was read, and the files found in it. `follows` is true if links were followed.

    Links in the path down to the second folder above it are always followed.
    """

    folder: Path
    files: tuple[Path, ...]
    follows: bool


def take_stat_snapshot(places: Iterable[ScannedFolder], before: int) -> StatSnapshot | None:
    """Take a snapshot of folders that were just read.

    None if a file is already gone, or something changed after `before`, in nanoseconds.
    """
    seen = tuple(chain.from_iterable(map(_sign_folder, places)))
    settled = tuple(path for path in seen if path and path.sign[-1] < before)
    return StatSnapshot(settled) if len(settled) == len(seen) else None


def _sign_folder(place: ScannedFolder) -> Iterator[_SignedPath | None]:
    """Yield the folder and its parent if they exist, the nearest existing folder above, and the files."""
    folder, follows = place.folder, place.follows
    nearest = (_sign_path(folder, follows=follows), _sign_path(folder.parent, follows=follows))
    yield from (signed for signed in nearest if signed)
    yield next((signed for path in folder.parent.parents if (signed := _sign_path(path, follows=True))), None)
    yield from (_sign_path(file, follows=follows) for file in place.files)


def _sign_path(path: Path, *, follows: bool) -> _SignedPath | None:
    sign = _stat_signature(str(path), follows=follows)
    return _SignedPath(str(path), follows, sign) if sign else None


def _stat_signature(path: str, *, follows: bool) -> _FileSignature | None:
    """Return the signature of a path, or of the link itself if it is broken; None if it does not exist."""
    try:
        status = os.stat(path, follow_symlinks=follows)  # noqa: PTH116 - called often; a Path is slower
    except OSError:
        return _stat_signature(path, follows=False) if follows else None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _take_snapshot(
    catalog: Catalog, contents: Sequence[Sequence[FoundDefinition | SkippedFile]], before: int
) -> StatSnapshot | None:
    """Return a snapshot that can tell later whether the folders just read have changed.

    None if no snapshot can tell that: for workflows, which may have their own folders; if a file was skipped;
    or if a file changed after `before`, in nanoseconds.
    """
    changing = [
        (folder, entries)
        for folder, entries in zip(catalog.racks, contents, strict=True)
        if folder.origin != BUILT_IN_ORIGIN
    ]
    if catalog.kind is DefinitionKind.WORKFLOW or any(
        isinstance(entry, SkippedFile) for _, entries in changing for entry in entries
    ):
        return None
    return take_stat_snapshot(
        (
            ScannedFolder(
                folder.path,
                tuple(entry.path for entry in entries),
                follows=folder.origin != PROJECT_ORIGIN,
            )
            for folder, entries in changing
        ),
        before,
    )


class _CachedWorkflow(Struct, frozen=True):
    """A workflow as read from these sources, its nested workflows, and what a run pins."""

    texts: tuple[WorkflowSource, ...]
    nested: tuple[FoundDefinition, ...]
    pinned: PinnedWorkflow


class _FolderScan(Struct, frozen=True):
    """The content of the folders of one kind, merged, with a snapshot that tells whether it is current.

    `used` are the definitions in use; None if that depends on trust.
    """

    contents: tuple[tuple[FoundDefinition | SkippedFile, ...], ...]
    found: tuple[tuple[FoundDefinition, ...], tuple[SkippedFile, ...]]
    snapshot: StatSnapshot | None
    used: tuple[FoundDefinition, ...] | None


class Definitions:
    """The definitions that a project sees. Every call checks the files again, because they change.

    The trust store is read only if a project file hides another; then its faults (`TrustStore`) are raised.
    """

    __slots__ = ("_catalogs", "_project", "_scans", "_settled", "_trusted", "_workflow_cache")

    def __init__(self, project: Path, trusted: TrustStore, settled: int = SETTLED_NANOSECONDS) -> None:
        self._project, self._settled = project, settled
        self._trusted = trusted
        self._catalogs: Mapping[DefinitionKind, Catalog] = {
            kind: open_catalog(project, kind) for kind in DefinitionKind
        }
        self._workflow_cache: dict[str, _CachedWorkflow] = {}
        self._scans: dict[DefinitionKind, _FolderScan] = {}

    def workflows(self) -> tuple[FoundDefinition, ...]:
        """List the readable workflow files by name, each hidden one after its replacement."""
        return self.list_definitions(DefinitionKind.WORKFLOW)

    def list_definitions(self, kind: DefinitionKind) -> tuple[FoundDefinition, ...]:
        """List the readable files of a kind by name, each hidden one after its replacement."""
        return self._scan(kind).found[0]

    def find_pinned(self, name: str) -> PinnedWorkflow | UntrustedFile | None:
        """Return the workflow of this name for a run to pin, or its problems; None if there is none.

        If it or a nested workflow is not trusted, return that untrusted file.
        """
        found, skipped = self._scan(DefinitionKind.WORKFLOW).found
        visible = _visible_by_name(found)
        if name not in visible:
            problems = tuple(chain.from_iterable(file.problems for file in skipped if file.name == name))
            return PinnedWorkflow(None, None, problems) if problems else None
        cached = self._load_workflow(name, visible)
        for used in (visible[name], *cached.nested):
            hiding = self._find_hiding(DefinitionKind.WORKFLOW, used, visible)
            if hiding and not hiding.trusted:
                return hiding.file
        return cached.pinned

    def personas(self) -> tuple[Persona, ...]:
        """List the personas in use, by name."""
        return tuple(map(build_persona, self._list_used(DefinitionKind.PERSONA)))

    def persona(self, name: str) -> Persona | None:
        """Return the persona of this name; None if there is none. An unreadable one has a `problem`."""
        wanted = SUPERVISOR if name == DEFAULT_PERSONA else name
        for found in self._list_used(DefinitionKind.PERSONA):
            if found.name == wanted:
                return build_persona(found)
        return next(
            (
                _unreadable_persona(skipped)
                for skipped in self.list_skipped(DefinitionKind.PERSONA)
                if skipped.name == wanted
            ),
            None,
        )

    def guardrails(self) -> tuple[Guardrail, ...]:
        """List the guardrails in use, by name."""
        return tuple(map(build_guardrail, self._list_used(DefinitionKind.GUARDRAIL)))

    def list_hiding_files(self) -> tuple[HidingFile, ...]:
        """List the project files that hide another file and differ from it."""
        hiding = []
        for kind in DefinitionKind:
            visible = _visible_by_name(self.list_definitions(kind))
            hiding += [self._find_hiding(kind, found, visible) for found in visible.values()]
        return tuple(found for found in hiding if found)

    def list_untrusted(self) -> tuple[UntrustedFile, ...]:
        """List the hiding project files that no person has trusted."""
        return tuple(hiding.file for hiding in self.list_hiding_files() if not hiding.trusted)

    def list_blocking(self, workflow: Workflow) -> tuple[UntrustedFile, ...]:
        """List the untrusted files that a run of this workflow would use.

        These are the workflow, its nested workflows, its personas and its guardrails.
        """
        visible = _visible_by_name(self.workflows())
        nested = self._load_workflow(workflow.name, visible).nested if workflow.name in visible else ()
        agents = {state.brief.agent for state in workflow.states.values() if state.brief}
        used = {
            DefinitionKind.WORKFLOW: {workflow.name, *(file.name for file in nested)},
            DefinitionKind.PERSONA: {SUPERVISOR if agent == DEFAULT_PERSONA else agent for agent in agents},
            DefinitionKind.GUARDRAIL: set(self._list_applying_guardrails(workflow)),
        }
        return tuple(file for file in self.list_untrusted() if file.name in used[file.kind])

    def trust_mark(self, file: UntrustedFile) -> TrustMark:
        """Return the mark that is stored when a person trusts this file."""
        return TrustMark(format_root(self._project), file.kind, file.name, file.digest)

    def list_skipped(self, kind: DefinitionKind) -> tuple[SkippedFile, ...]:
        """List the skipped files of a kind, and why they were skipped."""
        return self._scan(kind).found[1]

    def problems(self, kind: DefinitionKind) -> tuple[Problem, ...]:
        """List the problems of a kind: why files were skipped, and wrong front matter."""
        found, skipped = self._scan(kind).found
        skip_problems = chain.from_iterable(file.problems for file in skipped)
        return (
            *skip_problems,
            *chain.from_iterable(find_front_matter_problems(kind, file.source) for file in found),
        )

    def signature(self) -> str:
        """Return a digest that changes when a definition file or the trust store changes."""
        status = stat_path(self._trusted.path)
        stamp = (status.st_ino, status.st_size, status.st_mtime_ns) if status else ()
        stamps = [tuple(catalog.stamps()) for catalog in self._catalogs.values()]
        return hashlib.sha256(repr((stamps, stamp)).encode("utf-8", "surrogateescape")).hexdigest()

    def _scan(self, kind: DefinitionKind) -> _FolderScan:
        """Scan the folders of a kind; merge them again only if something has changed."""
        cached, files = self._scans.get(kind), self._catalogs[kind]
        if cached and cached.snapshot and cached.snapshot.is_current():
            return cached
        before = time.time_ns() - self._settled
        contents = files.read_folders()
        found = cached.found if cached and cached.contents == contents else merge_folders(contents)
        needs_no_trust = not any(
            definition.origin == PROJECT_ORIGIN and definition.hides for definition in found[0]
        )
        used = (
            tuple(definition for definition in found[0] if not definition.hidden) if needs_no_trust else None
        )
        scan = self._scans[kind] = _FolderScan(contents, found, _take_snapshot(files, contents, before), used)
        return scan

    def _load_workflow(self, name: str, visible: Mapping[str, FoundDefinition]) -> "_CachedWorkflow":
        """Return the workflow of this name; load it again only if a source has changed."""
        texts = tuple(found.source for found in visible.values())
        cached = self._workflow_cache.get(name)
        if cached is None or cached.texts != texts:
            sources = {other: found.source for other, found in visible.items()}
            cached = _CachedWorkflow(
                texts,
                _find_nested_workflows(visible[name], visible),
                pin_workflow(visible[name].source, sources.get),
            )
            self._workflow_cache[name] = cached
        return cached

    def _list_used(self, kind: DefinitionKind) -> Iterable[FoundDefinition]:
        """List the first definition of each name that is trusted or needs no trust."""
        scan = self._scan(kind)
        return self._filter_trusted(kind, scan.found[0]) if scan.used is None else scan.used

    def _filter_trusted(
        self, kind: DefinitionKind, found: Iterable[FoundDefinition]
    ) -> Iterator[FoundDefinition]:
        for _, same in groupby(found, key=lambda candidate: candidate.name):
            for candidate in same:
                hiding = self._find_hiding(kind, candidate, {})
                if hiding is None or hiding.trusted:
                    yield candidate
                    break

    def _find_hiding(
        self, kind: DefinitionKind, found: FoundDefinition, visible: Mapping[str, FoundDefinition]
    ) -> HidingFile | None:
        if found.origin != PROJECT_ORIGIN or found.hides is None:
            return None
        file = find_untrusted(
            kind,
            found,
            found.hides,
            _find_nested_workflows(found, visible) if kind is DefinitionKind.WORKFLOW else (),
        )
        return HidingFile(file, self._trusted.is_trusted(self.trust_mark(file))) if file else None

    def _list_applying_guardrails(self, workflow: Workflow) -> Iterator[str]:
        """Yield the guardrails that apply to a workflow, including hidden ones."""
        for found in self.list_definitions(DefinitionKind.GUARDRAIL):
            rule = build_guardrail(found)
            if any(rule.applies_to(workflow.name, state) for state in workflow.states):
                yield rule.name


MAX_GUIDE_BYTES: Final = 32 * 1024
"""At most this many bytes of a guide are shown; then only its path."""


class QuotedGuides(Struct, frozen=True):
    """The guides for one step as a reply shows them: the persona, if there is one, and guardrails by name."""

    persona: str | None
    guardrails: tuple[tuple[str, str], ...]


class Guides(Struct, frozen=True):
    """The personas and guardrails of a run's project, for one reply.

    `ids` makes the boundary that marks a quoted text. `hide` turns a path into what the reader may see.
    """

    definitions: "Definitions"
    texts: Texts
    ids: IdSource
    hide: Callable[[str], str]

    def quote_for(self, agent: str, workflow: str, state: str) -> QuotedGuides:
        """Return the persona and the guardrails for a step; without an agent, only the guardrails."""
        persona = self.definitions.persona(agent) if agent else None
        rules = [rule for rule in self.definitions.guardrails() if rule.applies_to(workflow, state)]
        quoted = any(guide.origin == PROJECT_ORIGIN for guide in (persona, *rules) if guide)
        boundary = self.ids.nonce().hex() if quoted else ""
        return QuotedGuides(
            self._quote(persona, boundary) if persona else None,
            tuple([(rule.name, self._quote(rule, boundary)) for rule in rules]),
        )

    def _quote(self, guide: "Persona | Guardrail", boundary: str) -> str:
        """Return the text of a guide. Only the text of a project file is marked as a quotation."""
        text = guide.text.strip()
        if isinstance(guide, Persona) and guide.problem:
            text = self.hide(text)
        if guide.origin == PROJECT_ORIGIN:
            path = self.hide(str(guide.path))
            return quote_text(text, path, boundary, MAX_GUIDE_BYTES, self.texts.say("standing"))
        if len(text) * 4 <= MAX_GUIDE_BYTES:  # no character has more than four bytes
            return text
        return truncate_text(text, self.hide(str(guide.path)), MAX_GUIDE_BYTES)


def find_front_matter_problems(kind: DefinitionKind, source: WorkflowSource) -> Iterator[Problem]:
    """Yield wrong characters or wrong front matter. Workflows have no front matter, so they yield nothing."""
    file = escape_for_terminal(source.file)
    character_problems = (
        tuple(find_character_problems(source.text, file)) if kind in FRONT_MATTER_KEYS else ()
    )
    yield from character_problems
    if character_problems or kind not in FRONT_MATTER_KEYS:
        return
    for problem in parse_front_matter(source.text, FRONT_MATTER_KEYS[kind]).problems:
        yield build_error(problem.code, Place(file, problem.line, 1), problem.message, problem.repair)


def _visible_by_name(found: Iterable[FoundDefinition]) -> dict[str, FoundDefinition]:
    return {definition.name: definition for definition in found if not definition.hidden}


def _find_nested_workflows(
    found: FoundDefinition, visible: Mapping[str, FoundDefinition]
) -> tuple[FoundDefinition, ...]:
    """Find the workflows nested in this one, at any depth."""
    nested: dict[str, FoundDefinition] = {}

    def find(name: str) -> WorkflowSource | None:
        if name not in visible:
            return None
        nested[name] = visible[name]
        return visible[name].source

    load_workflow(found.source, find)
    return tuple(nested.values())


def build_persona(found: FoundDefinition) -> Persona:
    """Build a persona from its definition file."""
    return _parse_persona(found.name, found.source.text, found.origin, found.path)


@lru_cache(maxsize=256)
def _parse_persona(name: str, text: str, origin: str, path: Path) -> Persona:
    front = parse_front_matter(text)
    about = " ".join(list_field_texts(front.fields.get("about", "")))
    return Persona(name, about, front.body, origin, path)


def _unreadable_persona(skipped: SkippedFile) -> Persona:
    problem = skipped.problems[0]
    sentence = f"The persona `{escape_for_terminal(skipped.name)}` cannot be read: {problem.message}."
    text = f"{sentence}\nA person can mend it: {problem.repair}.\n"
    return Persona(skipped.name, "", text, skipped.origin, skipped.path, problem.message)


def build_guardrail(found: FoundDefinition) -> Guardrail:
    """Build a guardrail from its definition file."""
    return _parse_guardrail(found.name, found.source.text, found.origin, found.path)


@lru_cache(maxsize=256)
def _parse_guardrail(name: str, text: str, origin: str, path: Path) -> Guardrail:
    front = parse_front_matter(text)
    workflows, steps = (list_field_texts(front.fields.get(key, "")) for key in ("workflows", "steps"))
    return Guardrail(name, front.body, origin, path, workflows, steps)


DIFF_KEY: Final = "diff"
"""The name under which a refusal shows the diff of a hiding file."""

START_REFUSAL_CODES: Final[Mapping[RefusalCode, str]] = {
    RefusalCode.UNKNOWN_WORKFLOW: "there is no workflow of that name that can be started here",
    RefusalCode.BROKEN_WORKFLOW: "the file of the workflow has problems",
    RefusalCode.UNTRUSTED: "a file of the project hides another one, and nobody has trusted it",
    RefusalCode.PERSONA_MISSING: "a step of the workflow names a persona that is not there",
}
"""All codes of refusals to start a workflow."""


class StartableWorkflow(Struct, frozen=True):
    """A workflow that can be started, and the definition that its run pins."""

    workflow: Workflow
    definition: Definition | None


def find_startable(definitions: Definitions, name: str) -> StartableWorkflow | Refused:
    """Return the workflow of this name, or why it cannot be started. Only runs in SQL are started here."""
    found = find_usable(definitions, name)
    if found is None or (
        isinstance(found, StartableWorkflow) and found.workflow.authority is not Authority.SQL
    ):
        return _unknown_workflow_refusal(definitions, name)
    if isinstance(found, Refused):
        return found
    return _readiness_refusal(definitions, found.workflow) or found


def find_usable(definitions: Definitions, name: str) -> StartableWorkflow | Refused | None:
    """Return the workflow of this name, or why it cannot be used; None if there is none.

    Its runs may be kept in any store.
    """
    pinned = definitions.find_pinned(name)
    if isinstance(pinned, UntrustedFile):
        return _untrusted_refusal(pinned)
    if pinned is None:
        return None
    if pinned.workflow is None:
        first = [f"{p.place.file}:{p.place.line}: {p.message}" for p in pinned.problems[:5]]
        return Refused(
            RefusalCode.BROKEN_WORKFLOW, name, (FactReading("problems", len(pinned.problems)),), tuple(first)
        )
    return StartableWorkflow(pinned.workflow, pinned.definition)


def _readiness_refusal(definitions: Definitions, workflow: Workflow) -> Refused | None:
    """Say why a sound workflow cannot be started: a file it uses is not trusted or is missing."""
    if hiding := definitions.list_blocking(workflow):
        return _untrusted_refusal(hiding[0])
    agents = sorted({state.brief.agent for state in workflow.states.values() if state.brief})
    missing = [agent for agent in agents if definitions.persona(agent) is None]
    if not missing:
        return None
    needed = tuple(f"the file .handrail/agents/{agent}.md" for agent in missing)
    return Refused(RefusalCode.PERSONA_MISSING, workflow.name, (FactReading("personas", missing),), needed)


def list_startable_names(definitions: Definitions) -> tuple[str, ...]:
    """List the workflows that can be started: those with runs in SQL, and untrusted ones."""
    found = {
        definition.name: definitions.find_pinned(definition.name)
        for definition in definitions.workflows()
        if not definition.hidden
    }
    return tuple(
        name
        for name, pinned in found.items()
        if isinstance(pinned, UntrustedFile)
        or (
            isinstance(pinned, PinnedWorkflow)
            and pinned.workflow
            and pinned.workflow.authority is Authority.SQL
        )
    )


def _unknown_workflow_refusal(definitions: Definitions, name: str) -> Refused:
    known = ", ".join(list_startable_names(definitions))
    return Refused(
        RefusalCode.UNKNOWN_WORKFLOW,
        "template_name",
        (FactReading("template_name", name),),
        (f"one of {known}",),
    )


def _untrusted_refusal(hiding: UntrustedFile) -> Refused:
    seen = (
        FactReading("file", str(hiding.path)),
        FactReading("hides", str(hiding.hides)),
        FactReading(DIFF_KEY, hiding.diff),
    )
    return Refused(
        RefusalCode.UNTRUSTED, hiding.name, seen, (f"a person runs: handrail trust {hiding.name}",)
    )


@dataclass(frozen=True, slots=True)
class CheckedWorkflow:
    """A workflow and its problems, including warnings. `workflow` is None if it could not be read."""

    workflow: Workflow | None
    problems: tuple[Problem, ...]


def _check_uncached(source: WorkflowSource, find: SourceFinder) -> CheckedWorkflow:
    loaded = load_workflow(source, find)
    problems = loaded.problems or (check_soundness(loaded.workflow) if loaded.workflow else ())
    return CheckedWorkflow(loaded.workflow, problems)


check_source: Final = SourceCache(_check_uncached)
"""Load a workflow source and check its soundness. Results are cached."""
