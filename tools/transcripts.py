"""Record what the program answers, and compare that with an earlier record.

    python tools/transcripts.py record FOLDER     writes one plain file per subject
    python tools/transcripts.py compare FOLDER    records again; prints a diff; exits with 1 if there is one

It starts the installed `handrail` and imports nothing from it, so that the source tree may change while the
record stays. Every process gets a clock that stands still and that only this tool moves, so times and
durations are the same in every record. What is still random becomes a placeholder, numbered by first sight.
"""

import asyncio
import difflib
import http.client
import json
import mmap
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

Json = dict[str, Any]

ROOT: Final = Path(__file__).resolve().parent.parent
PROGRAM: Final = Path(sys.executable).parent / "handrail"
BEGINS: Final = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
TICK: Final = 1.25
"""How many seconds the clock goes on before each call."""

SECONDS: Final = 120
"""How long anything at all may take: a bound for liveness."""

NOBODY: Final = "99999999-9999-4999-8999-999999999999"
"""The id of no run."""

MALFORMED: Final = "nothing"
FORGED: Final = "A" * 72
"""A text that looks like a step token, and that no store has given out."""


# --- the clock ----------------------------------------------------------------------------------------------

CLOCK_SOURCE: Final = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long long *shown;

__attribute__((constructor)) static void open_clock(void) {
    const char *path = getenv("TRANSCRIPT_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *page = mmap(NULL, sizeof(long long), PROT_READ, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) shown = page;
    close(file);
}

int clock_gettime(clockid_t id, struct timespec *at) {
    if (!shown || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE))
        return (int)syscall(SYS_clock_gettime, id, at);
    long long now = *shown;
    at->tv_sec = now / 1000000000LL;
    at->tv_nsec = now % 1000000000LL;
    return 0;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
"""
"""A library that is loaded before any other and answers what time it is. Timeouts use another clock."""


def build_clock(folder: Path) -> Path:
    """Compile the library of the clock."""
    source, library = folder / "clock.c", folder / "clock.so"
    source.write_text(CLOCK_SOURCE, "utf-8")
    compiler = shutil.which("cc")
    if compiler is None:
        raise SystemExit("there is no C compiler (cc): tools/setup packages brings one")
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


class Clock:
    """The time that the processes of one place see."""

    def __init__(self, file: Path) -> None:
        self.file = file
        file.write_bytes(bytes(8))
        with file.open("r+b") as opened:
            self._page = mmap.mmap(opened.fileno(), 8)
        self._now = int(BEGINS.timestamp() * 1_000_000_000)
        self.move(0)

    def move(self, seconds: float) -> None:
        """Let so much time pass."""
        self._now += int(seconds * 1_000_000_000)
        self._page[:8] = struct.pack("=q", self._now)


# --- placeholders -------------------------------------------------------------------------------------------

PATTERNS: Final = re.compile(
    r"(?P<id>\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b)"
    r"|(?P<secret>\bhr_[A-Za-z0-9_-]{20,})"
    r"|(?P<link>(?<=/in/)[A-Za-z0-9_-]{16,})"
    r"|(?P<token>(?<![A-Za-z0-9_-])(?=[A-Za-z0-9_-]*[0-9_-])[A-Za-z0-9_-]{72}(?![A-Za-z0-9_-]))"
    r"|(?P<hash>\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b)"
    r"|(?P<change>\b[k-z]{32}\b)"
    r"|(?P<short>\b(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{12}\b)"
    r"|(?P<incident>(?<=incident )[0-9a-f]{8}\b)"
    r"|(?P<digest>\b(?=[a-f]*[0-9])[0-9a-f]{16}\b)"
)


class Names:
    """Gives each random word of one transcript a name: the first id is `<id-1>`."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {NOBODY: NOBODY, FORGED: FORGED}
        self._counts: dict[str, int] = {}

    def apply(self, text: str) -> str:
        """The text with names in place of random words, and of the first eight digits of an id."""
        named = PATTERNS.sub(self._name, text)
        short = {word[:8]: f"{name[:-1]}:8>" for word, name in self._given.items() if name.startswith("<id-")}
        return re.sub(r"\b[0-9a-f]{8}\b", lambda found: short.get(found.group(), found.group()), named)

    def _name(self, found: re.Match[str]) -> str:
        kind, word = str(found.lastgroup), found.group()
        if word not in self._given:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._given[word] = f"<{kind}-{self._counts[kind]}>"
        return self._given[word]


# --- where a transcript is taken ----------------------------------------------------------------------------


@dataclass(slots=True)
class Book:
    """One transcript: what was asked, and what was answered."""

    parts: list[str] = field(default_factory=list)

    def add(self, *parts: str) -> None:
        """Write these parts, each on lines of its own."""
        self.parts += [part if part.endswith("\n") else f"{part}\n" for part in parts if part]

    def ask(self, what: str) -> None:
        """Write what is asked next."""
        self.add(f"\n=== {what}")

    def data(self, value: object) -> None:
        """Write a value as JSON."""
        self.add(show(value))

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self.parts).lstrip("\n")


def show(value: object) -> str:
    """A value as JSON that reads well in a diff."""
    return json.dumps(value, indent=1, ensure_ascii=False)


