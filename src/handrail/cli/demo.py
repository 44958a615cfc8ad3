"""`handrail demo`: a scripted agent tries to cheat a real server, which is killed half-way.

`demo.yaml` has the script. The agent is an MCP client, and sees only what an agent sees.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import indent
from typing import Any, Final

import anyio
import click
import msgspec
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from handrail.app.faces import StepsStatus
from handrail.cli.output import Failure
from handrail.workflows.nodes import read_yaml, to_plain
from handrail.workflows.templates import render_template

# Writes its process id to a file and then becomes `handrail`, so that the demo can kill the server.
_START_SCRIPT: Final = (
    "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid())); "
    "os.execv(sys.executable, [sys.executable, '-m', 'handrail', *sys.argv[2:]])"
)

SCRIPT_FILE: Final = Path(__file__).with_name("demo.yaml")
TOOL_NAME: Final = "workflow_next_step"
_MAX_WIDTH: Final = 160


@dataclass(frozen=True, slots=True)
class Scene:
    """One scene: the text to show, and a call by the agent or a command typed by a person.

    With `kill`, the server is killed after the call. Its reply is lost, and a new server gets the same call.
    """

    tell: str
    call: Mapping[str, Any] = field(default_factory=dict)
    person: tuple[str, ...] = ()
    kill: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    """The script of the demo: the texts before and after, and the scenes."""

    opening: str
    closing: str
    scenes: tuple[Scene, ...]


@dataclass(slots=True)
class DemoState:
    """The state of the demo: the ids and tokens that the agent holds, and how many calls were refused."""

    folder: Path
    held: dict[str, str] = field(default_factory=dict)
    refused: int = 0

    @property
    def env(self) -> dict[str, str]:
        """The environment of the demo, with its own home folder: it never uses the user's files."""
        home = str(self.folder / "home")
        own = {"HOME": home, "XDG_DATA_HOME": f"{home}/data", "XDG_CONFIG_HOME": f"{home}/config"}
        return {**os.environ, **own, "HANDRAIL_STORE": str(self.folder / "handrail.db")}

    @property
    def pid_file(self) -> Path:
        """The file with the process id of the server."""
        return self.folder / "server.pid"

    def connect_client(self) -> Client:
        """Return a client that starts a server when it is entered."""
        words = ("serve", "--project", str(self.folder / "project"))
        args = ["-c", _START_SCRIPT, str(self.pid_file), *words]
        server = StdioServerParameters(command=sys.executable, args=args, env=self.env)
        return Client(stdio_client(server), mode="auto")


@click.command()
def demo() -> None:
    """Watch an agent try to cheat: a real server and client, a scripted agent, a kill half-way."""
    root = read_yaml(SCRIPT_FILE.read_text("utf-8"), str(SCRIPT_FILE)).root
    script = msgspec.convert(to_plain(root) if root else {}, Script)
    click.echo(script.opening, nl=False)
    with TemporaryDirectory() as folder:
        state = DemoState(Path(folder))
        for name in ("home", "project"):
            (state.folder / name).mkdir()
        reply = anyio.run(_play_scenes, state, script)
    if reply["status"] != StepsStatus.TASK_CLOSED:
        raise Failure("demo", "the run did not end", "report this: the demo walks to the end")
    synthesis = reply["synthesis"]
    steps = synthesis["model_output"]["steps_completed"]
    values = {"steps": steps, "refused": state.refused, "summary": synthesis["outcome_summary"]}
    click.echo("\n" + render_template(script.closing, values), nl=False)


async def _play_scenes(state: DemoState, script: Script) -> Mapping[str, Any]:
    """Play every scene in order and return the last reply."""
    reply: Mapping[str, Any] = {}
    async with AsyncExitStack() as running:
        client = await running.enter_async_context(state.connect_client())
        for number, scene in enumerate(script.scenes, start=1):
            click.echo(f"\n{number}. {scene.tell}")
            if scene.person:
                _run_typed_command(state, scene)
                continue
            call = {
                name: state.held[value[1:]] if isinstance(value, str) and value.startswith("@") else value
                for name, value in scene.call.items()
            }
            click.echo(f"   → {TOOL_NAME} {_format_call(call)}")
            reply = (await client.call_tool(TOOL_NAME, call)).structured_content or {}
            if scene.kill:
                # Without warning, as a power cut would.
                os.kill(int(state.pid_file.read_text("ascii")), signal.SIGKILL)
                await running.aclose()
                click.echo(
                    "   ✝ the server is killed (kill -9), its answer lost; another one gets the same call"
                )
                client = await running.enter_async_context(state.connect_client())
                if reply != (await client.call_tool(TOOL_NAME, call)).structured_content:
                    repair = "report this: a retried call is answered as before"
                    raise Failure("demo", "the second answer is another one", repair)
                click.echo("   ✔ the same answer, to the last character: nothing was done twice")
            _show_reply(state, reply)
    return reply


def _run_typed_command(state: DemoState, scene: Scene) -> None:
    """Run a command as a person would type it, and print its output."""
    words = [state.held["run"] if word == "@run" else word for word in scene.person]
    click.echo(f"   $ handrail {' '.join(words)}")
    done = subprocess.run(  # noqa: S603 - this very program, with words from our own script
        [sys.executable, "-m", "handrail", *words], env=state.env, capture_output=True, text=True, check=True
    )
    click.echo(indent(done.stdout, "   "), nl=False)


def _show_reply(state: DemoState, reply: Mapping[str, Any]) -> None:
    """Print the interesting part of a reply, and remember what the agent needs for its next call."""
    state.held["run"] = str(reply.get("execution_id", state.held.get("run", "")))
    token = str(reply.get("new_step_token", ""))
    if token and token != state.held.get("token"):
        state.held |= {"spent": state.held.get("token", ""), "token": token}
        state.held["forged"] = token[:-1] + ("A" if token[-1] != "A" else "B")
    lines = [f"✔ {reply['status']}"]
    if reply["status"] == StepsStatus.ERROR:
        state.refused += 1
        needed = [f"  needed: {_shorten(line)}" for line in reply["why"]["needed"][:4]]
        lines = [f"✘ refused: {reply['code']}. {reply['error']}", *needed]
    elif "next_step_contract" in reply:
        # The message without its persona.
        task = str(reply["human_message"]).partition("## Your task")[2].partition("You start from:")[0]
        lines = [
            f"✔ now in step {reply['next_step_contract']['step_name']}",
            indent(task.partition("\n")[2].strip(), "│ ", lambda _: True),
        ]
    for line in lines:
        click.echo(indent(line, "   "))


def _format_call(call: Mapping[str, Any]) -> str:
    """Format a call in one line, with the token shortened and the output reduced to its summary."""
    shown = dict(call)
    if "step_token" in shown:
        shown["step_token"] = f"{shown['step_token'][:6]}…{shown['step_token'][-4:]}"
    if "model_output_so_far" in shown:
        shown["model_output_so_far"] = {"summary": shown["model_output_so_far"]["summary"], "…": "…"}
    return _shorten(json.dumps(shown, ensure_ascii=False).replace(', "…": "…"', ", …"))


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_WIDTH else text[:_MAX_WIDTH] + "…"
