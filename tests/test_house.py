"""The rules of the house, held against every file of it; test_house_rules.py shows that each can fail."""

import tokenize
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from helpers import house_rules, source_tree
from helpers.workflow_names import NAMES
from tools.coverage_gate import PURE

pytestmark = pytest.mark.unmeasured
ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "handrail"
LIBRARY = SOURCE / "workflows" / "library"
BUILT = {"__pycache__", "dist", "site"}
HIDDEN_BUT_OURS = {".ci", ".gitignore"}
MINUTES = 8
MAX_MODULES = 200
MAX_LAZY_IMPORTS = 25
SUBJECTS = {
    "cli.serve": "the command `serve`, and a server on stdin",
    "cli.serve_http": "servers over HTTP, with the dashboard",
    "cli.runs": "the commands about runs; `workflows graph --run` draws one of them",
    "dashboard.definitions": "the pages of workflows, personas and guardrails",
    "dashboard.insights": "the pages with charts",
    "dashboard.live": "the WebSocket and server-sent events",
    "dashboard.run_page": "the page of a run",
    "drawing.layers": "the layered layout, up to the columns",
    "mcp.apps": "the MCP Apps extension",
    "mcp.elicitation": "questions to a person",
    "mcp.exporters": "what exports telemetry",
    "mcp.resources": "the seven resources",
    "mcp.run_picture": "the picture of a run in a chat",
    "mcp.subscriptions": "who hears of which change",
    "stores.files.recovery": "the recovery table",
    "stores.sql.access": "access tokens and registered projects",
    "stores.sql.postgres.database": "a PostgreSQL database as this process has it open",
    "stores.sql.postgres.notifications": "LISTEN and NOTIFY",
    "stores.sql.projection": "runs of other stores, shown in this one",
    "stores.vcs.git": "the description of a git commit",
    "stores.vcs.jj": "the description of a jj commit",
    "workflows.guard_compiler": "compiling CEL",
}
"""Modules that one other module of their folder imports, and the subject that each one is."""


def _texts() -> Iterator[Path]:
    """Every text file of the project; what tools leave behind is not of the project."""
    folders = [ROOT]
    while folders:
        for path in sorted(folders.pop().iterdir()):
            if path.name in BUILT or (path.name.startswith(".") and path.name not in HIDDEN_BUT_OURS):
                continue
            if path.is_dir():
                folders.append(path)
            elif b"\0" not in path.read_bytes():
                yield path


def _texts_but(*suffixes: str) -> list[Path]:
    return [path for path in _texts() if path.suffix not in suffixes]


def _python(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def _hold(check: house_rules.Check, paths: Iterable[Path]) -> None:
    broken = [
        f"{path.relative_to(ROOT)}:{finding.line}: {finding.what}"
        for path in paths
        for finding in _findings(check, path.read_text(encoding="utf-8"))
    ]
    if broken:
        pytest.fail("\n".join(broken), pytrace=False)


def _findings(check: house_rules.Check, source: str) -> list[house_rules.Finding]:
    try:
        return check(source)
    except (SyntaxError, tokenize.TokenError) as problem:
        return [house_rules.Finding(1, f"cannot be read: {problem}")]


def test_pure_packages_touch_nothing_of_the_world() -> None:
    modules = [SOURCE / name for name in PURE if name.endswith(".py")]

    _hold(house_rules.find_impurities, [*_python(*(f"src/handrail/{name}" for name in PURE)), *modules])


def test_the_house_has_at_most_200_modules() -> None:
    assert len(source_tree.list_modules()) <= MAX_MODULES


def test_no_folder_has_more_than_20_modules() -> None:
    assert {
        folder: len(names) for folder, names in source_tree.group_by_folder().items() if len(names) > 20
    } == {}


def test_no_file_name_is_in_three_folders() -> None:
    assert source_tree.find_repeated_names(3) == {}


def test_a_module_with_one_importer_in_its_folder_is_a_subject_of_its_own() -> None:
    assert set(source_tree.find_single_importers()) == set(SUBJECTS)


def test_imports_inside_functions_are_few() -> None:
    lazy = [
        f"{source_tree.get_module_name(path)}:{line}"
        for path in source_tree.list_modules()
        for line in set(source_tree.find_inner_imports(path.read_text(encoding="utf-8")))
    ]

    assert len(lazy) <= MAX_LAZY_IMPORTS, lazy


def test_no_public_function_is_a_bare_participle() -> None:
    _hold(
        house_rules.find_bare_participles,
        [path for path in source_tree.list_modules() if path.stem != "skills"],
    )


def test_no_package_re_exports() -> None:
    _hold(house_rules.find_exports, sorted(SOURCE.rglob("__init__.py")))


def test_no_state_skill_or_spell_is_named_in_python() -> None:
    library = [
        house_rules.list_names_in_workflow(path.read_text(encoding="utf-8"))
        for path in LIBRARY.rglob("*.yaml")
    ]
    names = NAMES.union(*library)

    _hold(lambda source: house_rules.find_workflow_names(source, names), _python("src"))


def test_nothing_is_left_unfinished() -> None:
    _hold(house_rules.find_unfinished_work, _texts_but(".md"))


def test_no_tool_is_silenced_without_a_reason() -> None:
    _hold(house_rules.find_unexplained_silences, _python("src", "tests", "tools", "benchmarks"))


def test_no_registry_is_named() -> None:
    _hold(house_rules.find_registry_hosts, _texts_but(".md"))


def test_nothing_leads_out_of_the_project() -> None:
    _hold(house_rules.find_outside_paths, _texts_but(".md"))


def test_no_test_sleeps() -> None:
    _hold(house_rules.find_sleeps, _python("tests"))


def test_no_page_links_to_a_missing_file() -> None:
    for page in (path for path in _texts() if path.suffix == ".md"):
        _hold(_links_from(page.parent), [page])


def _links_from(folder: Path) -> house_rules.Check:
    def check(text: str) -> list[house_rules.Finding]:
        return house_rules.find_dead_links(text, lambda target: (folder / target).exists())

    return check


def test_constraints_pin_exact_versions_and_nothing_else() -> None:
    _hold(house_rules.find_loose_pins, [ROOT / "constraints.txt"])


def test_every_package_asked_for_is_pinned() -> None:
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = asked["project"]["optional-dependencies"]
    own = [f"handrail[{extra}]" for extra in extras]
    requirements = [
        *asked["build-system"]["requires"],
        *asked["project"]["dependencies"],
        *(requirement for extra in extras.values() for requirement in extra if requirement not in own),
    ]

    assert house_rules.find_unpinned_packages(requirements, (ROOT / "constraints.txt").read_text()) == []


def test_the_budget_of_the_whole_test_run_is_under_eight_minutes() -> None:
    budget = tomllib.loads((ROOT / "tests" / "budget.toml").read_text())["minutes"]

    assert house_rules.check_budget(budget, MINUTES) == []


def test_the_walk_over_the_files_reaches_every_folder_of_the_project() -> None:
    walked = {path.relative_to(ROOT).as_posix() for path in _texts()}

    assert walked >= {
        ".ci/run",
        "Makefile",
        "constraints.txt",
        "pyproject.toml",
        "src/handrail/engine/model.py",
        "tests/requirements/spells.txt",
        "tools/setup",
    }
