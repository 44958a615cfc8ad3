"""Plan: what the work is, and how far it has come: a plan document, criteria, or items and batches."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from markupsafe import Markup
from starlette.datastructures import QueryParams

from handrail.documents import items, taskgraph
from handrail.documents.criteria import MOST, Criterion, bare, criteria
from handrail.documents.frontmatter import parse
from handrail.documents.items import Items
from handrail.documents.taskgraph import Batch
from handrail.engine.model import Authority, Workflow
from handrail.faces.board.boards import Viewer
from handrail.faces.board.looks import lines
from handrail.faces.board.markdown import rendered
from handrail.faces.board.tabs.tab import Tab
from handrail.faces.board.walked import Walked, walked
from handrail.faces.cli.plan_texts import AUTO, Read, plan_in, shown
from handrail.plan.stage import is_finished, progress
from handrail.plan.tasks import paths
from handrail.shell.faults import Fault
from handrail.shell.readers import template
from handrail.shell.view import EXCERPT, Records, RunRow, every
from handrail.workflows.registry import BATCH, BATCHES, DESCRIPTION, DESIGN, ITEM, PLAN

_SIGN: Final = "sign"
"""What a state notes, for faces to read: the file that it is about."""

_EXISTS: Final = "file.exists"


@dataclass(frozen=True, slots=True)
class Document:
    """A file of a run, as a page shows it; `now` if it is the one that the run is about."""

    path: str
    html: Markup | None
    text: str
    now: bool


@dataclass(frozen=True, slots=True)
class Written:
    """A plan document: as it was read, with its title, and of each task its path."""

    read: Read
    title: str
    paths: tuple[str, ...]
    current: str | None
    total: int
    ticked: int
    finished: bool
    wrong: str


@dataclass(frozen=True, slots=True)
class Worked:
    """The items of a design document and the batches of tasks; `current` is the item, `batch` the batch."""

    items: Items
    current: int | None
    batches: Sequence[Batch]
    batch: int | None
    tasks: int
    done: int


@dataclass(frozen=True, slots=True)
class Texts:
    """The files of a run by their paths; not `near` if they are what the store last mirrored of them."""

    near: bool
    by_path: Mapping[str, str] = field(default_factory=dict)

    def of(self, path: str) -> str:
        """The text of a file; empty if there is none."""
        return self.by_path.get(path, "")


def told(viewer: Viewer, row: RunRow, query: QueryParams) -> Mapping[str, object]:  # noqa: ARG001 - as every tab
    """What the run works on."""
    hide = viewer.board.naming.hide
    try:
        found = walked(viewer.board, row)
        texts = _texts(viewer.board.serving.records, row, found)
    except Fault as fault:
        return {"fault": (hide(fault.message), hide(fault.repair))}
    described = row.authority is Authority.DESCRIPTION
    worked = not described and BATCHES in found.workflow.vars
    return {
        "fault": None,
        "near": texts.near,
        "described": described,
        "plan": _written(texts.of(DESCRIPTION)) if described and texts.near else None,
        "worked": _worked(found, texts) if worked else None,
        "criteria": () if described or worked else _criteria(found.workflow, texts),
        "documents": () if described else tuple(_documents(found, texts)),
    }


def _texts(records: Records, row: RunRow, found: Walked) -> Texts:
    """What there is to read. Raises a `Fault` if a file cannot be read."""
    if row.authority is Authority.DESCRIPTION:
        data = found.files.read(DESCRIPTION) if found.files else None
        return Texts(found.files is not None, {DESCRIPTION: _decoded(data or b"")})
    named = tuple(dict.fromkeys(f.of[0] for f in found.workflow.facts.values() if f.reader == _EXISTS))
    if found.files is None:
        papers = {one.title: one.number for one in every(partial(records.artifacts, row.id))}
        kept = {path: records.content(row.id, papers[path]) for path in named if path in papers}
        return Texts(near=False, by_path={path: text for path, text in kept.items() if text is not None})
    read = {path: found.files.read(path) for path in named}
    return Texts(near=True, by_path={path: _decoded(data) for path, data in read.items() if data is not None})


def _decoded(data: bytes) -> str:
    """The text of a file; one that is too long to be read for what it says has only its beginning."""
    return data[:MOST].decode("utf-8", "replace")


def _written(text: str) -> Written | None:
    """The plan in a text, if there is one."""
    if not text.strip():
        return None
    read = plan_in(text, DESCRIPTION, AUTO)
    far, tasks = progress(read.plan), read.plan.tasks or ()
    title = text.partition("\n")[0]
    finished = is_finished(read.plan)
    return Written(read, title, paths(tasks), far.current, far.total, far.ticked, finished, shown(read))


def _criteria(workflow: Workflow, texts: Texts) -> tuple[Criterion, ...]:
    path, name = PLAN
    found = criteria(texts.of(path), template(workflow, name))
    return tuple(Criterion(bare(one.text), one.checked) for one in found)


def _worked(found: Walked, texts: Texts) -> Worked:
    known, kept = items.read(texts.of(DESIGN)), found.run.vars.get(BATCHES)
    batches: Sequence[Batch] = kept if isinstance(kept, list) and taskgraph.sound(kept) else ()
    current, batch = known.current(found.run.vars.get(ITEM)), found.run.vars.get(BATCH)
    done = taskgraph.ids(batches, completed=True)
    return Worked(
        known,
        current.number if current and not current.documented else None,
        batches,
        batch if isinstance(batch, int) else None,
        len(done) + len(taskgraph.ids(batches, completed=False)),
        len(done),
    )


def _documents(found: Walked, texts: Texts) -> Iterator[Document]:
    """The files, that which the run is about first, if one is."""
    now = "" if BATCHES in found.workflow.vars else _about(found, tuple(texts.by_path))
    for path, text in sorted(texts.by_path.items(), key=lambda one: one[0] != now):
        short = len(text) <= EXCERPT
        html = rendered(parse(text).body) if short else None
        yield Document(path, html, lines(text[:EXCERPT]), path == now)


def _about(found: Walked, paths: Sequence[str]) -> str:
    """The file that the run is about: the one its state names, or the last besides the plan, or the plan."""
    known = found.workflow.states
    signs = {known[one.state].extra.get(_SIGN) for one in found.run.open if one.state in known}
    others = [path for path in paths if path != PLAN[0]]
    return next((path for path in paths if path in signs), [PLAN[0], *others][-1])


def _kept_elsewhere(row: RunRow) -> bool:
    """Whether the run is about a text: those that live in the store have artifacts instead."""
    return row.authority is not Authority.SQL


TAB: Final = Tab("plan", "plan.html", told, _kept_elsewhere)
