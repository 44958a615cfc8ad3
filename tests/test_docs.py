"""Whatever a user can name is named in docs/reference/, links lead somewhere, and the examples work."""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryFile

import click
import pytest

from handrail.app.catalog import FILE_PROBLEM_CODES as FILES
from handrail.app.definitions import START_REFUSAL_CODES as STARTS
from handrail.app.faces import CALL_CODES as CALLS
from handrail.app.faces import SESSION_CODES
from handrail.cli.main import cli
from handrail.documents.front_matter import FRONT_MATTER_CODES as FRONT
from handrail.engine.contract import COMMON_FACTS
from handrail.engine.facts import Kind, Provenance
from handrail.engine.lifecycle import CONTINUE, RESERVED_TRIGGERS
from handrail.engine.model import Actor, Authority, Lifecycle
from handrail.engine.refusals import REFUSAL_CODES
from handrail.engine.rows import EVENT_FACTS, RUN_FACTS
from handrail.engine.soundness import FINDING_CODES, check_soundness
from handrail.runtime.entries import ENTRY_KIND_MEANINGS, EntryKind
from handrail.runtime.errors import FAULTS
from handrail.runtime.records import RUN_REFUSAL_CODES as TURNS
from handrail.runtime.tokens import TOKEN_REFUSAL_CODES as TOKENS
from handrail.workflows.load import LOADING_CODES, WorkflowSource, load_workflow
from handrail.workflows.registry import BUILT_IN_REGISTRY, OK_FACT, PROBLEMS_FACT
from handrail.workflows.templates import FILTERS
from helpers import house_rules
from helpers.forks import PROGRAM, ForkedProcess, can_fork
from tools import docs
from tools.sample_store import sample_store

pytestmark = pytest.mark.unmeasured
ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "handrail"
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
GUIDES = sorted((DOCS / "guides").glob("*.md"))
MAKERS = {"build_error", "build_warning", "report_problem", "_report", "_stop"}
SHELL = re.compile(r"[|&;<>()$`*?~]")
"""What only a shell understands."""


# --- the checks: each gives what it finds, and nothing for good pages ---------------------------------------


def undocumented(names: Iterable[str], pages: str) -> list[str]:
    """The names that stand nowhere in the pages as code, in a line or in a block, as whole words."""
    fenced = re.findall(r"^```.*?^```", pages, re.DOTALL | re.MULTILINE)
    lines = re.findall(r"`([^`\n]+)`", pages)
    code = "\n".join([*fenced, *lines])
    return sorted(n for n in set(names) if not re.search(rf"(?<![\w.-]){re.escape(n)}(?![\w-]|\.\w)", code))


def commands(command: click.Command, path: str) -> Iterator[str]:
    """A command as it is typed, its options, and the same of every command below it."""
    yield path
    yield from (max(p.opts, key=len) for p in command.params if isinstance(p, click.Option))
    for name, inner in docs.below(command):
        yield from commands(inner, f"{path} {name}")


def settings(command: click.Command) -> Iterator[str]:
    """The environment variables that a command, or one below it, reads."""
    for parameter in command.params:
        if isinstance(parameter.envvar, str):
            yield parameter.envvar
    for _, inner in docs.below(command):
        yield from settings(inner)


