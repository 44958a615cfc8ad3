"""The face `skills`: an agent completes skills in the order of a skill graph, one session per folder.

`SkillSessions` finds the session that a call names; `SkillsFace` answers the call. A session's state is in
the files of its folder and is mirrored to the shared store.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any, Final, assert_never

import msgspec
from msgspec.structs import replace

from handrail.app.app import App
from handrail.app.definitions import find_usable
from handrail.app.faces import (
    TOKEN_ARGUMENT,
    Answer,
    ArgumentCheck,
    CallFailure,
    Prompt,
    RunStatus,
    Tool,
    UnknownPrompt,
    load_message_catalog,
)
from handrail.app.run_folders import RunFolder, build_folder_world, is_run_name, list_run_names
from handrail.documents.strict_json import JsonFlaw, parse_object
from handrail.documents.task_graph import Batch, is_batch_list, list_task_ids
from handrail.drawing.diagrams import format_batches_mermaid, format_mermaid
from handrail.drawing.graph import build_graph
from handrail.drawing.marks import RunMarks
from handrail.engine.facts import Value
from handrail.engine.model import (
    Accepted,
    Actor,
    Event,
    FactReading,
    Lifecycle,
    Refused,
    Run,
    Waiting,
    Workflow,
)
from handrail.engine.model import Tool as Declared
from handrail.engine.paths import SKILL, get_skill
from handrail.engine.refusals import RefusalCode
from handrail.mcp.addresses import Spelling
from handrail.mcp.faces.replies import (
    build_run_status,
    format_comments,
    format_next_calls,
    format_why,
    load_face_texts,
    next_call,
    refusal_reasons,
)
from handrail.mcp.faces.shared import (
    COMMENTS_PROPERTY,
    PROJECT_ARGUMENT,
    REFUSAL_PROPERTIES,
    TEXT_SCHEMA,
    failure_data,
    load_face_workflow,
    parameter_schema,
    tool_annotations,
)
from handrail.runtime.comments import COMMENTS_KEY, add_undelivered_comments
from handrail.runtime.ports.open_store import FolderRuns
from handrail.runtime.records import MAX_RECORDED_CALLS, Caller, StoredRun
from handrail.runtime.status import inspect_run, preview_refusal
from handrail.runtime.tokens import hash_request
from handrail.runtime.turn import Call, Outcome, Reply, refuse_call, take_turn
from handrail.runtime.world import World
from handrail.stores.files.disk import DiskWorkspace
from handrail.workflows.registry import BATCH_VARIABLE, BATCHES_VARIABLE, ITEM_VARIABLE
from handrail.workflows.templates import Texts

FACE: Final = "skills"
SESSION_ARGUMENT: Final = "session"
GRAPH_ARGUMENT: Final = "graph"
_MAX_LISTED: Final = 20
TASKS_FIELD: Final = "tasks"
_ACTION_FIELD: Final = "action"


class SkillsAction(StrEnum):
    """The `action` of a reply: what the agent does before the next skill."""

    CLEAR = "clear"
    NONE = "none"


_INTEGER_SCHEMA: Final = {"type": "integer"}

_ANSWER_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "next_skill": {"type": ["string", "null"]},
        "params": {
            "type": "object",
            "properties": {"item_number": _INTEGER_SCHEMA, "batch_index": _INTEGER_SCHEMA},
        },
        _ACTION_FIELD: {"enum": [str(action) for action in SkillsAction]},
        "state": TEXT_SCHEMA,
        TOKEN_ARGUMENT: TEXT_SCHEMA,
        "note": TEXT_SCHEMA,
        TASKS_FIELD: {"type": "array", "items": {"type": "object", "required": ["id", "status"]}},
        "phase": TEXT_SCHEMA,
        "blocked": TEXT_SCHEMA,
        "graph": TEXT_SCHEMA,
        "diagram": TEXT_SCHEMA,
        "batches_diagram": TEXT_SCHEMA,
        "error": TEXT_SCHEMA,
        **COMMENTS_PROPERTY,
        **REFUSAL_PROPERTIES,
    },
}


@dataclass(frozen=True, slots=True)
class SkillSession:
    """A session that exists or may begin: its project's name, its folder, its run, and its world."""

    project: str
    folder: RunFolder
    runs: FolderRuns
    world: World

    @property
    def call_arguments(self) -> dict[str, str]:
        """The arguments by which a call names this session."""
        return {PROJECT_ARGUMENT: self.project, SESSION_ARGUMENT: self.folder.name}

    def state(self, run: Run) -> str:
        """Return the current state of the run; for a run that has ended, the state in its state file."""
        if run.open:
            return run.open[0].state
        data = parse_object(self.runs.read(self.folder.workflow.state_file) or b"")
        return "" if isinstance(data, JsonFlaw) else str(data.get("state", ""))


