"""The face `spells`: a person says a word, the agent passes it on, and the task in the project's files moves.

Which words there are, and what each does, stands in the workflow: its tools are listed as they are declared,
in small letters.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, assert_never

import msgspec
from msgspec.structs import replace

from handrail.documents.criteria import MOST, criteria
from handrail.engine.facts import Value
from handrail.engine.model import Accepted, Event, Option, Refused, Seen, Waiting, Who, Workflow
from handrail.engine.model import Tool as Declared
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
from handrail.faces.mcp.face import Answer, Argument, Failed, Prompt, Stand, Tool, UnknownPrompt
from handrail.faces.mcp.forms import Arguments
from handrail.faces.mcp.projects import Projects
from handrail.faces.mcp.replies import following, reasons, told_comments, told_next, told_why
from handrail.faces.mcp.texts import Texts, texts
from handrail.shell.adopting import ADOPTED
from handrail.shell.comments import showing
from handrail.shell.folders import Folder
from handrail.shell.kept import in_folder
from handrail.shell.opening import FolderRuns, Serving
from handrail.shell.permits import Permits, Taken
from handrail.shell.readers import template
from handrail.shell.records import Caller, Stored
from handrail.shell.standing import look
from handrail.shell.turn import Call, Outcome, Reply, refuse, take_turn
from handrail.shell.world import World
from handrail.workflows.registry import PLAN

FACE: Final = "spells"
MESSAGE: Final = "message_to_user"
INSTRUCTIONS: Final = "instructions_to_coding_agent"
_ANSWERS: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        MESSAGE: TEXT,
        INSTRUCTIONS: TEXT,
        "options": {"type": "array", "items": TEXT},
        "state": TEXT,
        "phase": TEXT,
        "sub_state": TEXT,
        "step_token": TEXT,
        **REMARKS,
        **REFUSAL,
    },
    "required": [MESSAGE, INSTRUCTIONS, "options"],
}


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a state: the run is in it while a fact is at least so much."""

    name: str
    fact: str
    at_least: int
    message_to_user: str
    instructions_to_coding_agent: str


@dataclass(frozen=True, slots=True)
class _Place:
    """A project, the folder of its task, and the world of its turns."""

    runs: FolderRuns
    world: World


