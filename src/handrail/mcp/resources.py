"""MCP resources: which there are, what each contains, and the completion of their arguments.

Start reading at `Resources.read`. The functions `…_data` turn rows of the store into JSON; their keys are the
column names of the source document. Everything here reads; only `Resources.touch` writes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from handrail.app.catalog import PROJECT_ORIGIN
from handrail.app.definitions import Definitions, Persona
from handrail.app.projects import Projects
from handrail.app.trust import UntrustedFile
from handrail.documents.text import escape_for_terminal
from handrail.engine.lifecycle import is_terminal
from handrail.engine.model import Authority, Lifecycle, Variable, Workflow
from handrail.engine.problems import Problem
from handrail.mcp import addresses
from handrail.mcp.addresses import (
    FINAL_PATTERN,
    FINAL_PREFIX,
    MAX_URI_CHARACTERS,
    RECENT_PATTERN,
    TYPE_PREFIX,
    ResourceAddress,
    build_uri,
    safe_excerpt,
)
from handrail.runtime.comments import collect_comments
from handrail.runtime.ports.queries import (
    PAGE_SIZE,
    AllFinalArtifacts,
    ArtifactFilter,
    ArtifactsOfRun,
    ArtifactsOfStep,
    ArtifactsOfType,
    Excerpt,
    FinalArtifactsOfProject,
    FinalArtifactsOfRun,
    RecentArtifacts,
    RunFilter,
    RunQueries,
    RunRow,
    StepRow,
)
from handrail.runtime.ports.turn import Clock
from handrail.runtime.records import JournalEntry, format_rfc3339, project_id, project_name
from handrail.runtime.sweep import IdleLimits
from handrail.runtime.world import PinnedWorkflow
from handrail.stores.vcs.commands import VcsStatus

MAX_TEXT_BYTES: Final = 1024 * 1024
"""The maximum size of all artifact texts in one resource, in bytes; a text that does not fit is left out."""


_MAX_PROBLEMS: Final = 5


MAX_COMPLETIONS: Final = 100
"""The maximum number of completions that a client gets."""


MARKDOWN_MIME: Final = "text/markdown"


JSON_MIME: Final = "application/json"


_DEFAULT_PERSONA: Final = "default"


_MAX_RECENT: Final = 50


_MAX_PROJECT_ARTIFACTS: Final = 10


_FIXED_RESOURCES: Final = (
    (addresses.GUARDRAILS, "active", "Guardrails", "The rules that hold here, as they stand.", MARKDOWN_MIME),
    (addresses.WORKFLOWS, "all", "Workflows", "What can be started, and with which inputs.", JSON_MIME),
    (
        addresses.ARTIFACTS,
        RECENT_PATTERN,
        "Recent artifacts",
        "The last 50 artifacts of all runs.",
        JSON_MIME,
    ),
    (
        addresses.ARTIFACTS,
        FINAL_PATTERN,
        "Final artifacts",
        "The last 100 artifacts of completed runs.",
        JSON_MIME,
    ),
)


_TEMPLATES: Final = (
    (addresses.PERSONA, "Persona", "How an agent works, in full.", MARKDOWN_MIME),
    (addresses.CURRENT, "Current step", "Where a run stands now, and what it made there.", JSON_MIME),
    (
        addresses.STATUS,
        "Run",
        "A run, its steps, artifacts and comments; `more` is the next page.",
        JSON_MIME,
    ),
    (addresses.PROJECT, "Project", "Its commit, the run under way, and what there is to use.", JSON_MIME),
    (addresses.ARTIFACTS, "Artifacts", "recent, final, final/{execution_id} or type/{type}.", JSON_MIME),
)


class FixedResource(Struct, frozen=True):
    """A resource with a fixed address."""

    uri: str
    name: str
    about: str
    mime: str


class ResourceTemplate(Struct, frozen=True):
    """A URI template for resources that need an argument."""

    uri: str
    name: str
    about: str
    mime: str


class ResourceContent(Struct, frozen=True):
    """The text of a resource and its MIME type."""

    mime: str
    text: str


class ResourceNotFound(Exception):  # noqa: N818 - the request is wrong, not our code
    """The resource does not exist; the message names those that do, or how to find them."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Resources(Struct, frozen=True):
    """The resources of a server for these projects; safe to use from many threads.

    `touch` records that a run is still being watched, so that it does not count as idle. `vcs_of` returns the
    version control state of a project root. Without projects, definitions come from the root `""`.
    """

    records: RunQueries
    touch: Callable[[str], None]
    projects: Projects
    limits: IdleLimits
    clock: Clock
    vcs_of: Callable[[str], VcsStatus]

    def list_fixed(self, *, portable: bool) -> tuple[FixedResource, ...]:
        """Return the resources with a fixed address, personas first."""
        default = build_uri(addresses.PERSONA, _DEFAULT_PERSONA, portable=portable)
        about = "How an agent works unless a step names another persona."
        resources = [FixedResource(default, "Default persona", about, MARKDOWN_MIME)]
        for persona in self._personas():
            address = build_uri(addresses.PERSONA, persona.name, portable=portable)
            resources.append(
                FixedResource(address, f"Persona: {persona.name}", _describe_persona(persona), MARKDOWN_MIME)
            )
        for scheme, name, title, about, mime in _FIXED_RESOURCES:
            resources.append(FixedResource(build_uri(scheme, name, portable=portable), title, about, mime))
        return tuple(resources)

    def templates(self, *, portable: bool) -> tuple[ResourceTemplate, ...]:
        """Return the URI templates of the resources that need an argument."""
        return tuple(
            ResourceTemplate(addresses.build_uri_template(scheme, portable=portable), title, about, mime)
            for scheme, title, about, mime in _TEMPLATES
        )

    def complete(self, template_uri: str, argument: str, typed: str) -> tuple[str, ...]:
        """Return the values of a template argument that begin with the typed text, likeliest first."""
        personas = (_DEFAULT_PERSONA, *(persona.name for persona in self._personas()))
        names = {root: self._display_name(root) for root in self._roots()}
        return Completion(self.records, names, personas).complete(template_uri, argument, typed)

    def uris_of_run(self, run: RunRow) -> tuple[str, ...]:
        """Return the URIs, in both spellings, of all resources that change when this run moves."""
        named = [(addresses.CURRENT, run.id), (addresses.STATUS, run.id)]
        patterns = (
            RECENT_PATTERN,
            FINAL_PATTERN,
            f"{FINAL_PREFIX}{run.id}",
            *(TYPE_PREFIX + kind for kind in self.records.artifact_types(run.id)),
        )
        named += [(addresses.ARTIFACTS, pattern) for pattern in patterns]
        if run.project:
            named.append((addresses.PROJECT, project_id(run.project)))
        return tuple(
            build_uri(scheme, name, portable=portable) for portable in (False, True) for scheme, name in named
        )

    def read(self, given: str) -> ResourceContent:
        """Return the content of the resource at this URI, in either spelling.

        Raises `ResourceNotFound`.
        """
        at = addresses.parse_uri(given)
        if isinstance(at, str):
            raise ResourceNotFound(at)
        match at.scheme, at.name:
            case addresses.PERSONA, name:
                return ResourceContent(MARKDOWN_MIME, self._persona(name))
            case addresses.GUARDRAILS, "active":
                return ResourceContent(MARKDOWN_MIME, self._guardrails())
            case _:
                return ResourceContent(JSON_MIME, msgspec.json.encode(self._data(at)).decode())

    def _data(self, at: ResourceAddress) -> dict[str, object]:
        """Return the content of a JSON resource."""
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
                only = addresses.build_uri_template(at.scheme, portable=at.portable)
                raise ResourceNotFound(f"`{safe_excerpt(at.name)}` is not there; there is only {only}")

    # --- definitions ----------------------------------------------------------------------------------------

    def _roots(self) -> tuple[str, ...]:
        return tuple(map(str, self.projects.roots))

    def _display_name(self, root: str) -> str:
        """Return the label of a project, or else its name."""
        label = self.projects.label(root)
        return project_name(root) if label is None else label

    def _visible_root(self, root: str) -> str | None:
        """Return the root of a project, or None if clients see a label instead."""
        return root if self.projects.label(root) is None else None

    def _definitions(self) -> Iterator[tuple[str, Definitions]]:
        return ((root, self.projects.shelf(root)) for root in self._roots() or ("",))

    def _personas(self) -> list[Persona]:
        """Return all personas sorted by name; if projects define the same one, the first project wins."""
        personas: dict[str, Persona] = {}
        for _, shelf in self._definitions():
            for persona in shelf.personas():
                personas.setdefault(persona.name, persona)
        return [personas[name] for name in sorted(personas)]

    def _persona(self, name: str) -> str:
        for root in self._roots() or ("",):
            if persona := self.projects.persona(root, name):
                return persona.text
        known = ", ".join((_DEFAULT_PERSONA, *(persona.name for persona in self._personas())))
        raise ResourceNotFound(f"no persona is called `{safe_excerpt(name)}`; there are {known}")

    def _guardrails(self) -> str:
        """Return all guardrails as Markdown, each under its name.

        With several projects, the heading of a project's own guardrail also has the project's name.
        """
        sections: list[str] = []
        shelves = tuple(self._definitions())
        for root, shelf in shelves:
            for guardrail in shelf.guardrails():
                own = (
                    f" ({self._display_name(root)})"
                    if guardrail.origin == PROJECT_ORIGIN and len(shelves) > 1
                    else ""
                )
                section = f"# {guardrail.name}{own}\n\n{guardrail.text}"
                if section not in sections:
                    sections.append(section)
        none = "There are no guardrails here: Markdown files in `.handrail/guardrails/` would be some.\n"
        return "\n\n".join(sections) or none

    def _workflows(self) -> dict[str, object]:
        """Return the projects and their workflows; a workflow is listed once for each project."""
        projects: list[dict[str, object]] = []
        workflows: list[dict[str, object]] = []
        for root, shelf in self._definitions():
            project = project_id(root) if root else None
            if project:
                projects.append(
                    {"project_id": project, "name": self._title(root), "root": self._visible_root(root)}
                )
            workflows += [{**offer, "project_id": project} for offer in self._offers(shelf)]
        return {"projects": projects, "workflows": workflows}

    # --- runs -----------------------------------------------------------------------------------------------

    def _run(self, name: str) -> RunRow:
        row = self.records.run(name) if addresses.is_run_id(name) else None
        if row is None:
            how = "give a whole id; `handrail runs list` has them all, project_context:// the one under way"
            raise ResourceNotFound(f"no run has the id `{safe_excerpt(name)}`: {how}")
        return row

    def _current(self, name: str) -> dict[str, object]:
        with self.records.snapshot():
            row = self._run(name)
            first, *others = current_step_data(row, self.records.open_steps(row.id))
            artifacts = self.records.excerpts(ArtifactsOfStep(row.id, row.state)) if row.state else ()
        quiet = self.limits.is_quiet(row, self.clock.now())
        if not is_terminal(row.lifecycle):
            self.touch(row.id)
        data = {**first, "artifacts": artifacts_data(artifacts), "waiting": row.waiting, "quiet": quiet}
        return {**data, "also_open": others} if others else data

    def _status(self, at: ResourceAddress) -> dict[str, object]:
        before, last = PAGE_SIZE * (at.page - 1), PAGE_SIZE * at.page
        with self.records.snapshot():
            row = self._run(at.name)
            steps = self.records.steps(row.id, before, PAGE_SIZE + 1)
            artifacts = self.records.excerpts(ArtifactsOfRun(row.id), PAGE_SIZE + 1, before)
            remarks = self.records.comment_entries(row.id)
        shown = [step for step in steps if step.number <= last]
        quiet = self.limits.is_quiet(row, self.clock.now())
        return {
            "execution": {**execution_data(row), "quiet": quiet},
            "steps": [step_data(row.id, step) for step in shown],
            "artifacts": artifacts_data(artifacts[:PAGE_SIZE]),
            "comments": comments_data(remarks),
            "more": at.next if len(shown) < len(steps) or len(artifacts) > PAGE_SIZE else None,
        }

    def _artifacts(self, at: ResourceAddress) -> dict[str, object]:
        choice, most = self._parse_pattern(at)
        with self.records.snapshot():
            if isinstance(choice, FinalArtifactsOfRun):
                self._run(choice.run)
            artifacts = self.records.excerpts(choice, most + 1, most * (at.page - 1))
        data: dict[str, object] = {"artifacts": artifacts_data(artifacts[:most])}
        if isinstance(choice, FinalArtifactsOfRun):
            data["more"] = at.next if len(artifacts) > most else None
        return data

    def _parse_pattern(self, at: ResourceAddress) -> tuple[ArtifactFilter, int]:
        """Return the filter for a pattern and the maximum number of artifacts.

        Only the artifacts of one run have pages. Raises `ResourceNotFound` for an unknown pattern.
        """
        if at.name.startswith(FINAL_PREFIX):
            return FinalArtifactsOfRun(at.name.removeprefix(FINAL_PREFIX)), PAGE_SIZE
        if at.page == 1:
            if at.name == RECENT_PATTERN:
                return RecentArtifacts(), _MAX_RECENT
            if at.name == FINAL_PATTERN:
                return AllFinalArtifacts(), PAGE_SIZE
            if at.name.startswith(TYPE_PREFIX) and at.name != TYPE_PREFIX:
                return ArtifactsOfType(at.name.removeprefix(TYPE_PREFIX)), PAGE_SIZE
        known = "there are recent, final, final/{execution_id} and type/{type}"
        raise ResourceNotFound(f"`{safe_excerpt(at.name)}` is no pattern of artifacts; {known}")

    def _project(self, name: str) -> dict[str, object]:
        roots = self._roots()
        root = next((root for root in roots if project_id(root) == name), "")
        if not root:
            known = ", ".join(f"{project_id(root)} ({self._display_name(root)})" for root in roots) or "none"
            raise ResourceNotFound(
                f"no project of this server has the id `{safe_excerpt(name)}`; there are {known}"
            )
        shelf = self.projects.shelf(root)
        with self.records.snapshot():
            row = self.records.project(name)
            active = (row.active if row else "") or next(iter(self.records.list_active_ids((root,))), "")
            run = self.records.run(active) if active else None
            steps = self.records.open_steps(run.id) if run else ()
            last = self.records.excerpts(FinalArtifactsOfProject(name), _MAX_PROJECT_ARTIFACTS)
        return {
            "project_id": name,
            "name": self._title(root),
            "root": self._visible_root(root),
            "vcs": self._vcs(root),
            "active_run": active_run_data(run, steps) if run else None,
            "workflows": [offer["name"] for offer in self._offers(shelf)],
            "guardrails": [guardrail.name for guardrail in shelf.guardrails()],
            "artifacts": [artifact_data(excerpt) for excerpt in last],
        }

    def _title(self, root: str) -> str:
        """Return the label of a project; without one, its name in the store, or else its default name."""
        label = self.projects.label(root)
        row = self.records.project(project_id(root)) if label is None else None
        return row.name if row else self._display_name(root)

    def _vcs(self, root: str) -> dict[str, object]:
        vcs = self.vcs_of(root)
        return vcs_data(replace(vcs, problem=self.projects.hide(vcs.problem)) if vcs.problem else vcs)

    def _offers(self, shelf: Definitions) -> list[dict[str, object]]:
        """Return the workflows that can be started; server paths in their problems are hidden."""
        hide = self.projects.hide
        return [{**offer, "problems": [*map(hide, problems)]} for offer, problems in _list_startable(shelf)]


