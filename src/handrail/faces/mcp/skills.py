"""The face `skills`: a skill says that it is done, and is told which comes next. The server alone knows why.

Which skills there are, and what follows what, stands in the workflow that a session follows.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, assert_never

import msgspec

from handrail.documents.taskgraph import Batch, ids, sound
from handrail.engine.facts import Value
from handrail.engine.model import Accepted, Event, Refused, Run, Waiting, Who, Workflow
from handrail.engine.model import Tool as Declared
from handrail.engine.skills import SKILL, skill_of
from handrail.faces.board.texts import catalogue
from handrail.faces.mcp.declared import (
    REFUSAL,
    REMARKS,
    TEXT,
    annotations,
    failure,
    parameter,
    stand,
    token_of,
)
from handrail.faces.mcp.face import Answer, Failed, Prompt, Stand, Tool, UnknownPrompt
from handrail.faces.mcp.forms import Arguments
from handrail.faces.mcp.projects import Projects
from handrail.faces.mcp.replies import following, reasons, told_comments, told_next, told_why
from handrail.faces.mcp.sessions import GRAPH, PROJECT, SESSION, UNKNOWN, Session, Sessions, params_of
from handrail.faces.mcp.texts import Texts, texts
from handrail.shell.comments import showing
from handrail.shell.folders import Folder
from handrail.shell.gatekeeper import request_of
from handrail.shell.opening import FolderRuns, Serving
from handrail.shell.records import REMEMBERED, Caller, Stored
from handrail.shell.standing import look, unready
from handrail.shell.turn import Call, Outcome, Reply, refuse, take_turn
from handrail.workflows.draw.batches import batches_mermaid
from handrail.workflows.draw.folds import graph_of
from handrail.workflows.draw.marks import Marks
from handrail.workflows.draw.text import mermaid
from handrail.workflows.registry import BATCH, BATCHES

FACE: Final = "skills"
TOKEN: Final = "step_token"  # noqa: S105 - the name of an argument, no secret
TASKS: Final = "tasks"
_ACTION: Final = "action"
_NUMBER: Final = {"type": "integer"}
_ANSWERS: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "next_skill": {"type": ["string", "null"]},
        "params": {"type": "object", "properties": {"item_number": _NUMBER, "batch_index": _NUMBER}},
        _ACTION: {"enum": ["clear", "none"]},
        "state": TEXT,
        TOKEN: TEXT,
        "note": TEXT,
        TASKS: {"type": "array", "items": {"type": "object", "required": ["id", "status"]}},
        "phase": TEXT,
        "blocked": TEXT,
        "graph": TEXT,
        "diagram": TEXT,
        "batches_diagram": TEXT,
        "error": TEXT,
        **REMARKS,
        **REFUSAL,
    },
}


class Skills:
    """The face over the sessions of a server's projects, shown in the common store."""

    def __init__(
        self, serving: Serving, projects: Projects, workflow: Workflow, opened: Callable[[Folder], FolderRuns]
    ) -> None:
        self._serving, self._workflow, self._texts = serving, workflow, texts(FACE)
        self._about = projects.about
        self._sessions = Sessions(serving, projects, workflow, opened, FACE)
        self.tools: Sequence[Tool] = tuple(self._listed(tool) for tool in workflow.tools.values())
        self._arguments = {tool.names[0]: Arguments(tool.listed["inputSchema"], ()) for tool in self.tools}

    @property
    def instructions(self) -> str:
        """What an agent is told about the face before its first call."""
        return self._texts.say("instructions", project=self._texts.say(f"{self._about}_told"))

    def prompts(self) -> Sequence[Prompt]:
        """None: skills are invoked by agents."""
        return ()

    def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """None is known."""
        raise UnknownPrompt(f"this face has no prompts; {name} with {len(arguments)} arguments is none")

    def call(self, tool: Tool, arguments: Mapping[str, Any], caller: Caller) -> Answer:
        """Answer a call."""
        declared = self._workflow.tools[tool.names[0]]
        reply = self._reply(declared, arguments, caller)
        return Answer(reply, markdown(self._texts, reply), failed="code" in reply)

    def failed(self, tool: Tool, arguments: Mapping[str, Any], failed: Failed) -> Answer:
        """Put a failure into the shape of a refusal."""
        error = f"{failed.message}: {failed.needed}"
        reply = {"error": error, **failure(tool.names[0], arguments, failed)}
        return Answer(reply, markdown(self._texts, reply), failed=True)

    def stands(self, arguments: Mapping[str, Any], answer: Answer) -> Stand | None:
        """Where the session stands, and how many tasks of its batches are done."""
        del answer
        with self._sessions.found(arguments) as session:
            if isinstance(session, Refused):
                return None
            shown = look(session.world, session.runs.standing())
        kept = shown.stored.run.vars.get(BATCHES) if shown.stored else None
        batches: list[Batch] = kept if isinstance(kept, list) and sound(kept) else []
        done = len(ids(batches, completed=True))
        return stand(shown, far=(done, done + len(ids(batches, completed=False))))

    def _reply(self, tool: Declared, given: Mapping[str, Any], caller: Caller) -> Reply:
        wrong = self._arguments[tool.name].wrong(given)
        if wrong:
            return self._turned_away(tool, given, caller, wrong)
        with self._sessions.found(given) as session:
            if isinstance(session, Refused):
                return self._turned_away(tool, given, caller, session)
            return self._told(session, tool, given, caller)

    def _turned_away(
        self, tool: Declared, given: Mapping[str, Any], caller: Caller, refused: Refused
    ) -> Reply:
        """Say no before any row was tried."""
        teller = _Teller(self._texts, tool, None, tuple(self._begins(refused, given)))
        call = Call("", Event(tool.name), caller)
        return refuse(self._serving.world, call, teller.reply, Outcome(refused, None))

    def _told(self, session: Session, tool: Declared, given: Mapping[str, Any], caller: Caller) -> Reply:
        event = Event(tool.name, {name: given[name] for name in tool.params if name in given})
        teller = _Teller(self._texts, tool, session)
        if tool.reads:
            stored = session.runs.standing()
            return showing(teller.status(look(session.world, stored)), stored)
        call = Call(
            "",
            event,
            caller,
            str(given.get(TOKEN, "")),
            answered=lambda stored: _again(session, event, stored),
            tells=lambda run: _entered(session, event, run),
        )
        return take_turn(session.world, call, teller.reply)

    def _begins(self, refused: Refused, given: Mapping[str, Any]) -> Iterator[Mapping[str, Value]]:
        """The call that begins the session which was named and is not there."""
        skill = skill_of(self._workflow, self._workflow.initial)
        for tool in self._workflow.tools.values():
            if refused.code == UNKNOWN and SKILL in tool.params:
                named = {name: given[name] for name in (PROJECT, SESSION)}
                yield following(tool.name, Who.AGENT, {**named, SKILL: skill})

    def _listed(self, tool: Declared) -> Tool:
        say = self._texts.say
        params = {name: parameter(one) for name, one in tool.params.items()}
        first = {
            PROJECT: {**TEXT, "description": say(self._about)},
            SESSION: {**TEXT, "description": say(SESSION)},
        }
        more = [GRAPH] * (SKILL in params) + [TOKEN] * (not tool.reads)
        listed = {
            "name": tool.name,
            "description": tool.about,
            "inputSchema": {
                "type": "object",
                "properties": {
                    **first,
                    **params,
                    **{name: {**TEXT, "description": say(name)} for name in more},
                },
                "required": [*first, *params],
                "additionalProperties": False,
            },
            "outputSchema": _ANSWERS,
            "annotations": annotations(tool.name, reads=tool.reads),
        }
        return Tool((tool.name,), listed, shows=tool.reads)