def skill_params(run: Run) -> dict[str, int]:
    """Return the parameters of the skill that comes next: the item and the batch to work on."""
    given = {"item_number": run.vars.get(ITEM_VARIABLE), "batch_index": run.vars.get(BATCH_VARIABLE)}
    return {name: value for name, value in given.items() if isinstance(value, int)}


class SkillSessions:
    """Finds the sessions of a server's projects; `usual` is the graph of those that name no other."""

    def __init__(
        self,
        app: App,
        usual: Workflow,
        face: str,
    ) -> None:
        self._app, self._projects, self._usual = app, app.projects, usual
        self._face, self._texts = face, load_face_texts(face)

    @contextmanager
    def find_session(self, given: Mapping[str, Any]) -> Iterator[SkillSession | Refused]:
        """Yield the session that a call names, if it exists or this call may begin it; otherwise a refusal.

        Nothing is created yet. Within the block, each file of the folder is read at most once.
        """
        folder = self._folder(given)
        if isinstance(folder, Refused):
            yield folder
            return
        runs = self._app.project_runs.open_folder(folder)
        with runs.take_snapshot():
            session = self._session(folder, runs, given)
            if isinstance(session, Refused) or session.runs is runs:
                yield session
                return
        with session.runs.take_snapshot():
            yield session

    def _folder(self, given: Mapping[str, Any]) -> RunFolder | Refused:
        """Return the folder of the session, with the usual graph as its workflow, or a refusal."""
        root = self._projects.find_exact_root(str(given[PROJECT_ARGUMENT]))
        if isinstance(root, Refused):
            return root
        name = str(given[SESSION_ARGUMENT])
        if not is_run_name(name):
            return Refused(
                RefusalCode.SESSION_NAME,
                SESSION_ARGUMENT,
                (FactReading(SESSION_ARGUMENT, name),),
                (self._texts.say("a_session_name"),),
            )
        return RunFolder(root, self._usual, name, self._face)

    def _session(
        self, folder: RunFolder, runs: FolderRuns, given: Mapping[str, Any]
    ) -> SkillSession | Refused:
        stored = runs.load_current()
        graph = self._graph(folder, stored, str(given.get(GRAPH_ARGUMENT, "")))
        if isinstance(graph, Refused):
            return graph
        begins = get_skill(graph, graph.initial)
        if not is_session_present(stored) and given.get(SKILL) != begins:
            return self._refuse_unknown_session(folder, begins)
        followed = replace(folder, workflow=graph)
        if graph is not self._usual:  # then its state file may say other things of the run
            runs = self._app.project_runs.open_folder(followed)
        world = build_folder_world(self._app.world, followed, runs, self._app.store.mirrors)
        return SkillSession(self._projects.name_of(folder.project), followed, runs, world)

    def _graph(self, folder: RunFolder, stored: StoredRun, wanted: str) -> Workflow | Refused:
        """Return the graph that a session already follows, or the one it starts with, or a refusal."""
        current = stored.run.workflow if stored.revision else ""
        if current and wanted not in {"", current}:
            needed = self._texts.say("kept_graph", graph=current)
            return Refused(
                RefusalCode.OTHER_GRAPH, GRAPH_ARGUMENT, (FactReading(GRAPH_ARGUMENT, wanted),), (needed,)
            )
        name = current or wanted or self._usual.name
        if name == self._usual.name:
            return self._usual
        found = find_usable(self._projects.definitions(str(folder.project)), name)
        if isinstance(found, Refused):
            return self._projects.hide_refusal(found)
        if found is None:
            return Refused(
                RefusalCode.UNKNOWN_WORKFLOW,
                GRAPH_ARGUMENT,
                (FactReading(GRAPH_ARGUMENT, name),),
                (self._texts.say("a_graph"),),
            )
        unfit = tuple(self._missing_in_graph(found.workflow))
        return (
            Refused(RefusalCode.UNFIT_GRAPH, GRAPH_ARGUMENT, (FactReading(GRAPH_ARGUMENT, name),), unfit)
            if unfit
            else found.workflow
        )

    def _refuse_unknown_session(self, folder: RunFolder, begins: str) -> Refused:
        places = (replace(folder, name=name) for name in list_run_names(folder.project, folder.workflow))
        there = (place.name for place in places if _has_state_file(place))
        known = list(islice(there, _MAX_LISTED + 1))
        listed = [*known[:_MAX_LISTED], *["…"] * (len(known) > _MAX_LISTED)]
        say = self._texts.say
        exist = say("sessions", sessions=listed) if known else say("no_sessions")
        needed = (exist, say("begins", skill=begins))
        return Refused(
            RefusalCode.UNKNOWN_SESSION,
            SESSION_ARGUMENT,
            (FactReading(SESSION_ARGUMENT, folder.name),),
            needed,
        )

    def _missing_in_graph(self, graph: Workflow) -> Iterator[str]:
        """Yield what a workflow lacks to be a graph for sessions: what it must share with the usual one."""
        usual, say = self._usual, self._texts.say
        if graph.folder != usual.folder:
            yield f"`folder: {usual.folder}`"
        if graph.state_file != usual.state_file:
            yield f"`state_file: {usual.state_file}`"
        for name, tool in usual.tools.items():
            if SKILL in tool.params and (name not in graph.tools or SKILL not in graph.tools[name].params):
                yield say("a_tool", tool=name, param=SKILL)
        if not get_skill(graph, graph.initial):
            yield say("a_first_skill", key=SKILL)