def _describe_persona(persona: Persona) -> str:
    """Return the description of a persona. Text that a project wrote is never used as a description."""
    return "A persona that this project brought." if persona.origin == PROJECT_ORIGIN else persona.about


def _list_startable(shelf: Definitions) -> Iterator[tuple[dict[str, object], list[str]]]:
    """Yield the workflows that can be started, each with its problems."""
    files = shelf.workflows()
    for used in files:
        if not used.hidden and not _is_kept_elsewhere(shelf, used.name):
            hides = [file.origin for file in files if file.hidden and file.name == used.name]
            offer, problems = _describe_startable(shelf, used.name)
            yield {"name": used.name, "origin": used.origin, "hides": hides, **offer}, problems


def _is_kept_elsewhere(shelf: Definitions, name: str) -> bool:
    """True if the runs of a workflow live in files or a commit: such a run starts without a call."""
    pinned = shelf.find_pinned(name)
    workflow = pinned.workflow if isinstance(pinned, PinnedWorkflow) else None
    return workflow is not None and workflow.authority is not Authority.SQL


def _describe_startable(shelf: Definitions, name: str) -> tuple[dict[str, object], list[str]]:
    """Return what starting this workflow takes, and the problems that prevent it."""
    pinned = shelf.find_pinned(name)
    if isinstance(pinned, PinnedWorkflow) and pinned.workflow:
        return {**workflow_data(pinned.workflow), "trusted": True}, []
    nothing: dict[str, object] = {"about": None, "version": None, "inputs": []}
    if isinstance(pinned, UntrustedFile):
        how = f"a person must look at it and run `handrail trust {pinned.name}`"
        problem = f"{pinned.path} hides {pinned.hides} and nobody has trusted it: {how}"
        return {**nothing, "trusted": False}, [escape_for_terminal(problem)]
    return {**nothing, "trusted": True}, problem_lines(pinned.problems if pinned else ())


