"""Act on a run, or on several, from the dashboard: the forms, and what happens when they are sent.

`App.act` takes the actions, as it does for the command line.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, parse_qsl, urlencode

from anyio.to_thread import run_sync
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from handrail.app.actions import COMMENT, Action, AddComment, CompleteStep, Control, Fork, is_mirrored
from handrail.app.asgi import read_body
from handrail.app.faces import load_message_catalog
from handrail.app.user_files import stat_path
from handrail.dashboard.overview import RunSummary, summarize_run
from handrail.dashboard.rendering import render_page
from handrail.dashboard.run_tabs import suggest_words
from handrail.dashboard.viewer import Dashboards, Viewer, get_viewer
from handrail.documents.strict_json import JsonFlaw, parse_object
from handrail.engine.facts import is_valid_value
from handrail.engine.fork import FORK, list_step_states
from handrail.engine.lifecycle import (
    ABANDON,
    CONTINUE,
    DIVERGE,
    FAIL,
    LIFECYCLE_TABLE,
    PAUSE,
    RESUME,
    TRIGGERS_NEEDING_REASON,
    is_terminal,
)
from handrail.engine.model import Authority
from handrail.runtime.errors import Fault, SyncFailed
from handrail.runtime.ports.queries import RunRow
from handrail.runtime.turn import Reply

# How many bytes a submitted form may have.
MAX_FORM_BYTES: Final = 1024 * 1024
COMPLETE_STEP: Final = "complete-step"
_PAUSE_ACTIONS: Final = (PAUSE, RESUME)
_ENDING_ACTIONS: Final = (DIVERGE, FAIL, ABANDON)
_CONTROL_ACTIONS: Final = (*_PAUSE_ACTIONS, *_ENDING_ACTIONS)


@dataclass(frozen=True, slots=True)
class ActionRefusal:
    """Why an action was not taken: a sentence, the repair, and what was seen and needed.

    With `confirms`, it is taken once the person confirms it.
    """

    message: str
    repair: str = ""
    seen: tuple[Mapping[str, Any], ...] = ()
    needed: tuple[str, ...] = ()
    confirms: bool = False


def list_actions(viewer: Viewer, row: RunRow) -> tuple[str, ...]:
    """Return the actions that this viewer can take on a run now."""
    if not viewer.acts:
        return ()
    if is_mirrored(row):
        return (COMMENT,)
    if is_terminal(row.lifecycle):
        return (COMMENT, FORK)
    table = LIFECYCLE_TABLE[row.lifecycle]
    gentle, ending = ([one for one in kinds if one in table] for kinds in (_PAUSE_ACTIONS, _ENDING_ACTIONS))
    return (COMMENT, *gentle, *([COMPLETE_STEP] if CONTINUE in table else []), *ending)


def is_journal_elsewhere(row: RunRow) -> bool:
    """True if the journal of a run is kept with its files, and those are not on this machine."""
    return row.authority is Authority.FILES and stat_path(Path(row.project)) is None


def render_action_form(request: Request) -> Response:
    """Render the form of an action, which says what the action does and needs."""
    viewer, action = get_viewer(request), request.path_params["action"]
    row = load_run_row(viewer, request)
    allowed = action in list_actions(viewer, row)
    refusal = None if allowed else ActionRefusal(load_message_catalog()("act.not_now"))
    return _render_action_page(viewer, row, action, dict(request.query_params) if allowed else {}, refusal)


@dataclass(frozen=True, slots=True)
class ActionHandler:
    """Handles submitted actions. If the disk does not confirm a write, the server of these `boards` stops."""

    boards: Dashboards

    async def act(self, request: Request) -> Response:
        """Take the action and redirect to the run, or render the form again with the refusal."""
        viewer, action = get_viewer(request), request.path_params["action"]
        form = dict(parse_qsl(await _read_form(request), keep_blank_values=True))
        row = await run_sync(load_run_row, viewer, request)
        try:
            outcome = await run_sync(perform_action, viewer, row, action, form)
        except Fault as fault:
            if isinstance(fault, SyncFailed):
                self.boards.halted.set()
            hide = viewer.board.app.projects.hide
            outcome = ActionRefusal(hide(fault.message), hide(fault.repair))
        if isinstance(outcome, ActionRefusal):
            return await run_sync(_render_action_page, viewer, row, action, form, outcome)
        return RedirectResponse(f"/runs/{outcome['run']}?{urlencode({'acted': action})}", 303)


async def _read_form(request: Request) -> str:
    body = await read_body(request, MAX_FORM_BYTES)
    if len(body) > MAX_FORM_BYTES:
        raise HTTPException(413)
    return body.decode("utf-8", "replace")


def load_run_row(viewer: Viewer, request: Request) -> RunRow:
    """Load the run of a URL. Raises 404 if there is none, or if the viewer may not see it."""
    row = viewer.board.app.runs.run(request.path_params["run"])
    if row is None:
        raise HTTPException(404)
    return row


def perform_action(
    viewer: Viewer, row: RunRow, action: str, form: Mapping[str, str]
) -> Reply | ActionRefusal:
    """Take the action. Raises the faults of the store."""
    if action not in list_actions(viewer, row):
        return ActionRefusal(load_message_catalog()("act.not_now"))
    if not all(map(is_valid_value, form.values())):
        return ActionRefusal(load_message_catalog()("act.no_text"))
    wanted = _read_action(action, form)
    if isinstance(wanted, ActionRefusal):
        return wanted
    reply = viewer.board.app.act(row, wanted, viewer.caller)
    if warning := reply.get("warning"):
        return ActionRefusal(str(warning), confirms=True)
    error = reply.get("error")
    if not isinstance(error, Mapping):
        return reply
    why = error.get("why", {"seen": (), "needed": ()})
    return ActionRefusal(error["message"], error["repair"], tuple(why["seen"]), tuple(why["needed"]))


def _read_action(action: str, form: Mapping[str, str]) -> Action | ActionRefusal:
    """Return the action that a form asks for, or why the form cannot be read."""
    if action == COMMENT:
        return AddComment(form.get("text", "").replace("\r\n", "\n"))
    if action == COMPLETE_STEP:
        output = parse_object(form.get("output", "").encode())
        if isinstance(output, JsonFlaw):
            return ActionRefusal(output.sentence, load_message_catalog()("act.output"))
        return CompleteStep(output)
    if action == FORK:
        return Fork(form.get("step", ""), confirmed="confirmed" in form)
    return Control(action, form.get("reason", "").strip())


def _render_action_page(
    viewer: Viewer, row: RunRow, action: str, form: Mapping[str, str], refusal: ActionRefusal | None
) -> Response:
    """Render the form with the values that were entered, and the refusal if there is one."""
    board, now = viewer.board, viewer.board.app.now()
    if action not in {*_CONTROL_ACTIONS, COMMENT, COMPLETE_STEP, FORK}:
        raise HTTPException(404)
    stored = board.app.world.runs.load(row.id)
    workflow = (
        board.app.world.workflow_of(stored.run.digest, stored.run.workflow)
        if stored and action in {FORK, COMPLETE_STEP}
        else None
    )
    # Without a single open state, or without a brief in it, the page shows none.
    state = workflow.states.get(row.state) if workflow and action == COMPLETE_STEP else None
    return render_page(
        "act.html",
        409 if refusal else 200,
        viewer=viewer,
        now=now,
        run=summarize_run(board, row, now),
        row=row,
        action=action,
        form=form,
        refusal=refusal,
        allowed=action in list_actions(viewer, row),
        needs_reason=action in TRIGGERS_NEEDING_REASON,
        steps=list_step_states(workflow) if workflow and action == FORK else (),
        brief=state.brief if state else None,
        controls=_CONTROL_ACTIONS,
    )


# The actions that can be taken on several runs at once.
BULK_ACTIONS: Final = (PAUSE, RESUME, ABANDON)
# How many runs can be chosen at once.
MAX_BULK_RUNS: Final = 200
_UNTRIED: Final = "untried"


@dataclass(frozen=True, slots=True)
class BulkItem:
    """A chosen run; `run` is None if it does not exist.

    If no action is taken, `cannot` names the text that says why, or `why` says it, with the `repair`.
    `words` are what to say to its agent after the action.
    """

    id: str
    run: RunSummary | None
    cannot: str = ""
    why: str = ""
    repair: str = ""
    words: str = ""


@dataclass(frozen=True, slots=True)
class _BulkRequest:
    """A submitted form: the action, the runs and the reason."""

    action: str
    runs: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class BulkHandler:
    """Handles submitted actions on several runs; see `ActionHandler`."""

    boards: Dashboards

    async def preview(self, request: Request) -> Response:
        """Render the page that says what would happen to each run. Nothing is done yet."""
        viewer, form = get_viewer(request), await _read_bulk_request(request)
        return await run_sync(_render_preview, viewer, form, "")

    async def act(self, request: Request) -> Response:
        """Act on the runs one after the other. A refusal for one run does not stop the others."""
        viewer, form = get_viewer(request), await _read_bulk_request(request)
        if form.action in TRIGGERS_NEEDING_REASON and not form.reason:
            return await run_sync(_render_preview, viewer, form, load_message_catalog()("bulk.reason"))
        items = [await run_sync(self._act_on_run, viewer, form, run) for run in form.runs]
        return await run_sync(_render_bulk_page, viewer, form, items, "came", "")

    def _act_on_run(self, viewer: Viewer, form: _BulkRequest, run: str) -> BulkItem:
        """Act on one run. Do nothing once the disk has not confirmed a write."""
        if self.boards.halted.is_set():
            return BulkItem(run, None, _UNTRIED)
        row = viewer.board.app.runs.run(run)
        cannot = _find_obstacle(viewer, row, form.action)
        if cannot or row is None:
            return BulkItem(run, _summarize_row(viewer, row), cannot)
        hide = viewer.board.app.projects.hide
        try:
            outcome = perform_action(viewer, row, form.action, {"reason": form.reason})
        except Fault as fault:
            if isinstance(fault, SyncFailed):
                self.boards.halted.set()
            return BulkItem(
                run, _summarize_row(viewer, row), why=hide(fault.message), repair=hide(fault.repair)
            )
        now = viewer.board.app.runs.run(run)
        if isinstance(outcome, ActionRefusal):
            return BulkItem(run, _summarize_row(viewer, now), why=outcome.message, repair=outcome.repair)
        words = suggest_words(now) if now and form.action == RESUME else ""
        return BulkItem(run, _summarize_row(viewer, now), words=words)


async def _read_bulk_request(request: Request) -> _BulkRequest:
    """Read the submitted form. Raises 404 for an unknown action, and 413 for too many bytes or runs."""
    form = parse_qs(await _read_form(request), keep_blank_values=True)
    action = request.path_params.get("action") or form.get("action", [""])[0]
    if action not in BULK_ACTIONS:
        raise HTTPException(404)
    runs = tuple(dict.fromkeys(form.get("run", ())))
    if len(runs) > MAX_BULK_RUNS:
        raise HTTPException(413)
    return _BulkRequest(action, runs, form.get("reason", [""])[0].strip())


def _find_obstacle(viewer: Viewer, row: RunRow | None, action: str) -> str:
    """Return the name of the reason why the action cannot be taken; empty if it can."""
    if row is None:
        return "gone"
    if not viewer.acts:
        return "yours"
    if is_mirrored(row):
        return "elsewhere"
    if is_terminal(row.lifecycle):
        return "over"
    return "" if action in LIFECYCLE_TABLE[row.lifecycle] else action


def _summarize_row(viewer: Viewer, row: RunRow | None) -> RunSummary | None:
    return summarize_run(viewer.board, row, viewer.board.app.now()) if row else None


def _render_preview(viewer: Viewer, form: _BulkRequest, lacks: str) -> Response:
    """Render what would happen to each run; `lacks` says what the form still needs."""
    records = viewer.board.app.runs
    with records.snapshot():
        rows: Mapping[str, RunRow | None] = {run: records.run(run) for run in form.runs}
    items = [
        BulkItem(run, _summarize_row(viewer, row), _find_obstacle(viewer, row, form.action))
        for run, row in rows.items()
    ]
    return _render_bulk_page(viewer, form, items, "asked", lacks)


def _render_bulk_page(
    viewer: Viewer, form: _BulkRequest, items: Sequence[BulkItem], stage: str, lacks: str
) -> Response:
    return render_page(
        "bulk.html",
        409 if lacks else 200,
        viewer=viewer,
        now=viewer.board.app.now(),
        action=form.action,
        reason=form.reason,
        needs_reason=form.action in TRIGGERS_NEEDING_REASON,
        able=[one for one in items if not (one.cannot or one.why)],
        unable=[one for one in items if one.cannot or one.why],
        stage=stage,
        lacks=lacks,
    )
