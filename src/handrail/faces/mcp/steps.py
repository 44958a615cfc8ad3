"""The face `steps`: one tool, four forms of a call. Which form it is follows from what is given."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from handrail.engine.facts import Value, writable
from handrail.engine.lifecycle import CONTINUE, START
from handrail.engine.model import Authority, Event, Refused, Seen, Who
from handrail.faces.mcp import forms
from handrail.faces.mcp.addresses import WORKFLOWS
from handrail.faces.mcp.declared import stand
from handrail.faces.mcp.face import Answer, Failed, Prompt, Stand, Tool
from handrail.faces.mcp.message import Guides
from handrail.faces.mcp.names import Names
from handrail.faces.mcp.projects import Projects
from handrail.faces.mcp.prompts import Prompts
from handrail.faces.mcp.replies import Teller, following, markdown
from handrail.faces.mcp.texts import texts
from handrail.shell.gatekeeper import read_token
from handrail.shell.opening import Serving
from handrail.shell.records import Caller, Origin, Stored
from handrail.shell.standing import ask, look, recover
from handrail.shell.starting import startable
from handrail.shell.tokens import Claims
from handrail.shell.turn import Call, New, Outcome, Reply, refuse, take_turn

FACE: Final = "steps"
_OF_FILES: Final = frozenset({"broken_workflow", "untrusted"})
"""Refusals that tell of the server's own files, and of nothing that was sent."""


class _Asked(Struct, frozen=True):
    """One call: what was given, by whom, and who tells what came of it."""

    given: Mapping[str, Any]
    caller: Caller
    teller: Teller

    def text(self, name: str) -> str:
        """An argument that is a text, or empty."""
        return str(self.given.get(name, ""))


