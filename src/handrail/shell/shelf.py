"""What a project can use: its workflows, personas and guardrails, and which of its files are not trusted yet.

A project's file that hides one of the user's, or one that is built in, is used only once a person has said
`handrail trust`. Until then a workflow is not started, and of personas and guardrails the hidden one is used.
"""

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain, groupby
from pathlib import Path
from typing import Final

from msgspec import Struct

from handrail.documents.frontmatter import Front, parse, texts
from handrail.engine.model import Workflow
from handrail.engine.problems import Place, Problem, error
from handrail.shell.catalog import (
    DEFAULT,
    PROJECT,
    Catalog,
    Found,
    Kind,
    Lost,
    catalog,
    put_together,
    unfit_in,
)
from handrail.shell.definitions import Pinned, pin
from handrail.shell.followed import seen
from handrail.shell.glimpse import SETTLED, Glimpse
from handrail.shell.hiding import Untrusted, untrusted
from handrail.shell.trust import Mark, Trusted, root_text
from handrail.workflows.characters import safe
from handrail.workflows.load import Source, load

SUPERVISOR: Final = "supervisor"
"""The persona that `default` means."""

KEYS: Final[Mapping[Kind, tuple[str, ...]]] = {
    Kind.PERSONA: ("about",),
    Kind.GUARDRAIL: ("about", "workflows", "steps"),
}
"""What the front matter of each kind may say."""


class Persona(Struct, frozen=True):
    """Who works in a step: `text` is what an agent is told. With a `problem`, that is what the text says."""

    name: str
    about: str
    text: str
    origin: str
    path: Path
    problem: str = ""


class Guardrail(Struct, frozen=True):
    """A rule of the house, and the workflows and steps in which an agent is told of it unasked."""

    name: str
    text: str
    origin: str
    path: Path
    workflows: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()

    def told_in(self, workflow: str, state: str) -> bool:
        """True if it names the workflow or the state; one of a sub-workflow goes by its own name too."""
        return workflow in self.workflows or bool({state, state.rpartition("/")[2]} & set(self.steps))


class Hiding(Struct, frozen=True):
    """A project's file that hides another, and whether a person has trusted it."""

    file: Untrusted
    trusted: bool


class _Known(Struct, frozen=True):
    """A workflow as it was read from these texts: those inside it, and what a run of it keeps."""

    texts: tuple[Source, ...]
    inside: tuple[Found, ...]
    pinned: Pinned


class _Looked(Struct, frozen=True):
    """What was read in the folders of a kind, that put together, and what tells whether it is still so.

    `used` are those in use, unless that depends on what is trusted.
    """

    racks: tuple[tuple[Found | Lost, ...], ...]
    found: tuple[tuple[Found, ...], tuple[Lost, ...]]
    glimpse: Glimpse | None
    used: tuple[Found, ...] | None