def is_session_present(stored: StoredRun) -> bool:
    """True if the run has begun, was found in files, or has files with a problem."""
    return bool(stored.revision or stored.trouble) or stored.run.lifecycle is not Lifecycle.IDLE


def _has_state_file(folder: RunFolder) -> bool:
    return folder.workflow.state_file in DiskWorkspace(folder.project, folder.within).names("")


def build_face(app: App, names: Spelling) -> "SkillsFace":
    """Build the face over an app. Its tools have one spelling only."""
    del names
    return SkillsFace(app, load_face_workflow(app.projects, FACE))


class SkillsFace:
    """The face over the sessions of a server's projects, mirrored to the shared store."""

    def __init__(
        self,
        app: App,
        workflow: Workflow,
    ) -> None:
        self._app, self._workflow, self._texts = app, workflow, load_face_texts(FACE)
        self._about = app.projects.about
        self._sessions = SkillSessions(app, workflow, FACE)
        self.tools: Sequence[Tool] = tuple(self._list_tool(tool) for tool in workflow.tools.values())
        self._arguments = {tool.names[0]: ArgumentCheck(tool.listed["inputSchema"]) for tool in self.tools}

    @property
    def instructions(self) -> str:
        """The server instructions that an agent gets before its first call."""
        return self._texts.say("instructions", project=self._texts.say(f"{self._about}_told"))

    def prompts(self) -> Sequence[Prompt]:
        """Return no prompts: agents invoke skills."""
        return ()

    def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """Raise `UnknownPrompt`: this face has no prompts."""
        raise UnknownPrompt(f"this face has no prompts; {name} with {len(arguments)} arguments is none")

    def call(self, tool: Tool, arguments: Mapping[str, Any], caller: Caller) -> Answer:
        """Answer a call."""
        declared = self._workflow.tools[tool.names[0]]
        reply = self._reply(declared, arguments, caller)
        return Answer(reply, render_reply_markdown(self._texts, reply), failed="code" in reply)

    def answer_failure(self, tool: Tool, arguments: Mapping[str, Any], failed: CallFailure) -> Answer:
        """Return a failure in the form of a refusal."""
        error = f"{failed.message}: {failed.needed}"
        reply = {"error": error, **failure_data(tool.names[0], arguments, failed)}
        return Answer(reply, render_reply_markdown(self._texts, reply), failed=True)

    def find_run_status(self, arguments: Mapping[str, Any], answer: Answer) -> RunStatus | None:
        """Return the current position of the session and how many tasks are done; None without a session."""
        del answer
        with self._sessions.find_session(arguments) as session:
            if isinstance(session, Refused):
                return None
            shown = inspect_run(session.world, session.runs.load_current())
        value = shown.stored.run.vars.get(BATCHES_VARIABLE) if shown.stored else None
        batches: list[Batch] = value if isinstance(value, list) and is_batch_list(value) else []
        done = len(list_task_ids(batches, completed=True))
        return build_run_status(shown, far=(done, done + len(list_task_ids(batches, completed=False))))

    def _reply(self, tool: Declared, given: Mapping[str, Any], caller: Caller) -> Reply:
        wrong = self._arguments[tool.name].validate(given)
        if wrong:
            return self._refuse(tool, given, caller, wrong)
        with self._sessions.find_session(given) as session:
            if isinstance(session, Refused):
                return self._refuse(tool, given, caller, session)
            return self._answer(session, tool, given, caller)

    def _refuse(self, tool: Declared, given: Mapping[str, Any], caller: Caller, refused: Refused) -> Reply:
        """Refuse a call before any row of the workflow is tried."""
        renderer = _ReplyRenderer(self._texts, tool, None, tuple(self._start_calls(refused, given)))
        call = Call("", Event(tool.name), caller)
        return refuse_call(self._app.world, call, renderer.reply, Outcome(refused, None))

    def _answer(
        self, session: SkillSession, tool: Declared, given: Mapping[str, Any], caller: Caller
    ) -> Reply:
        event = Event(tool.name, {name: given[name] for name in tool.params if name in given})
        renderer = _ReplyRenderer(self._texts, tool, session)
        if tool.reads:
            stored = session.runs.load_current()
            return add_undelivered_comments(renderer.status(inspect_run(session.world, stored)), stored)
        call = Call(
            "",
            event,
            caller,
            str(given.get(TOKEN_ARGUMENT, "")),
            find_earlier_reply=lambda stored: _find_repeated_reply(session, event, stored),
            journal_data=lambda run: _journal_data(session, event, run),
        )
        return take_turn(session.world, call, renderer.reply)

    def _start_calls(self, refused: Refused, given: Mapping[str, Any]) -> Iterator[Mapping[str, Value]]:
        """Yield the call that begins the session, if the call named one that does not exist."""
        skill = get_skill(self._workflow, self._workflow.initial)
        for tool in self._workflow.tools.values():
            if refused.code is RefusalCode.UNKNOWN_SESSION and SKILL in tool.params:
                named = {name: given[name] for name in (PROJECT_ARGUMENT, SESSION_ARGUMENT)}
                yield next_call(tool.name, Actor.AGENT, {**named, SKILL: skill})

    def _list_tool(self, tool: Declared) -> Tool:
        say = self._texts.say
        params = {name: parameter_schema(one) for name, one in tool.params.items()}
        first = {
            PROJECT_ARGUMENT: {**TEXT_SCHEMA, "description": say(self._about)},
            SESSION_ARGUMENT: {**TEXT_SCHEMA, "description": say(SESSION_ARGUMENT)},
        }
        more = [GRAPH_ARGUMENT] * (SKILL in params) + [TOKEN_ARGUMENT] * (not tool.reads)
        listed = {
            "name": tool.name,
            "description": tool.about,
            "inputSchema": {
                "type": "object",
                "properties": {
                    **first,
                    **params,
                    **{name: {**TEXT_SCHEMA, "description": say(name)} for name in more},
                },
                "required": [*first, *params],
                "additionalProperties": False,
            },
            "outputSchema": _ANSWER_SCHEMA,
            "annotations": tool_annotations(tool.name, reads=tool.reads),
        }
        return Tool((tool.name,), listed, shows=tool.reads)


