"""The seven resources: which there are, what stands in each, and which change when a run moves.

Plain data in, plain data out: the server puts it on the wire. Reading writes nothing, except that somebody
who reads the current step of a run looks after it.
"""

from collections.abc import Callable, Iterator
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from handrail.engine.lifecycle import terminal
from handrail.engine.model import Authority
from handrail.faces.mcp import addresses, contents
from handrail.faces.mcp.addresses import FINAL, FINAL_OF, RECENT, TYPE, Address, shown, uri
from handrail.faces.mcp.completion import Completion
from handrail.faces.mcp.projects import Projects
from handrail.shell.catalog import PROJECT
from handrail.shell.definitions import Pinned
from handrail.shell.hiding import Untrusted
from handrail.shell.ports import Clock
from handrail.shell.records import project_id, project_name
from handrail.shell.shelf import Persona, Shelf
from handrail.shell.sweep import Limits
from handrail.shell.vcs import Vcs
from handrail.shell.view import (
    PAGE,
    AllFinal,
    Choice,
    FinalIn,
    FinalOf,
    OfRun,
    OfStep,
    OfType,
    Recent,
    Records,
    RunRow,
)
from handrail.workflows.characters import safe

MARKDOWN: Final = "text/markdown"
JSON: Final = "application/json"

_DEFAULT: Final = "default"
_NEWEST: Final = 50
_LAST: Final = 10
_LISTED: Final = (
    (addresses.GUARDRAILS, "active", "Guardrails", "The rules that hold here, as they stand.", MARKDOWN),
    (addresses.WORKFLOWS, "all", "Workflows", "What can be started, and with which inputs.", JSON),
    (addresses.ARTIFACTS, RECENT, "Recent artifacts", "The last 50 artifacts of all runs.", JSON),
    (addresses.ARTIFACTS, FINAL, "Final artifacts", "The last 100 artifacts of completed runs.", JSON),
)
_TEMPLATES: Final = (
    (addresses.PERSONA, "Persona", "How an agent works, in full.", MARKDOWN),
    (addresses.CURRENT, "Current step", "Where a run stands now, and what it made there.", JSON),
    (addresses.STATUS, "Run", "A run, its steps, artifacts and comments; `more` is the next page.", JSON),
    (addresses.PROJECT, "Project", "Its commit, the run under way, and what there is to use.", JSON),
    (addresses.ARTIFACTS, "Artifacts", "recent, final, final/{execution_id} or type/{type}.", JSON),
)


class Listed(Struct, frozen=True):
    """A resource that is always there."""

    uri: str
    name: str
    about: str
    mime: str


class Template(Struct, frozen=True):
    """Resources of one form, with what is to be filled in."""

    uri: str
    name: str
    about: str
    mime: str


class Content(Struct, frozen=True):
    """What stands in a resource."""

    mime: str
    text: str


