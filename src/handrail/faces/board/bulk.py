"""What a person does to several runs at once: first what would happen to each, then what came of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs

from anyio.to_thread import run_sync
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from handrail.engine.lifecycle import ABANDON, NEEDS_REASON, PAUSE, RESUME, TABLE, terminal
from handrail.engine.model import Authority
from handrail.faces.board.acting import LARGEST, Refusal, done
from handrail.faces.board.boards import Boards, Viewer, viewer_of
from handrail.faces.board.looks import page
from handrail.faces.board.overview import Shown, shown
from handrail.faces.board.tabs.now import words
from handrail.faces.board.texts import catalogue
from handrail.faces.web.bodies import read
from handrail.shell.faults import Fault, SyncFailed
from handrail.shell.view import RunRow

ACTIONS: Final = (PAUSE, RESUME, ABANDON)
"""What can be done to several at once."""

MOST: Final = 200
"""How many runs can be chosen at once."""

_UNTRIED: Final = "untried"


@dataclass(frozen=True, slots=True)
class Each:
    """A run that was chosen, if it is there.

    `cannot` names the text that says why nothing is done to it, or `why` says it, with the `repair`. `words`
    are what to say to its agent, once something was done.
    """

    id: str
    run: Shown | None
    cannot: str = ""
    why: str = ""
    repair: str = ""
    words: str = ""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What was sent: what to do to which runs, and why."""

    action: str
    runs: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Bulk:
    """The way in for what people do to several runs; see `Acting`."""

    boards: Boards

    async def asking(self, request: Request) -> Response:
        """The page that says what would happen to each; nothing is done yet."""
        viewer, asked = viewer_of(request), await _asked(request)
        return await run_sync(_page, viewer, asked, "")

    async def act(self, request: Request) -> Response:
        """Do it to each, one after the other; what one is refused for keeps no other back."""
        viewer, asked = viewer_of(request), await _asked(request)
        if asked.action in NEEDS_REASON and not asked.reason:
            return await run_sync(_page, viewer, asked, catalogue()("bulk.reason"))
        found = [await run_sync(self._each, viewer, asked, run) for run in asked.runs]
        return await run_sync(_told, viewer, asked, found)

    def _each(self, viewer: Viewer, asked: _Asked, run: str) -> Each:
        """Do it to one. Once the disk has not confirmed a write, to none any more."""
        if self.boards.halted.is_set():
            return Each(run, None, _UNTRIED)
        row = viewer.board.serving.records.run(run)
        cannot = _cannot(viewer, row, asked.action)
        if cannot or row is None:
            return Each(run, _shown(viewer, row), cannot)
        hide = viewer.board.naming.hide
        try:
            came = done(viewer, row, asked.action, {"reason": asked.reason})
        except Fault as fault:
            if isinstance(fault, SyncFailed):
                self.boards.halted.set()
            return Each(run, _shown(viewer, row), why=hide(fault.message), repair=hide(fault.repair))
        now = viewer.board.serving.records.run(run)
        if isinstance(came, Refusal):
            return Each(run, _shown(viewer, now), why=came.message, repair=came.repair)
        told = words(now) if now and asked.action == RESUME else ""
        return Each(run, _shown(viewer, now), words=told)


async def _asked(request: Request) -> _Asked:
    """What was sent. Raises 404 for an action that there is not, and 413 for too much."""
    body = await read(request, LARGEST)
    if len(body) > LARGEST:
        raise HTTPException(413)
    form = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    action = request.path_params.get("action") or form.get("action", [""])[0]
    if action not in ACTIONS:
        raise HTTPException(404)
    runs = tuple(dict.fromkeys(form.get("run", ())))
    if len(runs) > MOST:
        raise HTTPException(413)
    return _Asked(action, runs, form.get("reason", [""])[0].strip())


def _cannot(viewer: Viewer, row: RunRow | None, action: str) -> str:
    """The name of why nothing can be done to a run; empty if it can."""
    if row is None:
        return "gone"
    if not viewer.acts:
        return "yours"
    if row.authority is not Authority.SQL:
        return "elsewhere"
    if terminal(row.lifecycle):
        return "over"
    return "" if action in TABLE[row.lifecycle] else action


def _shown(viewer: Viewer, row: RunRow | None) -> Shown | None:
    return shown(viewer.board, row, viewer.board.now()) if row else None


def _page(viewer: Viewer, asked: _Asked, lacks: str) -> Response:
    """What would happen to each; `lacks` is what must be said before."""
    records = viewer.board.serving.records
    with records.moment():
        rows: Mapping[str, RunRow | None] = {run: records.run(run) for run in asked.runs}
    each = [Each(run, _shown(viewer, row), _cannot(viewer, row, asked.action)) for run, row in rows.items()]
    return _rendered(viewer, asked, each, "asked", lacks)


def _told(viewer: Viewer, asked: _Asked, each: Sequence[Each]) -> Response:
    return _rendered(viewer, asked, each, "came", "")


def _rendered(viewer: Viewer, asked: _Asked, each: Sequence[Each], stage: str, lacks: str) -> Response:
    return page(
        "bulk.html",
        409 if lacks else 200,
        viewer=viewer,
        now=viewer.board.now(),
        action=asked.action,
        reason=asked.reason,
        needs_reason=asked.action in NEEDS_REASON,
        able=[one for one in each if not (one.cannot or one.why)],
        unable=[one for one in each if one.cannot or one.why],
        stage=stage,
        lacks=lacks,
    )