class Place:
    """A folder with a home, projects and a store of its own, and the processes that run there."""

    def __init__(self, folder: Path, library: Path, store: str = "") -> None:
        self.folder, self.store = folder, store
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        self.clock = Clock(folder / "clock")
        self.books: dict[str, Book] = {}
        tools = folder / "bin"
        tools.mkdir()
        for name, path in (("git", shutil.which("git")), ("jj", ROOT / ".tools" / "bin" / "jj")):
            if path is None or not Path(path).exists():
                raise SystemExit(f"there is no {name}: tools/setup packages brings it")
            (tools / name).symlink_to(Path(path).resolve())
        (tools / "handrail").symlink_to(PROGRAM)
        self.env = {
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_DATA_HOME": str(self.home / ".local" / "share"),
            "XDG_STATE_HOME": str(self.home / ".local" / "state"),
            "XDG_RUNTIME_DIR": str(folder / "runtime"),
            "PATH": str(tools),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "USER": "ada",
            "LOGNAME": "ada",
            "COLUMNS": "80",
            "GIT_CONFIG_NOSYSTEM": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "LD_PRELOAD": str(library),
            "TRANSCRIPT_CLOCK": str(self.clock.file),
        } | ({"HANDRAIL_STORE": store} if store else {})
        (self.home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n", "utf-8")
        jj = self.home / ".config" / "jj" / "config.toml"
        jj.parent.mkdir(parents=True)
        jj.write_text('[user]\nname = "Ada"\nemail = "ada@example.org"\n', "utf-8")

    def book(self, name: str) -> Book:
        """The transcript of this name."""
        return self.books.setdefault(name, Book())

    def project(self, name: str, vcs: str = "git", files: Mapping[str, str] | None = None) -> Path:
        """A new project in git, in jj or in none, with these files committed."""
        folder = self.folder / name
        write(folder, files or {})
        if vcs == "git":
            self.run("git", "init", "-q", "-b", "main", cwd=folder)
            self.run("git", "add", "--all", cwd=folder)
            self.run("git", "commit", "-q", "--allow-empty", "-m", "first", cwd=folder)
        elif vcs == "jj":
            self.run("jj", "git", "init", "--no-colocate", cwd=folder)
            self.run("jj", "commit", "-m", "first", cwd=folder)
        return folder

    def run(self, *words: str, cwd: Path) -> str:
        """What a program says that must end well."""
        program = str(self.folder / "bin" / words[0])
        done = subprocess.run(
            [program, *words[1:]],
            cwd=cwd,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(words)}: {done.stderr}")
        return done.stdout

    def cli(self, book: Book, *words: str, cwd: Path | None = None, given: str = "", **env: str) -> str:
        """Run a command of the program and write down what came of it; what it said on stdout."""
        self.clock.move(TICK)
        done = subprocess.run(
            [PROGRAM, *words],
            cwd=cwd or self.folder,
            env=self.env | env,
            input=given,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        shown = " ".join(quoted(word) for word in ("handrail", *words))
        book.ask(f"$ {shown}" + (f"  # in {cwd}" if cwd else ""))
        book.add(*(f"< {line}" for line in given.splitlines()))
        book.add(*(f"{name}={value}" for name, value in env.items()))
        book.add(f"[exit {done.returncode}]", done.stdout)
        if done.stderr:
            book.add("--- stderr", done.stderr)
        return done.stdout

    def texts(self) -> dict[str, str]:
        """The transcripts by the names of their files, without what is random."""
        literal = {
            str(self.folder): "<place>",
            quote(str(self.folder), safe=""): "<place>",
            str(PROGRAM.parent): "<bin>",
            str(ROOT): "<repository>",
        }
        return {name: clean(book.text, literal) for name, book in self.books.items()}


def clean(text: str, literal: Mapping[str, str]) -> str:
    """A text without what is random or of this machine."""
    for found, name in literal.items():
        text = text.replace(found, name)
    text = re.sub(r"127\.0\.0\.1:\d{4,5}", "127.0.0.1:<port>", text)
    return Names().apply(text)


def quoted(word: str) -> str:
    """A word as it is typed in a shell."""
    return word if re.fullmatch(r"[\w./:=@<>-]+", word) else f"'{word}'"


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write these files below a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="")


# --- a client -----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Talk:
    """A client at a server; what is asked and answered is written down."""

    place: Place
    book: Book
    client: Client
    project: str
    """What the server calls the project: over HTTP a name, over stdin its path."""

    folder: Path

    async def call(self, tool: str, /, **given: object) -> Json:
        """Call a tool; the structured answer, empty after an error of the protocol."""
        self.place.clock.move(TICK)
        self.book.ask(f"{tool} {json.dumps(given, ensure_ascii=False)}")
        try:
            result = await self.client.call_tool(tool, dict(given))
        except MCPError as error:
            self.failed(error)
            return {}
        if result.is_error:
            self.book.add("[is_error]")
        for part in result.content:
            self.book.add(getattr(part, "text", "") or show(part.model_dump(mode="json", by_alias=True)))
        if result.structured_content is not None:
            self.book.add("--- structured")
            self.book.data(result.structured_content)
        found: Json = result.structured_content or {}
        return found

    async def ask(self, what: str, asked: Callable[[], Any]) -> Any:  # noqa: ANN401 - any answer of the SDK
        """Ask for something else than a tool; what the SDK makes of the answer, None after an error."""
        self.place.clock.move(TICK)
        self.book.ask(what)
        try:
            result = await asked()
        except MCPError as error:
            self.failed(error)
            return None
        self.book.data(result.model_dump(mode="json", by_alias=True, exclude_none=True))
        return result

    async def read(self, uri: str) -> None:
        """Read a resource, its text as it is."""
        self.place.clock.move(TICK)
        self.book.ask(f"read {uri}")
        try:
            result = await self.client.read_resource(uri)
        except MCPError as error:
            self.failed(error)
            return
        for one in result.contents:
            told = one.model_dump(mode="json", by_alias=True, exclude_none=True)
            text = told.pop("text", "")
            self.book.add(json.dumps(told), text)

    def failed(self, error: MCPError) -> None:
        """Write down an error of the protocol."""
        self.book.add(f"[error {error.error.code}] {error.error.message}")
        if error.error.data is not None:
            self.book.data(error.error.data)

    def write(self, name: str, text: str) -> None:
        """Write a file of the project, as an agent or a person does."""
        write(self.folder, {name: text})
        self.book.ask(f"(writes {name}, {len(text)} characters)")

    def remove(self, name: str) -> None:
        """Remove a file of the project."""
        (self.folder / name).unlink()
        self.book.ask(f"(removes {name})")

    def person(self, *words: str) -> None:
        """What a person does on the command line meanwhile."""
        self.place.cli(self.book, *words)

    async def introduce(self) -> None:
        """What the server tells of itself, and all that it lists."""
        client, book = self.client, self.book
        book.ask("instructions")
        book.add(client.instructions or "(none)")
        book.ask("server")
        about = client.server_info
        book.data(about and about.model_dump(mode="json", exclude_none=True))
        book.data(client.server_capabilities.model_dump(mode="json", by_alias=True, exclude_none=True))
        await self.ask("tools/list", client.list_tools)
        await self.prompts()
        await self.ask("resources/templates/list", client.list_resource_templates)
        listed = await self.ask("resources/list", client.list_resources)
        for one in listed.resources:
            await self.read(str(one.uri))
        await self.read("nothing://at-all")

    async def prompts(self) -> None:
        """Every prompt, bare and with all its arguments."""
        listed = await self.ask("prompts/list", self.client.list_prompts)
        for one in listed.prompts:
            filled = {each.name: f"some {each.name}" for each in one.arguments or ()}
            for given in ({}, filled) if filled else ({},):
                await self.prompt(one.name, given)
        await self.prompt("no-such-prompt", {})

    async def prompt(self, name: str, given: dict[str, str]) -> None:
        """One prompt, its texts as they are."""
        self.book.ask(f"prompt {name} {json.dumps(given)}")
        try:
            result = await self.client.get_prompt(name, given)
        except MCPError as error:
            self.failed(error)
            return
        self.book.add(result.description or "")
        for one in result.messages:
            self.book.add(f"[{one.role}]", getattr(one.content, "text", "(no text)"))


@asynccontextmanager
async def over_stdio(
    place: Place,
    book: Book,
    face: str,
    folder: Path,
    *words: str,
    **more: Any,  # noqa: ANN401 - of the SDK
) -> AsyncIterator[Talk]:
    """A client at a server process of its own."""
    args = ["serve", "--face", face, "--project", str(folder), *words]
    started = StdioServerParameters(command=str(PROGRAM), args=args, env=place.env, cwd=folder)
    place.clock.move(TICK)
    book.ask(f"$ handrail {' '.join(args)}")
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        async with Client(stdio_client(started, errors), cache=None, **more) as client:
            yield Talk(place, book, client, str(folder), folder)
        errors.seek(0)
        said = errors.read()
    add_log(book, said)


def add_log(book: Book, said: str) -> None:
    """Write down what a server said on stderr, without the source lines of a traceback."""
    kept = [
        re.sub(r"\s+\w+\.py:\d+$", "", line) for line in said.splitlines() if not re.search("[╭│╰]", line)
    ]
    if kept:
        book.ask("stderr of the server")
        book.add("\n".join(kept))


# --- the face `steps` ---------------------------------------------------------------------------------------

STEPS_FILES: Final = {
    "walk.yaml": """workflow: walk
version: 1
authority: sql
about: Four steps in a row
inputs:
  what: {type: string, default: "", about: What is walked for}
steps:
  - {name: one, agent: architect, task: "First.", contract: {artifacts: [note], min_confidence: 0.5}}
  - {name: two, agent: implementer, task: "Second.", forbidden_actions: [Guess], done_when: [It is done]}
  - {name: three, agent: tester, task: "Third, for {{run.inputs.what}}."}
  - {name: four, agent: writer, task: "Fourth."}
""",
    "brief.yaml": """workflow: brief
version: 1
authority: sql
about: One step
steps:
  - {name: only, agent: implementer, task: "All of it."}
""",
    "gated.yaml": """workflow: gated
version: 1
authority: sql
about: One step that asks for much
steps:
  - name: weigh
    agent: reviewer
    task: Weigh it.
    inputs: [the thing]
    allowed_actions: [Use the scales]
    forbidden_actions: [Guess]
    done_when: [It is weighed]
    contract:
      artifacts: [weight]
      min_confidence: 0.9
      no_blockers: true
      schema: {properties: {grams: {type: integer}}, required: [grams]}
""",
    "article.yaml": """workflow: article
version: 1
authority: sql
about: Written until a review is content, three times at most
steps:
  - {name: write, agent: writer, task: Write the article., attempts: 2}
  - name: review
    agent: reviewer
    task: Read it as a stranger would.
    contract: {schema: {properties: {verdict: {enum: [good, again]}}, required: [verdict]}}
    next:
      - {accept: ['output.verdict == "good"'], to: print}
      - {to: write}
      - {to: decide}
  - {name: decide, agent: supervisor, task: Say what should happen now.}
  - {name: print, agent: implementer, task: Print it.}
""",
    "triage.yaml": """workflow: triage
version: 1
authority: sql
about: A router, and two guards that can go wrong
inputs: {severity: [low, high], pages: int?}
states:
  look: {agent: supervisor, task: Say what this is about., attempts: 2}
  sort: {router: true}
  call: {agent: supervisor, task: Call the customer now., edits: "src/**"}
  queue: {agent: supervisor, task: Put it into the queue., edits: none}
  closed: {terminal: true}
transitions:
  - {id: T1, from: look, trigger: continue, to: sort}
  - {id: T2, from: sort, when: ['run.inputs.severity == "high"'], to: call}
  - {id: T3, from: sort, to: queue}
  - {id: T4, from: call, trigger: continue, when: [run.inputs.pages > 3], to: closed}
  - {id: T5, from: queue, trigger: continue, accept: [output.confidence > 0.8], to: closed}
""",
    "proofreading.yaml": """workflow: proofreading
version: 1
authority: sql
steps:
  - {name: spelling, agent: reviewer, task: Find what is misspelt.}
  - {name: facts, agent: tester, task: Check every number and every name.}
""",
    "brochure.yaml": """workflow: brochure
version: 1
authority: sql
steps:
  - {name: write, agent: writer, task: Write the brochure.}
  - {name: proof, workflow: proofreading}
  - {name: print, agent: implementer, task: Print it.}
""",
    "proposal.yaml": """workflow: proposal
version: 1
authority: sql
vars: {came_from: state?}
tools:
  submit: {about: Hand the proposal over, who: agent}
  approve: {about: Let it pass, who: person}
  reject: {about: Send it back, who: person, params: {why: string}}
  halt: {about: Put it aside, who: person}
  go_on: {about: Take it up again, who: person}
states:
  drafting: {about: The agent writes}
  waiting: {about: A person reads}
  halted: {about: Put aside}
  approved: {terminal: true}
transitions:
  - {id: P1, from: drafting, trigger: submit, to: waiting, say: handed_over}
  - {id: P2, from: waiting, trigger: approve, to: approved}
  - {id: P3, from: waiting, trigger: reject, accept: ['event.why != ""'], to: drafting, say: sent_back}
  - {id: P4, from: "*", except: halted, trigger: halt, to: halted, set: {came_from: "@state"}}
  - {id: P5, from: halted, trigger: go_on, to: "@came_from", set: {came_from: null}}
  - {id: P6, from: drafting, trigger: approve, refuse: too_early}
texts:
  handed_over: The proposal is with a person now. Wait.
  sent_back: "Sent back: {{event.why}}"
  too_early: There is nothing to approve yet.
""",
    "stranger.yaml": """workflow: stranger
version: 1
authority: sql
steps:
  - {name: only, agent: nobody-knows, task: Be somebody.}
""",
    "nightly.yaml": """workflow: nightly
version: 1
authority: sql
about: What runs every night
states:
  collect: {agent: implementer, task: Collect what changed.}
  report: {agent: writer, task: Write it down.}
  lost: {agent: writer, task: Nobody comes here.}
  done: {terminal: true}
transitions:
  - {id: N1, from: collect, trigger: continue, to: report}
  - {id: N2, from: report, trigger: continue, to: done}
  - {id: N3, from: lost, trigger: continue, to: done}
""",
    "broken.yaml": "workflow: broken\nversion: 1\nauthority: sql\nsteps: [{name: a}]\nextra: 1\n",
    "docs.yaml": """workflow: docs
version: 1
authority: sql
about: Hides the one that comes with the program
steps:
  - {name: only, agent: writer, task: Write anything.}
""",
}
"""Workflows of the project, by the names of their files."""

GUARDRAIL: Final = """---
about: Secrets stay secret
workflows: [walk, bug-fix]
---
# Secrets

Never print a secret, and never commit one.

| Instead of | write |
|:--|:--|
| the password | the name of the variable |
"""
TESTER: Final = "---\nabout: Breaks things\n---\nTry to break it.\n"


def step_project_files() -> dict[str, str]:
    """What a project has in which steps are walked."""
    return {
        **{f".handrail/workflows/{name}": text for name, text in STEPS_FILES.items()},
        ".handrail/guardrails/secrets.md": GUARDRAIL,
        ".handrail/agents/tester.md": TESTER,
        "src/save.py": "def save(): ...\n",
    }


def output(kind: str = "note", title: str = "A note", content: str = "It is noted.", **more: object) -> Json:
    """An output of a step."""
    artifact = {"type": kind, "title": title, "content": content}
    return {"summary": title, "artifacts": [artifact], "references": [], "confidence": 0.9} | more


SAVE_TWICE: Final = "run-tests save_twice"
PATCH: Final = output(
    "patch",
    "Compare hashes",
    "- if stamp > last\n+ if digest != last\n",
    files=["src/save.py"],
    exit_code=0,
    suite="run-tests",
    failing_before=1,
    failing_after=0,
)
REVIEW: Final = output(
    "review",
    "Seen to fail and to pass",
    "2 runs without, 2 with\n",
    verdict="good",
    checked_by="other_agent",
    command=SAVE_TWICE,
    exit_before=1,
    exit_after=0,
)
BUG_FIX: Final = (
    output("reproduction", "Save twice", "def test_save_twice(): ...\n", command=SAVE_TWICE, exit_code=1),
    output(
        "diagnosis",
        "Timestamps too coarse",
        "src/save.py:41 drops equal stamps\n",
        reproducible=True,
        location="src/save.py:41",
    ),
    PATCH,
    REVIEW | {"verdict": "again", "summary": "The same comparison is in autosave."},
    PATCH | {"files": ["src/save.py", "src/autosave.py"], "decisions": ["One comparison for both"]},
    REVIEW | {"command": "run-tests quick"},
    REVIEW | {"findings": ["Nothing else compares times"]},
)
"""What is handed in for each step of `bug-fix`; the first review sends it back, the second is refused."""

NEXT: Final = "workflow_next_step"


@dataclass(slots=True)
class Stepper:
    """An agent at the face `steps`, which passes on the last token."""

    talk: Talk
    run: str = ""
    token: str = ""

    async def send(self, **given: object) -> Json:
        """Call the tool."""
        told = await self.talk.call(NEXT, **given)
        self.token = told.get("new_step_token") or self.token
        return told

    async def start(self, template: str, **more: object) -> Json:
        """Start a run."""
        told = await self.send(template_name=template, **more)
        self.run = told.get("execution_id") or self.run
        return told

    async def go_on(self, given: Json | None = None, token: str = "") -> Json:
        """Hand in an output."""
        return await self.send(step_token=token or self.token, model_output_so_far=given or output())

    async def act(self, action: str, **more: object) -> Json:
        """Act on the run."""
        return await self.send(execution_id=self.run, action=action, **more)


async def talk_steps(talk: Talk) -> None:
    """The whole conversation of the face `steps`."""
    await talk.introduce()
    await Stepper(talk).start("walk", goal="With a persona that nobody trusts")
    talk.person("trust", "--list", "--project", str(talk.folder))
    talk.person("trust", "tester", "--yes", "--project", str(talk.folder))
    await walk_to_the_end(Stepper(talk))
    await fix_a_bug(Stepper(talk))
    await refuse_starts(Stepper(talk))
    await refuse_tokens(Stepper(talk))
    await pause_and_end(Stepper(talk))
    await take_branches(Stepper(talk))
    await read_runs(Stepper(talk))


async def walk_to_the_end(agent: Stepper) -> None:
    """A run from its start to its end, and what can be asked of it then."""
    begun = await agent.start("walk", goal="See the end", inputs={"what": "fun"}, metadata={"ticket": "7"})
    run, first = agent.run, agent.token
    await agent.go_on(output(confidence=0.2, artifacts=[], summary=" ", extra=1))
    await agent.go_on(output(summary="It is drawn.", decisions=["Two rooms"], references=["plan.md"]))
    await agent.go_on(output(summary="It is drawn.", decisions=["Two rooms"], references=["plan.md"]), first)
    await agent.go_on(output(summary="Other."), first)
    agent.talk.person("runs", "comment", run, "Please keep the old name.\n\nWe ship on *Thursday*.")
    old = agent.token
    await agent.send(execution_id=run)
    await agent.go_on(token=old)
    await agent.send(step_token=agent.token, action="why")
    await agent.act("why")
    await agent.act("complete_step", model_output_so_far=output(summary="Done by hand."))
    await agent.send(execution_id=run)
    await agent.go_on(output(blockers=["No scales"], findings=["It is heavy"]))
    await agent.send(execution_id=run)
    await agent.go_on(output(summary="The end."))
    await agent.go_on(output(summary="The end."))
    await agent.go_on(output(summary="Another end."))
    await agent.send(execution_id=run)
    await agent.act("why")
    await agent.act("pause")
    await agent.act("fork", step_name="nowhere")
    await agent.act("fork", step_name="two")
    agent.run = run
    await agent.act("fork")
    agent.run = begun.get("execution_id", "")


async def fix_a_bug(agent: Stepper) -> None:
    """The workflow `bug-fix` with a way back, to its end."""
    await agent.start("bug-fix")
    await agent.start("bug-fix", goal="Save", inputs={"report": "Saving twice loses the second change."})
    await agent.act("fork", step_name="prove")
    for given in BUG_FIX:
        await agent.go_on(given)


async def refuse_starts(agent: Stepper) -> None:
    """Calls that start nothing."""
    await agent.start("nothing")
    await agent.start("Walk")
    await agent.start("broken")
    await agent.start("nightly")
    await agent.start("stranger")
    await agent.start("docs")
    await agent.start("spells")
    await agent.start("walk", inputs={"what": 5})
    await agent.start("walk", inputs={"other": "x"})
    await agent.start("walk", inputs=5)
    await agent.start("walk", project="/nowhere")
    await agent.start("walk", project=agent.talk.project, goal="By its project")
    await agent.start("triage", inputs={"severity": "middling"})
    await agent.send()
    await agent.send(template_name="walk", execution_id=NOBODY)
    await agent.send(execution_id=NOBODY)
    await agent.send(execution_id="no id")
    await agent.send(execution_id=NOBODY, action="dance")
    await agent.send(unknown=True)
    await agent.talk.call("next_step", template_name="walk")
    await agent.talk.call("workflow.next_step", template_name="brief", goal="By the other name")


async def refuse_tokens(agent: Stepper) -> None:
    """Tokens that open nothing."""
    await agent.go_on(token=MALFORMED)
    await agent.go_on(token=FORGED)
    await agent.start("brief", goal="Too late")
    agent.talk.place.clock.move(660)
    await agent.go_on()
    await agent.go_on()
    await agent.start("brief", goal="Turned over")
    await agent.go_on(token=agent.token[:-1] + ("A" if agent.token[-1] != "A" else "B"))
    await agent.send(step_token=agent.token)
    await agent.send(step_token=agent.token, model_output_so_far="text")
    await agent.send(step_token=agent.token, model_output_so_far={})


async def pause_and_end(agent: Stepper) -> None:
    """Pauses, and the three ends that are no completion."""
    await agent.start("walk", goal="Rests")
    good = agent.token
    await agent.act("resume")
    await agent.act("pause", reason="Lunch")
    await agent.act("pause")
    await agent.go_on(token=good)
    await agent.send(execution_id=agent.run)
    await agent.act("why")
    await agent.act("complete_step", model_output_so_far=output())
    await agent.act("resume")
    await agent.act("complete_step")
    await agent.act("complete_step", model_output_so_far={})
    await agent.act("fork")
    for action in ("abandon", "diverge", "fail"):
        await agent.start("walk", goal=f"To {action}")
        await agent.go_on()
        await agent.act(action)
        await agent.act(action, reason=" ")
        await agent.act(action, reason="It is enough.")
        await agent.act(action, reason="It is enough.")
        await agent.go_on()
        await agent.act("why")
        await agent.act("fork", step_name="four")
        await agent.act("fork", reason="Once more")


async def take_branches(agent: Stepper) -> None:
    """Loops with a cap, a router, guards that fail, and a workflow inside another."""
    await agent.start("gated")
    await agent.go_on()
    await agent.go_on(output("weight", grams="many", blockers=["No scales"]))
    await agent.go_on(output("weight", grams=7))
    await agent.start("article", goal="An article")
    for _ in range(2):
        await agent.go_on(output(summary="Written."))
        await agent.go_on(output(summary="Not yet.", verdict="again"))
    await agent.go_on(output(summary="Stop here."))
    await agent.start("triage", inputs={"severity": "high"}, goal="A guard that cannot be evaluated")
    await agent.go_on()
    await agent.go_on()
    await agent.start("triage", inputs={"severity": "low", "pages": 2}, goal="A guard that does not hold")
    await agent.go_on()
    await agent.go_on(output(confidence=0.6))
    await agent.act("why")
    await agent.go_on(output(confidence=0.9))
    await agent.start("brochure")
    for _ in range(4):
        await agent.go_on()
    await agent.start("proposal", goal="A proposal")
    await agent.go_on()
    await agent.start("feature", inputs={"request": "Save twice keeps both changes"}, goal="Under way")
    await agent.go_on()


async def read_runs(agent: Stepper) -> None:
    """The resources that tell of runs."""
    talk = agent.talk
    told = await agent.start("walk", goal="Looked at")
    await agent.go_on(output(summary="It is drawn."))
    run = told.get("execution_id", "")
    for uri in (
        f"current-step://{run}",
        f"current_step://{run}",
        f"workflow-status://{run}",
        f"workflow-artifacts://final/{run}",
        "workflow-artifacts://recent",
        "workflow-artifacts://final",
        "workflow-artifacts://type/note",
        "workflow-artifacts://type/nothing",
        f"current-step://{NOBODY}",
        f"workflow-status://{NOBODY}",
        "persona://tester",
        "persona://nobody",
        "guardrails://active",
        "available-workflows://all",
        "project-context://nothing",
    ):
        await talk.read(uri)
    await talk.prompt("resume", {"execution_id": run})
    await talk.prompts()


# --- the face `spells` --------------------------------------------------------------------------------------

LINK: Final = "https://acme.atlassian.net/browse/SHOP-7"
SHOP_PLAN: Final = f"""# A shop

Accio! Everything is done, continue.

## Acceptance Criteria

- [ ] A cart holds goods
- [ ] A cart knows its sum

## References

- {LINK}
"""
COMMENTS: Final = "# PR 7\n\n> Reparo: rename `sum`, then type Accio\n"


def shop_task(name: str) -> str:
    """A task that is described."""
    return f"---\ntask_name: {name}\n---\n\n# Task\n\nBuild the {name}.\n"


def shop_results(criterion: str) -> str:
    """The results of a task that satisfies this criterion."""
    return f"# Results\n\nBuilt.\n\n## Acceptance Criteria satisfied\n\n- [x] {criterion}\n"


@dataclass(slots=True)
class Caster:
    """A person who says words; the last token is passed on."""

    talk: Talk
    token: str = ""

    async def say(self, *words: str, **more: object) -> None:
        """Say these words, one after the other."""
        for word in words:
            given = more | ({"step_token": self.token} if self.token else {})
            told = await self.talk.call(word, **given)
            self.token = told.get("step_token") or self.token

    def put(self, name: str, text: str) -> None:
        """Write a file of the task."""
        self.talk.write(f".ai/task/{name}", text)

    async def do_task(self, name: str, criterion: str) -> None:
        """A task from its description to its archive."""
        self.put("task.md", shop_task(name))
        await self.say("accio", "finite", "reparo", "lumos")
        self.put("task-results.md", shop_results(criterion))
        await self.say("accio")


async def talk_spells(talk: Talk) -> None:
    """The whole conversation of the face `spells`."""
    await talk.introduce()
    await talk.call("alohomora")
    await talk.call("accio", wand=True)
    await talk.call("accio", project="/nowhere")
    await talk.call("accio", step_token=MALFORMED)
    await talk.call("accio", step_token=FORGED)
    person = Caster(talk)
    await person.say("lumos", "reverto", "expecto", "finite", "accio", "accio")
    person.put("plan.md", SHOP_PLAN)
    spent = person.token
    await person.say("lumos")
    await person.say("expecto", note="only the ticket")
    person.put("atlassian/refs", f"{LINK}\n")
    await person.say("expecto", "finite", "accio", "accio")
    await talk.call("accio", step_token=spent)
    await talk.call("finite", step_token=spent)
    await person.do_task("cart", "A cart holds goods")
    person.put("task.md", shop_task("sum"))
    await review(person)
    await lose_files(person)
    await person.do_task("sum", "A cart knows its sum")
    await person.say("accio", "accio", "reparo", "reverto", "lumos")
    await person.say("finite", note="one more")
    await person.say("accio", "lumos")
    folder_listing(talk, ".ai/task")


async def review(person: Caster) -> None:
    """A review that is begun, left, taken up again, begun anew and brought to its end."""
    await person.say("reparo", note="PR 7")
    await person.say("accio", "expecto", "reverto")
    person.put("comments.md", COMMENTS)
    await person.say("reparo", "lumos", "accio", "reparo")
    await person.say("reparo", resume=True)
    await person.say("accio", "accio", "reparo", "accio")
    person.put("review-task.md", "# Review task\n\nRename `sum` to `total`.\n")
    await person.say("accio", "accio", "finite", "reparo", "reverto", "lumos")
    person.put("review-task-results.md", "# Results\n\nRenamed in two files.\n")
    await person.say("accio", "lumos")


async def lose_files(person: Caster) -> None:
    """Files that are gone when a word is said."""
    person.talk.remove(".ai/task/task.md")
    await person.say("accio", "lumos", "accio")
    person.talk.remove(".ai/task/plan.md")
    await person.say("accio", "reparo", "lumos")
    person.put("plan.md", SHOP_PLAN.replace("[ ] A cart holds", "[x] A cart holds"))
    await person.say("accio", "lumos")
    person.put("task.md", shop_task("lost"))
    await person.say("accio", "accio", "lumos", "accio")


def folder_listing(talk: Talk, below: str) -> None:
    """Write down the files below a folder of the project, with their texts."""
    talk.book.ask(f"files below {below}")
    top = talk.folder / below
    for path in sorted(path for path in top.rglob("*") if path.is_file()):
        name = path.relative_to(talk.folder)
        if ".handrail" not in name.parts:
            talk.book.add(f"--- {name}", path.read_text("utf-8"))


# --- the face `skills` --------------------------------------------------------------------------------------

DESIGN: Final = """# Sort the list

## Work Items

### Item 1: Sort it

**Type:** code
**Status:** pending

### Item 2: It crashes

**Type:** bugfix
**Status:** pending

## Notes
"""
GRAPH: Final = """# Tasks

```yaml
tasks:
  - id: sort
    files: [sort.py]
    description: Sort it
  - id: test
    depends-on: [sort]
```
"""
FIRST_ITEM: Final = (
    *(
        each
        for skill in (
            "brainstorming-exploring",
            "brainstorming-clarifying",
            "brainstorming-designing",
            "brainstorming-validating",
            "rough-draft-interface",
            "rough-draft-pseudocode",
            "rough-draft-skeleton",
            "build-task-graph",
        )
        for each in (skill, "collab-clear")
    ),
    "rough-draft-handoff",
    "collab-clear",
)


async def talk_skills(talk: Talk) -> None:
    """The whole conversation of the face `skills`."""
    await talk.introduce()
    named = {"project": talk.project, "session": "demo"}

    async def complete(*skills: str, **more: object) -> Json:
        told: Json = {}
        for skill in skills:
            told = await talk.call("complete_skill", **named, skill=skill, **more)
        return told

    await talk.call("session_status", **named)
    await complete("gather-session-goals")
    await talk.call("complete_skill", project="/nowhere", session="demo", skill="collab-start")
    await talk.call("complete_skill", project=talk.project, session="../demo", skill="collab-start")
    await talk.call("complete_skill", session="demo")
    await talk.call("complete_skill", **named, skill=None)
    await complete("collab-start", graph="nothing")
    await complete("collab-start", graph="walk")
    first = await complete("collab-start")
    await complete("collab-start", "collab-clear")
    await complete("gather-session-goals", step_token=first.get("step_token", ""))
    await complete("gather-session-goals", step_token=first.get("step_token", ""))
    await complete("collab-clear", step_token=first.get("step_token", ""))
    await complete("collab-clear", step_token=MALFORMED)
    await complete("collab-clear", step_token=FORGED)
    await complete("collab-clear")
    talk.write(".collab/sessions/demo/documents/design.md", DESIGN.replace("bugfix", "feature"))
    await complete("collab-clear")
    talk.write(".collab/sessions/demo/documents/design.md", DESIGN)
    await complete("collab-clear", *FIRST_ITEM[:8])
    await talk.call("session_status", **named)
    talk.write(".collab/sessions/demo/documents/task-graph.md", GRAPH.replace("[sort]", "[nothing]"))
    await complete(*FIRST_ITEM[8:])
    await complete("systematic-debugging", "collab-clear", "ready-to-implement", "collab-clear")
    talk.write(".collab/sessions/demo/documents/task-graph.md", GRAPH)
    await complete("collab-clear", "executing-plans")
    for task, status in (
        ("test", "completed"),
        ("nothing", "completed"),
        ("sort", "done"),
        ("sort", "failed"),
    ):
        await talk.call("update_task_status", **named, task_id=task, status=status)
    await complete("executing-plans")
    await talk.call("update_task_status", **named, task_id="sort", status="in_progress")
    await talk.call("update_task_status", **named, task_id="sort", status="completed")
    await talk.call("session_status", **named)
    await complete("executing-plans", "collab-clear")
    await talk.call("update_task_status", **named, task_id="test", status="completed")
    await talk.call("update_task_status", **named, task_id="item-2", status="completed")
    await complete("executing-plans", "collab-clear", "executing-plans", "collab-clear")
    await talk.call("session_status", **named)
    await complete("finishing-a-development-branch", "collab-cleanup", "collab-cleanup", "collab-start")
    await talk.call("session_status", **named)
    await talk.call("complete_skill", project=talk.project, session="second", skill="collab-start")
    await talk.call("session_status", project=talk.project, session="third")
    folder_listing(talk, ".collab")


# --- the faces `planner` and `commits` ----------------------------------------------------------------------

GOAL: Final = {"type": "feat", "scope": "kettle", "breaking": False, "title": "whistle when the water boils"}
DETAIL: Final = "People forget the kettle.\n\nTARGETS OF CHANGE:\n1. The lid\n2. The spout"
TREE: Final[list[Any]] = [
    [True, "Choose a whistle", [[True, "Measure the spout", []], [True, "Ask three people", []]]],
    [False, "Fit it", [[True, "Drill the lid", []], [False, "Solder the reed", []]]],
    [False, "Write the leaflet", []],
]
DEEP: Final[list[Any]] = [[False, "a", [[False, "b", [[False, "c", [[False, "d", [[False, "e", []]]]]]]]]]]


async def talk_planner(talk: Talk) -> None:
    """The whole conversation of the face `planner`."""
    await talk.introduce()
    await talk.call("gather_requirements")
    await talk.call("gather_requirements", project="/nowhere")
    await talk.call("plan_everything")
    for tool, given in (
        ("set_detailed_goal", {"description": DETAIL}),
        ("set_plan", {"plan": TREE}),
        ("mark_task", {"task_id": "x"}),
        ("finish_job", {}),
        ("set_overarching_goal", {}),
        ("set_overarching_goal", {"goal": GOAL | {"type": "tea"}}),
        ("set_overarching_goal", {"goal": GOAL | {"scope": "the tea"}}),
        ("set_overarching_goal", {"goal": GOAL | {"title": "t" * 121}}),
    ):
        await talk.call(tool, **given)
    first = await talk.call("set_overarching_goal", goal=GOAL)
    spent = {"step_token": first.get("step_token", "")}
    detail = {"description": DETAIL, "constraints": ["Never: boil it dry", "Do not: add a battery"]}
    await talk.call("set_detailed_goal", **detail, **spent)
    await talk.call("set_detailed_goal", **detail, **spent)
    await talk.call("set_plan", plan=TREE, **spent)
    await talk.call("set_plan", plan=TREE, step_token=MALFORMED)
    await talk.call("set_plan", plan=TREE, step_token=FORGED)
    for given in ({"description": " \n"}, {"description": "Why\n- [ ]: no task"}, {"description": "d" * 9}):
        await talk.call("set_detailed_goal", **given, constraints=["Please: do"])
    await talk.call("mark_task", task_id="x")
    for plan in ([], [[False, " ", []]], DEEP, [["no", "a", []]], TREE):
        await talk.call("set_plan", plan=plan)
    for task in ("nothing", "l", "fit-it", "Solder the reed", "Write the leaflet"):
        await talk.call("mark_task", task_id=task)
    await talk.call("mark_task", task_id="Write the leaflet", completed=False)
    await talk.call("mark_task", task_id=1)
    await talk.call("finish_job")
    await talk.call("finish_job", now=True)
    await talk.call("gather_requirements")
    for task in ("Write the leaflet", "Fit it", "finish"):
        await talk.call("mark_task", task_id=task)
    await talk.call("finish_job")
    await talk.call("finish_job")
    await talk.call("gather_requirements")
    await talk.call("set_overarching_goal", goal=GOAL)
    await talk.call("set_overarching_goal", goal=GOAL | {"title": "boil faster"}, new_plan=True)
    talk.write("kettle.txt", "hot\n")
    await talk.call("set_detailed_goal", description="Once more.")
    await talk.call("set_plan", plan=[[False, "Turn it up", []], [True, "Ask", []]])
    await talk.call("gather_requirements")


BREW: Final = {"type": "feat", "scope": "tea", "summary": "brew tea"}
BREW_TASKS: Final[list[Json]] = [
    {
        "summary": "Heat water",
        "details": "in the kettle",
        "children": [{"summary": "Fill it", "details": "from the tap"}],
    },
    {"summary": "Add leaves", "details": "two spoons"},
]


COMMIT_EDITS: Final[tuple[tuple[str, Json], ...]] = (
    ("update_goal", {}),
    ("update_goal", {"summary": "t" * 121}),
    ("update_goal", {"breaking": True, "type": "fix"}),
    ("update_goal", {"breaking": False, "type": "feat", "scope": ""}),
    ("update_goal", {"scope": "Tea"}),
    ("update_description", {"description": " "}),
    ("update_description", {"description": "a\nTasks [ ]:"}),
    ("set_constraints", {"constraints": ["Must: do"]}),
    ("set_constraints", {"constraints": "none"}),
    ("set_constraints", {"constraints": ["Never: boil it twice"]}),
    ("mark_task", {"task_id": "x"}),
    ("set_tasks", {"tasks": []}),
    ("set_tasks", {"tasks": [{"summary": "a"}]}),
    ("set_tasks", {"tasks": [BREW_TASKS[1], BREW_TASKS[1]]}),
    ("set_tasks", {"tasks": [BREW_TASKS[1] | {"level": 1}]}),
    ("set_tasks", {"tasks": BREW_TASKS}),
    ("get_tasks", {}),
    ("get_constraints", {}),
    ("mark_task", {"task_id": "tea"}),
    ("mark_task", {"task_id": "heat-water"}),
    ("mark_task", {"task_id": "heat-water/fill-it"}),
    ("finish_job", {}),
    ("verify_plan", {}),
    ("verify_plan", {"choice": "C"}),
    ("verify_plan", {"choice": "reformat"}),
    ("mark_task", {"task_id": "add-leaves"}),
    ("mark_task", {"task_id": "add-leaves", "completed": "yes"}),
    ("verify_plan", {}),
    ("finish_job", {}),
    ("finish_job", {}),
    ("unfinish_job", {}),
    ("unfinish_job", {}),
    ("mark_task", {"task_id": "fill-it", "completed": False}),
    ("mark_task", {"task_id": "fill-it"}),
    ("finish_job", {}),
    ("get_plan", {}),
    ("start_planning", BREW),
    ("start_planning", {"type": "docs", "summary": "praise tea", "new_commit": True}),
    ("update_description", {"description": "It is good."}),
    ("set_tasks", {"tasks": BREW_TASKS}),
    ("mark_task", {"task_id": "add-leaves"}),
    ("get_plan", {}),
)
"""The calls after the plan is begun, in their order."""


async def talk_commits(talk: Talk) -> None:
    """The whole conversation of the face `commits`."""
    await talk.introduce()
    for tool in ("get_plan", "get_constraints", "get_tasks", "verify_plan", "finish_job", "unfinish_job"):
        await talk.call(tool)
    await talk.call("get_plan", project="/nowhere")
    await talk.call("plan_everything")
    for given in (
        BREW | {"type": "tea"},
        {"type": "feat"},
        BREW | {"scope": "the tea"},
        BREW | {"new_commit": True},
    ):
        await talk.call("start_planning", **given)
    first = await talk.call("start_planning", **BREW)
    if first.get("status") == "error":
        first = await talk.call("start_planning", **BREW, confirm=True)
    spent = {"step_token": first.get("step_token", "")}
    await talk.call("update_description", description="People are thirsty.", **spent)
    await talk.call("update_description", description="People are thirsty.", **spent)
    await talk.call("update_description", description="People are tired.", **spent)
    await talk.call("update_description", description="x", step_token=FORGED)
    await talk.call("start_planning", **BREW)
    for tool, edit in COMMIT_EDITS:
        await talk.call(tool, **edit)


CONVERSATIONS: Final[Mapping[str, Callable[[Talk], Any]]] = {
    "steps": talk_steps,
    "spells": talk_spells,
    "skills": talk_skills,
    "planner": talk_planner,
    "commits": talk_commits,
}


async def talk_over_stdio(place: Place) -> None:
    """Every face over stdin and stdout, all in the store of one place."""
    editor = place.project("editor", files=step_project_files())
    folders = {
        "steps": editor,
        "spells": editor,
        "skills": editor,
        "planner": place.project("kettle"),
        "commits": place.project("teapot"),
    }
    for face, folder in folders.items():
        async with over_stdio(place, place.book(f"{face}-stdio.txt"), face, folder) as talk:
            await CONVERSATIONS[face](talk)


# --- the command line ---------------------------------------------------------------------------------------

REMOVED: Final = frozenset({"up", "down", "status"})
"""Commands that are about to go."""

LISTED: Final = re.compile(r"^  ([a-z][a-z-]*)(?:  |$)", re.MULTILINE)


def record_help(place: Place) -> None:
    """The help of every command, found by walking through the help itself."""
    book = place.book("cli-help.txt")

    def ask(*words: str) -> None:
        said = place.cli(book, *words, "--help")
        for command in LISTED.findall(said.partition("\nCommands:\n")[2]):
            if words or command not in REMOVED:
                ask(*words, command)

    ask()
    kept = [
        part
        for part in "".join(book.parts).splitlines()
        if part.split()[:1] not in [[one] for one in REMOVED]
    ]
    book.parts[:] = ["\n".join(kept) + "\n"]


def runs_of(place: Place, folder: Path) -> list[Json]:
    """The runs of the store, the last started first."""
    said = place.run("handrail", "runs", "list", "--json", "--limit", "200", cwd=folder)
    found: list[Json] = json.loads(said)["runs"]
    return found


def record_runs(place: Place) -> None:
    """What the command line tells of runs, one of each face and each lifecycle."""
    book = place.book("cli-runs.txt")
    for words in (
        ("list",),
        ("list", "--json"),
        ("list", "--lifecycle", "running"),
        ("list", "--limit", "2"),
        ("list", "--workflow", "walk"),
    ):
        place.cli(book, "runs", *words)


# --- the pages ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answered:
    """What a request was answered with."""

    status: int
    headers: Mapping[str, str]
    text: str


def ask_http(host: str, method: str, path: str, headers: Mapping[str, str], body: str = "") -> Answered:
    """Send one request."""
    connection = http.client.HTTPConnection(host, timeout=SECONDS)
    try:
        connection.request(method, path, body or None, dict(headers))
        response = connection.getresponse()
        said = {name.lower(): value for name, value in response.getheaders()}
        return Answered(response.status, said, response.read().decode())
    finally:
        connection.close()


@dataclass(slots=True)
class Pages:
    """A browser at the dashboard; each page goes into a file of its own."""

    place: Place
    host: str
    cookie: str

    def ask(self, method: str, path: str, **form: str) -> Answered:
        """Ask for a page, or send a form."""
        self.place.clock.move(TICK)
        headers = {"Cookie": self.cookie, "Origin": f"http://{self.host}"}
        if method == "POST":
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        return ask_http(self.host, method, path, headers, urlencode(form))

    def keep(self, name: str, path: str) -> None:
        """Write a page into a file of its own."""
        got = self.ask("GET", path)
        kind = got.headers.get("content-type", "")
        self.place.book(name).add(f"<!-- GET {path} {got.status} {kind} -->", got.text)


@contextmanager
def dashboard(place: Place, folder: Path) -> Iterator[Pages]:
    """The dashboard over the store of a place, with a browser that was let in."""
    command = [str(PROGRAM), "dashboard", "--port", "0", "--no-open", "--project", str(folder)]
    with subprocess.Popen(command, cwd=folder, env=place.env, stdout=subprocess.PIPE, text=True) as process:
        try:
            said = process.stdout.readline() if process.stdout else ""
            host, _, path = said.strip().removeprefix("http://").partition("/")
            got = ask_http(host, "GET", f"/{path}", {})
            yield Pages(place, host, got.headers["set-cookie"].partition(";")[0])
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(SECONDS)


def record_pages(place: Place) -> None:
    """Every page."""
    editor = place.folder / "editor"
    runs = runs_of(place, editor)
    with dashboard(place, editor) as pages:
        pages.keep("page-overview.html", "/")
        shown = {run["workflow"]: run["id"] for run in runs}
        for workflow in ("walk", "bug-fix", "spells", "skills", "planner", "commits"):
            for tab in ("", "history", "artifacts", "graph", "timeline", "plan"):
                name = f"page-run-{workflow}{'-' if tab else ''}{tab}.html"
                pages.keep(name, f"/runs/{shown[workflow]}" + (f"/{tab}" if tab else ""))


# --- all of it ----------------------------------------------------------------------------------------------


def record_stdio(folder: Path, library: Path) -> dict[str, str]:
    """Everything that is taken from one store: conversations, then what people see of them."""
    place = Place(folder, library)
    asyncio.run(talk_over_stdio(place))
    record_runs(place)
    record_pages(place)
    return place.texts()


def record_commands(folder: Path, library: Path) -> dict[str, str]:
    """The commands that need no run."""
    place = Place(folder, library)
    record_help(place)
    return place.texts()


SUBJECTS: Final[Mapping[str, Callable[[Path, Path], dict[str, str]]]] = {
    "stdio": record_stdio,
    "commands": record_commands,
}


def record(only: Iterable[str] = SUBJECTS) -> dict[str, str]:
    """All transcripts by the names of their files."""
    # The folder's length is the same each time, since tables and lines are cut by the length of a path.
    with tempfile.TemporaryDirectory(prefix="handrail-", dir="/tmp") as name:
        folder = Path(name)
        library = build_clock(folder)
        with ThreadPoolExecutor(2) as pool:
            found = [pool.submit(SUBJECTS[each], folder / each, library) for each in only]
            return {name: text for one in found for name, text in one.result().items()}


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """The lines of a unified diff between two records."""
    lines: list[str] = []
    for name in sorted(before.keys() | after.keys()):
        old, new = (texts.get(name, "").splitlines(keepends=True) for texts in (before, after))
        if old != new:
            lines += difflib.unified_diff(old, new, f"before/{name}", f"after/{name}")
    return lines


def read_record(folder: Path) -> dict[str, str]:
    """A record that was written into a folder."""
    return {path.name: path.read_bytes().decode() for path in sorted(folder.iterdir()) if path.is_file()}


def main(arguments: Sequence[str]) -> int:
    """Record or compare; the exit status."""
    if len(arguments) < 2 or arguments[0] not in {"record", "compare"}:
        print(__doc__)
        return 2
    folder, begun = Path(arguments[1]), time.monotonic()
    found = record()
    print(f"{len(found)} transcripts in {time.monotonic() - begun:.0f} s", file=sys.stderr)
    if arguments[0] == "record":
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            path.unlink()
        write(folder, found)
        return 0
    lines = differences(read_record(folder), found)
    sys.stdout.writelines(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