class Shelf:
    """The definitions as a project sees them; files are looked at anew with every call, since they change.

    Asks what is trusted only if a file of the project hides another; then raises what `Trusted` raises.
    """

    __slots__ = ("_catalogs", "_known", "_looked", "_project", "_settled", "_trusted")

    def __init__(self, project: Path, trusted: Trusted, settled: int = SETTLED) -> None:
        self._project, self._settled = project, settled
        self._trusted = trusted
        self._catalogs: Mapping[Kind, Catalog] = {kind: catalog(project, kind) for kind in Kind}
        self._known: dict[str, _Known] = {}
        self._looked: dict[Kind, _Looked] = {}

    def workflows(self) -> tuple[Found, ...]:
        """Every workflow file that can be read, by name; a hidden one after the one that hides it."""
        return self.found(Kind.WORKFLOW)

    def found(self, kind: Kind) -> tuple[Found, ...]:
        """The same of any kind."""
        return self._look(kind).found[0]

    def pinned(self, name: str) -> Pinned | Untrusted | None:
        """The workflow of this name for a run to keep, or its problems; None if there is none.

        If it, or one inside it, is not trusted, that one.
        """
        found, lost = self._look(Kind.WORKFLOW).found
        first = _first(found)
        if name not in first:
            problems = tuple(chain.from_iterable(one.problems for one in lost if one.name == name))
            return Pinned(None, None, problems) if problems else None
        known = self._read(name, first)
        for each in (first[name], *known.inside):
            hiding = self._hiding(Kind.WORKFLOW, each, first)
            if hiding and not hiding.trusted:
                return hiding.file
        return known.pinned

    def personas(self) -> tuple[Persona, ...]:
        """Every persona in use, by name."""
        return tuple(map(persona_of, self._in_use(Kind.PERSONA)))

    def persona(self, name: str) -> Persona | None:
        """The persona of this name; None if there is none. One that cannot be read says so."""
        wanted = SUPERVISOR if name == DEFAULT else name
        for one in self._in_use(Kind.PERSONA):
            if one.name == wanted:
                return persona_of(one)
        return next((_unreadable(one) for one in self.lost(Kind.PERSONA) if one.name == wanted), None)

    def guardrails(self) -> tuple[Guardrail, ...]:
        """Every guardrail in use, by name."""
        return tuple(map(guardrail_of, self._in_use(Kind.GUARDRAIL)))

    def hiding(self) -> tuple[Hiding, ...]:
        """Every file of the project that hides another and says something else."""
        every = []
        for kind in Kind:
            first = _first(self.found(kind))
            every += [self._hiding(kind, one, first) for one in first.values()]
        return tuple(one for one in every if one)

    def untrusted(self) -> tuple[Untrusted, ...]:
        """Those of them that nobody has trusted."""
        return tuple(one.file for one in self.hiding() if not one.trusted)

    def blocking(self, workflow: Workflow) -> tuple[Untrusted, ...]:
        """Those of them that a run of this workflow would use.

        That is the workflow with those inside it, its personas, and the guardrails it would be told of.
        """
        first = _first(self.workflows())
        inside = self._read(workflow.name, first).inside if workflow.name in first else ()
        agents = {state.brief.agent for state in workflow.states.values() if state.brief}
        used = {
            Kind.WORKFLOW: {workflow.name, *(one.name for one in inside)},
            Kind.PERSONA: {SUPERVISOR if agent == DEFAULT else agent for agent in agents},
            Kind.GUARDRAIL: set(self._told_in(workflow)),
        }
        return tuple(one for one in self.untrusted() if one.name in used[one.kind])

    def mark(self, file: Untrusted) -> Mark:
        """What is kept when a person trusts such a file."""
        return Mark(root_text(self._project), file.kind, file.name, file.digest)

    def lost(self, kind: Kind) -> tuple[Lost, ...]:
        """The files of a kind that are passed over, and why."""
        return self._look(kind).found[1]

    def problems(self, kind: Kind) -> tuple[Problem, ...]:
        """What is wrong with the files of a kind: why some are passed over, and front matter."""
        found, lost = self._look(kind).found
        wrong = chain.from_iterable(one.problems for one in lost)
        return (*wrong, *chain.from_iterable(front_problems(kind, one.source) for one in found))

    def signature(self) -> str:
        """Another text whenever a definition file was added, removed or changed, or trust was given."""
        now = seen(self._trusted.path)
        stamp = (now.st_ino, now.st_size, now.st_mtime_ns) if now else ()
        stamps = [tuple(each.stamps()) for each in self._catalogs.values()]
        return hashlib.sha256(repr((stamps, stamp)).encode("utf-8", "surrogateescape")).hexdigest()

    def _look(self, kind: Kind) -> _Looked:
        """What the folders of a kind hold now, put together anew only if something in them has changed."""
        known, files = self._looked.get(kind), self._catalogs[kind]
        if known and known.glimpse and known.glimpse.holds():
            return known
        before = time.time_ns() - self._settled
        racks = files.read()
        found = known.found if known and known.racks == racks else put_together(racks)
        plain = not any(one.origin == PROJECT and one.hides for one in found[0])
        used = tuple(one for one in found[0] if not one.hidden) if plain else None
        looked = self._looked[kind] = _Looked(racks, found, files.glimpse(racks, before), used)
        return looked

    def _read(self, name: str, first: Mapping[str, Found]) -> "_Known":
        """The workflow of this name, read anew only if a text has changed."""
        texts = tuple(one.source for one in first.values())
        known = self._known.get(name)
        if known is None or known.texts != texts:
            sources = {other: found.source for other, found in first.items()}
            known = _Known(texts, _inside(first[name], first), pin(first[name].source, sources.get))
            self._known[name] = known
        return known

    def _in_use(self, kind: Kind) -> Iterable[Found]:
        """Of each name the first that needs no trust, or has it."""
        looked = self._look(kind)
        return self._trusted_of(kind, looked.found[0]) if looked.used is None else looked.used

    def _trusted_of(self, kind: Kind, found: Iterable[Found]) -> Iterator[Found]:
        for _, same in groupby(found, key=lambda one: one.name):
            for one in same:
                hiding = self._hiding(kind, one, {})
                if hiding is None or hiding.trusted:
                    yield one
                    break

    def _hiding(self, kind: Kind, found: Found, first: Mapping[str, Found]) -> Hiding | None:
        if found.origin != PROJECT or found.hides is None:
            return None
        file = untrusted(kind, found, found.hides, _inside(found, first) if kind is Kind.WORKFLOW else ())
        return Hiding(file, self._trusted.holds(self.mark(file))) if file else None

    def _told_in(self, workflow: Workflow) -> Iterator[str]:
        """The guardrails that a run would be told of, or would be if none were hidden."""
        for found in self.found(Kind.GUARDRAIL):
            rule = guardrail_of(found)
            if any(rule.told_in(workflow.name, state) for state in workflow.states):
                yield rule.name


