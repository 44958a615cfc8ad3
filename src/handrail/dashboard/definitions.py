"""The pages about workflows, personas and guardrails.

They show the definitions as one project sees them: whose they are, which hides which, and which are trusted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlencode

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from handrail.app.catalog import DEFAULT_PERSONA, DefinitionKind, FoundDefinition, SkippedFile
from handrail.app.definitions import (
    SUPERVISOR,
    CheckedWorkflow,
    Definitions,
    HidingFile,
    build_guardrail,
    build_persona,
    check_source,
    find_front_matter_problems,
)
from handrail.app.faces import load_message_catalog
from handrail.app.trust import UntrustedFile
from handrail.app.workflow_view import format_row
from handrail.dashboard.rendering import escape_lines, render_markdown, render_page
from handrail.dashboard.viewer import Viewer, get_viewer
from handrail.drawing.graph import MAX_OVERVIEW_NODES, Shape, build_graph, build_overview
from handrail.drawing.layout import lay_out_graph
from handrail.drawing.svg import draw_graph_svg
from handrail.engine.model import State, Transition, Workflow
from handrail.engine.problems import Problem
from handrail.workflows.load import WorkflowSource, load_workflow

TRUSTED: Final = "trusted"
UNTRUSTED: Final = "untrusted"


@dataclass(frozen=True, slots=True)
class ProjectDefinitions:
    """The definitions as one project sees them, and the names of all projects to choose from.

    `hiding` has the files that hide others, `sources` the workflows in use by name, and `used` the files of
    the personas and guardrails in use.
    """

    viewer: Viewer
    projects: tuple[str, ...]
    project: str
    definitions: Definitions
    hiding: Mapping[Path, HidingFile]
    sources: Mapping[str, WorkflowSource]
    used: frozenset[Path]

    def url(self, *parts: str, **more: str | Sequence[str]) -> str:
        """Return the URL of the page with these path segments, this project, and more parameters."""
        query = urlencode({**({"project": self.project} if self.project else {}), **more}, doseq=True)
        return f"/{'/'.join(quote(part, safe='') for part in parts)}" + (f"?{query}" if query else "")

    def describe_found(self, found: FoundDefinition) -> "DefinitionStatus":
        """Return the status of a definition among the others."""
        hiding = self.hiding.get(found.path)
        trust = (TRUSTED if hiding.trusted else UNTRUSTED) if hiding else ""
        hides = found.hides.origin if found.hides else ""
        path, used = self.shown_path(found.path), found.path in self.used
        return DefinitionStatus(found.name, found.origin, path, hides, trust, hidden=found.hidden, used=used)

    def describe_lost(self, one: SkippedFile) -> "DefinitionStatus":
        """Return the status of a file that is skipped."""
        return DefinitionStatus(one.name, one.origin, self.shown_path(one.path), lost=one.problems)

    def find_untrusted(self, found: FoundDefinition) -> UntrustedFile | None:
        """Return the file that a person must trust before this definition is used; None if none is."""
        hiding = self.hiding.get(found.path)
        return hiding.file if hiding and not hiding.trusted else None

    def shown_path(self, path: Path) -> str:
        """Return a path as the viewer may see it, with the project's root replaced by its name."""
        return self.viewer.board.app.projects.hide(str(path))

    def choose_definition(
        self, kind: DefinitionKind, name: str, origin: str
    ) -> tuple[FoundDefinition | None, tuple[FoundDefinition | SkippedFile, ...]]:
        """Return the definition of this name and origin, or else the first of this name; and all of these."""
        same = tuple(one for one in self.definitions.list_definitions(kind) if one.name == name)
        lost = tuple(one for one in self.definitions.list_skipped(kind) if one.name == name)
        wanted = next((one for one in same if one.origin == origin), same[0] if same else None)
        return wanted, (*same, *lost)


