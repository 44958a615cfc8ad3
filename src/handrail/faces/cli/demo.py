"""`handrail demo`: a scripted agent and a scripted person, a real server, a real client, a real kill."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import indent
from typing import Any, Final

import click
import msgspec

from handrail.faces.cli.output import Failure
from handrail.workflows.nodes import plain, read
from handrail.workflows.render import render

SCRIPT: Final = Path(__file__).with_name("demo.yaml")
TOOL: Final = "workflow_next_step"
_WIDTH: Final = 160


@dataclass(frozen=True, slots=True)
class Scene:
    """What is told, and what is tried: a call by the agent, or a command typed by a person.

    With `kill` the answer is lost: the server is killed, and another one gets the same call.
    """

    tell: str
    call: Mapping[str, Any] = field(default_factory=dict)
    person: tuple[str, ...] = ()
    kill: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    """A play: what is said before and after, and the scenes."""

    opening: str
    closing: str
    scenes: tuple[Scene, ...]


@dataclass(slots=True)
class Stage:
    """Where the play is: what the agent holds, and how often it was refused."""

    folder: Path
    held: dict[str, str] = field(default_factory=dict)
    refused: int = 0

    @property
    def env(self) -> dict[str, str]:
        """A home of its own: what you have is neither used nor touched."""
        home = str(self.folder / "home")
        own = {"HOME": home, "XDG_DATA_HOME": f"{home}/data", "XDG_CONFIG_HOME": f"{home}/config"}
        return {**os.environ, **own, "HANDRAIL_STORE": str(self.folder / "handrail.db")}


@click.command()
def demo() -> None:
    """Watch an agent try to cheat: a real server and client, a scripted agent, a kill half-way."""
    import anyio

    root = read(SCRIPT.read_text("utf-8"), str(SCRIPT)).root
    script = msgspec.convert(plain(root) if root else {}, Script)
    click.echo(script.opening, nl=False)
    with TemporaryDirectory() as folder:
        stage = Stage(Path(folder))
        for made in ("home", "project"):
            (stage.folder / made).mkdir()
        reply = anyio.run(_play, stage, script)
    if reply["status"] != "task_closed":
        raise Failure("demo", "the run did not end", "report this: the demo walks to the end")
    told = reply["synthesis"]
    steps = told["model_output"]["steps_completed"]
    values = {"steps": steps, "refused": stage.refused, "summary": told["outcome_summary"]}
    click.echo("\n" + render(script.closing, values), nl=False)


async def _play(stage: Stage, script: Script) -> Mapping[str, Any]:
    """Every scene in turn; the last reply."""
    from handrail.faces.mcp.client import connected

    words = ("serve", "--project", str(stage.folder / "project"))
    reply: Mapping[str, Any] = {}
    async with AsyncExitStack() as running:
        server = await running.enter_async_context(connected(words, stage.folder, stage.env))
        for number, scene in enumerate(script.scenes, start=1):
            click.echo(f"\n{number}. {scene.tell}")
            if scene.person:
                _typed(stage, scene)
                continue
            call = _filled(stage, scene.call)
            click.echo(f"   → {TOOL} {_sent(call)}")
            reply = await server.call(TOOL, call)
            if scene.kill:
                server.kill()
                await running.aclose()
                click.echo(
                    "   ✝ the server is killed (kill -9), its answer lost; another one gets the same call"
                )
                server = await running.enter_async_context(connected(words, stage.folder, stage.env))
                _same(reply, await server.call(TOOL, call))
            _shown(stage, reply)
    return reply


def _typed(stage: Stage, scene: Scene) -> None:
    """A command as a person types it."""
    words = [stage.held["run"] if word == "@run" else word for word in scene.person]
    click.echo(f"   $ handrail {' '.join(words)}")
    done = subprocess.run(  # noqa: S603 - this very program, with words from our own script
        [sys.executable, "-m", "handrail", *words], env=stage.env, capture_output=True, text=True, check=True
    )
    click.echo(indent(done.stdout, "   "), nl=False)


def _filled(stage: Stage, call: Mapping[str, Any]) -> dict[str, Any]:
    """The call with what the agent holds in place of `@token` and the like."""
    return {
        name: stage.held[value[1:]] if isinstance(value, str) and value.startswith("@") else value
        for name, value in call.items()
    }


def _same(lost: Mapping[str, Any], again: Mapping[str, Any]) -> None:
    if lost != again:
        raise Failure(
            "demo", "the second answer is another one", "report this: a retried call is answered as before"
        )
    click.echo("   ✔ the same answer, to the last character: nothing was done twice")


def _shown(stage: Stage, reply: Mapping[str, Any]) -> None:
    """What a person would like to see of a reply; and what the agent goes on with."""
    stage.held["run"] = str(reply.get("execution_id", stage.held.get("run", "")))
    token = str(reply.get("new_step_token", ""))
    if token and token != stage.held.get("token"):
        stage.held |= {"spent": stage.held.get("token", ""), "token": token}
        stage.held["forged"] = token[:-1] + ("A" if token[-1] != "A" else "B")
    stage.refused += reply["status"] == "error"
    for line in _lines(reply):
        click.echo(indent(line, "   "))


def _lines(reply: Mapping[str, Any]) -> Iterator[str]:
    if reply["status"] == "error":
        yield f"✘ refused: {reply['code']}. {reply['error']}"
        yield from (f"  needed: {_short(line)}" for line in reply["why"]["needed"][:4])
    elif "next_step_contract" in reply:
        yield f"✔ now in step {reply['next_step_contract']['step_name']}"
        yield indent(_task(str(reply["human_message"])), "│ ", lambda _: True)
    else:
        yield f"✔ {reply['status']}"


def _task(message: str) -> str:
    """What the agent shall do, without who it is."""
    return message.partition("## Your task")[2].partition("You start from:")[0].partition("\n")[2].strip()


def _sent(call: Mapping[str, Any]) -> str:
    """A call in one line: of a token its beginning, of an output its summary."""
    shown = dict(call)
    if "step_token" in shown:
        shown["step_token"] = f"{shown['step_token'][:6]}…{shown['step_token'][-4:]}"
    if "model_output_so_far" in shown:
        shown["model_output_so_far"] = {"summary": shown["model_output_so_far"]["summary"], "…": "…"}
    return _short(json.dumps(shown, ensure_ascii=False).replace(', "…": "…"', ", …"))


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else text[:_WIDTH] + "…"
