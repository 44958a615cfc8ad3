"""Record what the program answers, and compare that with an earlier record.

    python tools/transcripts.py record FOLDER     writes one plain file per subject
    python tools/transcripts.py compare FOLDER    records again; prints a diff; exits with 1 if there is one

Both take names of subjects behind the folder (see SUBJECTS), to record or compare only these.

It starts the installed `handrail` and imports nothing from it, so that the source tree may change while the
record stays. Every process gets a clock that stands still and that only this tool moves, so times and
durations are the same in every record. What is still random becomes a placeholder, numbered by first sight.
"""

import asyncio
import difflib
import http.client
import json
import logging
import mmap
import os
import pwd
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import httpx2
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client import ClientRequestContext
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

Json = dict[str, Any]
ROOT: Final = Path(__file__).resolve().parent.parent
PROGRAM: Final = Path(sys.executable).parent / "handrail"
BEGINS: Final = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
TICK: Final = 1.25
"""How many seconds the clock goes on before each call."""

SECONDS: Final = 300
"""How long anything at all may take: a bound for liveness."""

LOOKS: Final = ThreadPoolExecutor(4)
"""Where commands run that change nothing: beside each other, at one time of the clock."""

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
    r"|(?P<hash>\b(?:[0-9a-f]{64}|[0-9A-F]{64}|[0-9a-f]{40}|[0-9a-f]{32})\b)"
    r"|(?P<change>\b[k-z]{32}\b)"
    r"|(?P<cut>(?<![\w-])[\w-]{6}…[\w-]{4}(?![\w-]))"
    r"|(?P<short>(?<![.\w])(?:[0-9a-f]{12}(?= begins:| ends\])|(?=[a-f]*[0-9])[0-9a-f]{12}\b))"
    r"|(?P<incident>(?<=incident )[0-9a-f]{8}\b)"
    r"|(?P<digest>(?<![.\w])(?=[a-f]*[0-9])[0-9a-f]{16}\b)"
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

    parts: list[str | Future[str]] = field(default_factory=list)

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
        parts = (part if isinstance(part, str) else part.result() for part in self.parts)
        return "".join(parts).lstrip("\n")


def show(value: object) -> str:
    """A value as JSON that reads well in a diff."""
    return json.dumps(value, indent=1, ensure_ascii=False)


def unfold(text: str) -> str:
    """Compact JSON on lines of its own, and said to be such; any other text as it is."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    compact = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return f"(compact JSON)\n{show(value)}" if text == compact else text


class Place:
    """A folder with a home, projects and a store of its own, and the processes that run there."""

    def __init__(self, folder: Path, library: Path, store: str = "") -> None:
        self.folder, self.store = folder, store
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        self.clock = Clock(folder / "clock")
        self.books: dict[str, Book] = {}
        self.literal: dict[str, str] = {}
        self._looks: list[Future[str]] = []
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
            # Most of a command's time is its imports, so all processes share compiled modules.
            "PYTHONPYCACHEPREFIX": str(library.parent / "bytecode"),
            "LD_PRELOAD": str(library),
            "TRANSCRIPT_CLOCK": str(self.clock.file),
        } | ({"HANDRAIL_STORE": store} if store else {})
        (self.home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n", "utf-8")
        jj = self.home / ".config" / "jj" / "config.toml"
        jj.parent.mkdir(parents=True)
        jj.write_text('[user]\nname = "Ada"\nemail = "ada@example.org"\n', "utf-8")

    @property
    def version(self) -> str:
        """The version of the program."""
        return self.run("handrail", "--version", cwd=self.folder).split()[-1]

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

    def tick(self) -> None:
        """Let the clock go on, once all commands have ended that only look."""
        for one in self._looks:
            one.result()
        self._looks.clear()
        self.clock.move(TICK)

    def cli(self, book: Book, *words: str, cwd: Path | None = None, given: str = "") -> str:
        """Run a command of the program and write down what came of it; what it said on stdout."""
        self.tick()
        done = self._end(words, cwd, given, {})
        book.add(told_of(done, words, cwd, given, {}))
        return done.stdout

    def look(
        self,
        book: Book,
        *words: str,
        cwd: Path | None = None,
        given: str = "",
        env: Mapping[str, str] | None = None,
    ) -> Future[str]:
        """The same for a command that changes nothing, beside others of that kind; all that is written."""

        def run() -> str:
            return told_of(self._end(words, cwd, given, env or {}), words, cwd, given, env or {})

        found = LOOKS.submit(run)
        self._looks.append(found)
        book.parts.append(found)
        return found

    def _end(
        self, words: Sequence[str], cwd: Path | None, given: str, env: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of the program to its end."""
        return subprocess.run(
            [PROGRAM, *words],
            cwd=cwd or self.folder,
            env={**self.env, **env},
            input=given,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def each(
        self,
        book: Book,
        commands: Iterable[tuple[str, ...]],
        *first: str,
        cwd: Path | None = None,
        given: str = "",
    ) -> None:
        """Run several commands, one after the other; all begin with the same words."""
        for words in commands:
            self.cli(book, *first, *words, cwd=cwd, given=given)

    def look_each(
        self,
        book: Book,
        commands: Iterable[tuple[str, ...]],
        *first: str,
        cwd: Path | None = None,
        given: str = "",
    ) -> None:
        """The same for commands that change nothing."""
        for words in commands:
            self.look(book, *first, *words, cwd=cwd, given=given)

    def texts(self) -> dict[str, str]:
        """The transcripts by the names of their files, without what is random."""
        literal = {
            str(self.folder): "<place>",
            quote(str(self.folder), safe=""): "<place>",
            str(PROGRAM.parent): "<bin>",
            str(ROOT): "<repository>",
            **self.literal,
            self.version: "<version>",
        }
        return {name: clean(book.text, literal) for name, book in self.books.items()}


MASKS: Final = (
    # Where a file of the program lies may change; what it is called stays.
    (re.compile(r"<repository>/src/handrail/(?:[\w.-]+/)*(?=[\w.-]+)"), "<package>/"),
    (re.compile(r"(?<=127\.0\.0\.1:)\d{4,5}"), "<port>"),
    (re.compile(r"(?<=handrail-)\d{4,5}(?==)"), "<port>"),
    (re.compile(r"(?<=[Ss]QLite )\d+\.\d+\.\d+"), "<version>"),
    (re.compile(r"(?<=answers after )[\d.]+ s"), "<seconds> s"),
    (re.compile(r"(?<=Python )\d+\.\d+\.\d+"), "<version>"),
    (re.compile(r"(?<=git version )\S+|(?<=\bjj )\d+\.\d+\.\d+"), "<version>"),
)
"""What is of this machine, besides paths that are known."""


def told_of(
    done: subprocess.CompletedProcess[str],
    words: Sequence[str],
    cwd: Path | None,
    given: str,
    env: Mapping[str, str],
) -> str:
    """A command, and what came of it."""
    book = Book()
    book.ask(f"$ {' '.join(map(quoted, ('handrail', *words)))}" + (f"  # in {cwd}" if cwd else ""))
    book.add(*(f"< {line}" for line in given.splitlines()))
    book.add(*(f"{name}={value}" for name, value in env.items()))
    book.add(f"[exit {done.returncode}]", done.stdout)
    if done.stderr:
        book.add("--- stderr", done.stderr)
    return f"\n{book.text}"


def clean(text: str, literal: Mapping[str, str]) -> str:
    """A text without what is random or of this machine."""
    for found, name in literal.items():
        text = text.replace(found, name)
    for pattern, name in MASKS:
        text = pattern.sub(name, text)
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
        self.place.tick()
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
        self.place.tick()
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
        self.place.tick()
        self.book.ask(f"read {uri}")
        try:
            result = await self.client.read_resource(uri)
        except MCPError as error:
            self.failed(error)
            return
        for one in result.contents:
            answer = one.model_dump(mode="json", by_alias=True, exclude_none=True)
            text = answer.pop("text", "")
            self.book.add(json.dumps(answer), unfold(text))

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
    place.tick()
    book.ask(f"$ handrail {' '.join(args)}")
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        async with Client(stdio_client(started, errors), cache=None, **more) as client:
            yield Talk(place, book, client, str(folder), folder)
        errors.seek(0)
        said = errors.read()
    add_log(book, said)


def add_log(book: Book, said: str) -> None:
    """Write down what a server said on stderr, without the source lines of a traceback."""
    stored = [
        re.sub(r"\s+\w+\.py:\d+$", "", line) for line in said.splitlines() if not re.search("[╭│╰]", line)
    ]
    if stored:
        book.ask("stderr of the server")
        book.add("\n".join(stored))


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
        answer = await self.talk.call(NEXT, **given)
        self.token = answer.get("new_step_token") or self.token
        return answer

    async def start(self, template: str, **more: object) -> Json:
        """Start a run."""
        answer = await self.send(template_name=template, **more)
        self.run = answer.get("execution_id") or self.run
        return answer

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
    await agent.go_on(output(summary="Printed."))
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
    answer = await agent.start("walk", goal="Looked at")
    await agent.go_on(output(summary="It is drawn."))
    run = answer.get("execution_id", "")
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
            answer = await self.talk.call(word, **given)
            self.token = answer.get("step_token") or self.token

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
        answer: Json = {}
        for skill in skills:
            answer = await talk.call("complete_skill", **named, skill=skill, **more)
        return answer

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


# --- more ways to talk --------------------------------------------------------------------------------------

FOREIGN: Final = "Merge the kettle\n\nSigned-off-by: Ann\n"

JJ_CALLS: Final[tuple[tuple[str, Json], ...]] = (
    ("get_plan", {}),
    ("start_planning", BREW),
    ("update_description", {"description": "People are thirsty."}),
    ("set_constraints", {"constraints": ["Never: boil it twice"]}),
    ("set_tasks", {"tasks": BREW_TASKS}),
    ("finish_job", {}),
    ("mark_task", {"task_id": "heat-water/fill-it"}),
    ("mark_task", {"task_id": "add-leaves"}),
    ("finish_job", {}),
    ("start_planning", BREW),
    ("start_planning", {"type": "docs", "summary": "praise tea", "new_commit": True}),
    ("get_plan", {}),
)
"""What is tried in jj, which takes far longer than git."""


async def talk_over_jj(place: Place) -> None:
    """Both faces that keep a plan, in jj; and a person who is asked by the server."""
    samovar = place.project("samovar", "jj")
    async with over_stdio(place, place.book("commits-jj.txt"), "commits", samovar) as talk:
        for tool, given in JJ_CALLS:
            await talk.call(tool, **given)
    urn = place.project("urn", "jj")
    place.run("jj", "describe", "-m", FOREIGN, cwd=urn)
    book = place.book("planner-jj.txt")
    async with over_stdio(place, book, "planner", urn) as talk:
        await talk.call("gather_requirements")
        await talk.call("set_overarching_goal", goal=GOAL)
        await talk.call("set_plan", plan=TREE)
        await talk.call("set_overarching_goal", goal=GOAL, keep=True)
        await talk.call("set_plan", plan=TREE)
        await talk.call("gather_requirements")
    place.run("jj", "new", "-m", FOREIGN, cwd=urn)
    await ask_a_person(place, urn)


async def ask_a_person(place: Place, folder: Path) -> None:
    """A message that is no plan: the server asks what to do with it, if the client can ask a person."""
    book = place.book("commits-asking.txt")
    said: list[Json] = [
        {"action": "cancel"},
        {"action": "decline"},
        {"action": "accept", "content": {"choice": "read_only"}},
        {"action": "accept", "content": {"choice": "reformat"}},
    ]
    answers: Iterator[Json] = iter(())

    async def answer(_: ClientRequestContext, question: types.ElicitRequestParams) -> types.ElicitResult:
        book.add("[asks]", show(question.model_dump(mode="json", by_alias=True, exclude_none=True)))
        answer = next(answers)
        book.add("[is answered]", show(answer))
        return types.ElicitResult.model_validate(answer)

    for mode in ("auto", "legacy"):
        answers = iter(said)
        async with over_stdio(place, book, "commits", folder, mode=mode, elicitation_callback=answer) as talk:
            for _ in said:
                await talk.call("verify_plan")
            await talk.call("verify_plan", choice="read_only")
            await talk.call("verify_plan", choice="reformat", message="no plan")
    async with over_stdio(place, book, "commits", folder) as talk:
        await talk.call("get_plan")
        await talk.call("verify_plan")
        await talk.call("start_planning", **BREW)
        await talk.call("verify_plan", choice="reformat", message="fix(tea): merge\n\nWhy not.\n")
        await talk.call("get_plan")


HELLO: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "transcripts", "version": "1"},
}
META: Final = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {
        "extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}
    },
    "io.modelcontextprotocol/clientInfo": {"name": "transcripts", "version": "1"},
}
"""What a client of 2026 says with each request; this one can show pages in its chat."""