@dataclass(frozen=True, slots=True)
class DefinitionStatus:
    """The status of a definition: its origin, the origin of what it hides, and its trust if it needs any.

    A definition with `lost` problems is skipped. A `hidden` persona or guardrail is still `used` while the
    one that hides it is not trusted; a hidden workflow is not.
    """

    name: str
    origin: str
    path: str
    hides: str = ""
    trust: str = ""
    lost: tuple[Problem, ...] = ()
    hidden: bool = False
    used: bool = False


def load_project_definitions(request: Request) -> ProjectDefinitions:
    """Load the definitions of the project in the URL, or of the first one. Raises 404 if it is unknown."""
    viewer = get_viewer(request)
    by_project = viewer.board.load_definitions()
    project = request.query_params.get("project", next(iter(by_project)))
    definitions = by_project.get(project)
    if definitions is None:
        raise HTTPException(404)
    hiding = {one.file.path: one for one in definitions.list_hiding_files()}
    sources = {one.name: one.source for one in definitions.workflows() if not one.hidden}
    in_use = *(one.path for one in definitions.personas()), *(one.path for one in definitions.guardrails())
    return ProjectDefinitions(
        viewer, tuple(by_project), project, definitions, hiding, sources, frozenset(in_use)
    )


@dataclass(frozen=True, slots=True)
class ListedWorkflow:
    """A workflow in the list; `workflow` is None if it cannot be read."""

    status: DefinitionStatus
    workflow: Workflow | None
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class ProblemView:
    """A problem as a page shows it; `line` is its line in the source on the page, or 0 if it is elsewhere."""

    problem: Problem
    file: str
    message: str
    repair: str
    line: int


@dataclass(frozen=True, slots=True)
class StateView:
    """A state with the rows that leave it."""

    state: State
    rows: tuple[str, ...]


def render_workflows(request: Request) -> Response:
    """Render the list of workflows that a project sees."""
    among = load_project_definitions(request)
    listed = []
    for one in among.definitions.workflows():
        report = check_source(one.source, among.sources.get)
        listed.append(ListedWorkflow(among.describe_found(one), report.workflow, report.problems))
    skipped = among.definitions.list_skipped(DefinitionKind.WORKFLOW)
    listed += [ListedWorkflow(among.describe_lost(one), None, one.problems) for one in skipped]
    ordered = sorted(listed, key=lambda one: one.status.name)
    return render_page("workflows.html", viewer=among.viewer, among=among, listed=ordered)


def render_workflow(request: Request) -> Response:
    """Render the page of one workflow."""
    among, query = load_project_definitions(request), request.query_params
    name = str(request.path_params["name"])
    found, same = among.choose_definition(DefinitionKind.WORKFLOW, name, query.get("from", ""))
    if not same:
        return render_page("workflow_missing.html", 404, viewer=among.viewer, among=among, name=name)
    if found is not None:
        # As `handrail workflows check` does.
        report = check_source(found.source, among.sources.get)
    else:
        skipped = (one for one in same if isinstance(one, SkippedFile))
        report = CheckedWorkflow(None, tuple(problem for one in skipped for problem in one.problems))
    t, flow, opened, whole = load_message_catalog(), report.workflow, query.getlist("open"), "whole" in query
    graph = build_graph(t, flow) if flow else None
    if graph and not whole and len(graph.nodes) > MAX_OVERVIEW_NODES:
        graph = build_overview(t, graph, opened=opened)
    return render_page(
        "workflow.html",
        viewer=among.viewer,
        among=among,
        name=name,
        status=_describe_status(among, found or same[0]),
        same=[_describe_status(among, one) for one in same],
        flow=flow,
        flaws=list(_describe_problems(among, report, found)),
        worst=next(iter(sorted({one.severity for one in report.problems})), "good"),
        picture=draw_graph_svg(t, graph, lay_out_graph(graph), standalone=False, links="g") if graph else "",
        groups=[node for node in graph.nodes if node.shape is Shape.GROUP] if graph else [],
        parts=list(_list_states(flow)) if flow else [],
        source=escape_lines(found.source.text.removesuffix("\n")).split("\n") if found else [],
        beside=[(name, escape_lines(text)) for name, (_, text) in found.source.beside.items()]
        if found
        else [],
        untrusted=among.find_untrusted(found) if found else None,
        opened=opened,
        folded=bool(opened) or whole,
        persona=lambda name: SUPERVISOR if name == DEFAULT_PERSONA else name,
    )