def front_problems(kind: Kind, source: Source) -> Iterator[Problem]:
    """What is wrong with a text of this kind: a character, or its front matter; a workflow has none."""
    file = safe(source.file)
    unfit = tuple(unfit_in(source.text, file)) if kind in KEYS else ()
    yield from unfit
    if unfit or kind not in KEYS:
        return
    for slip in parse(source.text, KEYS[kind]).slips:
        yield error(slip.code, Place(file, slip.line, 1), slip.message, slip.repair)


def _first(found: Iterable[Found]) -> dict[str, Found]:
    return {one.name: one for one in found if not one.hidden}


def _inside(found: Found, first: Mapping[str, Found]) -> tuple[Found, ...]:
    """The workflows that stand inside this one, at any depth."""
    inside: dict[str, Found] = {}

    def find(name: str) -> Source | None:
        if name not in first:
            return None
        inside[name] = first[name]
        return first[name].source

    load(found.source, find)
    return tuple(inside.values())


def _about(front: Front) -> str:
    return " ".join(texts(front.fields.get("about", "")))


@lru_cache(maxsize=256)
def _front(text: str) -> Front:
    return parse(text)


def persona_of(found: Found) -> Persona:
    """The persona that a text is."""
    front = _front(found.source.text)
    return Persona(found.name, _about(front), front.body, found.origin, found.path)


def _unreadable(lost: Lost) -> Persona:
    problem = lost.problems[0]
    said = f"The persona `{safe(lost.name)}` cannot be read: {problem.message}."
    text = f"{said}\nA person can mend it: {problem.repair}.\n"
    return Persona(lost.name, "", text, lost.origin, lost.path, problem.message)


def guardrail_of(found: Found) -> Guardrail:
    """The guardrail that a text is."""
    front = _front(found.source.text)
    workflows, steps = (texts(front.fields.get(key, "")) for key in ("workflows", "steps"))
    return Guardrail(found.name, front.body, found.origin, found.path, workflows, steps)