class Wire:
    """A server process that is spoken to in lines of JSON; keys are sorted: their order says nothing."""

    def __init__(self, place: Place, book: Book, folder: Path, face: str = "steps") -> None:
        self.place, self.book, self._asked = place, book, 0
        command = [str(PROGRAM), "serve", "--face", face, "--project", str(folder)]
        book.ask(f"$ handrail {' '.join(command[1:])}")
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=place.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def send(self, line: str) -> None:
        """Send a line."""
        self.place.tick()
        self.book.ask(f"> {line}")
        if self.process.stdin:
            print(line, file=self.process.stdin, flush=True)

    def hear(self, count: int = 1) -> list[Json]:
        """So many messages, written down in an order that does not depend on which was first."""
        lines = [self.process.stdout.readline() if self.process.stdout else "" for _ in range(count)]
        found: list[Json] = [json.loads(line) for line in lines]
        for one in sorted(found, key=lambda message: str(message.get("method", ""))):
            self.book.add(json.dumps(one, indent=1, ensure_ascii=False, sort_keys=True))
        return found

    def ask(self, method: str, **params: object) -> Json:
        """Send a request; the message that answers it, which must be the next."""
        return self.ask_among(1, method, **params)

    def ask_among(self, count: int, method: str, **params: object) -> Json:
        """Send a request; of so many messages the one that answers it."""
        self._asked += 1
        asked = {"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params}
        self.send(json.dumps(asked, ensure_ascii=False))
        return next(one for one in self.hear(count) if one.get("id") == self._asked)

    def close(self) -> None:
        """Close its stdin; it must end."""
        if self.process.stdin:
            self.process.stdin.close()
        self.book.ask(f"ended with {self.process.wait(SECONDS)}")
        if self.process.stdout:
            self.process.stdout.close()


def record_wire(place: Place) -> None:
    """What goes over the wire, for clients of both eras."""
    folder = place.project("wire", files=step_project_files())
    book = place.book("wire-2025.txt")
    old = Wire(place, book, folder)
    old.ask("tools/list")
    old.ask("initialize", **HELLO)
    old.send('{"jsonrpc": "2.0", "method": "notifications/initialized"}')
    old.ask("ping")
    old.ask("no/such/method")
    old.ask("tools/call")
    old.ask("tools/call", name=NEXT, arguments=[])
    old.ask("tools/call", name="nothing", arguments={})
    old.ask("logging/setLevel", level="loud")
    old.ask("prompts/get", name="walk", arguments={"what": 5})
    old.ask("prompts/get", name="walk", arguments={"other": "x"})
    old.ask("resources/read")
    for name, argument in (("walk", "what"), ("resume", "execution_id"), ("nothing", "x")):
        reference = {"type": "ref/prompt", "name": name}
        old.ask("completion/complete", ref=reference, argument={"name": argument, "value": ""})
    begun = old.ask("tools/call", name=NEXT, arguments={"template_name": "brief"})
    run = begun["result"]["structuredContent"]["execution_id"]
    old.ask("resources/subscribe", uri=f"current-step://{run}")
    old.ask_among(2, "tools/call", name=NEXT, arguments={"execution_id": run, "action": "pause"})
    old.ask("resources/unsubscribe", uri=f"current-step://{run}")
    old.ask("tools/call", name=NEXT, arguments={"execution_id": run, "action": "resume"})
    old.close()
    book = place.book("wire-2026.txt")
    for face, tool in (("steps", NEXT), ("spells", "lumos"), ("skills", "session_status"), ("planner", "")):
        new = Wire(place, book, folder, face)
        new.ask("server/discover", _meta=META)
        new.ask("tools/list", _meta=META)
        new.ask("resources/list", _meta=META)
        new.ask("resources/read", uri="ui://handrail/run", _meta=META)
        given = {"template_name": "brief"} if face == "steps" else {}
        new.ask("tools/call", name=tool or "gather_requirements", arguments=given, _meta=META)
        new.ask("initialize", **HELLO) if face == "planner" else None
        new.close()


# --- over HTTP ----------------------------------------------------------------------------------------------


@contextmanager
def serve_http(place: Place, *words: str) -> Iterator[str]:
    """A server over HTTP; its host and port."""
    log = place.folder / "http.log"
    command = [str(PROGRAM), "serve", "--http", "127.0.0.1:0", *words]
    with log.open("w") as errors:
        process = subprocess.Popen(command, cwd=place.home, env=place.env, stderr=errors)
    try:
        yield wait_for_host(log, process)
    finally:
        process.send_signal(signal.SIGTERM)
        status = process.wait(SECONDS)
    book = place.book("http.txt")
    book.ask(f"$ handrail {' '.join(command[1:])}")
    book.add(f"[exit {status}]")
    # The order in which faces are named and requests end says nothing.
    add_log(book, "\n".join(sorted(log.read_text("utf-8").splitlines())))


def wait_for_host(log: Path, process: subprocess.Popen[bytes]) -> str:
    """Where a server listens, once it has said so for every face."""
    last = time.monotonic() + SECONDS
    while time.monotonic() < last and process.poll() is None:
        said = re.findall(r"http://(\S+:\d+)/mcp/\w+\n", log.read_text("utf-8"))
        if len(said) >= len(CONVERSATIONS):
            return str(said[0])
        time.sleep(0.02)
    raise SystemExit(f"the server does not listen: {log.read_text('utf-8')}")


@asynccontextmanager
async def over_http(place: Place, book: Book, url: str, token: str, folder: Path) -> AsyncIterator[Talk]:
    """A client of 2025 at a server over HTTP."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=SECONDS) as http_client,
        Client(streamable_http_client(url, http_client=http_client), mode="legacy", cache=None) as client,
    ):
        yield Talk(place, book, client, folder.name, folder)


def record_http(place: Place) -> None:
    """Every face over HTTP, each with a token for one project; and what the server answers otherwise."""
    book = place.book("cli-team.txt")
    editor = place.project("editor", files=step_project_files())
    folders = {"editor": editor, "kettle": place.project("kettle"), "teapot": place.project("teapot")}
    place.cli(book, "serve", "--http", "127.0.0.1:0", "--auth", "token", cwd=place.home)
    tokens = {}
    for name, folder in folders.items():
        place.cli(book, "project", "add", name, str(folder))
    place.each(
        book,
        (
            ("project", "add", "editor", str(editor)),
            ("project", "add", "no name", str(editor)),
            ("project", "add", "lost", "/nowhere"),
            ("project", "list"),
            ("project", "list", "--json"),
            ("token", "create", "nobody"),
            ("token", "create", "nobody", "--scope", "everything"),
            ("token", "create", "nobody", "--scope", "run:read", "--project", "lost"),
        ),
    )
    for name in folders:
        scopes = ("--scope", "run:read", "--scope", "run:write", "--project", name)
        tokens[name] = place.cli(book, "token", "create", f"ada-{name}", *scopes).split()[0]
    said = place.cli(book, "token", "create", "eve", "--scope", "run:read", "--expires", "never", "--json")
    tokens["reads"] = json.loads(said)["token"]["secret"] if "secret" in said else json.loads(said)["secret"]
    place.cli(book, "token", "list")
    place.cli(book, "token", "list", "--json")
    with serve_http(place, "--auth", "token") as host:
        asyncio.run(talk_over_http(place, host, tokens, folders))
        ask_plainly(place, host, tokens)
        place.cli(book, "ready", host)
        place.cli(book, "serve", "--http", host, "--auth", "token", cwd=place.home)
    place.cli(book, "ready", "127.0.0.1:1")
    place.cli(book, "project", "remove", "kettle", "--json")
    place.cli(book, "project", "remove", "kettle")
    listed = json.loads(place.run("handrail", "token", "list", "--json", cwd=place.home))["tokens"]
    place.cli(book, "token", "revoke", listed[0]["id"])
    place.cli(book, "token", "revoke", "nothing")
    place.cli(book, "token", "list")
    place.cli(place.book("cli-team.txt"), "runs", "list", "--json")
    for given in ("0.0.0.0:0", "127.0.0.1", ":8000"):
        place.cli(book, "serve", "--http", given, cwd=place.home)


async def talk_over_http(
    place: Place, host: str, tokens: Mapping[str, str], folders: Mapping[str, Path]
) -> None:
    """The conversations of all faces."""
    at = {"steps": "editor", "spells": "editor", "skills": "editor", "planner": "kettle", "commits": "teapot"}
    for face, name in at.items():
        book = place.book(f"{face}-http.txt")
        url = f"http://{host}/mcp/{face}"
        async with over_http(place, book, url, tokens[name], folders[name]) as talk:
            await CONVERSATIONS[face](talk)
    book = place.book("http-scopes.txt")
    async with over_http(place, book, f"http://{host}/mcp/steps", tokens["reads"], folders["editor"]) as talk:
        await talk.call(NEXT, template_name="walk")
        await talk.call(NEXT, template_name="walk", project="editor")
        await talk.call(NEXT, execution_id=NOBODY)
        await talk.read("available-workflows://all")
        await talk.read("workflow-artifacts://final")
    async with over_http(
        place, book, f"http://{host}/mcp/steps", tokens["kettle"], folders["kettle"]
    ) as talk:
        run = runs_of(place, place.folder)[-1]["id"]
        await talk.call(NEXT, execution_id=run)
        await talk.read(f"workflow-status://{run}")


def ask_plainly(place: Place, host: str, tokens: Mapping[str, str]) -> None:
    """Requests that no client of MCP sends, and the pages of a team's server."""
    book = place.book("http.txt")
    good = {"Authorization": f"Bearer {tokens['editor']}"}
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO})
    for method, path, headers, body in (
        ("GET", "/healthz", {}, ""),
        ("GET", "/readyz", {}, ""),
        ("GET", "/nothing", {}, ""),
        ("GET", "/mcp/nothing", good, ""),
        ("GET", "/mcp/steps", {}, ""),
        ("GET", "/mcp/steps", good, ""),
        ("DELETE", "/mcp/steps", good, ""),
        ("PUT", "/mcp/steps", good, ""),
        ("GET", "/.well-known/oauth-protected-resource/mcp/steps", {}, ""),
        ("POST", "/mcp/steps", sent, hello),
        ("POST", "/mcp/steps", sent | {"Authorization": "Bearer hr_nothing"}, hello),
        ("POST", "/mcp/steps", sent | {"Authorization": "Basic abc"}, hello),
        ("POST", "/mcp/steps", sent | good | {"Origin": "http://evil.example"}, hello),
        ("POST", "/mcp/steps", sent | good | {"Host": "evil.example"}, hello),
        ("POST", "/mcp/steps", sent | good, "no json"),
        ("POST", "/mcp/steps", sent | good, "x" * (1024 * 1024 + 1)),
        ("POST", "/mcp/steps", sent | good | {"Content-Type": "text/plain"}, hello),
        ("GET", "/", {}, ""),
        ("POST", "/login", {}, "token=hr_nothing"),
        ("POST", "/login", {"Origin": f"http://{host}"}, "token=hr_nothing"),
        ("POST", "/login", {"Origin": f"http://{host}"}, f"token={tokens['editor']}"),
    ):
        place.tick()
        got = ask_http(host, method, path, headers, body)
        book.ask(
            f"{method} {path} {json.dumps(headers)} {body if len(body) < 300 else f'({len(body)} bytes)'}"
        )
        add_answer(book, got)
    cookie = got.headers["set-cookie"].partition(";")[0]
    shown = Pages(place, host, cookie)
    for name, path in (("overview", "/"), ("insights", "/insights"), ("workflows", "/workflows")):
        shown.keep(f"page-team-{name}.html", path)
    run = next(run["id"] for run in runs_of(place, place.folder) if run["workflow"] == "walk")
    shown.keep("page-team-run.html", f"/runs/{run}")
    add_answer(book, shown.ask("POST", "/logout"))
    got = ask_http(host, "GET", "/metrics", {"Authorization": f"Bearer {tokens['reads']}"})
    lines = got.text.splitlines()
    book.ask("GET /metrics: what it says of its figures, their names, and the calls that it counts")
    book.add(*(line for line in lines if line.startswith("# ")))
    book.add(*sorted({re.split("[{ ]", line)[0] for line in lines if line[:1] != "#"}))
    book.add(*sorted(line for line in lines if re.match(r"handrail_(calls|refusals)_total\{", line)))


