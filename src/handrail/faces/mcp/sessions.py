"""Which session a call is about: the project it is in, its folder, and the skill graph that it follows."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from msgspec.structs import replace

from handrail.documents.strict import Flaw, parse
from handrail.engine.model import Lifecycle, Refused, Run, Seen, Workflow
from handrail.engine.skills import SKILL, skill_of
from handrail.faces.mcp.projects import Projects
from handrail.faces.mcp.texts import texts
from handrail.shell.folders import Folder, is_name, named
from handrail.shell.kept import in_folder
from handrail.shell.opening import FolderRuns, Serving
from handrail.shell.records import Stored
from handrail.shell.starting import usable
from handrail.shell.workspace import Disk
from handrail.shell.world import World
from handrail.workflows.registry import BATCH, ITEM

PROJECT: Final = "project"
SESSION: Final = "session"
GRAPH: Final = "graph"
UNKNOWN: Final = "unknown_session"
_LISTED: Final = 20


@dataclass(frozen=True, slots=True)
class Session:
    """A session that is there or may begin: how its project is called, its folder, its run, and its world."""

    project: str
    folder: Folder
    runs: FolderRuns
    world: World

    @property
    def named(self) -> dict[str, str]:
        """What a call names it by."""
        return {PROJECT: self.project, SESSION: self.folder.name}

    def state(self, run: Run) -> str:
        """The state that the run is in; of one that is over, the one that its file names."""
        if run.open:
            return run.open[0].state
        told = parse(self.runs.read(self.folder.workflow.state_file) or b"")
        return "" if isinstance(told, Flaw) else str(told.get("state", ""))


def params_of(run: Run) -> dict[str, int]:
    """What the skill of the run's state is told: which item and which batch it is about."""
    given = {"item_number": run.vars.get(ITEM), "batch_index": run.vars.get(BATCH)}
    return {name: value for name, value in given.items() if isinstance(value, int)}


class Sessions:
    """The sessions of a server's projects; `usual` is the graph that they follow unless they name another."""

    def __init__(
        self,
        serving: Serving,
        projects: Projects,
        usual: Workflow,
        opened: Callable[[Folder], FolderRuns],
        face: str,
    ) -> None:
        self._serving, self._projects, self._usual = serving, projects, usual
        self._opened, self._face, self._texts = opened, face, texts(face)

    @contextmanager
    def found(self, given: Mapping[str, Any]) -> Iterator[Session | Refused]:
        """The session that a call names, if it is there or this call begins it; nothing is made yet.

        In this block each file of its folder is read at most once.
        """
        folder = self._folder(given)
        if isinstance(folder, Refused):
            yield folder
            return
        runs = self._opened(folder)
        with runs.take_snapshot():
            session = self._session(folder, runs, given)
            if isinstance(session, Refused) or session.runs is runs:
                yield session
                return
        with session.runs.take_snapshot():
            yield session

    def _folder(self, given: Mapping[str, Any]) -> Folder | Refused:
        """The folder of the session, if it follows the usual graph."""
        root = self._projects.exactly(str(given[PROJECT]))
        if isinstance(root, Refused):
            return root
        name = str(given[SESSION])
        if not is_name(name):
            return Refused(
                "session_name", SESSION, (Seen(SESSION, name),), (self._texts.say("a_session_name"),)
            )
        return Folder(root, self._usual, name, self._face)

    def _session(self, folder: Folder, runs: FolderRuns, given: Mapping[str, Any]) -> Session | Refused:
        stored = runs.standing()
        graph = self._graph(folder, stored, str(given.get(GRAPH, "")))
        if isinstance(graph, Refused):
            return graph
        begins = skill_of(graph, graph.initial)
        if not is_there(stored) and given.get(SKILL) != begins:
            return self._unknown(folder, begins)
        followed = replace(folder, workflow=graph)
        if graph is not self._usual:  # then its state file may say other things of the run
            runs = self._opened(followed)
        serving, called = self._serving, self._projects.called(folder.project)
        return Session(called, followed, *in_folder(serving.world, followed, lambda _: runs, serving.mirror))

    def _graph(self, folder: Folder, stored: Stored, wanted: str) -> Workflow | Refused:
        """The graph that a session has kept, or the one that it shall follow from now on."""
        kept = stored.run.workflow if stored.revision else ""
        if kept and wanted not in {"", kept}:
            needed = self._texts.say("kept_graph", graph=kept)
            return Refused("other_graph", GRAPH, (Seen(GRAPH, wanted),), (needed,))
        name = kept or wanted or self._usual.name
        if name == self._usual.name:
            return self._usual
        found = usable(self._projects.shelf(str(folder.project)), name)
        if isinstance(found, Refused):
            return self._projects.hidden(found)
        if found is None:
            return Refused("unknown_workflow", GRAPH, (Seen(GRAPH, name),), (self._texts.say("a_graph"),))
        unfit = tuple(self._unfit(found.workflow))
        return Refused("unfit_graph", GRAPH, (Seen(GRAPH, name),), unfit) if unfit else found.workflow

    def _unknown(self, folder: Folder, begins: str) -> Refused:
        places = (replace(folder, name=name) for name in named(folder.project, folder.workflow))
        there = (one.name for one in places if _has_state(one))
        known = list(islice(there, _LISTED + 1))
        listed = [*known[:_LISTED], *["…"] * (len(known) > _LISTED)]
        say = self._texts.say
        exist = say("sessions", sessions=listed) if known else say("no_sessions")
        needed = (exist, say("begins", skill=begins))
        return Refused(UNKNOWN, SESSION, (Seen(SESSION, folder.name),), needed)

    def _unfit(self, graph: Workflow) -> Iterator[str]:
        """Why a workflow is no graph for sessions: what it must have in common with the usual one."""
        usual, say = self._usual, self._texts.say
        if graph.folder != usual.folder:
            yield f"`folder: {usual.folder}`"
        if graph.state_file != usual.state_file:
            yield f"`state_file: {usual.state_file}`"
        for name, tool in usual.tools.items():
            if SKILL in tool.params and (name not in graph.tools or SKILL not in graph.tools[name].params):
                yield say("a_tool", tool=name, param=SKILL)
        if not skill_of(graph, graph.initial):
            yield say("a_first_skill", key=SKILL)


def is_there(stored: Stored) -> bool:
    """True of a run that has begun, was found, or is in trouble."""
    return bool(stored.revision or stored.trouble) or stored.run.lifecycle is not Lifecycle.IDLE


def _has_state(folder: Folder) -> bool:
    return folder.workflow.state_file in Disk(folder.project, folder.within).names("")
