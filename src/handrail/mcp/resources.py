"""MCP resources: which there are, what each contains, and the completion of their arguments.

Start reading at `Resources.read`. The functions `…_data` turn rows of the store into JSON; their keys are the
column names of the source document. Everything here reads; only `App.touch` writes.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Final

import msgspec
from msgspec import Struct

from handrail.app.app import App
from handrail.app.catalog import DEFAULT_PERSONA, PROJECT_ORIGIN
from handrail.app.definitions import Definitions, Persona
from handrail.app.trust import UntrustedFile
from handrail.documents.text import escape_for_terminal
from handrail.engine.lifecycle import is_terminal
from handrail.engine.model import Authority, Lifecycle, Variable
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
    RunRow,
    StepRow,
)
from handrail.runtime.records import format_rfc3339, project_id
from handrail.runtime.world import PinnedWorkflow
from handrail.stores.vcs.commands import VcsStatus

# The most bytes of all artifact texts in one resource together; a text that does not fit is left out.
_MAX_TEXT_BYTES: Final = 1024 * 1024
_MAX_PROBLEMS: Final = 5
_MAX_COMPLETIONS: Final = 100
_MAX_RECENT: Final = 50
_MAX_PROJECT_ARTIFACTS: Final = 10
_MARKDOWN: Final = "text/markdown"
_JSON: Final = "application/json"

_FIXED_RESOURCES: Final = (
    (addresses.GUARDRAILS, "active", "Guardrails", "The rules that hold here, as they stand.", _MARKDOWN),
    (addresses.WORKFLOWS, "all", "Workflows", "What can be started, and with which inputs.", _JSON),
    (addresses.ARTIFACTS, RECENT_PATTERN, "Recent artifacts", "The last 50 artifacts of all runs.", _JSON),
    (
        addresses.ARTIFACTS,
        FINAL_PATTERN,
        "Final artifacts",
        "The last 100 artifacts of completed runs.",
        _JSON,
    ),
)

_TEMPLATES: Final = (
    (addresses.PERSONA, "Persona", "How an agent works, in full.", _MARKDOWN),
    (addresses.CURRENT, "Current step", "Where a run stands now, and what it made there.", _JSON),
    (addresses.STATUS, "Run", "A run, its steps, artifacts and comments; `more` is the next page.", _JSON),
    (addresses.PROJECT, "Project", "Its commit, the run under way, and what there is to use.", _JSON),
    (addresses.ARTIFACTS, "Artifacts", "recent, final, final/{execution_id} or type/{type}.", _JSON),
)


class ResourceEntry(Struct, frozen=True):
    """A resource, or a template of resources that need an argument, in the list that clients get."""

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
    """The resources over an app; safe to use from many threads.

    `vcs_of` returns the version control state of a project root. Without projects, definitions come from the
    root `""`.
    """

    app: App
    vcs_of: Callable[[str], VcsStatus]

    def list_fixed(self, *, portable: bool) -> tuple[ResourceEntry, ...]:
        """Return the resources with a fixed address, personas first."""
        about = "How an agent works unless a step names another persona."
        entries = [(addresses.PERSONA, DEFAULT_PERSONA, "Default persona", about, _MARKDOWN)]
        for persona in self._personas():
            # Text that a project wrote is never used as a description.
            own = persona.origin == PROJECT_ORIGIN
            about = "A persona that this project brought." if own else persona.about
            entries.append((addresses.PERSONA, persona.name, f"Persona: {persona.name}", about, _MARKDOWN))
        return tuple(
            ResourceEntry(build_uri(scheme, name, portable=portable), title, about, mime)
            for scheme, name, title, about, mime in (*entries, *_FIXED_RESOURCES)
        )

    def templates(self, *, portable: bool) -> tuple[ResourceEntry, ...]:
        """Return the URI templates of the resources that need an argument."""
        return tuple(
            ResourceEntry(addresses.build_uri_template(scheme, portable=portable), title, about, mime)
            for scheme, title, about, mime in _TEMPLATES
        )

    def complete(self, template: str, argument: str, typed: str) -> tuple[str, ...]:
        """Return the values of a template argument that begin with the typed text, likeliest first."""
        if len(typed) > MAX_URI_CHARACTERS or any("\ud800" <= character <= "\udfff" for character in typed):
            return ()
        values: Iterable[str]
        match addresses.scheme_of(template), argument:
            case addresses.PERSONA, "agent":
                values = (name for name in self._persona_names() if name.startswith(typed))
            case ((addresses.CURRENT | addresses.STATUS), "execution_id"):
                values = self._complete_run(typed)
            case addresses.PROJECT, "project_id":
                values = [
                    project_id(root)
                    for root in self._roots()
                    if project_id(root).startswith(typed)
                    or self.app.projects.display_name(root).startswith(typed)
                ]
            case addresses.ARTIFACTS, "pattern":
                values = self._complete_pattern(typed)
            case _:
                return ()
        return tuple(dict.fromkeys(values))[:_MAX_COMPLETIONS]

    def _complete_run(self, typed: str) -> Iterator[str]:
        """Yield the active runs of these projects, then the latest runs of all, then any other match."""
        yield from self.app.runs.list_active_ids(self._roots(), typed)
        yield from (row.id for row in self.app.runs.runs(RunFilter()) if row.id.startswith(typed))
        if typed:
            yield from self.app.runs.find_ids(typed)

    def _complete_pattern(self, typed: str) -> Iterator[str]:
        last = [f"{FINAL_PREFIX}{run}" for run in self.app.runs.list_completed_ids()]
        types = [f"{TYPE_PREFIX}{type_}" for type_ in self.app.runs.artifact_types()]
        yield from (name for name in (RECENT_PATTERN, FINAL_PATTERN, *last, *types) if name.startswith(typed))
        id_prefix = typed.removeprefix(FINAL_PREFIX)
        for run in self.app.runs.find_ids(id_prefix) if id_prefix and id_prefix != typed else ():
            row = self.app.runs.run(run)
            if row and row.lifecycle is Lifecycle.COMPLETED:
                yield f"{FINAL_PREFIX}{run}"

    def uris_of_run(self, run: RunRow) -> tuple[str, ...]:
        """Return the URIs, in both spellings, of all resources that change when this run moves."""
        named = [(addresses.CURRENT, run.id), (addresses.STATUS, run.id)]
        types = (f"{TYPE_PREFIX}{type_}" for type_ in self.app.runs.artifact_types(run.id))
        patterns = (RECENT_PATTERN, FINAL_PATTERN, f"{FINAL_PREFIX}{run.id}", *types)
        named += [(addresses.ARTIFACTS, pattern) for pattern in patterns]
        if run.project:
            named.append((addresses.PROJECT, project_id(run.project)))
        return tuple(
            build_uri(scheme, name, portable=portable) for portable in (False, True) for scheme, name in named
        )

    def read(self, given: str) -> ResourceContent:
        """Return the content of the resource at this URI, in either spelling. Raises `ResourceNotFound`."""
        at = addresses.parse_uri(given)
        if isinstance(at, str):
            raise ResourceNotFound(at)
        match at.scheme, at.name:
            case addresses.PERSONA, name:
                return ResourceContent(_MARKDOWN, self._persona(name))
            case addresses.GUARDRAILS, "active":
                return ResourceContent(_MARKDOWN, self._guardrails())
            case addresses.WORKFLOWS, "all":
                data = self._workflows()
            case addresses.CURRENT, name:
                data = self._current(name)
            case addresses.STATUS, _:
                data = self._status(at)
            case addresses.PROJECT, name:
                data = self._project(name)
            case addresses.ARTIFACTS, _:
                data = self._artifacts(at)
            case _:
                only = addresses.build_uri_template(at.scheme, portable=at.portable)
                raise ResourceNotFound(f"`{safe_excerpt(at.name)}` is not there; there is only {only}")
        return ResourceContent(_JSON, msgspec.json.encode(data).decode())

    # --- definitions ----------------------------------------------------------------------------------------

    def _roots(self) -> tuple[str, ...]:
        return tuple(map(str, self.app.projects.roots))

    def _identify_project(self, root: str) -> dict[str, object]:
        """Return the id, name and root of a project; clients that see a label do not see the root."""
        label = self.app.projects.label(root)
        row = self.app.runs.project(project_id(root)) if label is None else None
        return {
            "project_id": project_id(root),
            "name": row.name if row else self.app.projects.display_name(root),
            "root": root if label is None else None,
        }

    def _definitions(self) -> list[tuple[str, Definitions]]:
        return [(root, self.app.projects.definitions(root)) for root in self._roots() or ("",)]

    def _personas(self) -> list[Persona]:
        """Return all personas sorted by name; if projects define the same one, the first project wins."""
        personas: dict[str, Persona] = {}
        for _, definitions in self._definitions():
            for persona in definitions.personas():
                personas.setdefault(persona.name, persona)
        return [personas[name] for name in sorted(personas)]

    def _persona_names(self) -> tuple[str, ...]:
        return (DEFAULT_PERSONA, *(persona.name for persona in self._personas()))

    def _persona(self, name: str) -> str:
        for root in self._roots() or ("",):
            if persona := self.app.projects.persona(root, name):
                return persona.text
        known = ", ".join(self._persona_names())
        raise ResourceNotFound(f"no persona is called `{safe_excerpt(name)}`; there are {known}")

    def _guardrails(self) -> str:
        """Return all guardrails as Markdown, each under its name.

        With several projects, the heading of a project's own guardrail also has the project's name.
        """
        all_definitions = self._definitions()
        sections: dict[str, None] = {}
        for root, definitions in all_definitions:
            for guardrail in definitions.guardrails():
                named = guardrail.origin == PROJECT_ORIGIN and len(all_definitions) > 1
                own = f" ({self.app.projects.display_name(root)})" if named else ""
                sections[f"# {guardrail.name}{own}\n\n{guardrail.text}"] = None
        none = "There are no guardrails here: Markdown files in `.handrail/guardrails/` would be some.\n"
        return "\n\n".join(sections) or none

    def _workflows(self) -> dict[str, object]:
        """Return the projects and their workflows; a workflow is listed once for each project."""
        all_definitions = self._definitions()
        return {
            "projects": [self._identify_project(root) for root, _ in all_definitions if root],
            "workflows": [
                {**offer, "project_id": project_id(root) if root else None}
                for root, definitions in all_definitions
                for offer in self._offers(definitions)
            ],
        }

    def _offers(self, definitions: Definitions) -> Iterator[dict[str, object]]:
        """Yield the workflows that can be started; server paths in their problems are hidden."""
        files = definitions.workflows()
        for used in (file for file in files if not file.hidden):
            pinned = definitions.find_pinned(used.name)
            workflow = pinned.workflow if isinstance(pinned, PinnedWorkflow) else None
            # A run that lives in files or a commit starts without a call.
            if workflow and workflow.authority is not Authority.SQL:
                continue
            hides = [file.origin for file in files if file.hidden and file.name == used.name]
            problems: list[str] = []
            if isinstance(pinned, UntrustedFile):
                how = f"a person must look at it and run `handrail trust {pinned.name}`"
                untrusted = f"{pinned.path} hides {pinned.hides} and nobody has trusted it: {how}"
                problems = [escape_for_terminal(untrusted)]
            elif pinned and not workflow:
                problems = _problem_lines(pinned.problems)
            yield {
                "name": used.name,
                "origin": used.origin,
                "hides": hides,
                "about": workflow.about if workflow else None,
                "version": workflow.version if workflow else None,
                "inputs": [*map(_input_data, workflow.inputs.values())] if workflow else [],
                "trusted": not isinstance(pinned, UntrustedFile),
                "problems": [*map(self.app.projects.hide, problems)],
            }

    # --- runs -----------------------------------------------------------------------------------------------

    def _run(self, name: str) -> RunRow:
        row = self.app.runs.run(name) if addresses.is_run_id(name) else None
        if row is None:
            how = "give a whole id; `handrail runs list` has them all, project_context:// the one under way"
            raise ResourceNotFound(f"no run has the id `{safe_excerpt(name)}`: {how}")
        return row

    def _current(self, name: str) -> dict[str, object]:
        with self.app.runs.snapshot():
            row = self._run(name)
            first, *others = _current_step_data(row, self.app.runs.open_steps(row.id))
            artifacts = self.app.runs.excerpts(ArtifactsOfStep(row.id, row.state)) if row.state else ()
        quiet = self.app.idle_limits.is_quiet(row, self.app.now())
        if not is_terminal(row.lifecycle):
            self.app.touch(row.id)
        data = {**first, "artifacts": _artifacts_data(artifacts), "waiting": row.waiting, "quiet": quiet}
        return {**data, "also_open": others} if others else data

    def _status(self, at: ResourceAddress) -> dict[str, object]:
        before, last = PAGE_SIZE * (at.page - 1), PAGE_SIZE * at.page
        with self.app.runs.snapshot():
            row = self._run(at.name)
            steps = self.app.runs.steps(row.id, before, PAGE_SIZE + 1)
            artifacts = self.app.runs.excerpts(ArtifactsOfRun(row.id), PAGE_SIZE + 1, before)
            remarks = self.app.runs.comment_entries(row.id)
        shown = [step for step in steps if step.number <= last]
        quiet = self.app.idle_limits.is_quiet(row, self.app.now())
        return {
            "execution": {**_execution_data(row), "quiet": quiet},
            "steps": [_step_data(row.id, step) for step in shown],
            "artifacts": _artifacts_data(artifacts[:PAGE_SIZE]),
            "comments": [
                {
                    "comment_id": comment.id,
                    "principal": comment.principal,
                    "text": comment.text,
                    "created_at": format_rfc3339(comment.at),
                    "told_at": _format_time(comment.delivered_at),
                }
                for comment in collect_comments(remarks)
            ],
            "more": at.next if len(shown) < len(steps) or len(artifacts) > PAGE_SIZE else None,
        }

    def _artifacts(self, at: ResourceAddress) -> dict[str, object]:
        """Return the artifacts of a pattern. Only those of one run have pages."""
        choice: ArtifactFilter
        most = PAGE_SIZE
        if at.name.startswith(FINAL_PREFIX):
            choice = FinalArtifactsOfRun(at.name.removeprefix(FINAL_PREFIX))
        elif at.page == 1 and at.name == RECENT_PATTERN:
            choice, most = RecentArtifacts(), _MAX_RECENT
        elif at.page == 1 and at.name == FINAL_PATTERN:
            choice = AllFinalArtifacts()
        elif at.page == 1 and at.name.startswith(TYPE_PREFIX) and at.name != TYPE_PREFIX:
            choice = ArtifactsOfType(at.name.removeprefix(TYPE_PREFIX))
        else:
            known = "there are recent, final, final/{execution_id} and type/{type}"
            raise ResourceNotFound(f"`{safe_excerpt(at.name)}` is no pattern of artifacts; {known}")
        with self.app.runs.snapshot():
            if isinstance(choice, FinalArtifactsOfRun):
                self._run(choice.run)
            artifacts = self.app.runs.excerpts(choice, most + 1, most * (at.page - 1))
        data: dict[str, object] = {"artifacts": _artifacts_data(artifacts[:most])}
        if isinstance(choice, FinalArtifactsOfRun):
            data["more"] = at.next if len(artifacts) > most else None
        return data

    def _project(self, name: str) -> dict[str, object]:
        roots = self._roots()
        root = next((root for root in roots if project_id(root) == name), "")
        if not root:
            known = (
                ", ".join(f"{project_id(root)} ({self.app.projects.display_name(root)})" for root in roots)
                or "none"
            )
            wrong = f"no project of this server has the id `{safe_excerpt(name)}`"
            raise ResourceNotFound(f"{wrong}; there are {known}")
        definitions = self.app.projects.definitions(root)
        with self.app.runs.snapshot():
            row = self.app.runs.project(name)
            active = (row.active if row else "") or next(iter(self.app.runs.list_active_ids((root,))), "")
            run = self.app.runs.run(active) if active else None
            steps = self.app.runs.open_steps(run.id) if run else ()
            last = self.app.runs.excerpts(FinalArtifactsOfProject(name), _MAX_PROJECT_ARTIFACTS)
        active_run: dict[str, object] | None = None
        if run:
            first = _current_step_data(run, steps)[0]
            names = ("execution_id", "state", "current_step", "step_name")
            active_run = {"workflow_name": run.workflow, **{name: first[name] for name in names}}
        vcs = self.vcs_of(root)
        commit = {"kind": vcs.kind, "head": vcs.head, "branch": vcs.branch}
        return {
            **self._identify_project(root),
            "vcs": {**commit, "problem": self.app.projects.hide(vcs.problem)} if vcs.problem else commit,
            "active_run": active_run,
            "workflows": [offer["name"] for offer in self._offers(definitions)],
            "guardrails": [guardrail.name for guardrail in definitions.guardrails()],
            "artifacts": [_artifact_data(excerpt) for excerpt in last],
        }


def _execution_data(row: RunRow) -> dict[str, object]:
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


def _current_step_data(run: RunRow, steps: Iterable[StepRow]) -> list[dict[str, object]]:
    """Return the current step of a run, with the columns of the query in the source document.

    There is one row for each open step. Without an open step, there is one row with empty step columns.
    """
    rows: list[tuple[str | None, ...]] = [
        (row.state, row.agent, str(row.status), _format_time(row.opened)) for row in steps
    ]
    return [
        {
            "execution_id": run.id,
            "state": str(run.lifecycle),
            "current_step": run.state or None,
            "step_name": step,
            "agent_name": agent,
            "status": status,
            "started_at": started,
        }
        for step, agent, status, started in rows or [(None, None, None, None)]
    ]


def _step_data(run: str, row: StepRow) -> dict[str, object]:
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


def _artifacts_data(excerpts: Iterable[Excerpt]) -> list[dict[str, object]]:
    """Return artifacts with the columns of `workflow_artifacts`.

    An artifact whose text is cut has `cut`, its `size`, and in `whole` the command that prints all of it.
    """
    rows: list[dict[str, object]] = []
    room = _MAX_TEXT_BYTES
    for one in excerpts:
        row, text = one.artifact, one.text if len(one.text.encode()) <= room else ""
        given = len(text.encode())
        room -= given
        rows.append(
            {
                **_artifact_data(one),
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


def _artifact_data(excerpt: Excerpt) -> dict[str, object]:
    """Return the id, run, type, title and time of an artifact, without its text."""
    row = excerpt.artifact
    return {
        "artifact_id": row.id,
        "execution_id": excerpt.run,
        "artifact_type": row.type,
        "title": row.title,
        "created_at": format_rfc3339(row.at),
    }


def _problem_lines(problems: Iterable[Problem]) -> list[str]:
    """Return the first problems of a file, one per line, and how many more there are."""
    places = ((problem.place, problem.message) for problem in problems)
    lines = [escape_for_terminal(f"{at.file}:{at.line}:{at.column}: {message}") for at, message in places]
    more = len(lines) - _MAX_PROBLEMS
    return [*lines[:_MAX_PROBLEMS], *([f"and {more} more: handrail workflows check"] if more > 0 else [])]


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
