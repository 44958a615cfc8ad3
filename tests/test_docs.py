"""Whatever a user can name is named in docs/reference/, and the examples on the pages work."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
import pytest

from handrail.engine.check import FINDINGS, check
from handrail.engine.lifecycle import CONTINUE, RESERVED
from handrail.engine.model import Lifecycle
from handrail.engine.refusals import CODES
from handrail.faces.cli.main import cli
from handrail.workflows.codes import LOADING
from handrail.workflows.load import Source, load
from handrail.workflows.registry import BUILT_IN
from handrail.workflows.render import FILTERS

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference"
SOURCE = ROOT / "src" / "handrail"
MAKERS = {"error", "warning", "problem", "_report", "_stop"}


def undocumented(names: Iterable[str], pages: str) -> list[str]:
    """The names that stand nowhere in the pages as code, in a line or in a block, as whole words."""
    blocks = re.findall(r"^```.*?^```", pages, re.DOTALL | re.MULTILINE)
    lines = re.findall(r"`([^`\n]+)`", pages)
    code = "\n".join([*blocks, *lines])
    return sorted(n for n in set(names) if not re.search(rf"(?<![\w.-]){re.escape(n)}(?![\w-]|\.\w)", code))


def commands(command: click.Command, path: str) -> Iterator[str]:
    """A command as it is typed, its options, and the same of every command below it."""
    yield path
    yield from (max(p.opts, key=len) for p in command.params if isinstance(p, click.Option))
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from commands(below, f"{path} {name}")


def settings(command: click.Command) -> Iterator[str]:
    """The environment variables that a command, or one below it, reads."""
    for parameter in command.params:
        if isinstance(parameter.envvar, str):
            yield parameter.envvar
    if isinstance(command, click.Group):
        for below in command.commands.values():
            yield from settings(below)


def problem_codes(source: str) -> set[str]:
    """The codes of the problems that a file makes: given to a maker of problems, or to a variable `code`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and node.args:
            maker = ast.unparse(node.func).rsplit(".", 1)[-1]
            if maker in MAKERS:
                found |= _constants(node.args[0])
            elif maker == "unknown":
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


@pytest.fixture(scope="module")
def reference() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(REFERENCE.rglob("*.md")))


def _documented(names: Iterable[str], pages: str) -> None:
    if missing := undocumented(names, pages):
        pytest.fail(f"not in docs/reference/: {', '.join(missing)}", pytrace=False)


def test_every_command_and_option_is_documented(reference: str) -> None:
    _documented(commands(cli, "handrail"), reference)


def test_every_setting_is_documented(reference: str) -> None:
    _documented(settings(cli), reference)


def test_every_fact_draft_and_effect_is_documented(reference: str) -> None:
    _documented([*BUILT_IN.facts, *BUILT_IN.drafts, *BUILT_IN.effects], reference)


def test_every_filter_is_documented(reference: str) -> None:
    _documented((name for name in FILTERS if name), reference)


def test_every_event_kind_and_lifecycle_is_documented(reference: str) -> None:
    _documented([*RESERVED, CONTINUE, *map(str, Lifecycle)], reference)


def test_every_code_of_a_refusal_is_documented(reference: str) -> None:
    _documented(CODES, reference)


def test_every_code_of_a_problem_is_documented(reference: str) -> None:
    _documented([*LOADING, *FINDINGS], reference)


def test_every_code_of_a_problem_is_in_a_table_and_every_one_in_a_table_is_given() -> None:
    made = {code for path in SOURCE.rglob("*.py") for code in problem_codes(path.read_text(encoding="utf-8"))}

    assert sorted(made - {*LOADING, *FINDINGS}) == []
    assert sorted({*LOADING, *FINDINGS} - made) == []


def test_every_workflow_on_the_pages_is_sound() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    shown = [
        text
        for page in pages
        for text in re.findall(r"```yaml\n(workflow:.*?)```", page.read_text(), re.DOTALL)
    ]

    assert shown
    for text in shown:
        loaded = load(Source("page.yaml", text))
        assert loaded.problems == ()
        assert loaded.workflow is not None
        assert check(loaded.workflow) == ()


# --- each of these checks can fail --------------------------------------------------------------------------


def test_a_name_that_stands_on_no_page_is_found() -> None:
    pages = "`plan.exists`, `{{a|count}}`, plan.stage, `task.name.x`\n\n```sh\nhandrail demo --fast\n```\n"
    names = [
        "plan.exists",
        "count",
        "handrail demo",
        "--fast",
        "plan.stage",
        "task.name",
        "plan",
        "demo --fas",
    ]

    assert undocumented(names, pages) == ["demo --fas", "plan", "plan.stage", "task.name"]


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
        ("error('a-b', place)", {"a-b"}),
        ("self.reader.problem('a-b' if 'c' in d else 'e-f', place)", {"a-b", "e-f"}),
        ("reader.unknown('fact', name)", {"unknown-fact"}),
        ("code = 'a-b' if x else 'c-d'", {"a-b", "c-d"}),
        ("other('a-b')", set()),
        ("error(code)", set()),
    ],
)
def test_the_codes_of_problems_are_collected(source: str, codes: set[str]) -> None:
    assert problem_codes(source) == codes
