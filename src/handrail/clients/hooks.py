"""Answer the hooks of AI clients, and compose the text of `handrail brief`.

The texts are in listening.yaml. Start with `HOOK_HANDLERS`. Hooks run at every message and edit, so this
module reads only an outline of a workflow and never loads it in full.
"""

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import yaml
from msgspec import Struct

from handrail.app.live_runs import (
    SPELLS_WORKFLOW,
    find_live_runs,
    list_parent_folders,
    outline_state,
    read_installed_workflow,
    render_task,
)
from handrail.clients.permits import leave_permit
from handrail.documents.text import match_command_word
from handrail.engine.model import Authority, Lifecycle
from handrail.runtime.ports.queries import LiveRun
from handrail.runtime.system import data_folder, state_folder
from handrail.stores.sql.reader import open_read_only
from handrail.workflows.outline import allows_edit, read_outline
from handrail.workflows.templates import render_template

if TYPE_CHECKING:
    from handrail.engine.facts import Value


# The largest brief, in bytes: about 2,000 tokens.
MAX_BRIEF_BYTES: Final = 6_000
_TEXTS_FILE: Final = Path(__file__).with_name("listening.yaml")
_MAX_TASK_BYTES: Final = 2_500
_MAX_LINES: Final = 8
_MAX_LINE_BYTES: Final = 160
_MAX_GOAL_BYTES: Final = 300


@cache
def load_hook_texts() -> Mapping[str, Any]:
    """Load the texts of listening.yaml, by name."""
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    texts = yaml.load(_TEXTS_FILE.read_text("utf-8"), Loader=loader)  # noqa: S506 - both are safe loaders
    return dict(texts)


def render_hook_text(name: str, /, **values: "Value") -> str:
    """Fill the placeholders of a text and strip its trailing line break."""
    return render_template(load_hook_texts()[name], values).rstrip("\n")


def _describe_next_call(run: LiveRun) -> str:
    """Describe the call that continues a run: the tool and its arguments."""
    if template := load_hook_texts()["calls"].get(run.face):
        return render_template(template, {"run": run.id, "goal": run.goal})
    outline = read_outline(read_installed_workflow(run.workflow))
    return render_hook_text("call_other", looks=outline.looks.lower())