class Completion(Struct, frozen=True):
    """Completes the arguments of resource templates; `projects` maps each root to the project's name."""

    records: RunQueries
    projects: Mapping[str, str]
    personas: Sequence[str]

    def complete(self, template: str, argument: str, typed: str) -> tuple[str, ...]:
        """Return the values of a template argument that begin with the typed text, likeliest first."""
        if len(typed) > MAX_URI_CHARACTERS or any("\ud800" <= character <= "\udfff" for character in typed):
            return ()
        match addresses.scheme_of(template), argument:
            case addresses.PERSONA, "agent":
                values = self._agents(typed)
            case ((addresses.CURRENT | addresses.STATUS), "execution_id"):
                values = self._runs(typed)
            case addresses.PROJECT, "project_id":
                values = self._projects(typed)
            case addresses.ARTIFACTS, "pattern":
                values = self._patterns(typed)
            case _:
                return ()
        return tuple(dict.fromkeys(values))[:MAX_COMPLETIONS]

    def _agents(self, typed: str) -> Iterator[str]:
        return (name for name in self.personas if name.startswith(typed))

    def _runs(self, typed: str) -> Iterator[str]:
        """Yield the active runs of these projects, then the latest runs of all, then any other match."""
        yield from self.records.list_active_ids(tuple(self.projects), typed)
        yield from (row.id for row in self.records.runs(RunFilter()) if row.id.startswith(typed))
        if typed:
            yield from self.records.find_ids(typed)

    def _projects(self, typed: str) -> Iterator[str]:
        """Yield the ids of the projects whose id or name begins with the typed text."""
        for root, name in self.projects.items():
            if project_id(root).startswith(typed) or name.startswith(typed):
                yield project_id(root)

    def _patterns(self, typed: str) -> Iterator[str]:
        last = [f"{FINAL_PREFIX}{run}" for run in self.records.list_completed_ids()]
        types = [f"{TYPE_PREFIX}{type_}" for type_ in self.records.artifact_types()]
        yield from (name for name in (RECENT_PATTERN, FINAL_PATTERN, *last, *types) if name.startswith(typed))
        id_prefix = typed.removeprefix(FINAL_PREFIX)
        for run in self.records.find_ids(id_prefix) if id_prefix and id_prefix != typed else ():
            row = self.records.run(run)
            if row and row.lifecycle is Lifecycle.COMPLETED:
                yield f"{FINAL_PREFIX}{run}"


