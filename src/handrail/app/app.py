"""`App`: Handrail over one open store and some projects. Every way in holds one.

`call` is the one entry for tools: it checks the scope, calls the face, and turns every failure into an
answer.
"""

import logging
import secrets
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

from handrail.app.faces import Answer, CallFailure, Face, Question, Tool
from handrail.app.projects import Projects
from handrail.app.run_view import RunView, load_run_view
from handrail.app.stores import Stores
from handrail.engine.refusals import RefusalCode
from handrail.runtime.errors import Fault, SyncFailed
from handrail.runtime.ports.access import AccessScope
from handrail.runtime.ports.open_store import ServingStore
from handrail.runtime.ports.queries import RunQueries, RunRow
from handrail.runtime.records import Caller
from handrail.runtime.sweep import read_idle_limits

log = logging.getLogger("handrail")
Result = TypeVar("Result")
ALL_SCOPES: Final = frozenset(AccessScope)


class App:
    """Handrail over one open store and some projects: its runs, and the tools of its faces.

    `sync_failed` is true once the disk has not confirmed a write: then nothing more may be written.
    """

    def __init__(self, stores: Stores, serving: ServingStore, projects: Projects) -> None:
        self.stores, self.serving, self.projects = stores, serving, projects
        self.sync_failed = False

    @property
    def runs(self) -> RunQueries:
        """The runs that this app may see."""
        return self.serving.records

    def view(self, run: RunRow) -> RunView:
        """Return a run with its steps, what it waits for, its last refusals and its comments."""
        return load_run_view(self.runs, run, read_idle_limits(), self.serving.world.clock.now())

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