def _find_repeated_reply(session: SkillSession, event: Event, stored: StoredRun) -> Reply | None:
    """Return the recorded reply if this call repeats the one that led to the current state, else None.

    Calls that set tasks since then are skipped. After a person has edited the files, nothing is repeated.
    """
    expected = get_skill(session.folder.workflow, session.state(stored.run))
    if event.payload.get(SKILL) in {None, expected} or stored.adopted:
        return None
    for revision in range(stored.revision - 1, max(stored.revision - MAX_RECORDED_CALLS, 0) - 1, -1):
        spent = session.runs.find_recorded_call("", revision)
        if spent is None:
            return None
        reply: dict[str, Any] = msgspec.json.decode(spent.reply, type=dict[str, Any])
        if spent.request == hash_request(event):
            return reply
        if TASKS_FIELD not in reply:
            return None
    return None


def _journal_data(session: SkillSession, event: Event, run: Run) -> Mapping[str, Value]:
    """Return the journal data of a move: the session, the arguments, and the next skill with its params."""
    skill = get_skill(session.folder.workflow, run.open[0].state) if run.open else ""
    next_skill = {"skill": skill or None, "params": skill_params(run)}
    return {SESSION_ARGUMENT: session.folder.name, "with": dict(event.payload), **next_skill}