def execution_data(row: RunRow) -> dict[str, object]:
    """Return a run with the columns of `workflow_executions`."""
    return {
        "execution_id": row.id,
        "workflow_name": row.workflow,
        "state": str(row.lifecycle),
        "current_step": row.state or None,
        "started_at": format_rfc3339(row.started),
        "updated_at": format_rfc3339(row.updated),
        "completed_at": _format_time(row.ended),
        "duration_ms": row.duration_ms,
        "metadata": dict(row.metadata),
        "revision": row.revision,
        "active_at": format_rfc3339(row.active),
        "waiting": row.waiting,
        "face": row.face,
        "authority": str(row.authority),
        "project_id": project_id(row.project) if row.project else None,
        "goal": row.goal,
        "principal": row.principal,
        "parent_execution_id": row.parent or None,
    }


def current_step_data(run: RunRow, steps: Iterable[StepRow]) -> list[dict[str, object]]:
    """Return the current step of a run, with the columns of the query in the source document.

    There is one row for each open step. Without an open step, there is one row with empty step columns.
    """
    where: dict[str, object] = {
        "execution_id": run.id,
        "state": str(run.lifecycle),
        "current_step": run.state or None,
    }
    no_step: dict[str, object] = {"step_name": None, "agent_name": None, "status": None, "started_at": None}
    rows: list[dict[str, object]] = [
        {
            "step_name": row.state,
            "agent_name": row.agent,
            "status": str(row.status),
            "started_at": _format_time(row.opened),
        }
        for row in steps
    ]
    return [{**where, **one} for one in rows or [no_step]]