def add_answer(book: Book, got: "Answered") -> None:
    """Write down an answer, with what its head says."""
    quiet = {"date", "content-length", "set-cookie", "mcp-session-id"}
    book.add(
        f"[{got.status}]", *(f"{name}: {value}" for name, value in got.headers.items() if name not in quiet)
    )
    for name in sorted(quiet & got.headers.keys() - {"date", "content-length"}):
        value = re.sub(r'(?<==)"?gAAAA[^;]+', "<sealed>", got.headers[name])
        book.add(f"{name}: {value}")
    book.add(got.text)


# --- the command line ---------------------------------------------------------------------------------------

REMOVED: Final = frozenset({"up", "down", "status"})
"""Commands that are about to go."""

LISTED: Final = re.compile(r"^  ([a-z][a-z-]*)(?:  |$)", re.MULTILINE)


def record_help(place: Place) -> None:
    """The help of every command, found by walking through the help itself, one level after the other."""
    book = place.book("cli-help.txt")
    level: list[tuple[str, ...]] = [()]
    while level:
        asked = [(words, place.look(book, *words, "--help")) for words in level]
        level = [
            (*words, command)
            for words, said in asked
            for command in LISTED.findall(said.result().partition("\nCommands:\n")[2])
            if words or command not in REMOVED
        ]
    lines = book.text.splitlines()
    book.parts[:] = ["\n".join(line for line in lines if not re.match(r"  (up|down|status) ", line)) + "\n"]


