"""What a person does to a run on its page: the same turns as on the command line."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from anyio.to_thread import run_sync
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from handrail.documents.strict import Flaw, parse
from handrail.engine.facts import Value, sound
from handrail.engine.fork import FORK, step_states
from handrail.engine.lifecycle import (
    ABANDON,
    CONTINUE,
    DIVERGE,
    FAIL,
    NEEDS_REASON,
    PAUSE,
    RESUME,
    TABLE,
    terminal,
)
from handrail.engine.model import Authority, Brief, Workflow
from handrail.faces.board.boards import Boards, Viewer, viewer_of
from handrail.faces.board.looks import page
from handrail.faces.board.overview import shown
from handrail.faces.board.texts import catalogue
from handrail.faces.cli.byhand import COMMENT, commented, completed, controlled, forked, past, where
from handrail.faces.web.bodies import read
from handrail.shell.faults import Fault, SyncFailed
from handrail.shell.followed import seen
from handrail.shell.fork import Fork, overrides
from handrail.shell.turn import Reply
from handrail.shell.view import RunRow

LARGEST: Final = 1024 * 1024
"""How many bytes a form may have."""

COMPLETE: Final = "complete-step"
_GENTLE: Final = (PAUSE, RESUME)
_ENDING: Final = (DIVERGE, FAIL, ABANDON)
_CONTROLS: Final = (*_GENTLE, *_ENDING)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why something was not done: a sentence, the repair, and what was seen and needed.

    `confirms` says that it is done once the person has said so again.
    """

    message: str
    repair: str = ""
    seen: tuple[Mapping[str, Any], ...] = ()
    needed: tuple[str, ...] = ()
    confirms: bool = False


def possible(viewer: Viewer, row: RunRow) -> tuple[str, ...]:
    """What this person can do to a run now."""
    if not viewer.acts:
        return ()
    if row.authority is not Authority.SQL:
        return (COMMENT,)
    if terminal(row.lifecycle):
        return (COMMENT, FORK)
    table = TABLE[row.lifecycle]
    gentle, ending = ([one for one in kinds if one in table] for kinds in (_GENTLE, _ENDING))
    return (COMMENT, *gentle, *([COMPLETE] if CONTINUE in table else []), *ending)


def is_away(row: RunRow) -> bool:
    """Whether the journal of a run lies with its files, and those are not on this machine."""
    return row.authority is Authority.FILES and seen(Path(row.project)) is None


def asking(request: Request) -> Response:
    """The page that asks for what an action needs, and says what it does."""
    viewer, action = viewer_of(request), request.path_params["action"]
    row = the_run(viewer, request)
    if action not in possible(viewer, row):
        return _page(viewer, row, action, {}, Refusal(catalogue()("act.not_now")))
    return _page(viewer, row, action, dict(request.query_params), None)


@dataclass(frozen=True, slots=True)
class Acting:
    """The way in for what people do; a disk that does not confirm it ends the server of these `boards`."""

    boards: Boards

    async def act(self, request: Request) -> Response:
        """Do it; then the page of the run says what to say to the agent, or this one why it was refused."""
        viewer, action = viewer_of(request), request.path_params["action"]
        body = await read(request, LARGEST)
        if len(body) > LARGEST:
            raise HTTPException(413)
        form = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
        row = await run_sync(the_run, viewer, request)
        try:
            came = await run_sync(done, viewer, row, action, form)
        except Fault as fault:
            if isinstance(fault, SyncFailed):
                self.boards.halted.set()
            came = Refusal(viewer.board.naming.hide(fault.message), viewer.board.naming.hide(fault.repair))
        if isinstance(came, Refusal):
            return await run_sync(_page, viewer, row, action, form, came)
        return RedirectResponse(f"/runs/{came['run']}?{urlencode({'acted': action})}", 303)


def the_run(viewer: Viewer, request: Request) -> RunRow:
    """The run of an URL; whoever may not see it is told that there is none."""
    row = viewer.board.serving.records.run(request.path_params["run"])
    if row is None:
        raise HTTPException(404)
    return row


def done(viewer: Viewer, row: RunRow, action: str, form: Mapping[str, str]) -> Reply | Refusal:
    """Do it in the thread that writes. Raises the faults of the store."""
    if action not in possible(viewer, row):
        return Refusal(catalogue()("act.not_now"))
    if not all(map(sound, form.values())):
        return Refusal(catalogue()("act.no_text"))
    reply = viewer.board.serving.writer.call(lambda: _taken(viewer, row, action, form))
    return reply if isinstance(reply, Refusal) else _told(reply)


def _taken(viewer: Viewer, row: RunRow, action: str, form: Mapping[str, str]) -> Reply | Refusal:
    world, caller = viewer.board.serving.world, viewer.caller
    if action == COMMENT:
        there = where(world, row, viewer.board.openings.folder, viewer.board.serving.mirror)
        return commented(there, row, form.get("text", "").replace("\r\n", "\n"), caller)
    if action == COMPLETE:
        payload = _output(form.get("output", ""))
        return payload if isinstance(payload, Refusal) else completed(world, row, payload, caller)
    if action == FORK:
        asked = Fork(row.id, form.get("step", ""), caller)
        code = overrides(world, asked)
        if code and "confirmed" not in form:
            return Refusal(past(asked.state, code), confirms=True)
        return forked(world, asked, code)
    return controlled(world, row, action, form.get("reason", "").strip(), caller)


def _output(text: str) -> Mapping[str, Value] | Refusal:
    found = parse(text.encode())
    return Refusal(found.sentence, catalogue()("act.output")) if isinstance(found, Flaw) else found


def _told(reply: Reply) -> Reply | Refusal:
    error = reply.get("error")
    if not isinstance(error, Mapping):
        return reply
    why = error["why"]
    return Refusal(error["message"], error["repair"], tuple(why["seen"]), tuple(why["needed"]))


def _page(
    viewer: Viewer, row: RunRow, action: str, form: Mapping[str, str], refusal: Refusal | None
) -> Response:
    """The form, filled as it was, and why it was refused, if it was."""
    board, now = viewer.board, viewer.board.now()
    if action not in {*_CONTROLS, COMMENT, COMPLETE, FORK}:
        raise HTTPException(404)
    stored = board.serving.world.runs.load(row.id)
    workflow = board.serving.world.workflow_of(stored) if stored and action in {FORK, COMPLETE} else None
    return page(
        "act.html",
        409 if refusal else 200,
        viewer=viewer,
        now=now,
        run=shown(board, row, now),
        row=row,
        action=action,
        form=form,
        refusal=refusal,
        allowed=action in possible(viewer, row),
        needs_reason=action in NEEDS_REASON,
        steps=step_states(workflow) if workflow and action == FORK else (),
        brief=_brief(workflow, row) if action == COMPLETE else None,
        controls=_CONTROLS,
    )


def _brief(workflow: Workflow | None, row: RunRow) -> Brief | None:
    """What the open step asks for, if it is one only."""
    state = workflow.states.get(row.state) if workflow else None
    return state.brief if state else None