class Spells:
    """The face over the folders of a server's projects, shown in the common store."""

    def __init__(
        self,
        serving: Serving,
        projects: Projects,
        workflow: Workflow,
        opened: Callable[[Folder], FolderRuns],
        permits: Callable[[], Permits | None],
    ) -> None:
        self._serving, self._projects, self._workflow, self._opened = serving, projects, workflow, opened
        self._permits = permits
        self._texts = texts(FACE)
        self._places: dict[Path, _Place] = {}
        self.tools: Sequence[Tool] = tuple(self._listed(tool) for tool in workflow.tools.values())
        self._arguments = {tool.names[0]: Arguments(tool.listed["inputSchema"], ()) for tool in self.tools}

    @property
    def instructions(self) -> str:
        """What an agent is told about the face before its first call."""
        return self._texts.say("instructions", words=list(self._workflow.tools))

    def prompts(self) -> Sequence[Prompt]:
        """One for each word, and those that the workflow has besides."""
        note = Argument("note", self._texts.say("note"), required=False)
        words = [Prompt(called(tool.name), tool.about, (note,)) for tool in self._workflow.tools.values()]
        return [*words, *(Prompt(one.name, one.about, ()) for one in self._workflow.prompts.values())]

    def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """What a prompt says."""
        if name in self._workflow.prompts and not arguments:
            return template(self._workflow, self._workflow.prompts[name].text)
        known = [called(tool) for tool in self._workflow.tools]
        if name not in known or arguments.keys() - {"note"}:
            others = ", ".join(self._workflow.prompts)
            raise UnknownPrompt(f"there are {', '.join(known)}, each with an optional note, and {others}")
        note = self._texts.say("prompt_note", note=arguments["note"]) if arguments.get("note") else ""
        return self._texts.say("prompt", tool=name, note=note)

    def call(self, tool: Tool, arguments: Mapping[str, Any], caller: Caller) -> Answer:
        """Answer a call: the word is the person's, whoever passes it on."""
        declared = next(one for one in self._workflow.tools.values() if called(one.name) in tool.names)
        reply = self._reply(declared, arguments, replace(caller, by=declared.who))
        return Answer(reply, markdown(reply), failed="code" in reply)

    def failed(self, tool: Tool, arguments: Mapping[str, Any], failed: Failed) -> Answer:
        """Put a failure into the shape of a refusal."""
        reply = {
            MESSAGE: f"{failed.message}: {failed.needed}",
            INSTRUCTIONS: self._texts.say("nothing"),
            "options": [],
            **failure(tool.names[0], arguments, failed),
        }
        return Answer(reply, markdown(reply), failed=True)

    def stands(self, arguments: Mapping[str, Any], answer: Answer) -> Stand | None:
        """Where the task of the project stands, and how many of its criteria are met."""
        del answer
        root = self._projects.named(str(arguments.get("project", "")))
        if isinstance(root, Refused):
            return None
        place, (path, name) = self._place(root), PLAN
        with place.runs.take_snapshot():
            text = (place.runs.read(path) or b"")[:MOST]
            shown = look(place.world, place.runs.standing())
        found = criteria(text.decode("utf-8", "replace"), template(self._workflow, name))
        met = sum(one.checked for one in found)
        return stand(shown, far=(met, len(found)))

    def _reply(self, tool: Declared, given: Mapping[str, Any], caller: Caller) -> Reply:
        wrong = self._arguments[called(tool.name)].wrong(given)
        root = self._projects.named(str(given.get("project", "")))
        if isinstance(root, Refused):
            return self._turned_away(tool, caller, wrong or root, None)
        place = self._place(root)
        with place.runs.take_snapshot():
            if wrong:
                return self._turned_away(tool, caller, wrong, place)
            return self._cast(place, root, tool, given, caller)

    def _cast(
        self, place: _Place, root: Path, tool: Declared, given: Mapping[str, Any], caller: Caller
    ) -> Reply:
        teller = _Teller(self._texts, self._workflow, tool, place)
        if tool.reads:
            stored = place.runs.standing()
            return showing(teller.reply(look(place.world, stored)), stored)
        payload = {name: given[name] for name in tool.params if name in given}
        event = Event(tool.name, payload, tool.who, str(given.get("note", "")))
        call, permits = Call("", event, caller, str(given.get("step_token", ""))), self._permits()
        if permits is None or tool.who is not Who.PERSON:
            return take_turn(place.world, call, teller.reply)
        revision, now = place.runs.standing().revision, place.world.clock.now().timestamp()
        with permits.taken(root, tool.name, revision, now) as taken:
            return _permitted(place.world, call, teller, taken)

    def _turned_away(self, tool: Declared, caller: Caller, refused: Refused, place: _Place | None) -> Reply:
        """Say no before any row was tried; the files of the project do not hear of it."""
        teller = _Teller(self._texts, self._workflow, tool, place)
        call = Call("", Event(tool.name), caller)
        return refuse(self._serving.world, call, teller.reply, Outcome(refused, None))

    def _place(self, root: Path) -> _Place:
        if root not in self._places:
            folder = Folder(root, self._workflow)
            self._places[root] = _Place(
                *in_folder(self._serving.world, folder, self._opened, self._serving.mirror)
            )
        return self._places[root]

    def _listed(self, tool: Declared) -> Tool:
        say = self._texts.say
        described = {
            "note": {**TEXT, "description": say("note")},
            "step_token": {**TEXT, "description": say("step_token")},
            "project": {**TEXT, "description": say(self._projects.about)},
        }
        params = {name: parameter(one) for name, one in tool.params.items()}
        listed = {
            "name": called(tool.name),
            "description": say("said", word=tool.name, about=tool.about),
            "inputSchema": {
                "type": "object",
                "properties": {**params, **described},
                "additionalProperties": False,
            },
            "outputSchema": _ANSWERS,
            "annotations": annotations(tool.name, reads=tool.reads),
        }
        return Tool((called(tool.name),), listed, shows=tool.reads)