def record_usage(place: Place) -> None:
    """Command lines that are wrong, the version, and completion."""
    book = place.book("cli-usage.txt")
    place.look_each(
        book,
        (
            ("--version",),
            ("nothing",),
            ("runs",),
            ("runs", "nothing"),
            ("runs", "show"),
            ("runs", "list", "--nothing"),
            ("runs", "list", "--json"),
            ("runs", "show", NOBODY),
            ("store", "check"),
            ("stats",),
            ("watch", "--once"),
            ("brief",),
            ("runs", "list", "--store", "postgresql:///nothing?host=/nowhere"),
            ("workflows", "show", "no-such-workflow", "--json"),
            ("completion", "bash"),
            ("completion", "zsh"),
            ("completion", "fish"),
            ("completion", "tcsh"),
        ),
    )
    completing = {"_HANDRAIL_COMPLETE": "bash_complete", "COMP_CWORD": "2"}
    for typed in ("handrail runs ", "handrail serve --face"):
        place.look(book, env=completing | {"COMP_WORDS": typed})


def runs_of(place: Place, folder: Path) -> list[Json]:
    """The runs of the store, the last started first."""
    said = place.run("handrail", "runs", "list", "--json", "--limit", "200", cwd=folder)
    found: list[Json] = json.loads(said)["runs"]
    return found


def pick_runs(place: Place) -> dict[str, str]:
    """The first run of each workflow and each lifecycle, by `workflow-lifecycle`."""
    return {f"{run['workflow']}-{run['lifecycle']}": run["id"] for run in runs_of(place, place.folder)}


def record_runs(place: Place) -> None:
    """What the command line tells of runs, one of each face and each lifecycle."""
    book, editor = place.book("cli-runs-list.txt"), place.folder / "editor"
    runs = pick_runs(place)
    place.look_each(
        book,
        (
            ("list",),
            ("list", "--json"),
            ("list", "--lifecycle", "running", "--lifecycle", "paused", "--face", "steps"),
            ("list", "--limit", "2", "--after", runs["walk-completed"]),
            ("list", "--workflow", "walk", "--text", "end"),
            ("list", "--project", "kettle", "--since", "2026-03-02T09:10:00Z", "--until", "1s"),
            ("list", "--since", "whenever"),
            ("list", "--workflow", "nothing"),
            ("list", "--lifecycle", "gone"),
        ),
        "runs",
    )
    book = place.book("cli-runs.txt")
    for name in (
        "walk-completed",
        "bug-fix-completed",
        "walk-failed",
        "article-completed",
        "spells-running",
        "skills-completed",
        "planner-running",
        "commits-completed",
    ):
        place.look(book, "runs", "show", runs[name], "--json")
        place.look(book, "runs", "events", runs[name])
    for name in ("walk-completed", "article-completed", "skills-completed", "planner-running"):
        place.look(book, "runs", "show", runs[name])
        place.look(book, "runs", "artifacts", runs[name])
    walk, fix = runs["walk-completed"], runs["bug-fix-completed"]
    place.look_each(
        book,
        (
            ("events", walk, "--json"),
            ("events", walk, "--after", "10"),
            ("events", runs["spells-running"], "--json"),
            ("artifacts", fix, "--json"),
            ("artifacts", fix, "3"),
            ("artifacts", fix, "3", "--json"),
            ("artifacts", fix, "99"),
            ("artifacts", fix, "--diff", "3", "5"),
            ("export", walk),
            ("export", runs["commits-completed"]),
            ("show", walk[:8]),
            ("show", NOBODY),
            ("show", NOBODY, "--json"),
            ("events", NOBODY),
        ),
        "runs",
    )
    for _ in range(2):
        place.cli(book, "runs", "export", walk, "--to", str(place.folder / "export.json"))
    for name in ("walk-completed", "bug-fix-completed", "spells-running"):
        place.look(place.book(f"cli-timeline-{name}.txt"), "runs", "timeline", runs[name])
    place.look(place.book("cli-timeline-linear.txt"), "runs", "timeline", walk, "--linear", "--width", "500")
    record_glances(place, editor)


