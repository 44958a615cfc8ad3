"""The face `steps`: one tool that starts, continues, recovers and controls runs; one prompt per workflow.

Start reading at `StepsFace.call`. The form of the arguments decides what a call does; see `CallForm`.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from handrail.app.app import App
from handrail.app.definitions import find_startable
from handrail.app.faces import (
    Answer,
    ArgumentCheck,
    CallFailure,
    Prompt,
    PromptArgument,
    RunStatus,
    StepsStatus,
    Tool,
    UnknownPrompt,
)
from handrail.app.projects import Projects
from handrail.engine.facts import Kind, Value, to_printable
from handrail.engine.lifecycle import CONTINUE, RESUME, START
from handrail.engine.model import Actor, Authority, Event, FactReading, Lifecycle, Refused, Variable, Workflow
from handrail.engine.refusals import RefusalCode
from handrail.mcp.addresses import WORKFLOWS, Spelling
from handrail.mcp.faces.replies import (
    ReplyRenderer,
    StepsAction,
    build_run_status,
    load_face_texts,
    next_call,
    render_reply_markdown,
)
from handrail.runtime.fork import ForkRequest, fork_run
from handrail.runtime.ports.queries import RunFilter, RunQueries
from handrail.runtime.records import Caller, Origin
from handrail.runtime.status import inspect_run, recover_run, report_run
from handrail.runtime.tokens import TokenClaims, read_token
from handrail.runtime.turn import Call, NewRun, Outcome, Reply, get_workflow, refuse_call, take_turn
from handrail.runtime.world import PinnedWorkflow
from handrail.workflows.templates import Texts

FACE: Final = "steps"

_FILE_REFUSALS: Final = frozenset({RefusalCode.BROKEN_WORKFLOW, RefusalCode.UNTRUSTED})
"""Refusals about the server's own files, so their paths must be hidden from clients."""

_GOAL_ARGUMENT = "goal"
_RUN_ARGUMENT = "execution_id"
OUTPUT_ARGUMENT: Final = "model_output_so_far"


class CallForm(Struct, frozen=True):
    """A form of a call: the arguments it needs, and those it also takes."""

    needs: frozenset[str]
    takes: frozenset[str] = frozenset()


START_FORM: Final = CallForm(
    frozenset({"template_name"}), frozenset({"goal", "inputs", "metadata", "project"})
)

CONTINUE_FORM: Final = CallForm(frozenset({"step_token", OUTPUT_ARGUMENT}), frozenset({"project"}))
RECOVER_FORM: Final = CallForm(frozenset({"execution_id"}), frozenset({"project"}))
CONTROL_BY_RUN_FORM: Final = CallForm(frozenset({"execution_id", "action"}), frozenset({"reason", "project"}))
CONTROL_BY_TOKEN_FORM: Final = CallForm(frozenset({"step_token", "action"}), frozenset({"reason", "project"}))
CALL_FORMS: Final = (START_FORM, CONTINUE_FORM, RECOVER_FORM, CONTROL_BY_RUN_FORM, CONTROL_BY_TOKEN_FORM)

_ACTION_ARGUMENTS: Final[Mapping[str, frozenset[str]]] = {
    StepsAction.FORK: frozenset({"step_name"}),
    StepsAction.COMPLETE_STEP: frozenset({OUTPUT_ARGUMENT}),
}


def match_form(given: Mapping[str, Any], forms: tuple[str, ...]) -> CallForm | Refused:
    """Return the form that these arguments have, or a refusal with all `forms` if they have none."""
    names = frozenset(given)
    more = _ACTION_ARGUMENTS.get(str(given.get("action")), frozenset())
    for form in CALL_FORMS:
        if form.needs <= names <= form.needs | form.takes | more:
            return form
    return Refused(RefusalCode.FORM, "forms", (FactReading("arguments", sorted(names)),), forms)


class _StepsCall(Struct, frozen=True):
    """One call: its arguments, its caller, and the renderer of its reply."""

    given: Mapping[str, Any]
    caller: Caller
    renderer: ReplyRenderer

    def text(self, name: str) -> str:
        """Return a text argument; empty if it was not given."""
        return str(self.given.get(name, ""))


def build_face(app: App, names: Spelling) -> "StepsFace":
    """Build the face over an app."""
    return StepsFace(app, names)


