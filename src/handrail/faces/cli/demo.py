"""`handrail demo`: a scripted agent walks a built-in workflow; the script is data beside this file."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import indent

import click
import msgspec

from handrail.engine.decide import decide
from handrail.engine.known import known
from handrail.engine.lifecycle import terminal
from handrail.engine.model import Accepted, Decision, Event, Refused, Run, Step, Waiting, Who, Workflow
from handrail.engine.record import dump
from handrail.engine.record import load as restore
from handrail.faces.cli.output import Failure
from handrail.shell.catalog import catalog
from handrail.workflows.load import load
from handrail.workflows.nodes import Node, plain, read
from handrail.workflows.render import render

SCRIPT = Path(__file__).with_name("demo.yaml")


@dataclass(frozen=True, slots=True)
class Scene:
    """What is told, and what is tried: an event, or a crash of the server."""

    tell: str
    trigger: str = ""
    payload: dict[str, object] = field(default_factory=dict)
    by: Who = Who.AGENT
    note: str = ""
    crash: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    """A play: the workflow, what is said before and after, and the scenes. It must end `completed`."""

    workflow: str
    opening: str
    closing: str
    scenes: tuple[Scene, ...]


@click.command()
def demo() -> None:
    """Walk a workflow with a scripted agent that skips, lies and crashes, and gets through in the end."""
    script = msgspec.convert(plain(_root()), Script)
    workflow = _workflow(script.workflow)
    click.echo(render(script.opening, {"workflow": workflow.name, "about": workflow.about}))
    run = Run("demo-1", workflow.name, workflow.digest)
    for number, scene in enumerate(script.scenes, start=1):
        click.echo(f"\n{number}. {scene.tell}")
        run = _play(workflow, run, scene)
    if not terminal(run.lifecycle):
        raise Failure("demo", f"the run ended {run.lifecycle}", "report this: the demo walks to the end")
    click.echo("\n" + render(script.closing, {"lifecycle": str(run.lifecycle), "steps": run.steps}))


def _root() -> Node:
    root = read(SCRIPT.read_text("utf-8"), str(SCRIPT)).root
    if root is None:
        raise Failure("demo", "the script cannot be read", f"mend {SCRIPT}")
    return root


def _workflow(name: str) -> Workflow:
    shelf = catalog(Path())
    source = shelf.source(name)
    workflow = load(source, shelf.source).workflow if source else None
    if workflow is None:
        raise Failure("demo", f"`{name}` cannot be loaded", f"handrail workflows show {name}")
    return workflow


def _play(workflow: Workflow, run: Run, scene: Scene) -> Run:
    """The run after one scene."""
    if scene.crash:
        saved = dump(run)
        click.echo(f"   ✔ {len(saved)} bytes are enough to stand where it stood")
        return restore(saved)
    brought = f" {json.dumps(scene.payload, ensure_ascii=False)}" if scene.payload else ""
    click.echo(f"   {scene.by} → {scene.trigger}{brought[:90]}{'…' if len(brought) > 90 else ''}")
    decision = decide(workflow, run, Event(scene.trigger, scene.payload, scene.by, scene.note), {})
    for line in _answer(workflow, decision):
        click.echo(indent(line, "   "))
    return run if isinstance(decision, Refused) else decision.run


def _answer(workflow: Workflow, decision: Decision) -> Iterator[str]:
    match decision:
        case Refused():
            yield f"✘ refused: {decision.code} ({decision.rule})"
            yield from (f"    seen    {seen.fact} = {json.dumps(seen.value)}" for seen in decision.seen)
            yield from (f"    needed  {needed}" for needed in decision.needed)
            yield from (f"    next    {option.trigger}, by the {option.who}" for option in decision.next)
        case Waiting():
            yield f"… waiting for {', '.join(decision.waits_for)}"
        case Accepted(run, moves):
            yield "✔ " + (", ".join(f"{move.source} → {move.target}" for move in moves) or str(run.lifecycle))
            yield from (line for step in run.open for line in _told(workflow, run, step))


def _told(workflow: Workflow, run: Run, step: Step) -> Iterator[str]:
    """What the agent is told when a step opens: this step, and nothing of the next."""
    brief = workflow.states[step.state].brief
    if brief is not None:
        facts = known(workflow, run, step, Event(""), "")
        yield f"  now: {step.state}, attempt {step.attempt}, as {brief.agent}"
        yield indent(render(brief.task, facts).rstrip(), "  │ ", lambda _line: True)