def compose_brief(runs: Sequence[LiveRun]) -> str:
    """Describe the last called run in full and each other run in one line, in at most `MAX_BRIEF_BYTES`."""
    if not runs:
        return render_hook_text("brief_none")
    rest = [render_hook_text("brief_other_run", **_summary_values(run)) for run in runs[1:]]
    others = "\n" + render_hook_text("brief_other", lines=rest) if rest else ""
    for most in (_MAX_TASK_BYTES, _MAX_TASK_BYTES // 4, 0):
        text = render_hook_text("brief", runs=_describe_run(runs[0], most) + others)
        if len(text.encode()) <= MAX_BRIEF_BYTES:
            return text
    return shorten_text(text, MAX_BRIEF_BYTES)


def shorten_text(text: str, most: int) -> str:
    """Cut a text to at most `most` bytes. A cut text ends with a mark."""
    if len(text.encode()) <= most:
        return text
    mark = render_hook_text("cut")
    return text.encode()[: max(0, most - len(mark.encode()))].decode("utf-8", "ignore") + mark


def _describe_editable_files(edits: tuple[str, ...]) -> str:
    """Describe which files may be edited."""
    return render_hook_text("only_files", files=list(edits)) if edits else render_hook_text("no_file")


def _describe_run(run: LiveRun, most: int) -> str:
    state, refusal, task = outline_state(run), run.refused, render_task(run)
    words = (
        read_outline(read_installed_workflow(run.workflow)).words
        if run.authority is not Authority.SQL
        else ()
    )
    names = ("goal", "asked", "forbidden", "until", "edits", "refused", "words")
    parts = dict.fromkeys(names, "")
    if run.goal:
        parts["goal"] = render_hook_text("brief_goal", goal=shorten_text(run.goal, _MAX_GOAL_BYTES))
    if task:
        parts["asked"] = render_hook_text("brief_asked", task=shorten_text(task.strip(), most))
    for part, text, lines in (
        ("forbidden", "brief_forbidden", state.forbidden),
        ("until", "brief_done", state.done_when),
    ):
        if lines:
            short = [shorten_text(line, _MAX_LINE_BYTES) for line in lines[:_MAX_LINES]]
            parts[part] = render_hook_text(text, lines=[*short])
    if state.edits is not None:
        parts["edits"] = render_hook_text("brief_edits", files=_describe_editable_files(state.edits))
    if refusal:
        code, rule = str(refusal.get("error_type", "")), str(refusal.get("rule", ""))
        parts["refused"] = render_hook_text("brief_refused", code=code, rule=rule)
    if words:
        parts["words"] = render_hook_text("brief_words", words=list(words))
    paragraphs = {name: f"{text}\n" if text else "" for name, text in parts.items()}
    about = f"{state.about}.".lstrip(".")
    return render_hook_text("brief_run", **_summary_values(run), about=about, **paragraphs)


def _run_values(run: LiveRun) -> dict[str, Any]:
    return {"run": run.id, "workflow": run.workflow, "state": run.state, "call": _describe_next_call(run)}


def _summary_values(run: LiveRun) -> dict[str, Any]:
    mark = "paused" if run.lifecycle is Lifecycle.PAUSED else "waiting" if run.waiting else ""
    return {**_run_values(run), "marks": render_hook_text(mark) if mark else ""}


def brief_data(run: LiveRun) -> dict[str, object]:
    """Return the brief of one run as data, for JSON output."""
    state = outline_state(run)
    return {
        "run": run.id,
        "workflow": run.workflow,
        "face": run.face,
        "project": run.project,
        "lifecycle": run.lifecycle,
        "state": run.state,
        "waiting": run.waiting,
        "goal": run.goal,
        "about": state.about,
        "task": render_task(run),
        "edits": None if state.edits is None else list(state.edits),
        "refused": dict(run.refused),
        "call": _describe_next_call(run),
    }


# After this many seconds without a call, a run no longer restricts edits.
ACTIVE_SECONDS: Final = 30 * 60
_MAX_NOTE_CHARACTERS: Final = 2_000
_PATH_FIELDS: Final = ("file_path", "notebook_path", "path", "absolute_path")
_PATCHED_PATH: Final = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)
_GEMINI: Final = "gemini"
HookAnswer: TypeAlias = Mapping[str, Any] | None


class HookRequest(Struct, frozen=True):
    """One hook call of a client. `given` is its JSON; `store` is the address of the store."""

    given: Mapping[str, Any]
    client: str
    face: str
    store: str

    @property
    def folder(self) -> str:
        """The client's working folder."""
        return str(self.given.get("cwd") or os.getcwd())  # noqa: PTH109 - only the string is needed

    def runs(self) -> tuple[LiveRun, ...]:
        """Find the live runs of that folder, the last called first."""
        return find_live_runs(self.store, self.folder)

    def add_context(self, text: str) -> HookAnswer:
        """Build the answer that adds a text to the agent's context; None for an empty text."""
        event = str(self.given.get("hook_event_name", ""))
        return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}} if text else None

    def deny(self, why: str) -> HookAnswer:
        """Build the answer that denies a tool call."""
        if self.client == _GEMINI:
            return {"decision": "deny", "reason": why}
        verdict = {"permissionDecision": "deny", "permissionDecisionReason": why}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **verdict}}


def answer_prompt(request: HookRequest) -> HookAnswer:
    """Name the tool to call first if the user's whole message is one of Handrail's words."""
    typed = str(request.given.get("prompt", ""))
    match = match_command_word(typed)
    if " ".join(typed.lower().split()) in load_hook_texts()["next"]:
        runs = request.runs()
        return request.add_context(render_hook_text("go_on", **_run_values(runs[0]))) if runs else None
    if not match or request.face not in {"", SPELLS_WORKFLOW}:
        return None
    known = {word.lower(): word for word in read_outline(read_installed_workflow(SPELLS_WORKFLOW)).words}
    word = known.get(match[1].lower())
    return request.add_context(_accept_word(request, word, (match[2] or "").strip())) if word else None


def answer_session(request: HookRequest) -> HookAnswer:
    """Brief a new session on the runs of this project; None if there are none."""
    runs = request.runs()
    return request.add_context(compose_brief(runs)) if runs else None