def record_glances(place: Place, editor: Path) -> None:
    """What tells in short how runs are: brief, watch and stats."""
    book = place.book("cli-glances.txt")
    for folder in (editor, place.folder / "kettle", place.home):
        place.look_each(
            book,
            (("brief",), ("brief", "--json"), ("watch", "--once"), ("watch", "--once", "--json")),
            cwd=folder,
        )
    book = place.book("cli-stats.txt")
    tables = ("lifecycles", "workflows", "steps", "tokens", "funnel", "nothing")
    place.look_each(
        book, ((), ("--json",), ("--since", "5m"), *(("--csv", table) for table in tables)), "stats"
    )


def record_acting(place: Place) -> None:
    """What a person does to runs on the command line."""
    book, runs = place.book("cli-acting.txt"), pick_runs(place)
    given = str(place.folder / "output.json")
    Path(given).write_text(json.dumps(output(summary="By hand.")), "utf-8")
    walk, article = runs["walk-running"], runs["article-completed"]
    spells, proposal = runs["spells-running"], runs["proposal-running"]
    place.each(
        book,
        (
            ("comment", walk, "One *word*."),
            ("comment", walk, ""),
            ("comment", spells, "In the files.", "--json"),
            ("comment", NOBODY, "To nobody."),
            ("pause", walk, "--reason", "Lunch"),
            ("pause", walk, "--json"),
            ("complete-step", walk, "--output", given),
            ("resume", walk),
            ("complete-step", walk, "--output", "/nowhere"),
            ("complete-step", walk, "--output", given, "--json"),
            ("pause", walk, proposal, NOBODY, "--json"),
            ("resume", walk, proposal),
            ("abandon", walk),
            ("fork", walk),
            ("diverge", walk, "--reason", "Done elsewhere"),
            ("fail", proposal, "--reason", "No way"),
            ("abandon", proposal, "--reason", "Too late", "--json"),
            ("fork", article, "--step", "nowhere"),
            ("fork", article, "--step", "print"),
            ("fork", article, "--step", "print", "--yes", "--json"),
            ("fork", walk, "--workflow", "current", "--json"),
            ("fork", spells, "--json"),
            ("pause", spells),
        ),
        "runs",
    )
    place.cli(book, "runs", "complete-step", walk, "--output", "-", given="no json")


def record_workflows(place: Place) -> None:
    """What the command line tells of workflows."""
    book, editor = place.book("cli-workflows.txt"), place.folder / "editor"
    own = editor / ".handrail" / "workflows"
    place.look_each(
        book,
        (
            ("list",),
            ("list", "--json"),
            ("show", "bug-fix"),
            ("show", "spells"),
            ("show", "article"),
            ("show", "triage", "--json"),
            ("show", "broken"),
            ("check", str(own)),
            ("check", str(own / "triage.yaml"), "--json"),
            ("check", str(own / "walk.yaml")),
            ("check", "/nowhere.yaml"),
        ),
        "workflows",
        cwd=editor,
    )
    place.each(
        book,
        (
            ("new", "mine"),
            ("new", "mine"),
            ("new", "release"),
            ("new", "release", "--hide"),
            ("show", "mine"),
        ),
        "workflows",
        cwd=editor,
    )
    runs = pick_runs(place)
    for name in ("bug-fix", "skills", "commits"):
        for form in ("mermaid", "dot", "svg"):
            words = ("workflows", "graph", name, "--format", form)
            place.look(place.book(f"cli-graph-{name}.txt"), *words, cwd=editor)
    for name in ("bug-fix-completed", "skills-completed", "spells-running"):
        for form in ("mermaid", "dot"):
            book = place.book("cli-graph-runs.txt")
            place.look(book, "workflows", "graph", "--run", runs[name], "--format", form, cwd=editor)
    book = place.book("cli-trust.txt")
    place.each(
        book,
        (
            (),
            ("docs",),
            ("--list",),
            ("--list", "--json"),
            ("docs", "--yes", "--json"),
            ("--revoke", "docs"),
            ("nothing",),
            ("--yes",),
        ),
        "trust",
        cwd=editor,
    )


def record_store(place: Place) -> None:
    """What the command line does to a store."""
    book = place.book("cli-store.txt")
    copy = str(place.folder / "copy.db")
    source = place.run("handrail", "store", "path", cwd=place.folder).strip()
    place.each(
        book,
        (
            ("path",),
            ("path", "--json"),
            ("check",),
            ("check", "--json"),
            ("vacuum",),
            ("vacuum", "--json"),
            ("rebuild", "--json"),
            ("rebuild", "--project", str(place.folder / "editor")),
            ("copy", source, copy),
            ("copy", source, copy, "--json"),
            ("check", "--store", copy),
            ("prune", "--older-than", "30d", "--yes"),
            ("prune", "--older-than", "1s", "--yes", "--store", copy),
            ("prune", "--older-than", "1s", "--yes", "--store", copy, "--json"),
            ("check", "--store", "/nowhere/handrail.db"),
        ),
        "store",
    )
    book = place.book("cli-repair.txt")
    editor = place.folder / "editor"
    place.each(
        book,
        ((), ("spells",), ("spells", "--json"), ("skills/demo", "--json"), ("nothing",), ("walk",)),
        "repair",
        cwd=editor,
    )
    state = editor / ".ai" / "task" / "state.json"
    state.write_text(state.read_text("utf-8").replace("ACHIEVE_TASK_DRAFTING", "NOWHERE"), "utf-8")
    place.each(
        book,
        (
            ("spells", "--json"),
            ("spells", "--adopt", "NOWHERE"),
            ("spells", "--adopt", "GATHER_EDITING"),
            ("spells", "--restore", "3", "--json"),
            ("spells", "--restore", "9999"),
        ),
        "repair",
        cwd=editor,
    )


PLAN_TEXT: Final = """feat(editor): keep the size of the window

The window forgets its size.

- Never: write outside of the settings folder
- Must: Be fast

- [ ]: Find where it is lost
  - [x]: Write a test that fails
- [x]: Tell the users

~~~ EXECUTE ~~~
"""
COMMIT_TEXT: Final = """feat(tea): brew tea

People are thirsty.

Constraints:
- Never: boil it twice

Tasks [ ]:
- [ ] Heat water: in the kettle
  - [x] Fill it: from the tap
- [x] Add leaves: two spoons
"""
WRONG_TEXT: Final = "Feat(The Tea): brew\nno empty line\n- [ ]: a\n      - [x]: b\n"


def record_plans(place: Place) -> None:
    """The commands about plans, in texts and in commits."""
    book = place.book("cli-plan.txt")
    for text in (PLAN_TEXT, COMMIT_TEXT, WRONG_TEXT):
        place.look_each(
            book,
            (("check",), ("check", "--json"), ("parse", "--json"), ("convert",), ("format",)),
            "plan",
            given=text,
        )
    place.look_each(
        book,
        (
            ("stage",),
            ("stage", "--json"),
            ("parse",),
            ("mark", "Find where it is lost"),
            ("mark", "tell", "--open", "--json"),
            ("mark", "nothing"),
            ("convert", "--to", "planner", "--json"),
        ),
        "plan",
        given=PLAN_TEXT,
    )
    place.look(book, "plan", "type", "docs", "feat")
    place.look(book, "plan", "type", "tea", "--json")
    place.look(book, "plan", "parse", "--dialect", "commits", "--has-modifications", "--json", given="")
    for name, text in (("good.txt", COMMIT_TEXT), ("wrong.txt", WRONG_TEXT)):
        (place.folder / name).write_text(text, "utf-8")
        place.look(book, "plan", "hook", str(place.folder / name))
    place.look(book, "plan", "check", "/nowhere.txt")
    record_kept_plans(place)