class StepsFace:
    """The face over the runs in the store and the projects of a server."""

    def __init__(self, app: App, names: Spelling) -> None:
        self._app, self._projects, self._names = app, app.projects, names
        self._texts = load_face_texts(FACE)
        listed = json.loads(Path(__file__).with_name("steps.json").read_text("utf-8"))
        spelled = names.tool_names(listed["name"])
        self.tools: Sequence[Tool] = (Tool(spelled, {**listed, "name": spelled[0]}, shows=True),)
        self._arguments = ArgumentCheck(listed["inputSchema"], output=OUTPUT_ARGUMENT)
        self._prompts = Prompts(self._texts, app.projects, app.runs, spelled[0])

    @property
    def instructions(self) -> str:
        """The server instructions that an agent gets before its first call."""
        return self._texts.say(
            "instructions", tool=self.tools[0].names[0], workflows=self._names.uri(WORKFLOWS, "all")
        )

    def prompts(self) -> Sequence[Prompt]:
        """Return one prompt to start each workflow, and one to resume a run."""
        return self._prompts.all()

    def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """Return the text of a prompt. Raises `UnknownPrompt` for an unknown name or argument."""
        return self._prompts.prompt_text(name, arguments)

    def call(self, tool: Tool, arguments: Mapping[str, Any], caller: Caller) -> Answer:
        """Answer a call."""
        del tool
        reply = self._reply(_StepsCall(arguments, caller, self._renderer(arguments)))
        return Answer(reply, render_reply_markdown(reply), failed=reply["status"] == StepsStatus.ERROR)

    def answer_failure(self, tool: Tool, arguments: Mapping[str, Any], failed: CallFailure) -> Answer:
        """Return a failure in the form of a refusal.

        The call to send again has `{}` for the output of the step: it may be long, and the sender has it.
        """
        short = {
            name: {} if name == OUTPUT_ARGUMENT else to_printable(value) for name, value in arguments.items()
        }
        reply = {
            "status": StepsStatus.ERROR,
            "error": failed.message,
            "code": failed.code,
            "why": {"rule": failed.rule, "seen": [], "needed": [failed.needed]},
            "next": [next_call(tool.names[0], Actor.AGENT, short)] if failed.again else [],
        }
        return Answer(reply, render_reply_markdown(reply), failed=True)

    def find_run_status(self, arguments: Mapping[str, Any], answer: Answer) -> RunStatus | None:
        """Return the current position of the run that the reply names; None if there is none."""
        del arguments
        world = self._app.world
        stored = world.runs.load(str(answer.reply.get("execution_id", "")))
        return build_run_status(inspect_run(world, stored)) if stored else None

    def _renderer(self, given: Mapping[str, Any]) -> ReplyRenderer:
        return ReplyRenderer(
            self.tools[0].names[0],
            self._texts,
            self._projects,
            self._app.world.ids,
            self._names.status_uri,
            lambda refused: self._suggest_calls(given, refused),
        )

    def _suggest_calls(self, given: Mapping[str, Any], refused: Refused) -> Iterator[Mapping[str, Value]]:
        """Yield the calls to suggest after a call that was about no run."""
        tool, name = self.tools[0].names[0], given.get("template_name")
        match refused.code:
            case RefusalCode.MALFORMED | RefusalCode.FORGED | RefusalCode.UNKNOWN_RUN:
                for run in self._prompts.live_runs()[:1]:
                    yield next_call(tool, Actor.AGENT, {"execution_id": run})
            case RefusalCode.UNKNOWN_WORKFLOW:
                near = get_close_matches(str(name), self._prompts.startable_workflows(), 1)
                for near_name in near:
                    yield next_call(tool, Actor.AGENT, {"template_name": near_name})
            case RefusalCode.WHICH_PROJECT:
                for root in self._projects.roots:
                    project = self._projects.name_of(root)
                    yield next_call(tool, Actor.AGENT, {"template_name": name, "project": project})
            case RefusalCode.UNTRUSTED:
                yield next_call("handrail trust", Actor.PERSON, {"NAME": refused.rule})
            case RefusalCode.ARGUMENTS if refused.rule == START:
                inputs = dict.fromkeys((seen.fact for seen in refused.seen), "")
                yield next_call(tool, Actor.AGENT, {"template_name": name, "inputs": inputs})
            case _:
                return

    def _reply(self, request: _StepsCall) -> Reply:
        form = self._arguments.validate(request.given) or match_form(
            request.given, self._texts.needed["forms"]
        )
        if not isinstance(form, Refused) and "project" in request.given:
            root = self._projects.find_root(request.text("project"))
            form = root if isinstance(root, Refused) else form
        if isinstance(form, Refused):
            return self._refuse(request, form)
        if form is START_FORM:
            return self._start(request)
        if form is CONTINUE_FORM:
            return self._continue(request)
        if form is RECOVER_FORM:
            render = self._resuming_renderer(request).reply
            return recover_run(self._app.world, request.text(_RUN_ARGUMENT), render, request.caller)
        return self._control(request)

    def _refuse(self, request: _StepsCall, refused: Refused, trigger: str = "", run: str = "") -> Reply:
        world = self._app.world
        stored = world.runs.load(run) if run else None
        outcome = Outcome(refused, stored, get_workflow(world, stored.run) if stored else None)
        return refuse_call(world, Call(run, Event(trigger), request.caller), request.renderer.reply, outcome)

    def _resuming_renderer(self, request: _StepsCall) -> ReplyRenderer:
        """Return a renderer that also summarizes completed steps, for an agent that returns to a run."""
        return replace(request.renderer, done=self._app.runs.last_completed_steps)

    # start

    def _start(self, request: _StepsCall) -> Reply:
        root = self._projects.find_root(request.text("project"))
        if isinstance(root, Refused):
            return self._refuse(request, root, START)
        new = self._prepare_run(request, str(root))
        if isinstance(new, Refused):
            return self._refuse(request, new, START)
        world = self._app.world
        event = Event(START, dict(request.given.get("inputs", {})))
        return take_turn(
            world, Call(world.ids.new_id(), event, request.caller, new=new), request.renderer.reply
        )

    def _prepare_run(self, request: _StepsCall, root: str) -> NewRun | Refused:
        """Return what is needed to create a run of the wanted workflow, or a refusal."""
        name, definitions = request.text("template_name"), self._projects.definitions(root)
        startable = find_startable(definitions, name)
        if isinstance(startable, Refused):
            return self._projects.hide_refusal(startable) if startable.code in _FILE_REFUSALS else startable
        origin = Origin(
            FACE,
            Authority.SQL,
            root,
            request.text("goal"),
            request.caller.principal,
            metadata=dict(request.given.get("metadata", {})),
        )
        return NewRun(startable.workflow, origin, startable.definition)

    # continue and control

    def _continue(self, request: _StepsCall) -> Reply:
        token = request.text("step_token")
        claims = read_token(self._app.world, token)
        if isinstance(claims, Refused):
            return self._refuse(request, claims, CONTINUE)
        event = Event(CONTINUE, request.given[OUTPUT_ARGUMENT])
        call = Call(claims.run, event, request.caller, token, claims=claims)
        return take_turn(self._app.world, call, request.renderer.reply)

    def _control(self, request: _StepsCall) -> Reply:
        token, action = request.text("step_token"), request.text("action")
        world = self._app.world
        claims = read_token(world, token) if "step_token" in request.given else None
        if isinstance(claims, Refused):
            return self._refuse(request, claims, action)
        run = claims.run if claims else request.text("execution_id")
        match action:
            case StepsAction.FORK:
                wanted = ForkRequest(run, request.text("step_name"), request.caller)
                return fork_run(world, wanted, self._resuming_renderer(request).reply)
            case StepsAction.WHY:
                call = Call(run, Event(action), request.caller, token, claims=claims)
                return report_run(world, call, self._explain(request))
            case StepsAction.COMPLETE_STEP:
                return self._complete_step(request, run, token, claims)
            case _:
                event = Event(action, note=request.text("reason"))
                call = Call(run, event, request.caller, token, claims=claims)
                return take_turn(world, call, self._resuming_renderer(request).reply)

    def _complete_step(self, request: _StepsCall, run: str, token: str, claims: TokenClaims | None) -> Reply:
        if OUTPUT_ARGUMENT not in request.given:
            wanted = (f"`{OUTPUT_ARGUMENT}`: the output of the step, as its contract asks for it",)
            refused = Refused(
                RefusalCode.FORM, "forms", (FactReading("action", StepsAction.COMPLETE_STEP),), wanted
            )
            return self._refuse(request, refused, CONTINUE, run)
        event = Event(CONTINUE, request.given[OUTPUT_ARGUMENT], note=request.text("reason"))
        call = Call(run, event, request.caller, token, external=True, claims=claims)
        return take_turn(self._app.world, call, request.renderer.reply)

    def _explain(self, request: _StepsCall) -> Callable[[Outcome], Reply]:
        def render(outcome: Outcome) -> Reply:
            run = outcome.stored.run.id if outcome.stored else ""
            return self._resuming_renderer(request).explain(outcome, self._app.runs.refusals(run))

        return render


