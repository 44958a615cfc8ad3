"""`App`: Handrail over one open store and some projects. Every way in holds one, and uses nothing deeper.

Start reading at `open_app`, which puts everything together. An app can `call` tools of a face, list `runs`,
`view` a run, and `act` on a run for a person. `limit_to` makes the app of a tenant.
"""

import hashlib
import hmac
import logging
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, TypeVar, assert_never

from msgspec.structs import replace

from handrail.app.actions import (
    Action,
    AddComment,
    CompleteStep,
    Control,
    Fork,
    add_comment,
    complete_step_by_hand,
    control_run,
    fork_by_hand,
    is_mirrored,
    refuse_mirrored_run,
)
from handrail.app.faces import Answer, CallFailure, Face, Question, Tool
from handrail.app.projects import FilteredFeed, FilteredRuns, Projects
from handrail.app.run_folders import (
    RunFolder,
    build_folder_world,
    load_installed_workflow,
    locate_run_folder,
)
from handrail.app.run_view import RunView, load_run_view
from handrail.app.stores import ProjectRuns, open_store
from handrail.app.trust import TrustStore
from handrail.engine.model import Authority
from handrail.engine.refusals import RefusalCode
from handrail.runtime.errors import Fault, SyncFailed, Unreadable
from handrail.runtime.ports.access import AccessScope
from handrail.runtime.ports.open_store import FolderRuns, Store
from handrail.runtime.ports.queries import RunQueries, RunRow
from handrail.runtime.ports.turn import Clock
from handrail.runtime.records import Caller
from handrail.runtime.store_address import StoreLocation
from handrail.runtime.sweep import IdleLimits, read_idle_limits
from handrail.runtime.system import SystemClock
from handrail.runtime.tokens import read_token_lifetime
from handrail.runtime.turn import Reply
from handrail.runtime.world import TurnObserver, World

log = logging.getLogger("handrail")
Result = TypeVar("Result")
ALL_SCOPES: Final = frozenset(AccessScope)


@contextmanager
def open_app(
    where: StoreLocation, roots: Sequence[Path] = (), *, vcs: str = "", observer: TurnObserver | None = None
) -> Iterator["App"]:
    """Open a store for the block, with the projects in these folders. A missing store is created.

    `vcs` forces jj or git for runs in commits. `observer` receives the report of each turn.
    """
    with open_store(where) as store:
        projects = Projects(roots, TrustStore())
        yield App(store, projects, project_runs=ProjectRuns(vcs), observer=observer)


def check_server_settings() -> None:
    """Raise `Unreadable` if a setting is wrong that a server needs. It then creates no store."""
    read_token_lifetime(), read_idle_limits()