def problem_codes(source: str) -> set[str]:
    """The codes of the problems that a file makes: given to a maker of problems, or to a variable `code`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and node.args:
            whose, _, maker = ast.unparse(node.func).rpartition(".")
            if maker in MAKERS and whose != "log":
                found |= _constants(node.args[0])
            elif maker == "report_unknown":
                found |= {f"unknown-{kind}" for kind in _constants(node.args[0])}
        elif isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["code"]:
            found |= _constants(node.value)
    return found


def _constants(node: ast.expr) -> set[str]:
    match node:
        case ast.Constant(value=str(text)):
            return {text}
        case ast.IfExp(body=body, orelse=other):
            return _constants(body) | _constants(other)
        case _:
            return set()


def lost_anchors(links: Iterable[str], headings: Mapping[str, str]) -> list[str]:
    """The links `page#heading` to headings that their page does not have; pages are given by their text."""
    lost = []
    for link in links:
        target, _, anchor = link.partition("#")
        titles = re.findall(r"^#+ (.*)$", headings.get(target, ""), re.MULTILINE)
        if anchor and anchor not in map(_slug, titles):
            lost.append(link)
    return lost


def _slug(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def missing_functions(page: str, source: Path) -> list[str]:
    """The places `folder/file.py:name` on a page at which nothing of that name is defined."""
    lost = []
    for file, name in re.findall(r"`([\w/]+\.py):(\w+)`", page):
        path = source / file
        text = path.read_text("utf-8") if path.is_file() else ""
        if not re.search(rf"^(async def|def|class) {name}\b|^{name}\b.* = ", text, re.MULTILINE):
            lost.append(f"{file}:{name}")
    return lost


def blocks(page: str) -> list[tuple[str, str]]:
    """The fenced blocks of a page, each with its language."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


def unsound(page: str) -> list[str]:
    """What is wrong with the workflows that a page shows; they may use each other."""
    shown = [body for language, body in blocks(page) if language == "yaml" and body.startswith("workflow:")]
    names = {body.split("\n")[0].removeprefix("workflow:").strip(): body for body in shown}
    found = []
    for body in shown:
        loaded = load_workflow(
            WorkflowSource("page.yaml", body),
            lambda name: WorkflowSource(name, names[name]) if name in names else None,
        )
        problems = loaded.problems or (check_soundness(loaded.workflow) if loaded.workflow else ())
        found += [f"{body.split()[1]}: {problem.code}, {problem.message}" for problem in problems]
    return found


def differences(page: str, folder: Path) -> list[str]:
    """Where commands of a page end otherwise than it says, or print something else than it shows.

    Its workflows are files of the folder: called as they are, or as a first line `# NAME.yaml` says. Its last
    plan document is `plan.txt`.
    """
    found: list[str] = []
    printed: str | None = None
    for language, body in blocks(page):
        named = re.match(r"(?:workflow: |# )([\w-]+)", body)
        if language == "yaml" and named:
            (folder / f"{named[1]}.yaml").write_text(body, "utf-8")
        if language == "plan":
            (folder / "plan.txt").write_text(body, "utf-8")
        if language in {"text", "mermaid"} and printed is not None and printed != body:
            found.append(f"printed, and not shown:\n{printed}")
        printed = None
        for line in body.splitlines() if language == "sh" else ():
            if line.startswith("handrail "):
                status, printed = _run(line, folder)
                wanted = re.search(r"# exit (\d+)", line)
                if status != int(wanted[1] if wanted else 0):
                    found.append(f"exit {status}: {line}")
    return found


