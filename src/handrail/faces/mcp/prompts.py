"""Prompts: one per workflow to start it, one to resume, so that clients show them as commands."""

import json
from collections.abc import Mapping

from handrail.engine.facts import Kind, Value
from handrail.engine.lifecycle import RESUME
from handrail.engine.model import Authority, Lifecycle, Variable, Workflow
from handrail.faces.mcp.face import Argument, Prompt, UnknownPrompt
from handrail.faces.mcp.projects import Projects
from handrail.faces.mcp.texts import Texts
from handrail.shell.definitions import Pinned
from handrail.shell.view import Records, Wanted

_GOAL = "goal"
_RUN = "execution_id"


class Prompts:
    """The prompts over the workflows of the projects of a server."""

    def __init__(self, texts: Texts, projects: Projects, records: Records, tool: str) -> None:
        self._texts, self._projects, self._records, self._tool = texts, projects, records, tool

    def all(self) -> tuple[Prompt, ...]:
        """One per workflow that can be started here, by name, and the one to resume at the end."""
        found = [
            Prompt(name, workflow.about, _arguments(workflow, self._texts.say("prompt_goal")))
            for name, workflow in sorted(self._startable().items())
        ]
        about = self._texts.say("prompt_resume_about")
        run = Argument(_RUN, self._texts.say("prompt_resume_run"), required=False, choices=self.live())
        return (*found, Prompt(RESUME, about, (run,)))

    def said(self, name: str, arguments: Mapping[str, str]) -> str:
        """What a prompt says."""
        if name == RESUME:
            return self._resume(arguments)
        workflow = self._startable().get(name)
        if workflow is None:
            known = ", ".join(prompt.name for prompt in self.all())
            raise UnknownPrompt(f"there is no such prompt; there are {known}")
        return self._start(name, workflow, arguments)

    def _start(self, name: str, workflow: Workflow, arguments: Mapping[str, str]) -> str:
        known = {one.name for one in _arguments(workflow, "")}
        if unknown := sorted(arguments.keys() - known):
            raise UnknownPrompt(
                f"`{name}` takes no {', '.join(unknown)}; it takes {', '.join(sorted(known))}"
            )
        inputs = {
            n: _typed(workflow.inputs[n], text)
            for n, text in arguments.items()
            if n in workflow.inputs and text
        }
        call: dict[str, Value] = {"template_name": workflow.name}
        if inputs:
            call["inputs"] = inputs
        if arguments.get(_GOAL) and _GOAL not in workflow.inputs:
            call[_GOAL] = arguments[_GOAL]
        return self._texts.say("prompt_start", workflow=workflow.name, tool=self._tool, call=_json(call))

    def _resume(self, arguments: Mapping[str, str]) -> str:
        run = arguments.get(_RUN) or next(iter(self.live()), "")
        if not run:
            return self._texts.say("prompt_resume_none", tool=self._tool)
        found = self._records.run(run)
        paused = found is not None and found.lifecycle is Lifecycle.PAUSED
        call: dict[str, Value] = {_RUN: run, "action": RESUME} if paused else {_RUN: run}
        return self._texts.say("prompt_resume", tool=self._tool, call=_json(call))

    def startable(self) -> tuple[str, ...]:
        """The names of the workflows that can be started here."""
        return tuple(workflow.name for workflow in self._startable().values())

    def live(self) -> tuple[str, ...]:
        """The runs of these projects that can go on, the last started first."""
        live = (Lifecycle.RUNNING, Lifecycle.PAUSED)
        roots = [str(root) for root in self._projects.roots]
        rows = [row for root in roots for row in self._records.runs(Wanted(project=root, lifecycles=live))]
        return tuple(row.id for row in rows if row.authority is Authority.SQL)

    def _startable(self) -> dict[str, Workflow]:
        """The workflows by the names of their prompts; what a root hides, it hides for that root only."""
        found: dict[str, Workflow] = {}
        for shelf in self._projects.shelves():
            for one in shelf.workflows():
                pinned = None if one.hidden or one.name in found else shelf.pinned(one.name)
                workflow = pinned.workflow if isinstance(pinned, Pinned) else None
                if workflow and workflow.authority is Authority.SQL:
                    found[one.name if one.name != RESUME else f"start-{one.name}"] = workflow
        return found


def _arguments(workflow: Workflow, goal: str) -> tuple[Argument, ...]:
    """What the prompt of a workflow takes; `goal` is what is told of the goal."""
    inputs = [
        Argument(name, one.about, one.required, tuple(map(str, one.choices)))
        for name, one in workflow.inputs.items()
    ]
    own = () if _GOAL in workflow.inputs else (Argument(_GOAL, goal, required=False),)
    return (*inputs, *own)


def _typed(variable: Variable, text: str) -> Value:
    """What a person typed, as the input takes it; prompts have texts only."""
    if variable.type.kind is Kind.STRING or variable.choices:
        return text
    try:
        value: Value = json.loads(text)
    except ValueError:
        return text
    return value


def _json(call: Mapping[str, Value]) -> str:
    return json.dumps(call, ensure_ascii=False)