def active_run_data(row: RunRow, steps: Iterable[StepRow]) -> dict[str, object]:
    """Return the active run of a project and its current step."""
    names = ("execution_id", "state", "current_step", "step_name")
    first = current_step_data(row, steps)[0]
    return {"workflow_name": row.workflow, **{name: first[name] for name in names}}


def step_data(run: str, row: StepRow) -> dict[str, object]:
    """Return a step of a run with the columns of `workflow_steps`: with its number, without its token."""
    return {
        "execution_id": run,
        "number": row.number,
        "step_name": row.state,
        "agent_name": row.agent,
        "status": str(row.status),
        "started_at": _format_time(row.opened),
        "completed_at": _format_time(row.closed),
        "duration_ms": row.duration_ms,
        "output": None if row.output is None else dict(row.output),
    }


def artifacts_data(excerpts: Iterable[Excerpt]) -> list[dict[str, object]]:
    """Return artifacts with the columns of `workflow_artifacts`.

    An artifact whose text is cut has `cut`, its `size`, and in `whole` the command that prints all of it.
    """
    rows: list[dict[str, object]] = []
    room = MAX_TEXT_BYTES
    for one in excerpts:
        row, text = one.artifact, one.text if len(one.text.encode()) <= room else ""
        given = len(text.encode())
        room -= given
        rows.append(
            {
                **artifact_data(one),
                "step_name": row.step,
                "agent_name": row.agent,
                "description": row.description or None,
                "is_final": row.final,
                "number": row.number,
                "content": text,
            }
        )
        if given < row.size:
            whole = f"handrail runs artifacts {one.run} {row.number}"
            rows[-1] |= {"cut": True, "size": row.size, "whole": whole}
    return rows