def _run(line: str, folder: Path) -> tuple[int, str]:
    """How a line ends, and what it prints; one that needs a shell is given to one."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path}
    with Path(os.devnull).open() as none, TemporaryFile("w+") as out:
        if SHELL.search(line) or not can_fork(PROGRAM, env):
            words = ("/bin/sh", "-c", line)
            status = subprocess.run(
                words, cwd=folder, env=env, check=False, stdout=out, stderr=out
            ).returncode
        else:
            streams = [file.fileno() for file in (none, out, out)]
            status = ForkedProcess(shlex.split(line, comments=True)[1:], env, folder, streams).wait(60)
        out.seek(0)
        return status, out.read()


# --- the pages as they are ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reference() -> str:
    return "\n".join(path.read_text("utf-8") for path in sorted((DOCS / "reference").rglob("*.md")))


def _documented(names: Iterable[str], pages: str) -> None:
    if missing := undocumented(names, pages):
        pytest.fail(f"not in docs/reference/: {', '.join(missing)}", pytrace=False)


def test_every_command_and_option_is_documented(reference: str) -> None:
    found = list(commands(cli, "handrail"))

    assert {"handrail completion", "handrail demo", "handrail workflows check", "--format"} <= set(found)
    _documented(found, reference)


def test_every_setting_is_documented(reference: str) -> None:
    sources = "\n".join(path.read_text("utf-8") for path in SOURCE.rglob("*.py"))

    _documented([*settings(cli), *re.findall(r"\bHANDRAIL_[A-Z_]+", sources)], reference)


def test_every_fact_draft_and_effect_is_documented(reference: str) -> None:
    facts = [
        fact.name for fact in (*BUILT_IN_REGISTRY.facts.values(), *RUN_FACTS, *EVENT_FACTS, *COMMON_FACTS)
    ]
    drafted = [name for draft in BUILT_IN_REGISTRY.drafts.values() for name in (*draft.facts, *draft.values)]
    keys = [key for effect in BUILT_IN_REGISTRY.effects.values() for key in effect.params]

    _documented(
        [
            *facts,
            *BUILT_IN_REGISTRY.drafts,
            *drafted,
            OK_FACT,
            PROBLEMS_FACT,
            *BUILT_IN_REGISTRY.effects,
            *keys,
        ],
        reference,
    )


def test_every_filter_is_documented(reference: str) -> None:
    _documented((name for name in FILTERS if name), reference)


def test_every_event_kind_and_lifecycle_is_documented(reference: str) -> None:
    _documented([*RESERVED_TRIGGERS, CONTINUE, *map(str, Lifecycle)], reference)


def test_every_word_that_can_stand_in_a_workflow_is_documented(reference: str) -> None:
    schema = json.loads((SOURCE / "workflows" / "schema.json").read_text("utf-8"))
    shapes = [schema, *schema["$defs"].values()]
    keys = {
        key
        for s in (*shapes, *(w for s in shapes for w in s.get("oneOf", ())))
        for key in s.get("properties", ())
    }

    assert len(keys) > 30
    _documented([*keys, *Kind, *Provenance, *Authority, *Actor], reference)


def test_every_code_of_a_refusal_is_documented(reference: str) -> None:
    _documented([*REFUSAL_CODES, *TOKENS, *TURNS, *CALLS, *SESSION_CODES, *STARTS], reference)


def test_every_kind_of_entry_and_every_fault_is_documented(reference: str) -> None:
    assert set(ENTRY_KIND_MEANINGS) == set(EntryKind)
    _documented([*EntryKind, *(fault.code for fault in FAULTS)], reference)


def test_every_code_of_a_problem_is_documented(reference: str) -> None:
    made = {code for path in SOURCE.rglob("*.py") for code in problem_codes(path.read_text("utf-8"))}

    assert len(made) > 40
    _documented([*made, *LOADING_CODES, *FINDING_CODES, *FILES, *FRONT], reference)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_links_of_a_page_lead_somewhere(path: Path) -> None:
    page = path.read_text("utf-8")
    links = re.findall(r"\]\(([^)\s:]*#[^)\s]+)\)", page)
    files = {link.partition("#")[0] for link in links}
    headings = {name: (path.parent / name if name else path).read_text("utf-8") for name in files}

    assert house_rules.find_dead_links(page, lambda target: (path.parent / target).exists()) == []
    assert lost_anchors(links, headings) == []


def test_the_index_links_to_every_page() -> None:
    linked = set(re.findall(r"\]\(([^)#\s]+)", (DOCS / "index.md").read_text("utf-8")))

    assert {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} - linked == {"index.md"}


@pytest.mark.parametrize("path", sorted((DOCS / "design").glob("*.md")), ids=lambda path: path.stem)
def test_what_a_design_page_points_to_in_the_code_is_there(path: Path) -> None:
    assert missing_functions(path.read_text("utf-8"), SOURCE) == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_workflow_on_a_page_is_sound(path: Path) -> None:
    assert unsound(path.read_text("utf-8")) == []


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_the_commands_of_a_guide_do_what_it_says(path: Path, tmp_path: Path, home: Path) -> None:
    sample_store(home / ".local" / "share" / "handrail" / "handrail.db")

    assert differences(path.read_text("utf-8"), tmp_path) == []


# --- each of these checks can fail --------------------------------------------------------------------------

GOOD = "workflow: tea\nversion: 1\nauthority: sql\nsteps:\n  - {name: boil, agent: cook, task: Boil it.}\n"


def test_a_name_that_stands_on_no_page_is_found() -> None:
    pages = "`plan.exists`, `{{a|count}}`, plan.stage, `task.name.x`\n\n```sh\nhandrail demo --fast\n```\n"
    good = ["plan.exists", "count", "handrail demo", "--fast"]
    bad = ["demo --fas", "plan", "plan.stage", "task.name"]

    assert undocumented([*good, *bad], pages) == bad


def test_commands_options_and_settings_are_found_at_every_depth() -> None:
    top = click.Group("top", params=[click.Option(["-q", "--quiet"], envvar="TOP_QUIET")])
    middle = click.Group("middle")
    middle.add_command(click.Command("leaf", params=[click.Option(["--deep"], envvar="TOP_DEEP")]))
    top.add_command(middle)

    assert list(commands(top, "top")) == ["top", "--quiet", "top middle", "top middle leaf", "--deep"]
    assert list(settings(top)) == ["TOP_QUIET", "TOP_DEEP"]


@pytest.mark.parametrize(
    ("source", "codes"),
    [
        ("build_error('a-b', place)", {"a-b"}),
        ("self.reader.report_problem('a-b' if 'c' in d else 'e-f', place)", {"a-b", "e-f"}),
        ("reader.report_unknown('fact', name)", {"unknown-fact"}),
        ("code = 'a-b' if x else 'c-d'", {"a-b", "c-d"}),
        ("other('a-b')", set()),
        ("build_error(code)", set()),
    ],
)
def test_the_codes_of_problems_are_collected(source: str, codes: set[str]) -> None:
    assert problem_codes(source) == codes


def test_a_link_to_a_heading_that_is_not_there_is_found() -> None:
    headings = {"a.md": "# Where `x` is\n\n## Two  words\n", "": "# Here\n"}
    links = ["a.md#where-x-is", "a.md#where", "#here", "#there", "b.md#any", "a.md"]

    assert lost_anchors(links, headings) == ["a.md#where", "#there", "b.md#any"]


def test_a_function_that_is_gone_is_found(tmp_path: Path) -> None:
    functions = "def one() -> None: ...\nasync def four() -> None: ...\n"
    (tmp_path / "some.py").write_text(f"{functions}class Two: ...\nTHREE: Final = 3\n")
    page = "`some.py:one`, `some.py:four`, `some.py:Two`, `some.py:THREE`, `some.py:tw`, `other.py:one`"

    assert missing_functions(page, tmp_path) == ["some.py:tw", "other.py:one"]


def test_a_workflow_that_is_not_sound_is_found() -> None:
    loops = GOOD.replace("boil,", "boil, next: [{to: boil}],")
    misspelt = GOOD.replace("agent", "agnet")
    uses = "workflow: day\nversion: 1\nauthority: sql\nsteps: [{name: tea, workflow: tea}]\n"

    assert unsound(f"```yaml\n{GOOD}```\n\n```yaml\n{uses}```\n\n```yaml\n# {misspelt}```\n") == []
    assert [line.split(",")[0] for line in unsound(f"```yaml\n{uses}```\n")] == ["day: unknown-workflow"]
    assert any(line.startswith("tea: unknown-key") for line in unsound(f"```yaml\n{misspelt}```\n"))
    assert unsound(f"```yaml\n{loops}```\n") != []


def test_a_command_that_ends_otherwise_or_prints_something_else_is_found(tmp_path: Path) -> None:
    page = f"""
```yaml
{GOOD}```

```sh
handrail workflows check tea.yaml
handrail workflows check tea.yaml  # exit 1
handrail workflows check tea.yaml
```

```text
1 checked, 3 problems
```
"""

    assert differences(page.replace("  # exit 1", "").replace("3", "no"), tmp_path) == []
    for shown in (page, page.replace("```text", "```mermaid")):
        assert differences(shown, tmp_path) == [
            "exit 0: handrail workflows check tea.yaml  # exit 1",
            "printed, and not shown:\n1 checked, no problems\n",
        ]
