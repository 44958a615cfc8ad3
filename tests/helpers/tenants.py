"""A server with two projects and a person for each, and all that it has ever said to anybody."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from helpers.http_servers import FACES, HttpAnswer, HttpServer, run_http_program
from helpers.program import PROGRAM, run_command
from helpers.servers import (
    HELLO,
    META,
    TOOL,
    Place,
    ToolAnswer,
    build_note_output,
    create_place,
    read_tool_answer,
)

ALPHA: Final = """
workflow: alpha-only
version: 1
authority: sql
about: One step that only this project has
steps:
  - {name: only, agent: alpha-hand, task: "All of it."}
"""
GOAL: Final = {"type": "feat", "scope": "x", "title": "keep a secret"}
BOTH: Final = ("run:read", "run:write")
_GIT: Final = shutil.which("git") or "git"
ACCEPTS: Final = "application/json, text/event-stream"


@dataclass(frozen=True, slots=True)
class TenantUser:
    """Somebody with a token; `heard` is everything that the server has said, to whomever."""

    served: HttpServer = field(repr=False)
    secret: str
    heard: list[str] = field(repr=False)

    def send(
        self, face: str, headers: Mapping[str, str], message: Mapping[str, Any] | None, method: str = "POST"
    ) -> HttpAnswer:
        """Send a message with these headers, and what every request has."""
        body = json.dumps(message).encode() if message else b""
        usual = {
            "Host": f"127.0.0.1:{self.served.port}",
            "Authorization": f"Bearer {self.secret}",
            "Accept": ACCEPTS,
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
        }
        answered = self.served.ask(method, self.served.paths[face], {**usual, **headers}, body)
        self.heard.append(answered.text)
        return answered

    def ask(self, face: str, method: str, params: Mapping[str, Any], **meta: object) -> dict[str, Any]:
        """What a request of 2026 is answered with: its result or its error."""
        name = str(params.get("name", params.get("uri", "")))
        headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": method, "mcp-name": name}
        given = {**params, "_meta": {**META, **meta}}
        answered = self.send(face, headers, {"jsonrpc": "2.0", "id": 1, "method": method, "params": given})
        lines = answered.text.splitlines()
        events = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
        found: dict[str, Any] = json.loads(events[-1] if events else answered.text)
        assert found.pop("id") == 1, found
        return found

    def call(self, face: str, tool: str, arguments: Mapping[str, Any], **meta: object) -> ToolAnswer:
        """What a tool answers."""
        return read_tool_answer(
            self.ask(face, "tools/call", {"name": tool, "arguments": dict(arguments)}, **meta)
        )

    def step(self, **arguments: Any) -> ToolAnswer:  # noqa: ANN401 - also what is no argument
        """What the tool of the face `steps` answers."""
        return self.call("steps", TOOL, arguments)

    def read(self, uri: str, face: str = "steps") -> str:
        """What stands in a resource; of one that is not there, the error."""
        found = self.ask(face, "resources/read", {"uri": uri})
        return str(found["result"]["contents"][0]["text"]) if "result" in found else json.dumps(found)

    def greet(self, face: str) -> str:
        """Begin a session of 2025; its id."""
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
        answered = self.send(face, {}, hello)
        session = answered.headers["mcp-session-id"]
        self.in_session(face, session, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        return session

    def in_session(
        self, face: str, session: str, message: Mapping[str, Any] | None, how: str = "POST"
    ) -> HttpAnswer:
        """Send a message in a session."""
        headers = {"mcp-protocol-version": "2025-11-25", "mcp-session-id": session}
        return self.send(face, headers, message, how)


@dataclass(frozen=True, slots=True)
class TenantServer:
    """The server, where it lives, and everything it has said."""

    at: Place
    served: HttpServer
    heard: list[str] = field(default_factory=list)

    @property
    def alpha(self) -> Path:
        """The project that ann works in."""
        return self.at.folder / "srv" / "alpha-root"

    @property
    def beta(self) -> Path:
        """The project that bob works in."""
        return self.at.folder / "srv" / "beta-root"

    def project_id(self, name: str) -> str:
        """The id of a project."""
        found = {
            one["name"]: one["project_id"] for one in run_json_command(self.at, "project", "list")["projects"]
        }
        return str(found[name])

    def person(
        self, name: str, *projects: str, scopes: tuple[str, ...] = BOTH, expires: str = "1d"
    ) -> TenantUser:
        """Somebody with a new token for these projects; without any, for all."""
        return TenantUser(
            self.served,
            create_token(self.at, name, *projects, scopes=scopes, expires=expires)["secret"],
            self.heard,
        )


def run_json_command(at: Place, *words: str | Path) -> dict[str, Any]:
    """What a command over the store of this place prints as JSON."""
    done = run_command(*words, "--store", at.store, "--json", cwd=at.folder)
    assert done.status == 0, done.err
    return done.data


def create_token(
    at: Place, name: str, *projects: str, scopes: tuple[str, ...] = BOTH, expires: str = "1d"
) -> dict[str, Any]:
    """A new token, with its secret."""
    words = [word for scope in scopes for word in ("--scope", scope)]
    words += [word for project in projects for word in ("--project", project)]
    found: dict[str, Any] = run_json_command(at, "token", "create", name, *words, "--expires", expires)[
        "token"
    ]
    return found


def create_repository(folder: Path, env: Mapping[str, str]) -> None:
    """Make a folder the one of a repository with a commit."""
    person = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org")
    for words in (("init", "-q", "-b", "main"), (*person, "commit", "-q", "--allow-empty", "-m", "first")):
        subprocess.run([_GIT, *words], cwd=folder, env=dict(env), check=True)


@contextmanager
def run_tenant_server(folder: Path) -> Iterator[TenantServer]:
    """A server that asks for tokens, with two projects that are repositories."""
    at = create_place(folder)
    for name in ("alpha", "beta"):
        root = folder / "srv" / f"{name}-root"
        (root / ".handrail" / "workflows").mkdir(parents=True)
        for file in (at.project / ".handrail" / "workflows").iterdir():
            (root / ".handrail" / "workflows" / file.name).write_bytes(file.read_bytes())
        create_repository(root, at.env)
        run_json_command(at, "project", "add", name, root)
    own = folder / "srv" / "alpha-root" / ".handrail"
    (own / "workflows" / "alpha-only.yaml").write_text(ALPHA, "utf-8")
    for kind in ("agents", "guardrails"):
        (own / kind).mkdir()
    (own / "agents" / "alpha-hand.md").write_text("Work as they do in alpha.\n", "utf-8")
    (own / "guardrails" / "alpha-rule.md").write_text("Keep to the rules of alpha.\n", "utf-8")
    create_token(at, "keeper", scopes=("admin",))
    words = (str(PROGRAM), "serve", "--store", str(at.store), "--http", "127.0.0.1:0", "--auth", "token")
    git = {"GIT_AUTHOR_NAME": "S", "GIT_COMMITTER_NAME": "S", "EMAIL": "s@example.org"}
    with run_http_program(at, words, {**at.env, **git}, FACES) as served:
        yield TenantServer(at, served)


@dataclass(frozen=True, slots=True)
class TenantWork:
    """What somebody has done in a project: a run under way with its token, and one that is over."""

    run: str
    token: str
    over: str
    spell: str
    skill: str
    plan: str


def use_every_face(person: TenantUser, name: str) -> TenantWork:
    """Somebody uses every face; what they leave has the name in it."""
    first = person.step(template_name="walk", goal=f"the goal of {name}")
    kind = [{"type": "note", "title": f"Note of {name}", "content": f"Words of {name}."}]
    moved = person.step(step_token=first.token, model_output_so_far=build_note_output(artifacts=kind))
    other = person.step(template_name="brief")
    made = [{"type": f"{name}-kind", "title": f"End of {name}", "content": f"More words of {name}."}]
    person.step(step_token=other.token, model_output_so_far=build_note_output(artifacts=made))
    spell = person.call("spells", "accio", {})
    begins = {"project": name, "session": f"{name}-session", "skill": "collab-start"}
    skill = person.call("skills", "complete_skill", begins)
    plan = person.call(
        "planner",
        "set_overarching_goal",
        {"goal": {**GOAL, "scope": name, "title": f"keep the secret of {name}"}},
    )
    tokens = [str(one.reply["step_token"]) for one in (spell, skill, plan)]
    return TenantWork(first.run, moved.token, other.run, *tokens)