def _again(session: Session, event: Event, stored: Stored) -> Reply | None:
    """The reply to the call that led into the state, if this is that call again and not the one expected.

    Tasks may have been set since; a person's edit makes it another matter.
    """
    expected = skill_of(session.folder.workflow, session.state(stored.run))
    if event.payload.get(SKILL) in {None, expected} or stored.adopted:
        return None
    for revision in range(stored.revision - 1, max(stored.revision - REMEMBERED, 0) - 1, -1):
        spent = session.runs.spent("", revision)
        if spent is None:
            return None
        reply: dict[str, Any] = msgspec.json.decode(spent.reply, type=dict[str, Any])
        if spent.request == request_of(event):
            return reply
        if TASKS not in reply:
            return None
    return None


def _entered(session: Session, event: Event, run: Run) -> Mapping[str, Value]:
    """What the journal tells of a move, so that whoever shows it has all of it."""
    skill = skill_of(session.folder.workflow, run.open[0].state) if run.open else ""
    told = {"skill": skill or None, "params": params_of(run)}
    return {SESSION: session.folder.name, "with": dict(event.payload), **told}


@dataclass(frozen=True, slots=True)
class _Teller:
    """Puts the outcome of one call into words; without a `session` it was about none.

    `instead` is what may be called then.
    """

    texts: Texts
    tool: Declared
    session: Session | None
    instead: tuple[Mapping[str, Value], ...] = ()

    def reply(self, outcome: Outcome) -> Reply:
        """The reply, as data."""
        match outcome.decision:
            case Refused() as refused:
                return self._refused(outcome, refused)
            case Accepted() | Waiting():
                return self._standing(outcome)
            case _:
                assert_never(outcome.decision)

    def status(self, outcome: Outcome) -> Reply:
        """Where the session stands, what keeps it there, and pictures of that."""
        session, stored = self.session, outcome.stored
        if isinstance(outcome.decision, Refused) or session is None or stored is None:
            return self.reply(outcome)
        workflow, reply = session.folder.workflow, self._standing(outcome)
        state = str(reply["state"])
        told = {**reply, "phase": workflow.states[state].phase, "graph": workflow.name}
        if blocked := self._blocked(outcome, stored.run):
            told["blocked"] = blocked
        told["diagram"] = mermaid(graph_of(catalogue(), workflow), Marks(current=(state,)))
        batches = stored.run.vars.get(BATCHES)
        if isinstance(batches, list) and batches:
            told["batches_diagram"] = batches_mermaid(batches)
            told[TASKS] = _tasks(stored.run)
        return told

    def _blocked(self, outcome: Outcome, run: Run) -> str:
        """Why the skill of the state could not be completed now, tried on paper."""
        workflow = outcome.workflow
        if workflow is None or self.session is None or not run.open:
            return ""
        tool = next(one for one in workflow.tools.values() if SKILL in one.params)
        event = Event(tool.name, {SKILL: skill_of(workflow, run.open[0].state)})
        return "\n\n".join(unready(self.session.world, outcome, event).values()).rstrip("\n")

    def _standing(self, outcome: Outcome) -> dict[str, Value]:
        """The next skill and what it is told; where tasks were set, those of the batch."""
        session, stored = self.session, outcome.stored
        if session is None or stored is None:
            return {}
        moves = outcome.decision.moves if isinstance(outcome.decision, Accepted) else ()
        ended = moves[-1].target if moves and not stored.run.open else ""
        state, workflow = ended or session.state(stored.run), session.folder.workflow
        reply: dict[str, Value] = {
            "next_skill": skill_of(workflow, state) or None,
            "params": params_of(stored.run),
            _ACTION: str(workflow.states[state].extra.get(_ACTION, "none")),
            "state": state,
            **token_of(outcome),
        }
        if not (self.tool.reads or SKILL in self.tool.params):
            reply[TASKS] = _tasks(stored.run)
        if stored.adopted:
            reply["note"] = self.texts.say("taken", why=stored.adopted)
        return reply

    def _refused(self, outcome: Outcome, refused: Refused) -> Reply:
        """Why not, and where the session stands, if there is one."""
        rows = "\n\n".join(part.rstrip("\n") for text in outcome.texts for part in text.values())
        error = rows or self.texts.error(refused.code, refused.rule)
        why = reasons(refused)
        needed = {} if refused.needed else {"needed": [error]}
        return {
            **self._shown(outcome),
            "error": error,
            "code": refused.code,
            "why": {**why, **needed},
            "next": list(self._next(outcome)),
        }

    def _shown(self, outcome: Outcome) -> Mapping[str, Value]:
        session = self.session
        shown = look(session.world, session.runs.standing()) if session else None
        if shown is None or isinstance(shown.decision, Refused):
            return {}
        kept = outcome.tokens or shown.tokens
        reply = self._standing(Outcome(shown.decision, shown.stored, shown.workflow, kept))
        reply.pop(TASKS, None)
        return reply

    def _next(self, outcome: Outcome) -> Iterator[Mapping[str, Value]]:
        """What may be called: the skill that is expected, and the question where things stand."""
        session = self.session
        if session is None:
            yield from self.instead
            return
        run = outcome.stored.run if outcome.stored else None
        state = run.open[0].state if run and run.open else ""
        skill = skill_of(session.folder.workflow, state)
        for tool in session.folder.workflow.tools.values():
            if SKILL in tool.params and skill:
                yield following(tool.name, Who.AGENT, {**session.named, SKILL: skill})
            elif tool.reads:
                yield following(tool.name, Who.AGENT, session.named)


