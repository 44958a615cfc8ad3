"""What the tests of hooks, briefs and permits share: a project, a store with real runs, a client's hook."""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handrail.app.app import App, open_app
from handrail.app.faces import StepsStatus
from handrail.clients.hooks import HOOK_HANDLERS, HookRequest
from handrail.clients.permits import Permits
from handrail.mcp.addresses import Spelling
from handrail.mcp.faces.spells import SpellsFace
from handrail.mcp.faces.steps import StepsFace
from handrail.runtime.records import Caller
from handrail.runtime.store_address import locate_store
from handrail.runtime.system import default_store_path
from handrail.stores.sql.reader import open_read_only
from helpers.spell_table import load_spells

EVENTS = {"prompt": "UserPromptSubmit", "session": "SessionStart", "edit": "PreToolUse", "stop": "Stop"}


@dataclass(frozen=True)
class HookProject:
    """A project whose runs are in the store of its user, or in the one at this address."""

    root: Path
    store: str = ""

    def served(self) -> AbstractContextManager[App]:
        """What a server of the project has."""
        return open_app(locate_store(self.store), [self.root])

    def step(self, **arguments: object) -> dict[str, Any]:
        """What the face `steps` answers."""
        with self.served() as app:
            face = StepsFace(app, Spelling.PORTABLE)
            answer = face.call(face.tools[0], arguments, Caller(client="bench 1"))
        return dict(answer.reply)

    def start(self, workflow: str = "refactor", **inputs: str) -> str:
        """Start a run."""
        given = inputs or {"target": "src/shop.py"}
        reply = self.step(template_name=workflow, inputs=given)
        assert reply["status"] == StepsStatus.OK, reply
        return str(reply["execution_id"])

    def say(
        self, word: str, permits: Callable[[bytes], Permits | None] = lambda _: None, **arguments: object
    ) -> dict[str, Any]:
        """What the face `spells` answers to a word."""
        with self.served() as app:
            face = SpellsFace(app, load_spells(), lambda: permits(app.world.key))
            (tool,) = [tool for tool in face.tools if tool.names == (word.lower(),)]
            return dict(face.call(tool, arguments, Caller(client="bench 1")).reply)

    def hook(self, event: str, client: str = "claude", face: str = "", **given: object) -> Any:  # noqa: ANN401 - JSON
        """What a hook answers a client that works in the project."""
        whole = {"cwd": str(self.root), "hook_event_name": EVENTS[event], **given}
        return HOOK_HANDLERS[event](HookRequest(whole, client, face, self.store))

    def edits(self, *paths: str, client: str = "claude") -> str:
        """Why a file is not edited; empty if it is."""
        answers = [self.hook("edit", client, tool_input={"file_path": path}) for path in paths]
        return "\n".join(get_denial_text(answer) for answer in answers if answer)


def store_key(address: str = "") -> bytes:
    """The key that the store at an address signs with; empty if there is no store."""
    with open_read_only(address) as store:
        return store.key() if store else b""


def get_denial_text(answer: Mapping[str, Any]) -> str:
    """What an agent reads whose edit was denied."""
    if "reason" in answer:
        assert answer["decision"] == "deny"
        return str(answer["reason"])
    reply = answer["hookSpecificOutput"]
    assert (reply["hookEventName"], reply["permissionDecision"]) == ("PreToolUse", "deny")
    return str(reply["permissionDecisionReason"])


def get_added_context(answer: Mapping[str, Any] | None) -> str:
    """What is put before the agent; empty if nothing is."""
    return str(answer["hookSpecificOutput"]["additionalContext"]) if answer else ""


def backdate_last_call(run: str, seconds: float) -> None:
    """Have a run be called last so long ago."""
    import sqlite3  # noqa: PLC0415 - only here is the store changed behind its back

    then = time.strftime("%Y-%m-%d %H:%M:%S.000", time.gmtime(time.time() - seconds))
    with sqlite3.connect(default_store_path()) as connection:
        connection.execute("UPDATE runs SET active_at = ? WHERE execution_id = ?", (then, run))
    connection.close()