class Steps:
    """The face over a store and the projects of a server."""

    def __init__(self, serving: Serving, projects: Projects, names: Names) -> None:
        self._serving, self._projects, self._names = serving, projects, names
        self._texts = texts(FACE)
        listed = json.loads(Path(__file__).with_name("steps.json").read_text("utf-8"))
        spelled = names.tool(listed["name"])
        self.tools: Sequence[Tool] = (Tool(spelled, {**listed, "name": spelled[0]}, shows=True),)
        self._arguments = forms.Arguments(listed["inputSchema"], self._texts.needed["forms"])
        self._prompts = Prompts(self._texts, projects, serving.records, spelled[0])

    @property
    def instructions(self) -> str:
        """What an agent is told about the face before its first call."""
        return self._texts.say(
            "instructions", tool=self.tools[0].names[0], workflows=self._names.uri(WORKFLOWS, "all")
        )

    def prompts(self) -> Sequence[Prompt]:
        """One per workflow to start it, one to resume."""
        return self._prompts.all()

    def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """What a prompt says."""
        return self._prompts.said(name, arguments)

    def call(self, tool: Tool, arguments: Mapping[str, Any], caller: Caller) -> Answer:
        """Answer a call."""
        del tool
        reply = self._reply(_Asked(arguments, caller, self._teller(arguments)))
        return Answer(reply, markdown(reply), failed=reply["status"] == "error")

    def failed(self, tool: Tool, arguments: Mapping[str, Any], failed: Failed) -> Answer:
        """Put a failure into the shape of a refusal.

        The output of a step may be long and is known to whoever sent it: its place is told, not what it was.
        """
        short = {name: {} if name == forms.OUTPUT else writable(value) for name, value in arguments.items()}
        reply = {
            "status": "error",
            "error": failed.message,
            "code": failed.code,
            "why": {"rule": failed.rule, "seen": [], "needed": [failed.needed]},
            "next": [following(tool.names[0], Who.AGENT, short)] if failed.again else [],
        }
        return Answer(reply, markdown(reply), failed=True)

    def stands(self, arguments: Mapping[str, Any], answer: Answer) -> Stand | None:
        """Where the run stands that the reply names."""
        del arguments
        world = self._serving.world
        stored = world.runs.load(str(answer.reply.get("execution_id", "")))
        return stand(look(world, stored)) if stored else None

    def _teller(self, given: Mapping[str, Any]) -> Teller:
        boundary = self._serving.world.ids.nonce().hex()

        def guides(stored: Stored) -> Guides:
            return self._projects.guides(self._texts, boundary, stored.origin.project)

        return Teller(
            self.tools[0].names[0],
            self._texts,
            guides,
            self._names.status,
            lambda refused: self._elsewhere(given, refused),
        )

    def _elsewhere(self, given: Mapping[str, Any], refused: Refused) -> Iterator[Mapping[str, Value]]:
        """What may be called after a call that was about no run."""
        tool, name = self.tools[0].names[0], given.get("template_name")
        match refused.code:
            case "malformed" | "forged" | "unknown_run":
                for run in self._prompts.live()[:1]:
                    yield following(tool, Who.AGENT, {"execution_id": run})
            case "unknown_workflow":
                near = get_close_matches(str(name), self._prompts.startable(), 1)
                for one in near:
                    yield following(tool, Who.AGENT, {"template_name": one})
            case "which_project":
                for root in self._projects.roots:
                    called = self._projects.called(root)
                    yield following(tool, Who.AGENT, {"template_name": name, "project": called})
            case "untrusted":
                yield following("handrail trust", Who.PERSON, {"NAME": refused.rule})
            case "arguments" if refused.rule == START:
                inputs = dict.fromkeys((seen.fact for seen in refused.seen), "")
                yield following(tool, Who.AGENT, {"template_name": name, "inputs": inputs})
            case _:
                return

    def _reply(self, asked: _Asked) -> Reply:
        form = self._arguments.wrong(asked.given) or self._arguments.form(asked.given)
        if not isinstance(form, Refused) and "project" in asked.given:
            root = self._projects.named(asked.text("project"))
            form = root if isinstance(root, Refused) else form
        if isinstance(form, Refused):
            return self._refused(asked, form)
        match form:
            case forms.START:
                return self._start(asked)
            case forms.CONTINUE:
                return self._continue(asked)
            case forms.RECOVER:
                return recover(
                    self._serving.world, asked.text("execution_id"), self._whole(asked).reply, asked.caller
                )
            case _:
                return self._control(asked)

    def _refused(self, asked: _Asked, refused: Refused, trigger: str = "", run: str = "") -> Reply:
        world = self._serving.world
        stored = world.runs.load(run) if run else None
        outcome = Outcome(refused, stored, world.workflow_of(stored) if stored else None)
        return refuse(world, Call(run, Event(trigger), asked.caller), asked.teller.reply, outcome)

    def _whole(self, asked: _Asked) -> Teller:
        """Tells also what was done before: to somebody who comes back."""
        return replace(asked.teller, done=self._serving.records.last_done)

    # start

    def _start(self, asked: _Asked) -> Reply:
        root = self._projects.named(asked.text("project"))
        if isinstance(root, Refused):
            return self._refused(asked, root, START)
        new = self._new(asked, str(root))
        if isinstance(new, Refused):
            return self._refused(asked, new, START)
        world = self._serving.world
        event = Event(START, dict(asked.given.get("inputs", {})))
        return take_turn(world, Call(world.ids.run(), event, asked.caller, new=new), asked.teller.reply)

    def _new(self, asked: _Asked, root: str) -> New | Refused:
        """What a run of the wanted workflow is made from, if it may be."""
        name, shelf = asked.text("template_name"), self._projects.shelf(root)
        found = startable(shelf, name)
        if isinstance(found, Refused):
            return self._projects.hidden(found) if found.code in _OF_FILES else found
        origin = Origin(
            FACE,
            Authority.SQL,
            root,
            asked.text("goal"),
            asked.caller.principal,
            metadata=dict(asked.given.get("metadata", {})),
        )
        return New(found.workflow, origin, found.definition)

    # continue and control

    def _continue(self, asked: _Asked) -> Reply:
        token = asked.text("step_token")
        claims = read_token(self._serving.world, token)
        if isinstance(claims, Refused):
            return self._refused(asked, claims, CONTINUE)
        event = Event(CONTINUE, asked.given[forms.OUTPUT])
        call = Call(claims.run, event, asked.caller, token, claims=claims)
        return take_turn(self._serving.world, call, asked.teller.reply)

    def _control(self, asked: _Asked) -> Reply:
        token, action = asked.text("step_token"), asked.text("action")
        world = self._serving.world
        claims = read_token(world, token) if "step_token" in asked.given else None
        if isinstance(claims, Refused):
            return self._refused(asked, claims, action)
        run = claims.run if claims else asked.text("execution_id")
        match action:
            case forms.FORK:
                from handrail.shell.fork import Fork, fork  # noqa: PLC0415 - few runs are ever forked

                wanted = Fork(run, asked.text("step_name"), asked.caller)
                return fork(world, wanted, self._whole(asked).reply)
            case forms.WHY:
                call = Call(run, Event(action), asked.caller, token, claims=claims)
                return ask(world, call, self._why(asked))
            case forms.COMPLETE_STEP:
                return self._complete_step(asked, run, token, claims)
            case _:
                event = Event(action, note=asked.text("reason"))
                call = Call(run, event, asked.caller, token, claims=claims)
                return take_turn(world, call, self._whole(asked).reply)

    def _complete_step(self, asked: _Asked, run: str, token: str, claims: Claims | None) -> Reply:
        if forms.OUTPUT not in asked.given:
            wanted = (f"`{forms.OUTPUT}`: the output of the step, as its contract asks for it",)
            refused = Refused("form", "forms", (Seen("action", forms.COMPLETE_STEP),), wanted)
            return self._refused(asked, refused, CONTINUE, run)
        event = Event(CONTINUE, asked.given[forms.OUTPUT], note=asked.text("reason"))
        call = Call(run, event, asked.caller, token, external=True, claims=claims)
        return take_turn(self._serving.world, call, asked.teller.reply)

    def _why(self, asked: _Asked) -> Callable[[Outcome], Reply]:
        def told(outcome: Outcome) -> Reply:
            run = outcome.stored.run.id if outcome.stored else ""
            return self._whole(asked).why(outcome, self._serving.records.refusals(run))

        return told