def _tasks(run: Run) -> list[Value]:
    """The tasks of the current batch, each with its status."""
    batches, number = run.vars.get(BATCHES), run.vars.get(BATCH)
    if not isinstance(batches, list) or not isinstance(number, int) or number >= len(batches):
        return []
    return [{"id": task["id"], "status": task["status"]} for task in batches[number]["tasks"]]


def markdown(texts_: Texts, reply: Mapping[str, Any]) -> str:
    """The same reply as text: nothing that the data says is missing from it."""
    return "\n\n".join(_sections(texts_, reply))


def _sections(texts_: Texts, reply: Mapping[str, Any]) -> Iterator[str]:
    if "error" in reply:
        yield str(reply["error"])
    elif reply["next_skill"] is None:
        yield texts_.say("ended")
    else:
        yield texts_.say("clear" if reply[_ACTION] == "clear" else "invoke", skill=reply["next_skill"])
    if "blocked" in reply:
        yield texts_.say("blocked", why=reply["blocked"])
    named = ("next_skill", "params", _ACTION, "state", "phase", "graph", TASKS, TOKEN, "code")
    yield "\n".join(f"{name}: {_plain(reply[name])}" for name in named if name in reply)
    if "note" in reply:
        yield str(reply["note"])
    yield from told_comments(reply)
    if "why" in reply:
        yield told_why(reply["why"])
    if reply.get("next"):
        yield told_next(reply["next"])
    for name in ("diagram", "batches_diagram"):
        if name in reply:
            yield f"```mermaid\n{reply[name]}```"


def _plain(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