class App:
    """Handrail over one open store and some projects: its runs, and the tools of its faces.

    `runs` answers questions about the runs that this app may see. `project_runs` opens the runs that projects
    keep themselves. `sync_failed` is true once the disk has not confirmed a write: then nothing more may be
    written.
    """

    def __init__(
        self,
        store: Store,
        projects: Projects,
        *,
        project_runs: ProjectRuns | None = None,
        clock: Clock | None = None,
        observer: TurnObserver | None = None,
    ) -> None:
        self.store, self.projects, self.project_runs = store, projects, project_runs or ProjectRuns()
        self.clock, self._observer = clock or SystemClock(), observer
        self.runs: RunQueries = store.queries
        self.sync_failed = False

    # What is made when it is first asked for: commands that only ask questions need none of it.

    @cached_property
    def world(self) -> World:
        """What turns need. Raises `Unreadable` if the lifetime of tokens is not a number."""
        return replace(self.store.load_world(), clock=self.clock, watch=self._observer)

    @cached_property
    def idle_limits(self) -> IdleLimits:
        """How long a run may be idle. Raises `Unreadable` if a limit is not a number."""
        return read_idle_limits()

    @cached_property
    def secret(self) -> bytes:
        """The key that signs what a server must recognise again. All servers of a store have the same."""
        return hmac.digest(self.world.key, b"request-state", hashlib.sha256)

    def limit_to(self, projects: Projects) -> "App":
        """Return this app with the runs of these projects only: its queries, its turns and its feed.

        A run of another project is for it a run that never was.
        """

        def roots() -> tuple[str, ...]:
            return tuple(map(str, projects.roots))

        limited, world = App(self.store, projects, project_runs=self.project_runs), self.world
        limited.clock, limited.runs = self.clock, self.store.queries_for_projects(roots)
        feed = FilteredFeed(world.feed, limited.runs)
        limited.world = replace(world, runs=FilteredRuns(world.runs, roots), feed=feed)
        return limited

    def now(self) -> datetime:
        """Return the time by the clock of the turns."""
        return self.clock.now()

    # Runs, for people and programs.

    def view(self, run: RunRow) -> RunView:
        """Return a run with its steps, what it waits for, its last refusals and its comments."""
        return load_run_view(self.runs, run, self.idle_limits, self.now())

    def act(self, run: RunRow, action: Action, by: Caller) -> Reply:
        """Act on a run for a person, in the thread that writes. Blocks; raises the faults of the store.

        The reply has `error` if the action was refused. It has `warning`, and nothing was done, if the person
        must confirm the action first.
        """
        return self.store.writer.call(partial(self._take_action, run, action, by))

    def _take_action(self, run: RunRow, action: Action, by: Caller) -> Reply:
        match action:
            case AddComment(text):
                return add_comment(self._find_journal_world(run), run, text, by)
            case _ if is_mirrored(run):
                return refuse_mirrored_run(run)
            case Control(trigger, reason):
                return control_run(self.world, run, trigger, reason, by)
            case CompleteStep(output):
                return complete_step_by_hand(self.world, run, output, by)
            case Fork():
                return fork_by_hand(self.world, self.projects.definitions(run.project), run, action, by)
            case _:
                assert_never(action)

    def _find_journal_world(self, run: RunRow) -> World:
        """Return the world whose journal holds the comments of a run.

        A run in files has its journal beside the files. A run in a commit has it in this store. Raises
        `Unreadable` if the files are not on this machine, or the folder now has another run.
        """
        if run.authority is not Authority.FILES:
            return self.world
        folder = locate_run_folder(run, load_installed_workflow(run))
        runs, world = self.open_run_folder(folder) if folder else (None, self.world)
        if runs is None or runs.load(run.id) is None:
            message = f"the files of run {run.id} are not on this machine, and its journal lies with them"
            raise Unreadable(message, f"comment where {run.project} is")
        return world

    def open_run_folder(self, folder: RunFolder) -> tuple[FolderRuns, World]:
        """Open the run of a folder, and the world for its turns. The store mirrors its changes."""
        runs = self.project_runs.open_folder(folder)
        return runs, build_folder_world(self.world, folder, runs, self.store.mirrors)

    def touch(self, run: str) -> None:
        """Record that a run is still being watched, so that it does not count as idle."""
        self.store.writer.call(lambda: self.world.runs.touch(run, self.now()))

    def sweep(self) -> tuple[str, ...]:
        """Abandon the idle runs of the whole store and return their ids."""
        return self.store.sweep(self.idle_limits)

    # Tools, for agents.

    def call(
        self,
        face: Face,
        tool: Tool,
        arguments: Mapping[str, Any],
        caller: Caller,
        scopes: frozenset[AccessScope] = ALL_SCOPES,
    ) -> Answer | Question:
        """Answer a tool call, or return a question for a person. Blocks; a refusal is an answer too."""
        needed = get_required_scope(tool)
        if needed not in scopes:
            message = "your token does not let you do this; nothing was done"
            wanted = f"a token with the scope {needed}: ask whoever runs the server"
            return face.answer_failure(
                tool, arguments, CallFailure(RefusalCode.FORBIDDEN, "scope", message, wanted, again=False)
            )
        return self.answer(face, tool, arguments, partial(face.call, tool, arguments, caller))

    def answer(
        self, face: Face, tool: Tool, arguments: Mapping[str, Any], work: Callable[[], Result]
    ) -> Result | Answer:
        """Return what the work returns; if it fails, the failure as the face words it."""
        try:
            return work()
        except Fault as fault:
            self.sync_failed = self.sync_failed or isinstance(fault, SyncFailed)
            hide = self.projects.hide
            failed = CallFailure(fault.code, "store", hide(fault.message), hide(fault.repair), again=True)
        except Exception as bug:  # noqa: BLE001 - the edge: it is numbered, logged and answered
            needed = f"the server's log tells more under incident {log_incident(bug)}"
            message = "Handrail failed; nothing is known to have moved"
            failed = CallFailure(RefusalCode.INTERNAL, "internal", message, needed, again=False)
        return face.answer_failure(tool, arguments, failed)


def get_required_scope(tool: Tool) -> AccessScope:
    """Return the scope that a call of the tool needs: write, unless its `readOnlyHint` is set."""
    return AccessScope.READ if tool.listed.get("annotations", {}).get("readOnlyHint") else AccessScope.WRITE


def log_incident(bug: Exception) -> str:
    """Log the bug with its traceback and return its incident number."""
    number = secrets.token_hex(4)
    log.error("incident %s", number, exc_info=bug)
    return number