@dataclass(frozen=True, slots=True)
class _Teller:
    """Puts the outcome of one word into words; without a `place` it was said in no project."""

    texts: Texts
    workflow: Workflow
    tool: Declared
    place: _Place | None

    def reply(self, outcome: Outcome) -> Reply:
        """The reply, as data."""
        match outcome.decision:
            case Refused() as refused:
                return self._refused(outcome, refused)
            case Accepted() | Waiting():
                return self._accepted(outcome)
            case _:
                assert_never(outcome.decision)

    def _accepted(self, outcome: Outcome) -> Reply:
        names, where = [option.trigger for option in self._open(outcome)], self._where(outcome)
        said = _said(outcome)
        if not any(said.values()):
            said = self._told(outcome, where["state"])
        if outcome.stored and outcome.stored.adopted:
            said[MESSAGE] += "\n\n" + self.texts.say("taken", why=outcome.stored.adopted)
        return {**said, "options": names, **where, **token_of(outcome)}

    def _told(self, outcome: Outcome, state: str) -> dict[str, str]:
        """What is told of the state; that it is only proposed to be that, or was only taken to be."""
        standing = self._standing(state, outcome.facts or {})
        trouble = outcome.stored.trouble if outcome.stored else None
        if trouble:
            told = self.texts.say("proposed", found=trouble.message, needed=trouble.repair, state=state)
            return {**standing, MESSAGE: told, INSTRUCTIONS: self.texts.say("ask")}
        if isinstance(outcome.decision, Accepted) and [move.row for move in outcome.decision.moves] == [
            ADOPTED
        ]:
            told = self.texts.say("adopted", state=state)
            return {**standing, MESSAGE: f"{told} {standing[MESSAGE]}"}
        return standing

    def _standing(self, state: str, facts: Mapping[str, Value]) -> dict[str, str]:
        """What is told of a state to whoever asks; and which part of it the run is in, where it has parts."""
        extra = self.workflow.states[state].extra
        part = msgspec.convert(extra["sub_state"], _Part) if "sub_state" in extra else None
        seen = facts.get(part.fact) if part else None
        if part and isinstance(seen, int) and seen >= part.at_least:
            return {
                MESSAGE: part.message_to_user,
                INSTRUCTIONS: part.instructions_to_coding_agent,
                "sub_state": part.name,
            }
        return {MESSAGE: str(extra[MESSAGE]), INSTRUCTIONS: str(extra[INSTRUCTIONS])}

    def _refused(self, outcome: Outcome, refused: Refused) -> Reply:
        """Why not, and what is open instead by the files as they are, whatever the call was refused for."""
        shown = look(self.place.world, self.place.runs.standing()) if self.place else outcome
        open_, said = self._open(shown), _said(outcome)
        names = [option.trigger for option in open_]
        error = self.texts.error(refused.code, refused.rule)
        none = [self.texts.say("none")]
        told = self.texts.say("refused", word=self.tool.name, error=error, options=names or none)
        trouble = outcome.stored.trouble if outcome.stored else None
        if trouble:
            told = self.texts.say(
                "trouble", word=self.tool.name, found=trouble.message, needed=trouble.repair
            )
        return {
            MESSAGE: said[MESSAGE] or told,
            INSTRUCTIONS: said[INSTRUCTIONS] or self.texts.say("nothing"),
            "options": names,
            **self._where(shown),
            **(token_of(outcome) or token_of(shown)),
            "code": refused.code,
            "why": reasons(refused),
            "next": [following(called(option.trigger), option.who, {}) for option in open_],
        }

    def _open(self, outcome: Outcome) -> list[Option]:
        """The words that would not be refused: those of the rows, and those that only read."""
        if isinstance(outcome.decision, Refused):
            return []
        tools = self.workflow.tools
        reading = [Option(tool.name, tool.who) for tool in tools.values() if tool.reads]
        return [*(option for option in outcome.options if option.trigger in tools), *reading]

    def _where(self, outcome: Outcome) -> dict[str, str]:
        """The state and its phase, as far as there is a run."""
        open_ = outcome.stored.run.open if outcome.stored else ()
        state = open_[0].state if open_ else ""
        return {"state": state, "phase": self.workflow.states[state].phase} if state else {}


def _permitted(world: World, call: Call, teller: _Teller, taken: Taken | None) -> Reply:
    """What becomes of a word that needs a permit: without one it is refused, unless it was answered before.

    A permit is used up by the turn that the word makes, and by no other answer.
    """
    reached = False

    def answered(stored: Stored) -> Reply | None:
        nonlocal reached
        reached = True
        if taken is not None:
            return None
        needed = (f"event.by = {Who.PERSON}",)
        refused = Refused("not_yours", call.event.trigger, (Seen("event.by", str(Who.AGENT)),), needed)
        return refuse(world, call, teller.reply, Outcome(refused, stored, teller.workflow))

    reply = take_turn(world, replace(call, answered=answered), teller.reply)
    if taken is not None:
        taken.used = reached and "code" not in reply
    return reply


def called(word: str) -> str:
    """What the tool of a word is called."""
    return word.lower()


def _said(outcome: Outcome) -> dict[str, str]:
    """What the rows say, to the person and to the agent."""
    parts = (MESSAGE, INSTRUCTIONS)
    return {
        part: "\n\n".join(text[part].rstrip("\n") for text in outcome.texts if part in text) for part in parts
    }


def markdown(reply: Mapping[str, Any]) -> str:
    """The same reply as text: nothing that the data says is missing from it."""
    return "\n\n".join(_sections(reply))


def _sections(reply: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {MESSAGE}\n\n{reply[MESSAGE]}"
    yield f"## {INSTRUCTIONS}\n\n{reply[INSTRUCTIONS]}"
    named = [
        f"{name}: {reply[name]}"
        for name in ("state", "sub_state", "phase", "step_token", "code")
        if name in reply
    ]
    yield "\n".join([f"options: {', '.join(reply['options'])}", *named])
    yield from told_comments(reply)
    if "why" in reply:
        yield told_why(reply["why"])
    if reply.get("next"):
        yield told_next(reply["next"])