def _describe_status(among: ProjectDefinitions, one: FoundDefinition | SkippedFile) -> DefinitionStatus:
    return among.describe_found(one) if isinstance(one, FoundDefinition) else among.describe_lost(one)


def _describe_problems(
    among: ProjectDefinitions, report: CheckedWorkflow, found: FoundDefinition | None
) -> Iterator[ProblemView]:
    hide = among.viewer.board.app.projects.hide
    for one in report.problems:
        line = one.place.line if found and one.place.file == found.source.file else 0
        yield ProblemView(one, hide(one.place.file), hide(one.message), hide(one.repair), line)


def _list_states(flow: Workflow) -> Iterator[StateView]:
    for name, state in flow.states.items():
        leaving: Iterator[Transition] = (row for row in flow.rows if name in row.sources)
        yield StateView(state, tuple(map(format_row, leaving)))


# The kinds by their names in the URL, in the order in which they are listed.
GUIDE_KINDS: Final = {"personas": DefinitionKind.PERSONA, "guardrails": DefinitionKind.GUARDRAIL}


@dataclass(frozen=True, slots=True)
class GuideView:
    """A persona or a guardrail: `html` is the text for agents, `applies_to` its workflows and steps."""

    status: DefinitionStatus
    about: str
    html: Markup
    applies_to: tuple[tuple[str, ...], tuple[str, ...]]
    used_by: tuple[tuple[str, str], ...]
    problems: tuple[Problem, ...]
    untrusted: UntrustedFile | None


def render_guides(request: Request) -> Response:
    """Render the list of personas and guardrails, and the one in the URL, or else the first."""
    among = load_project_definitions(request)
    kinds, name = request.url.path.split("/")[1], str(request.path_params.get("name", ""))
    kind = GUIDE_KINDS[kinds]
    listed = {
        each: [
            *map(among.describe_found, among.definitions.list_definitions(of)),
            *map(among.describe_lost, among.definitions.list_skipped(of)),
        ]
        for each, of in GUIDE_KINDS.items()
    }
    if not name and listed[kinds]:
        name = listed[kinds][0].name
    found, same = among.choose_definition(kind, name, request.query_params.get("from", ""))
    if name and not same:
        raise HTTPException(404)
    return render_page(
        "guides.html",
        viewer=among.viewer,
        among=among,
        listed=listed,
        kinds=kinds,
        kind=kind.value,
        guide=_describe_guide(among, kind, found or same[0]) if same else None,
    )


def _describe_guide(
    among: ProjectDefinitions, kind: DefinitionKind, one: FoundDefinition | SkippedFile
) -> GuideView:
    if isinstance(one, SkippedFile):
        return GuideView(among.describe_lost(one), "", Markup(), ((), ()), (), one.problems, None)
    problems = tuple(find_front_matter_problems(kind, one.source))
    untrusted, status = among.find_untrusted(one), among.describe_found(one)
    if kind is DefinitionKind.PERSONA:
        persona = build_persona(one)
        used = tuple(_find_persona_steps(among, persona.name))
        return GuideView(
            status, persona.about, render_markdown(persona.text), ((), ()), used, problems, untrusted
        )
    guardrail = build_guardrail(one)
    applies_to = guardrail.workflows, guardrail.steps
    return GuideView(status, "", render_markdown(guardrail.text), applies_to, (), problems, untrusted)


def _find_persona_steps(among: ProjectDefinitions, name: str) -> Iterator[tuple[str, str]]:
    """Yield the steps that this persona works in, each with its workflow."""
    names = {name, DEFAULT_PERSONA} if name == SUPERVISOR else {name}
    for workflow, source in among.sources.items():
        flow = load_workflow(source, among.sources.get).workflow
        for state in flow.states.values() if flow else ():
            if state.brief and state.brief.agent in names:
                yield workflow, state.name
