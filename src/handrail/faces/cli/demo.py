"""`handrail demo`: a scripted agent walks a built-in workflow; the script is data beside this file.

Every scene opens the store anew, as another process would: whatever the run remembers, it remembers there.
"""

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import indent

import click
import msgspec

from handrail.engine.known import known
from handrail.engine.lifecycle import START, terminal
from handrail.engine.model import Accepted, Authority, Event, Refused, Step, Waiting, Who
from handrail.faces.cli.output import Failure
from handrail.faces.cli.stored import openings
from handrail.shell.catalog import catalog
from handrail.shell.definitions import pin
from handrail.shell.records import Caller, Origin
from handrail.shell.turn import Call, New, Outcome, Reply, take_turn
from handrail.workflows.nodes import Node, plain, read
from handrail.workflows.render import render

SCRIPT = Path(__file__).with_name("demo.yaml")


@dataclass(frozen=True, slots=True)
class Scene:
    """What is told, and what is tried; with `crash`, the server is killed before it can answer."""

    tell: str
    trigger: str
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


@dataclass(slots=True)
class Stage:
    """Where the play is: the store, the run, and the token that the agent holds."""

    store: Path
    new: New
    run: str = ""
    token: str = ""


@click.command()
def demo() -> None:
    """Walk a workflow with a scripted agent that skips, lies and crashes, and gets through in the end."""
    script = msgspec.convert(plain(_root()), Script)
    new = _new(script.workflow)
    click.echo(render(script.opening, {"workflow": new.workflow.name, "about": new.workflow.about}))
    with TemporaryDirectory() as folder:
        stage = Stage(Path(folder) / "handrail.db", new)
        reply: Reply = {}
        for number, scene in enumerate(script.scenes, start=1):
            click.echo(f"\n{number}. {scene.tell}")
            reply = _play(stage, scene)
    if not reply["over"]:
        raise Failure("demo", "the run did not end", "report this: the demo walks to the end")
    click.echo("\n" + render(script.closing, dict(reply)))


def _root() -> Node:
    root = read(SCRIPT.read_text("utf-8"), str(SCRIPT)).root
    if root is None:
        raise Failure("demo", "the script cannot be read", f"mend {SCRIPT}")
    return root


def _new(name: str) -> New:
    shelf = catalog(Path())
    source = shelf.source(name)
    pinned = pin(source, shelf.source) if source else None
    if pinned is None or pinned.workflow is None:
        raise Failure("demo", f"`{name}` cannot be loaded", f"handrail workflows show {name}")
    return New(pinned.workflow, Origin("steps", Authority.SQL), pinned.definition)


def _play(stage: Stage, scene: Scene) -> Reply:
    """What came of a scene."""
    brought = f" {json.dumps(scene.payload, ensure_ascii=False)}" if scene.payload else ""
    click.echo(f"   {scene.by} → {scene.trigger}{brought[:90]}{'…' if len(brought) > 90 else ''}")
    if scene.crash:
        _killed(stage, scene)
        click.echo("   ✝ the server is killed (kill -9) before it can answer; the agent sends the call again")
    reply = _called(stage, scene)
    for line in msgspec.convert(reply["lines"], list[str]):
        click.echo(indent(line, "   "))
    if reply["token"]:
        stage.token = str(reply["token"])
    return reply


def _called(stage: Stage, scene: Scene) -> Reply:
    with openings().world(stage.store) as world:
        stage.run = stage.run or world.ids.run()
        token = stage.token if scene.by is Who.AGENT and scene.trigger != START else ""
        event = Event(scene.trigger, scene.payload, scene.by, scene.note)
        new = stage.new if scene.trigger == START else None
        return take_turn(world, Call(stage.run, event, Caller(scene.by), token, new), _told)


def _killed(stage: Stage, scene: Scene) -> None:
    """Take the turn in a process that is killed once it is committed."""
    child = os.fork()
    if child == 0:
        _called(stage, scene)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)


def _told(outcome: Outcome) -> Reply:
    """What the play says of an outcome, and what it goes on with."""
    stored = outcome.stored
    run = stored.run if stored else None
    return {
        "lines": list(_lines(outcome)),
        "token": next(iter((outcome.tokens or {}).values()), ""),
        "over": bool(run and terminal(run.lifecycle)),
        "lifecycle": str(run.lifecycle) if run else "",
        "steps": run.steps if run else 0,
        "turns": stored.revision if stored else 0,
    }


def _lines(outcome: Outcome) -> Iterator[str]:
    match outcome.decision:
        case Refused() as refused:
            yield f"✘ refused: {refused.code} ({refused.rule})"
            yield from (f"    seen    {seen.fact} = {json.dumps(seen.value)}" for seen in refused.seen)
            yield from (f"    needed  {needed}" for needed in refused.needed)
            yield from (f"    next    {option.trigger}, by the {option.who}" for option in refused.next)
        case Waiting(waits_for=facts):
            yield f"… waiting for {', '.join(facts)}"
        case Accepted(run, moves):
            yield "✔ " + (", ".join(f"{move.source} → {move.target}" for move in moves) or str(run.lifecycle))
            yield from (line for step in run.open for line in _task(outcome, step))


def _task(outcome: Outcome, step: Step) -> Iterator[str]:
    """What the agent is told when a step opens: this step, and nothing of the next."""
    workflow, stored = outcome.workflow, outcome.stored
    brief = workflow.states[step.state].brief if workflow else None
    if workflow and stored and brief:
        facts = known(workflow, stored.run, step, Event(""), "")
        yield f"  now: {step.state}, attempt {step.attempt}, as {brief.agent}"
        yield indent(render(brief.task, facts).rstrip(), "  │ ", lambda _line: True)