def answer_edit(request: HookRequest) -> HookAnswer:
    """Deny the edit of Handrail's own files, and of files that the last called run does not allow."""
    places = [
        os.path.realpath(Path(request.folder) / path)
        for path in _list_edited_paths(request.given.get("tool_input"))
    ]
    ours = tuple(f"{os.path.realpath(folder)}{os.sep}" for folder in (data_folder(), state_folder()))
    if own := [place for place in places if place.startswith(ours)]:
        return request.deny(render_hook_text("own", files=list(own)))
    runs = request.runs() if places else ()
    if (
        not runs
        or runs[0].lifecycle is not Lifecycle.RUNNING
        or time.time() - runs[0].called.timestamp() > ACTIVE_SECONDS
    ):
        return None
    root = os.path.realpath(runs[0].project)
    below = [os.path.relpath(place, root) for place in places if place.startswith(f"{root}{os.sep}")]
    why = _find_edit_objection(runs[0], below) if below else ""
    return request.deny(why) if why else None


def answer_stop(request: HookRequest) -> HookAnswer:
    """Block the first stop of a session that has worked on a run and has not handed in its open step."""
    if request.given.get("stop_hook_active"):
        return None
    runs = [run for run in request.runs() if run.lifecycle is Lifecycle.RUNNING and not run.waiting]
    mine = [
        run for run in runs if run.authority is Authority.SQL and _is_run_mentioned(request.given, run.id)
    ]
    if not mine:
        return None
    return {"decision": "block", "reason": render_hook_text("stop", **_run_values(mine[0]))}


# The handler of each hook event.
HOOK_HANDLERS: Final[Mapping[str, Callable[[HookRequest], HookAnswer]]] = {
    "prompt": answer_prompt,
    "session": answer_session,
    "edit": answer_edit,
    "stop": answer_stop,
}


def _accept_word(request: HookRequest, word: str, note: str) -> str:
    """Leave a permit for the typed word, and return the text for the agent."""
    folders = list_parent_folders(request.folder)
    with open_read_only(request.store) as store:
        runs, key = (store.records.live_runs(folders), store.key()) if store else ((), b"")
    tasks = [run for run in runs if run.workflow == SPELLS_WORKFLOW]
    where = render_hook_text("word_run", run=tasks[0].id, state=tasks[0].state) if tasks else ""
    if key:
        leave_permit(key, tasks[0].project if tasks else folders[0], word, time.time())
    note_text = render_hook_text("word_bare")
    if note:
        note_text = render_hook_text("word_note", note=note[:_MAX_NOTE_CHARACTERS])
    return render_hook_text("word", word=word, tool=word.lower(), note=note_text, run=where)


def _find_edit_objection(run: LiveRun, below: list[str]) -> str:
    """Say why some of these project files must not be edited; empty if all may be."""
    if state_files := [path for path in below if _is_state_file(run, path)]:
        return render_hook_text("kept", files=list(state_files), **_run_values(run))
    state = outline_state(run)
    denied = [path for path in below if not allows_edit(state.edits, path)]
    if not denied:
        return ""
    about, edits = f"{state.about}." if state.about else "", _describe_editable_files(state.edits or ())
    now = render_hook_text("now_paused" if run.authority is Authority.SQL else "now_said", run=run.id)
    return render_hook_text(
        "denied", files=list(denied), edits=edits, about=about, now=now, **_run_values(run)
    )


def _list_edited_paths(tool: object) -> Iterator[str]:
    """List the files that a tool call is about to edit, as the call names them."""
    if not isinstance(tool, Mapping):
        return
    yield from (str(tool[name]) for name in _PATH_FIELDS if isinstance(tool.get(name), str))
    if isinstance(patch := tool.get("command"), str):
        yield from (found.strip() for found in _PATCHED_PATH.findall(patch))


def _is_state_file(run: LiveRun, path: str) -> bool:
    """True if this file holds the state of a run that is kept in files."""
    if run.authority is not Authority.FILES:
        return False
    outline = read_outline(read_installed_workflow(run.workflow))
    folder = outline.folder.replace("{name}", run.goal)
    return path == f"{folder}/{outline.state_file}" or path.startswith(f"{folder}/.handrail/")


def _is_run_mentioned(given: Mapping[str, Any], run: str) -> bool:
    """True if the client's transcript of the session names the run."""
    try:
        return run.encode() in Path(str(given.get("transcript_path") or "")).read_bytes()
    except OSError:
        return False