@dataclass(frozen=True, slots=True)
class _ReplyRenderer:
    """Renders the outcome of one call; `session` is None if the call was not about a session.

    `instead` holds the calls to suggest in that case.
    """

    texts: Texts
    tool: Declared
    session: SkillSession | None
    instead: tuple[Mapping[str, Value], ...] = ()

    def reply(self, outcome: Outcome) -> Reply:
        """Return the reply as data."""
        match outcome.decision:
            case Refused() as refused:
                return self._render_refused(outcome, refused)
            case Accepted() | Waiting():
                return self._position(outcome)
            case _:
                assert_never(outcome.decision)

    def status(self, outcome: Outcome) -> Reply:
        """Return the position of the session, what blocks it, and diagrams of its graph and batches."""
        session, stored = self.session, outcome.stored
        if isinstance(outcome.decision, Refused) or session is None or stored is None:
            return self.reply(outcome)
        workflow, reply = session.folder.workflow, self._position(outcome)
        state = str(reply["state"])
        data = {**reply, "phase": workflow.states[state].phase, "graph": workflow.name}
        if blocked := self._explain_block(outcome, stored.run):
            data["blocked"] = blocked
        data["diagram"] = format_mermaid(
            build_graph(load_message_catalog(), workflow), RunMarks(current=(state,))
        )
        batches = stored.run.vars.get(BATCHES_VARIABLE)
        if isinstance(batches, list) and batches:
            data["batches_diagram"] = format_batches_mermaid(batches)
            data[TASKS_FIELD] = _batch_tasks(stored.run)
        return data

    def _explain_block(self, outcome: Outcome, run: Run) -> str:
        """Return why the current skill cannot be completed now, from a dry run; empty if it can."""
        workflow = outcome.workflow
        if workflow is None or self.session is None or not run.open:
            return ""
        tool = next(one for one in workflow.tools.values() if SKILL in one.params)
        event = Event(tool.name, {SKILL: get_skill(workflow, run.open[0].state)})
        return "\n\n".join(preview_refusal(self.session.world, outcome, event).values()).rstrip("\n")

    def _position(self, outcome: Outcome) -> dict[str, Value]:
        """Return the next skill and its params; after a call that sets tasks, also those of the batch."""
        session, stored = self.session, outcome.stored
        if session is None or stored is None:
            return {}
        moves = outcome.decision.moves if isinstance(outcome.decision, Accepted) else ()
        ended = moves[-1].target if moves and not stored.run.open else ""
        state, workflow = ended or session.state(stored.run), session.folder.workflow
        reply: dict[str, Value] = {
            "next_skill": get_skill(workflow, state) or None,
            "params": skill_params(stored.run),
            _ACTION_FIELD: str(workflow.states[state].extra.get(_ACTION_FIELD, SkillsAction.NONE)),
            "state": state,
            **outcome.token_field,
        }
        if not (self.tool.reads or SKILL in self.tool.params):
            reply[TASKS_FIELD] = _batch_tasks(stored.run)
        if stored.adopted:
            reply["note"] = self.texts.say("taken", why=stored.adopted)
        return reply

    def _render_refused(self, outcome: Outcome, refused: Refused) -> Reply:
        """Return the reply to a refused call: the reason, and the position of the session if there is one."""
        rows = "\n\n".join(part.rstrip("\n") for text in outcome.texts for part in text.values())
        error = rows or self.texts.error(refused.code, refused.rule)
        why = refusal_reasons(refused)
        needed = {} if refused.needed else {"needed": [error]}
        return {
            **self._current_position(outcome),
            "error": error,
            "code": refused.code,
            "why": {**why, **needed},
            "next": list(self._next_calls(outcome)),
        }

    def _current_position(self, outcome: Outcome) -> Mapping[str, Value]:
        session = self.session
        shown = inspect_run(session.world, session.runs.load_current()) if session else None
        if shown is None or isinstance(shown.decision, Refused):
            return {}
        tokens = outcome.tokens or shown.tokens
        reply = self._position(Outcome(shown.decision, shown.stored, shown.workflow, tokens))
        reply.pop(TASKS_FIELD, None)
        return reply

    def _next_calls(self, outcome: Outcome) -> Iterator[Mapping[str, Value]]:
        """Yield the call that completes the expected skill, and the call that reads the current state."""
        session = self.session
        if session is None:
            yield from self.instead
            return
        run = outcome.stored.run if outcome.stored else None
        state = run.open[0].state if run and run.open else ""
        skill = get_skill(session.folder.workflow, state)
        for tool in session.folder.workflow.tools.values():
            if SKILL in tool.params and skill:
                yield next_call(tool.name, Actor.AGENT, {**session.call_arguments, SKILL: skill})
            elif tool.reads:
                yield next_call(tool.name, Actor.AGENT, session.call_arguments)