def artifact_data(excerpt: Excerpt) -> dict[str, object]:
    """Return the id, run, type, title and time of an artifact, without its text."""
    row = excerpt.artifact
    return {
        "artifact_id": row.id,
        "execution_id": excerpt.run,
        "artifact_type": row.type,
        "title": row.title,
        "created_at": format_rfc3339(row.at),
    }


def comments_data(entries: Iterable[JournalEntry]) -> list[dict[str, object]]:
    """Return people's comments on a run in full, each with the time at which its agent received it."""
    return [
        {
            "comment_id": comment.id,
            "principal": comment.principal,
            "text": comment.text,
            "created_at": format_rfc3339(comment.at),
            "told_at": _format_time(comment.told),
        }
        for comment in collect_comments(entries)
    ]


def workflow_data(workflow: Workflow) -> dict[str, object]:
    """Return the description, version and inputs of a workflow, without its steps."""
    return {
        "about": workflow.about,
        "version": workflow.version,
        "inputs": [_input_data(variable) for variable in workflow.inputs.values()],
    }


def problem_lines(problems: Iterable[Problem]) -> list[str]:
    """Return the first problems of a file, one per line, and how many more there are."""
    lines = [
        escape_for_terminal(
            f"{problem.place.file}:{problem.place.line}:{problem.place.column}: {problem.message}"
        )
        for problem in problems
    ]
    more = len(lines) - _MAX_PROBLEMS
    return [*lines[:_MAX_PROBLEMS], *([f"and {more} more: handrail workflows check"] if more > 0 else [])]


def vcs_data(status: VcsStatus) -> dict[str, object]:
    """Return the version control state of a project: kind, head, branch, and the problem if there is one."""
    data: dict[str, object] = {"kind": status.kind, "head": status.head, "branch": status.branch}
    return {**data, "problem": status.problem} if status.problem else data


def _input_data(variable: Variable) -> dict[str, object]:
    return {
        "name": variable.name,
        "type": str(variable.type),
        "required": variable.required,
        "default": variable.default,
        "choices": list(variable.choices),
        "about": variable.about,
    }


def _format_time(at: datetime | None) -> str | None:
    return None if at is None else format_rfc3339(at)