def record_kept_plans(place: Place) -> None:
    """The plan in a commit, and how it goes to a remote and comes back."""
    book = place.book("cli-plan-kept.txt")
    remote = place.folder / "remote.git"
    place.run("git", "init", "-q", "--bare", str(remote), cwd=place.folder)
    kettle, pot = place.folder / "kettle", place.folder / "pot"
    place.run("git", "clone", "-q", str(remote), str(pot), cwd=place.folder)
    for folder in (kettle, pot):
        place.run("git", "checkout", "-q", "-B", "main", cwd=folder)
    place.run("git", "remote", "add", "origin", str(remote), cwd=kettle)
    place.look_each(
        book,
        (
            ("show",),
            ("show", "--json"),
            ("message",),
            ("history",),
            ("history", "--json"),
            ("history", "2"),
            ("history", "--diff", "1", "2"),
        ),
        "plan",
        cwd=kettle,
    )
    for folder, words in (
        (kettle, ("push", "--json")),
        (kettle, ("push",)),
        (pot, ("show",)),
        (pot, ("pull", "--json")),
        (pot, ("pull",)),
        (pot, ("show",)),
        (pot, ("push", "nowhere")),
        (place.home, ("show",)),
    ):
        place.cli(book, "plan", *words, cwd=folder)


HOOK_EVENTS: Final = {
    "prompt": "UserPromptSubmit",
    "session": "SessionStart",
    "edit": "PreToolUse",
    "stop": "Stop",
}


def record_hooks(place: Place) -> None:
    """What each client's hook is answered."""
    book, editor = place.book("cli-hooks.txt"), place.folder / "editor"
    asyncio.run(call_last(place, "steps", NEXT, template_name="refactor", inputs={"target": "src/save.py"}))
    mentions = place.folder / "transcript.jsonl"
    mentions.write_text(pick_runs(place)["refactor-running"], "utf-8")
    files = (
        str(editor / "src/save.py"),
        str(editor / ".ai/task/plan.md"),
        str(editor / ".ai/task/state.json"),
        str(place.folder / "elsewhere.py"),
        f"{place.home}/.local/share/handrail/handrail.db",
    )
    edits: list[tuple[str, Json]] = [("edit", {"tool_input": {"file_path": name}}) for name in files]
    asked: list[tuple[str, Json]] = [
        *(
            ("prompt", {"prompt": text})
            for text in ("Accio", "reparo: resume it", "next", "say it", "/lumos")
        ),
        ("session", {}),
        *edits,
        ("edit", {"tool_input": {"command": "*** Begin Patch\n*** Update File: src/save.py\n@@\n"}}),
        ("stop", {"transcript_path": str(mentions)}),
        ("stop", {"transcript_path": str(mentions), "stop_hook_active": True}),
    ]

    def hook(client: str, event: str, given: Json) -> None:
        whole = {"cwd": str(editor), "hook_event_name": HOOK_EVENTS[event], **given}
        place.look(book, "hook", event, "--client", client, given=json.dumps(whole))

    for client in ("claude", "codex", "gemini"):
        for event, given in asked:
            hook(client, event, given)
    for words, text in (
        (("prompt", "--client", "claude", "--face", "steps"), '{"prompt": "Accio"}'),
        (("session", "--client", "claude"), "no json"),
        (("nothing", "--client", "claude"), "{}"),
    ):
        place.look(book, "hook", *words, given=text)
    # What an agent may change depends on the run that was called last.
    asyncio.run(call_last(place, "spells", "accio"))
    for event, given in (*edits, ("session", {})):
        hook("claude", event, given)


async def call_last(place: Place, face: str, tool: str, **given: object) -> None:
    """Make one call in the editor's project, of which nothing is written down."""
    async with over_stdio(place, Book(), face, place.folder / "editor") as talk:
        await talk.call(tool, **given)


CLIENTS: Final = ("claude", "codex", "cursor", "gemini", "jetbrains", "mcp", "vscode", "windsurf", "zed")


def record_install(place: Place) -> None:
    """What is written for every client, by the project and by the user, and taken out again."""
    shop = place.project(
        "shop", files={"CLAUDE.md": "# Ours\n", ".vscode/mcp.json": '{\n  // ours\n  "a": 1\n}\n'}
    )
    book = place.book("cli-install.txt")
    place.look_each(
        book,
        (
            (),
            ("--all", "--dry-run"),
            (*CLIENTS, "--dry-run"),
            (*CLIENTS, "--print"),
            (
                "claude",
                "cursor",
                "--print",
                "--face",
                "spells",
                "--http",
                "https://plans.example.org/mcp/spells",
            ),
            ("claude", "codex", "--dry-run", "--from-index"),
            ("zed", "--http", "no url"),
        ),
        "install",
        cwd=shop,
    )
    place.cli(book, "install", *CLIENTS, cwd=shop)
    add_files(book, shop)
    place.cli(book, "install", *CLIENTS, "--json", cwd=shop)
    place.cli(book, "install", *CLIENTS, "--uninstall", cwd=shop)
    add_files(book, shop)
    book = place.book("cli-install-user.txt")
    place.cli(book, "install", *CLIENTS[:5], *CLIENTS[6:], "--scope", "user", "--face", "spells", cwd=shop)
    add_files(book, place.home)
    place.cli(
        book, "install", *CLIENTS[:5], *CLIENTS[6:], "--scope", "user", "--uninstall", "--json", cwd=shop
    )
    add_files(book, place.home)


def record_setup(place: Place) -> None:
    """Setting up a project, what the doctor says of it, words that need a permit, and the demo."""
    book, inn = place.book("cli-init.txt"), place.project("inn")
    place.cli(book, "init", "--yes", cwd=inn)
    place.cli(book, "init", "--client", "claude", "--face", "spells", "--permit", "--json", cwd=inn)
    add_files(book, inn)
    place.cli(book, "init", "--client", "claude", "--face", "spells", "--permit", cwd=inn)
    place.cli(book, "init", cwd=inn, given="\n\n\n")
    book = place.book("cli-doctor.txt")
    place.each(
        book,
        (("--json",), (), ("--only", "runs", "--only", "vcs"), ("--fix", "--only", "store")),
        "doctor",
        cwd=inn,
    )
    book = place.book("spells-permit.txt")

    async def cast() -> None:
        async with over_stdio(place, book, "spells", inn) as talk:
            await talk.call("accio")
            given = json.dumps({"cwd": str(inn), "hook_event_name": "UserPromptSubmit", "prompt": "Accio"})
            place.cli(book, "hook", "prompt", "--client", "claude", given=given)
            await talk.call("accio")
            await talk.call("accio")
            await talk.call("lumos")

    asyncio.run(cast())
    place.cli(place.book("cli-demo.txt"), "demo")


def add_files(book: Book, folder: Path) -> None:
    """Write down all files below a folder that are not of git, jj or Python."""
    book.ask(f"files below {folder}")
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder)
        if not {".git", ".jj", "store"} & set(name.parts) and path.suffix not in {".db", ".pyc"}:
            book.add(f"--- {name} {path.stat().st_mode & 0o777:o}", path.read_text("utf-8", "replace"))


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

    def ask(self, method: str, path: str, form: Sequence[tuple[str, str]] = ()) -> Answered:
        """Ask for a page, or send a form."""
        self.place.tick()
        headers = {"Cookie": self.cookie, "Origin": f"http://{self.host}"}
        if method == "POST":
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        return ask_http(self.host, method, path, headers, urlencode(form))

    def keep(self, name: str, path: str) -> str:
        """Write a page into a file; its text."""
        got = self.ask("GET", path)
        head = f"GET {path} {got.status} {got.headers.get('content-type', '')}"
        self.place.book(name).add(f"<!-- {head} -->" if name.endswith(".html") else f"\n=== {head}", got.text)
        return got.text

    def act(self, book: Book, path: str, *form: tuple[str, str]) -> None:
        """Send a form, and write down what of the page is not on every page; and where it leads."""
        got = self.ask("POST", path, form)
        book.ask(f"POST {path} {urlencode(form)}")
        book.add(f"[{got.status}] {got.headers.get('location', '')}", main_part(got.text))
        if got.status == 303:
            book.add(main_part(self.ask("GET", got.headers["location"]).text))