class Prompts:
    """The prompts of the face: one to start each workflow of the projects, and one to resume a run."""

    def __init__(self, texts: Texts, projects: Projects, records: RunQueries, tool: str) -> None:
        self._texts, self._projects, self._records, self._tool = texts, projects, records, tool

    def all(self) -> tuple[Prompt, ...]:
        """Return one prompt per startable workflow, sorted by name, then the one to resume a run."""
        prompts = [
            Prompt(name, workflow.about, _prompt_arguments(workflow, self._texts.say("prompt_goal")))
            for name, workflow in sorted(self._startable().items())
        ]
        about = self._texts.say("prompt_resume_about")
        run = PromptArgument(
            _RUN_ARGUMENT, self._texts.say("prompt_resume_run"), required=False, choices=self.live_runs()
        )
        return (*prompts, Prompt(RESUME, about, (run,)))

    def prompt_text(self, name: str, arguments: Mapping[str, str]) -> str:
        """Return the text of a prompt. Raises `UnknownPrompt` for an unknown name or argument."""
        if name == RESUME:
            return self._resume(arguments)
        workflow = self._startable().get(name)
        if workflow is None:
            known = ", ".join(prompt.name for prompt in self.all())
            raise UnknownPrompt(f"there is no such prompt; there are {known}")
        return self._start(name, workflow, arguments)

    def _start(self, name: str, workflow: Workflow, arguments: Mapping[str, str]) -> str:
        known = {one.name for one in _prompt_arguments(workflow, "")}
        if unknown := sorted(arguments.keys() - known):
            raise UnknownPrompt(
                f"`{name}` takes no {', '.join(unknown)}; it takes {', '.join(sorted(known))}"
            )
        inputs = {
            n: _parse_input(workflow.inputs[n], text)
            for n, text in arguments.items()
            if n in workflow.inputs and text
        }
        call: dict[str, Value] = {"template_name": workflow.name}
        if inputs:
            call["inputs"] = inputs
        if arguments.get(_GOAL_ARGUMENT) and _GOAL_ARGUMENT not in workflow.inputs:
            call[_GOAL_ARGUMENT] = arguments[_GOAL_ARGUMENT]
        return self._texts.say(
            "prompt_start", workflow=workflow.name, tool=self._tool, call=_encode_call(call)
        )

    def _resume(self, arguments: Mapping[str, str]) -> str:
        run = arguments.get(_RUN_ARGUMENT) or next(iter(self.live_runs()), "")
        if not run:
            return self._texts.say("prompt_resume_none", tool=self._tool)
        row = self._records.run(run)
        paused = row is not None and row.lifecycle is Lifecycle.PAUSED
        call: dict[str, Value] = {_RUN_ARGUMENT: run, "action": RESUME} if paused else {_RUN_ARGUMENT: run}
        return self._texts.say("prompt_resume", tool=self._tool, call=_encode_call(call))

    def startable_workflows(self) -> tuple[str, ...]:
        """Return the names of the workflows that can be started."""
        return tuple(workflow.name for workflow in self._startable().values())

    def live_runs(self) -> tuple[str, ...]:
        """Return the ids of the projects' running and paused runs, last started first."""
        live = (Lifecycle.RUNNING, Lifecycle.PAUSED)
        roots = [str(root) for root in self._projects.roots]
        rows = [row for root in roots for row in self._records.runs(RunFilter(project=root, lifecycles=live))]
        return tuple(row.id for row in rows if row.authority is Authority.SQL)

    def _startable(self) -> dict[str, Workflow]:
        """Return the startable workflows by prompt name; a file hidden in one project may serve another."""
        startable: dict[str, Workflow] = {}
        for definitions in self._projects.all_definitions():
            for file in definitions.workflows():
                pinned = None if file.hidden or file.name in startable else definitions.find_pinned(file.name)
                workflow = pinned.workflow if isinstance(pinned, PinnedWorkflow) else None
                if workflow and workflow.authority is Authority.SQL:
                    startable[file.name if file.name != RESUME else f"start-{file.name}"] = workflow
        return startable


def _prompt_arguments(workflow: Workflow, goal: str) -> tuple[PromptArgument, ...]:
    """Return the arguments of a workflow's prompt; `goal` describes the argument for the goal."""
    inputs = [
        PromptArgument(name, one.about, one.required, tuple(map(str, one.choices)))
        for name, one in workflow.inputs.items()
    ]
    own = () if _GOAL_ARGUMENT in workflow.inputs else (PromptArgument(_GOAL_ARGUMENT, goal, required=False),)
    return (*inputs, *own)


def _parse_input(variable: Variable, text: str) -> Value:
    """Convert what a person typed to the type of the input; prompt arguments are always text."""
    if variable.type.kind is Kind.STRING or variable.choices:
        return text
    try:
        value: Value = json.loads(text)
    except ValueError:
        return text
    return value


def _encode_call(call: Mapping[str, Value]) -> str:
    return json.dumps(call, ensure_ascii=False)