def _batch_tasks(run: Run) -> list[Value]:
    """Return the tasks of the current batch, each with its status."""
    batches, number = run.vars.get(BATCHES_VARIABLE), run.vars.get(BATCH_VARIABLE)
    if not isinstance(batches, list) or not isinstance(number, int) or number >= len(batches):
        return []
    return [{"id": task["id"], "status": task["status"]} for task in batches[number]["tasks"]]


def render_reply_markdown(texts: Texts, reply: Mapping[str, Any]) -> str:
    """Return the reply as Markdown, with everything that the data has."""
    return "\n\n".join(_markdown_sections(texts, reply))


def _markdown_sections(texts: Texts, reply: Mapping[str, Any]) -> Iterator[str]:
    if "error" in reply:
        yield str(reply["error"])
    elif reply["next_skill"] is None:
        yield texts.say("ended")
    else:
        yield texts.say(
            "clear" if reply[_ACTION_FIELD] == SkillsAction.CLEAR else "invoke", skill=reply["next_skill"]
        )
    if "blocked" in reply:
        yield texts.say("blocked", why=reply["blocked"])
    named = (
        "next_skill",
        "params",
        _ACTION_FIELD,
        "state",
        "phase",
        "graph",
        TASKS_FIELD,
        TOKEN_ARGUMENT,
        "code",
    )
    yield "\n".join(f"{name}: {_format_value(reply[name])}" for name in named if name in reply)
    if "note" in reply:
        yield str(reply["note"])
    if COMMENTS_KEY in reply:
        yield format_comments(reply[COMMENTS_KEY])
    if "why" in reply:
        yield format_why(reply["why"])
    if reply.get("next"):
        yield format_next_calls(reply["next"])
    for name in ("diagram", "batches_diagram"):
        if name in reply:
            yield f"```mermaid\n{reply[name]}```"


def _format_value(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