def main_part(page: str) -> str:
    """What stands between the head and the foot of a page."""
    return page[page.find("<main") : page.find("</main>")]


@contextmanager
def dashboard(place: Place, folder: Path) -> Iterator[Pages]:
    """The dashboard over the store of a place, with a browser that was let in."""
    command = [str(PROGRAM), "dashboard", "--port", "0", "--no-open", "--project", str(folder)]
    with subprocess.Popen(command, cwd=folder, env=place.env, stdout=subprocess.PIPE, text=True) as process:
        try:
            said = process.stdout.readline() if process.stdout else ""
            host, _, path = said.strip().removeprefix("http://").partition("/")
            got = ask_http(host, "GET", f"/{path}", {})
            book = place.book("page-entrance.txt")
            book.ask("GET the link")
            add_answer(book, got)
            for again in (f"/{path}", "/", "/runs/nothing"):
                book.ask("GET the link again" if "/in/" in again else f"GET {again} without a cookie")
                add_answer(book, ask_http(host, "GET", again, {}))
            yield Pages(place, host, got.headers["set-cookie"].partition(";")[0])
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(SECONDS)


TABS: Final = ("", "history", "artifacts", "graph", "timeline", "plan")


def record_pages(place: Place) -> None:
    """Every page."""
    editor, runs = place.folder / "editor", pick_runs(place)
    with dashboard(place, editor) as pages:
        static = re.findall(r"/static/([\w.]+)", pages.keep("page-overview.html", "/"))
        pages.keep("page-overview-filtered.html", "/?q=the&lifecycle=running&lifecycle=completed&face=steps")
        pages.keep("page-overview-fragment.html", "/?fragment=1&workflow=walk")
        pages.keep("page-overview-unclear.html", "/?since=whenever&lifecycle=gone")
        for name in ("walk-completed", "bug-fix-completed", "article-completed"):
            for tab in TABS[:-1]:
                static += keep_tab(pages, name, runs[name], tab)
        for name in ("spells-running", "skills-completed", "planner-running", "commits-completed"):
            for tab in TABS:
                static += keep_tab(pages, name, runs[name], tab)
        for name in ("walk-failed", "walk-abandoned", "triage-running", "proposal-running"):
            keep_tab(pages, name, runs[name], "")
        walk, fix = runs["walk-completed"], runs["bug-fix-completed"]
        for name, path in (
            ("page-run-history-all.html", f"/runs/{walk}/history?only=all"),
            ("page-run-changes.html", f"/runs/{fix}/artifacts?n=3&from=2"),
            ("page-run-fragment.html", f"/runs/{walk}?fragment=1"),
            ("page-run-artifact.txt", f"/runs/{fix}/artifacts/1"),
            ("page-run-missing.html", f"/runs/{NOBODY}"),
            ("page-tab-missing.html", f"/runs/{walk}/nothing"),
            ("page-missing.html", "/nothing"),
        ):
            pages.keep(name, path)
        keep_insights(pages)
        static += keep_definitions(pages)
        for name in sorted(set(static)):
            pages.keep("page-static.txt", f"/static/{name}")
        book = place.book("page-entrance.txt")
        book.ask("GET /workflows, the head of the answer")
        got = pages.ask("GET", "/workflows")
        add_answer(book, Answered(got.status, got.headers, ""))


def keep_tab(pages: Pages, name: str, run: str, tab: str) -> list[str]:
    """A tab of a run; the static files that it names."""
    path = f"/runs/{run}" + (f"/{tab}" if tab else "")
    text = pages.keep(f"page-run-{name}{'-' if tab else ''}{tab}.html", path)
    return re.findall(r"/static/([\w.]+)", text)


def keep_insights(pages: Pages) -> None:
    """The four dashboards, as pages and as data."""
    for board in ("workflows", "steps", "telemetry", "activity"):
        pages.keep(f"page-insights-{board}.html", f"/insights/{board}")
        data = f"page-insights-{board}.txt"
        tables = json.loads(pages.keep(data, f"/insights/{board}?as=json"))
        for table in tables:
            pages.keep(data, f"/insights/{board}?as=csv&table={table}&range=24h")
    pages.keep("page-insights-all.html", "/insights?range=all")
    pages.keep("page-insights-missing.html", "/insights/nothing")
    pages.keep("page-insights-missing.html", "/insights/steps?as=csv")


def keep_definitions(pages: Pages) -> list[str]:
    """Workflows, personas and guardrails; the static files that they name."""
    text = pages.keep("page-workflows.html", "/workflows")
    for name in ("bug-fix", "spells", "triage", "broken", "docs", "nothing"):
        text += pages.keep(f"page-workflow-{name}.html", f"/workflows/{name}")
    for name in ("personas", "personas/tester", "personas/nobody", "guardrails", "guardrails/secrets"):
        text += pages.keep(f"page-{name.replace('/', '-')}.html", f"/{name}")
    return re.findall(r"/static/([\w.]+)", text)


def record_page_acting(place: Place) -> None:
    """What a person does on the pages, and what is refused."""
    book, runs = place.book("page-acting.txt"), pick_runs(place)
    run, other, over = runs["walk-running"], runs["brief-running"], runs["walk-failed"]
    with dashboard(place, place.folder / "editor") as pages:
        for action in ("pause", "resume", "complete-step", "abandon", "fork", "nothing"):
            got = pages.ask("GET", f"/runs/{run}/do/{action}")
            book.ask(f"GET /runs/{run}/do/{action}")
            book.add(f"[{got.status}]", main_part(got.text))
        given = ("output", json.dumps(output(summary="By hand.")))
        pages.act(book, f"/runs/{run}/do/comment", ("text", "Use the <b>old</b> name."))
        pages.act(book, f"/runs/{run}/do/comment", ("text", ""))
        pages.act(book, f"/runs/{run}/do/pause", ("reason", "lunch"))
        pages.act(book, f"/runs/{run}/do/pause")
        pages.act(book, f"/runs/{run}/do/resume")
        pages.act(book, f"/runs/{run}/do/complete-step", ("output", "no json"))
        pages.act(book, f"/runs/{run}/do/complete-step", ("output", "{}"))
        pages.act(book, f"/runs/{run}/do/complete-step", given)
        pages.act(book, f"/runs/{run}/do/abandon")
        pages.act(book, f"/runs/{over}/do/fork", ("step", "four"))
        pages.act(book, f"/runs/{over}/do/fork", ("step", "four"), ("confirmed", "1"))
        pages.act(book, f"/runs/{runs['spells-running']}/do/pause")
        chosen = [("run", each) for each in (run, other, over, NOBODY)]
        for action in ("pause", "resume", "abandon", "nothing"):
            pages.act(book, "/bulk", ("action", action), *chosen)
            pages.act(book, f"/bulk/{action}", ("action", action), *chosen)
        pages.act(book, "/bulk/abandon", ("action", "abandon"), ("reason", "enough"), *chosen)
        got = ask_http(pages.host, "POST", f"/runs/{run}/do/pause", {"Cookie": pages.cookie})
        book.ask("POST without an origin")
        book.add(f"[{got.status}]", main_part(got.text))