class NotFound(Exception):  # noqa: N818 - the word of the house, and no error of ours
    """There is no such resource; the message says which there are, or how to find them."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Resources(Struct, frozen=True):
    """The resources of a server for these projects; may be asked by many threads at once.

    `touch` notes that somebody looks after a run; `vcs_of` has the version control as seen from a root.
    Without any project, the definitions are those as seen from nowhere, `""`.
    """

    records: Records
    touch: Callable[[str], None]
    projects: Projects
    limits: Limits
    clock: Clock
    vcs_of: Callable[[str], Vcs]

    def listed(self, *, portable: bool) -> tuple[Listed, ...]:
        """The resources that are always there."""
        default = uri(addresses.PERSONA, _DEFAULT, portable=portable)
        about = "How an agent works unless a step names another persona."
        found = [Listed(default, "Default persona", about, MARKDOWN)]
        for persona in self._personas():
            address = uri(addresses.PERSONA, persona.name, portable=portable)
            found.append(Listed(address, f"Persona: {persona.name}", _about(persona), MARKDOWN))
        for scheme, name, title, about, mime in _LISTED:
            found.append(Listed(uri(scheme, name, portable=portable), title, about, mime))
        return tuple(found)

    def templates(self, *, portable: bool) -> tuple[Template, ...]:
        """The forms of those that need a name."""
        return tuple(
            Template(addresses.form(scheme, portable=portable), title, about, mime)
            for scheme, title, about, mime in _TEMPLATES
        )

    def complete(self, template_uri: str, argument: str, typed: str) -> tuple[str, ...]:
        """What an argument of a template may be that begins as typed, the likeliest first."""
        personas = (_DEFAULT, *(persona.name for persona in self._personas()))
        names = {root: self._named(root) for root in self._roots()}
        return Completion(self.records, names, personas).of(template_uri, argument, typed)

    def about(self, run: RunRow) -> tuple[str, ...]:
        """Every address, in both spellings, of what changes when this run moves."""
        named = [(addresses.CURRENT, run.id), (addresses.STATUS, run.id)]
        patterns = (
            RECENT,
            FINAL,
            f"{FINAL_OF}{run.id}",
            *(TYPE + kind for kind in self.records.types(run.id)),
        )
        named += [(addresses.ARTIFACTS, pattern) for pattern in patterns]
        if run.project:
            named.append((addresses.PROJECT, project_id(run.project)))
        return tuple(
            uri(scheme, name, portable=portable) for portable in (False, True) for scheme, name in named
        )

    def read(self, given: str) -> Content:
        """What stands in the resource of this address, in either spelling. Raises `NotFound`."""
        at = addresses.read(given)
        if isinstance(at, str):
            raise NotFound(at)
        match at.scheme, at.name:
            case addresses.PERSONA, name:
                return Content(MARKDOWN, self._persona(name))
            case addresses.GUARDRAILS, "active":
                return Content(MARKDOWN, self._guardrails())
            case _:
                return Content(JSON, msgspec.json.encode(self._data(at)).decode())

    def _data(self, at: Address) -> dict[str, object]:
        """What stands in a resource that is JSON."""
        match at.scheme, at.name:
            case addresses.WORKFLOWS, "all":
                return self._workflows()
            case addresses.CURRENT, run:
                return self._current(run)
            case addresses.STATUS, _:
                return self._status(at)
            case addresses.PROJECT, project:
                return self._project(project)
            case addresses.ARTIFACTS, _:
                return self._artifacts(at)
            case _:
                only = addresses.form(at.scheme, portable=at.portable)
                raise NotFound(f"`{shown(at.name)}` is not there; there is only {only}")

    # --- definitions ----------------------------------------------------------------------------------------

    def _roots(self) -> tuple[str, ...]:
        return tuple(map(str, self.projects.roots))

    def _named(self, root: str) -> str:
        """What a project is called."""
        label = self.projects.label(root)
        return project_name(root) if label is None else label

    def _told(self, root: str) -> str | None:
        """The root of a project, where clients are told of it."""
        return root if self.projects.label(root) is None else None

    def _shelves(self) -> Iterator[tuple[str, Shelf]]:
        return ((root, self.projects.shelf(root)) for root in self._roots() or ("",))

    def _personas(self) -> list[Persona]:
        """Every persona, by name; where projects differ, that of the first."""
        found: dict[str, Persona] = {}
        for _, shelf in self._shelves():
            for persona in shelf.personas():
                found.setdefault(persona.name, persona)
        return [found[name] for name in sorted(found)]

    def _persona(self, name: str) -> str:
        for root in self._roots() or ("",):
            if persona := self.projects.persona(root, name):
                return persona.text
        known = ", ".join((_DEFAULT, *(persona.name for persona in self._personas())))
        raise NotFound(f"no persona is called `{shown(name)}`; there are {known}")

    def _guardrails(self) -> str:
        """Each under its name; of several projects, those a project brought also under its name."""
        sections: list[str] = []
        shelves = tuple(self._shelves())
        for root, shelf in shelves:
            for one in shelf.guardrails():
                own = f" ({self._named(root)})" if one.origin == PROJECT and len(shelves) > 1 else ""
                section = f"# {one.name}{own}\n\n{one.text}"
                if section not in sections:
                    sections.append(section)
        none = "There are no guardrails here: Markdown files in `.handrail/guardrails/` would be some.\n"
        return "\n\n".join(sections) or none

    def _workflows(self) -> dict[str, object]:
        """Each name once for each project."""
        projects: list[dict[str, object]] = []
        workflows: list[dict[str, object]] = []
        for root, shelf in self._shelves():
            project = project_id(root) if root else None
            if project:
                projects.append({"project_id": project, "name": self._title(root), "root": self._told(root)})
            workflows += [{**one, "project_id": project} for one in self._offers(shelf)]
        return {"projects": projects, "workflows": workflows}

    # --- runs -----------------------------------------------------------------------------------------------

    def _run(self, name: str) -> RunRow:
        row = self.records.run(name) if addresses.is_run(name) else None
        if row is None:
            how = "give a whole id; `handrail runs list` has them all, project_context:// the one under way"
            raise NotFound(f"no run has the id `{shown(name)}`: {how}")
        return row

    def _current(self, name: str) -> dict[str, object]:
        with self.records.moment():
            row = self._run(name)
            first, *others = contents.current(row, self.records.open_steps(row.id))
            made = self.records.excerpts(OfStep(row.id, row.state)) if row.state else ()
        quiet = self.limits.is_quiet(row, self.clock.now())
        if not terminal(row.lifecycle):
            self.touch(row.id)
        told = {**first, "artifacts": contents.artifacts(made), "waiting": row.waiting, "quiet": quiet}
        return {**told, "also_open": others} if others else told

    def _status(self, at: Address) -> dict[str, object]:
        before, last = PAGE * (at.page - 1), PAGE * at.page
        with self.records.moment():
            row = self._run(at.name)
            steps = self.records.steps(row.id, before, PAGE + 1)
            made = self.records.excerpts(OfRun(row.id), PAGE + 1, before)
            remarks = self.records.remarks(row.id)
        told = [step for step in steps if step.number <= last]
        quiet = self.limits.is_quiet(row, self.clock.now())
        return {
            "execution": {**contents.execution(row), "quiet": quiet},
            "steps": [contents.step(row.id, step) for step in told],
            "artifacts": contents.artifacts(made[:PAGE]),
            "comments": contents.comments(remarks),
            "more": at.next if len(told) < len(steps) or len(made) > PAGE else None,
        }

    def _artifacts(self, at: Address) -> dict[str, object]:
        choice, most = self._chosen(at)
        with self.records.moment():
            if isinstance(choice, FinalOf):
                self._run(choice.run)
            made = self.records.excerpts(choice, most + 1, most * (at.page - 1))
        told: dict[str, object] = {"artifacts": contents.artifacts(made[:most])}
        if isinstance(choice, FinalOf):
            told["more"] = at.next if len(made) > most else None
        return told

    def _chosen(self, at: Address) -> tuple[Choice, int]:
        """Which artifacts a pattern means, and how many at most; only those of one run have pages."""
        if at.name.startswith(FINAL_OF):
            return FinalOf(at.name.removeprefix(FINAL_OF)), PAGE
        if at.page == 1:
            if at.name == RECENT:
                return Recent(), _NEWEST
            if at.name == FINAL:
                return AllFinal(), PAGE
            if at.name.startswith(TYPE) and at.name != TYPE:
                return OfType(at.name.removeprefix(TYPE)), PAGE
        known = "there are recent, final, final/{execution_id} and type/{type}"
        raise NotFound(f"`{shown(at.name)}` is no pattern of artifacts; {known}")

    def _project(self, name: str) -> dict[str, object]:
        roots = self._roots()
        root = next((root for root in roots if project_id(root) == name), "")
        if not root:
            known = ", ".join(f"{project_id(root)} ({self._named(root)})" for root in roots) or "none"
            raise NotFound(f"no project of this server has the id `{shown(name)}`; there are {known}")
        shelf = self.projects.shelf(root)
        with self.records.moment():
            row = self.records.project(name)
            active = (row.active if row else "") or next(iter(self.records.live((root,))), "")
            run = self.records.run(active) if active else None
            steps = self.records.open_steps(run.id) if run else ()
            last = self.records.excerpts(FinalIn(name), _LAST)
        return {
            "project_id": name,
            "name": self._title(root),
            "root": self._told(root),
            "vcs": self._vcs(root),
            "active_run": contents.active(run, steps) if run else None,
            "workflows": [offer["name"] for offer in self._offers(shelf)],
            "guardrails": [one.name for one in shelf.guardrails()],
            "artifacts": [contents.artifact(one) for one in last],
        }

    def _title(self, root: str) -> str:
        """What a project is called, where it was given no name as the store knows it."""
        label = self.projects.label(root)
        row = self.records.project(project_id(root)) if label is None else None
        return row.name if row else self._named(root)

    def _vcs(self, root: str) -> dict[str, object]:
        vcs = self.vcs_of(root)
        return contents.vcs(replace(vcs, problem=self.projects.hide(vcs.problem)) if vcs.problem else vcs)

    def _offers(self, shelf: Shelf) -> list[dict[str, object]]:
        """The workflows that can be started; what a file hides is named, not told."""
        hide = self.projects.hide
        return [{**one, "problems": [*map(hide, problems)]} for one, problems in _offers(shelf)]


def _about(persona: Persona) -> str:
    """What a persona is for; what a project says of its own stands in no description."""
    return "A persona that this project brought." if persona.origin == PROJECT else persona.about


def _offers(shelf: Shelf) -> Iterator[tuple[dict[str, object], list[str]]]:
    """The workflows that can be started, and what is wrong with each."""
    files = shelf.workflows()
    for used in files:
        if not used.hidden and not _lives_elsewhere(shelf, used.name):
            hides = [file.origin for file in files if file.hidden and file.name == used.name]
            told, problems = _offered(shelf, used.name)
            yield {"name": used.name, "origin": used.origin, "hides": hides, **told}, problems


def _lives_elsewhere(shelf: Shelf, name: str) -> bool:
    """True of a workflow whose run is in files or a commit: it begins by itself."""
    found = shelf.pinned(name)
    workflow = found.workflow if isinstance(found, Pinned) else None
    return workflow is not None and workflow.authority is not Authority.SQL


def _offered(shelf: Shelf, name: str) -> tuple[dict[str, object], list[str]]:
    """What starting the workflow of this name takes, or why it cannot be started."""
    found = shelf.pinned(name)
    if isinstance(found, Pinned) and found.workflow:
        return {**contents.offered(found.workflow), "trusted": True}, []
    nothing: dict[str, object] = {"about": None, "version": None, "inputs": []}
    if isinstance(found, Untrusted):
        how = f"a person must look at it and run `handrail trust {found.name}`"
        problem = f"{found.path} hides {found.hides} and nobody has trusted it: {how}"
        return {**nothing, "trusted": False}, [safe(problem)]
    return {**nothing, "trusted": True}, contents.problems(found.problems if found else ())
