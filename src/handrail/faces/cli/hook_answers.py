"""What each hook answers, in the form of the client that asks; None: nothing."""

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from msgspec import Struct

from handrail.engine.model import Authority, Lifecycle
from handrail.faces.cli.hook_entry import match_word
from handrail.faces.cli.listening import brief, call, editable, say, texts
from handrail.shell.homes import data_folder, state_folder
from handrail.shell.live_runs import WORDS, find_live_runs, folders_above, installed_text, outline_state
from handrail.shell.permits import leave
from handrail.shell.view import LiveRun, OpenReadOnly
from handrail.workflows.outline import allows_edit, read_outline

LATELY: Final = 30 * 60
"""How many seconds a run may be left alone before its state keeps nobody from editing."""

_NOTE: Final = 2_000
_PATHS: Final = ("file_path", "notebook_path", "path", "absolute_path")
_PATCHED: Final = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)
_GEMINI: Final = "gemini"

Answer: TypeAlias = Mapping[str, Any] | None


class Asked(Struct, frozen=True):
    """What a client gives a hook, and how the hook opens the store at the address `store`."""

    given: Mapping[str, Any]
    client: str
    face: str
    store: str
    open_store: OpenReadOnly

    @property
    def folder(self) -> str:
        """Where the client works."""
        return str(self.given.get("cwd") or os.getcwd())  # noqa: PTH109 - only the text is wanted

    def runs(self) -> tuple[LiveRun, ...]:
        """The runs under way there, the one called last first."""
        return find_live_runs(self.open_store, self.store, self.folder)

    def told(self, text: str) -> Answer:
        """The answer that puts a text before the agent."""
        event = str(self.given.get("hook_event_name", ""))
        return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}} if text else None

    def denied(self, why: str) -> Answer:
        """The answer that keeps a tool from being used."""
        if self.client == _GEMINI:
            return {"decision": "deny", "reason": why}
        deny = {"permissionDecision": "deny", "permissionDecisionReason": why}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **deny}}


def prompt(asked: Asked) -> Answer:
    """Which tool to call first, if the whole message of the person is a word of Handrail."""
    typed = str(asked.given.get("prompt", ""))
    found = match_word(typed)
    if " ".join(typed.lower().split()) in texts()["next"]:
        return asked.told(_go_on(asked.runs()))
    if not found or asked.face not in {"", WORDS}:
        return None
    known = {word.lower(): word for word in read_outline(installed_text(WORDS)).words}
    word = known.get(found[1].lower())
    return asked.told(_said(asked, word, (found[2] or "").strip())) if word else None


def session(asked: Asked) -> Answer:
    """Where the run of this project is, if there is one."""
    runs = asked.runs()
    if not runs:
        return None
    return asked.told(brief(runs))


def edit(asked: Asked) -> Answer:
    """Why a file is not changed, if it is one of Handrail's, or the run called last does not let it."""
    places = [os.path.realpath(Path(asked.folder) / path) for path in _paths(asked.given.get("tool_input"))]
    if own := [place for place in places if _is_own(place)]:
        from handrail.faces.cli.listening import say

        return asked.denied(say("own", files=list(own)))
    runs = asked.runs() if places else ()
    if (
        not runs
        or runs[0].lifecycle is not Lifecycle.RUNNING
        or time.time() - runs[0].called.timestamp() > LATELY
    ):
        return None
    root = os.path.realpath(runs[0].project)
    below = [os.path.relpath(place, root) for place in places if place.startswith(f"{root}{os.sep}")]
    why = _unchanged(runs[0], below) if below else ""
    return asked.denied(why) if why else None


def stop(asked: Asked) -> Answer:
    """That a step is not handed in, once, if the session is about the run that it is a step of."""
    if asked.given.get("stop_hook_active"):
        return None
    runs = [run for run in asked.runs() if run.lifecycle is Lifecycle.RUNNING and not run.waiting]
    mine = [run for run in runs if run.authority is Authority.SQL and _mentions(asked.given, run.id)]
    if not mine:
        return None
    return {"decision": "block", "reason": say("stop", **_named(mine[0]))}


ANSWERS: Final[Mapping[str, Callable[[Asked], Answer]]] = {
    "prompt": prompt,
    "session": session,
    "edit": edit,
    "stop": stop,
}
"""What is answered, by what is asked."""


def _named(run: LiveRun) -> dict[str, Any]:
    return {"run": run.id, "workflow": run.workflow, "state": run.state, "call": call(run)}


def _go_on(runs: tuple[LiveRun, ...]) -> str:
    return say("go_on", **_named(runs[0])) if runs else ""


def _said(asked: Asked, word: str, note: str) -> str:
    """What the agent is told of a word; and a permit for it is left."""
    folders = folders_above(asked.folder)
    with asked.open_store(asked.store) as store:
        runs, key = (store.records.live_runs(folders), store.key()) if store else ((), b"")
    tasks = [run for run in runs if run.workflow == WORDS]
    where = say("word_run", run=tasks[0].id, state=tasks[0].state) if tasks else ""
    if key:
        leave(key, tasks[0].project if tasks else folders[0], word, time.time())
    noted = say("word_note", note=note[:_NOTE]) if note else say("word_bare")
    return say("word", word=word, tool=word.lower(), note=noted, run=where)


def _unchanged(run: LiveRun, below: list[str]) -> str:
    """Why some of these files of its project are not changed; empty if all may be."""
    if kept := [path for path in below if _keeps(run, path)]:
        return say("kept", files=list(kept), **_named(run))
    state = outline_state(run)
    wrong = [path for path in below if not allows_edit(state.edits, path)]
    if not wrong:
        return ""
    about, edits = f"{state.about}." if state.about else "", editable(state.edits or ())
    now = say("now_paused", run=run.id) if run.authority is Authority.SQL else say("now_said")
    return say("denied", files=list(wrong), edits=edits, about=about, now=now, **_named(run))


def _paths(tool: object) -> Iterator[str]:
    """The files that a tool is about to change, as it names them."""
    if not isinstance(tool, Mapping):
        return
    yield from (str(tool[name]) for name in _PATHS if isinstance(tool.get(name), str))
    if isinstance(patch := tool.get("command"), str):
        yield from (found.strip() for found in _PATCHED.findall(patch))


def _is_own(place: str) -> bool:
    """True if a file is one in which Handrail keeps what no agent may change by hand."""
    folders = (data_folder(), state_folder())
    return any(place.startswith(f"{os.path.realpath(folder)}{os.sep}") for folder in folders)


def _keeps(run: LiveRun, path: str) -> bool:
    """True if what says where a run in files stands is in this file."""
    if run.authority is not Authority.FILES:
        return False
    seen = read_outline(installed_text(run.workflow))
    folder = seen.folder.replace("{name}", run.goal)
    return path == f"{folder}/{seen.state_file}" or path.startswith(f"{folder}/.handrail/")


def _mentions(given: Mapping[str, Any], run: str) -> bool:
    """True if the record that the client keeps of the session names the run."""
    try:
        return run.encode() in Path(str(given.get("transcript_path") or "")).read_bytes()
    except OSError:
        return False