# --- PostgreSQL ---------------------------------------------------------------------------------------------


def postgres_programs() -> Path | None:
    """The folder of PostgreSQL's programs; None if they are not on the machine."""
    found = shutil.which("initdb")
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
    folders = [*([Path(found).parent] if found else []), *reversed(debian)]
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


@contextmanager
def postgres(programs: Path) -> Iterator[tuple[str, str]]:
    """A private server that listens on a socket only: its folder, and the URL of its database."""
    with tempfile.TemporaryDirectory(prefix="handrail-pg-", dir="/tmp") as name:
        folder = Path(name)
        # A server refuses to run as root.
        account = pwd.getpwnam("postgres") if os.geteuid() == 0 else None
        if account:
            os.chown(folder, account.pw_uid, account.pw_gid)

        def run(program: str, *words: str) -> None:
            command = [str(programs / program), "-D", str(folder / "data"), *words]
            with (folder / "said").open("a") as said:
                subprocess.run(
                    command,
                    cwd=folder,
                    stdout=said,
                    stderr=said,
                    check=True,
                    user=account and account.pw_uid,
                    group=account and account.pw_gid,
                    extra_groups=[] if account else None,
                )

        (folder / "said").touch()
        run("initdb", "-U", "handrail", "--encoding=UTF8", "--locale=C.UTF-8", "--auth=trust", "--no-sync")
        quick = "-c fsync=off -c shared_buffers=16MB -c listen_addresses="
        options = f"{quick} -c unix_socket_directories={folder} -c dynamic_shared_memory_type=mmap"
        run("pg_ctl", "start", "-w", "-s", "-l", str(folder / "log"), "-o", options)
        try:
            yield name, f"postgresql:///postgres?host={quote(name, safe='')}&user=handrail"
        finally:
            run("pg_ctl", "stop", "-m", "immediate", "-s")


# --- all of it ----------------------------------------------------------------------------------------------


def record_stdio(folder: Path, library: Path) -> dict[str, str]:
    """Everything that is taken from one store: conversations, then what people see of them and do."""
    place = Place(folder, library)
    asyncio.run(talk_over_stdio(place))
    record_runs(place)
    record_pages(place)
    record_hooks(place)
    record_page_acting(place)
    record_acting(place)
    asyncio.run(give_up(place))
    return place.texts()


def record_keeping(folder: Path, library: Path) -> dict[str, str]:
    """What is told of workflows, and done to a store, over a few runs."""
    place = Place(folder, library)
    asyncio.run(fill(place))
    record_workflows(place)
    record_store(place)
    return place.texts()


async def fill(place: Place) -> None:
    """A run of three faces, of which nothing is written down."""
    editor = place.project("editor", files=step_project_files())
    place.run("handrail", "trust", "tester", "--yes", cwd=editor)
    async with over_stdio(place, Book(), "steps", editor) as talk:
        await fix_a_bug(Stepper(talk))
    for face in ("spells", "skills"):
        async with over_stdio(place, Book(), face, editor) as talk:
            await CONVERSATIONS[face](talk)


async def give_up(place: Place) -> None:
    """Runs that nobody has called for long are given up when a server starts."""
    run = pick_runs(place)["brief-running"]
    place.clock.move(2000)
    book = place.book("steps-given-up.txt")
    async with over_stdio(place, book, "steps", place.folder / "editor") as talk:
        await talk.call(NEXT, execution_id=run)
        await talk.call(NEXT, execution_id=run, action="fork")
    place.cli(book, "runs", "list")


def record_other(folder: Path, library: Path) -> dict[str, str]:
    """Other ways to talk over stdin: plans in jj, a person who is asked, and the bare wire."""
    place = Place(folder, library)
    asyncio.run(talk_over_jj(place))
    record_wire(place)
    return place.texts()


def record_plain(folder: Path, library: Path) -> dict[str, str]:
    """The commands that need no run."""
    place = Place(folder, library)
    record_help(place)
    record_usage(place)
    return place.texts()


def record_clients(folder: Path, library: Path) -> dict[str, str]:
    """What is set up for clients, and the commands about plans."""
    place = Place(folder, library)
    record_install(place)
    record_setup(place)

    async def plan() -> None:
        async with over_stdio(place, Book(), "planner", place.project("kettle")) as talk:
            await talk_planner(talk)

    asyncio.run(plan())
    record_plans(place)
    return place.texts()


def record_team(folder: Path, library: Path) -> dict[str, str]:
    """What is told over HTTP."""
    place = Place(folder, library)
    record_http(place)
    return place.texts()


def record_postgres(folder: Path, library: Path) -> dict[str, str]:
    """The conversation of `steps` over PostgreSQL."""
    programs = postgres_programs()
    if programs is None:
        return {}
    with postgres(programs) as (server, url):
        place = Place(folder, library, url)
        place.literal = {server: "<postgres>", quote(server, safe=""): "<postgres>"}

        async def talk_steps_there() -> None:
            editor = place.project("editor", files=step_project_files())
            async with over_stdio(place, place.book(POSTGRES), "steps", editor) as talk:
                await talk_steps(talk)

        asyncio.run(talk_steps_there())
        return place.texts()


POSTGRES: Final = "steps-postgres.txt"
SAME: Final = "steps-stdio.txt"
SUBJECTS: Final[Mapping[str, Callable[[Path, Path], dict[str, str]]]] = {
    "stdio": record_stdio,
    "keeping": record_keeping,
    "http": record_team,
    "clients": record_clients,
    "plain": record_plain,
    "other": record_other,
    "postgres": record_postgres,
}
"""What is recorded, each in a place of its own; the longest first."""


def record(only: Iterable[str] = SUBJECTS) -> dict[str, str]:
    """All transcripts by the names of their files."""
    # The folder's length is the same each time, since tables and lines are cut by the length of a path.
    with tempfile.TemporaryDirectory(prefix="handrail-", dir="/tmp") as name:
        folder = Path(name)
        library = build_clock(folder)
        with ThreadPoolExecutor(len(SUBJECTS)) as pool:
            found = {each: pool.submit(timed, each, folder / each, library) for each in only}
            texts = {name: text for one in found.values() for name, text in one.result().items()}
    if POSTGRES in texts and SAME in texts:
        old, new = (texts[name].splitlines(keepends=True) for name in (SAME, POSTGRES))
        lines = difflib.unified_diff(old, new, SAME, POSTGRES)
        texts[POSTGRES] = "".join(lines) or f"The same as {SAME}.\n"
    return texts


def timed(subject: str, folder: Path, library: Path) -> dict[str, str]:
    """Record a subject, and say how long that took."""
    begun = time.monotonic()
    found = SUBJECTS[subject](folder, library)
    print(f"{subject}: {len(found)} files, {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return found


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
    logging.disable(logging.WARNING)  # the client's own, about names that a server does not list
    folder, only, begun = Path(arguments[1]), arguments[2:] or list(SUBJECTS), time.monotonic()
    found = record(only)
    print(f"{len(found)} transcripts in {time.monotonic() - begun:.0f} s", file=sys.stderr)
    if arguments[0] == "record":
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir() if len(only) == len(SUBJECTS) else ():
            path.unlink()
        write(folder, found)
        return 0
    before = read_record(folder)
    if len(only) < len(SUBJECTS):
        before = {name: text for name, text in before.items() if name in found}
    elif POSTGRES not in found:
        print("PostgreSQL is not on this machine: its transcript is left out", file=sys.stderr)
        before.pop(POSTGRES, None)
    lines = differences(before, found)
    for line in lines:
        print(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n", end="")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
