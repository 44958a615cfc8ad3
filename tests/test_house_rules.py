"""Every rule of the house finds the defect it is there for: a guard that cannot fail is none."""

import pytest

from helpers import house_rules, source_tree
from helpers.house_rules import Finding

NAMES = frozenset({"GATHER_EDITING", "collab-clear", "lumos", "done"})


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("import os", "imports os"),
        ("import os.path as where", "imports os.path"),
        ("import json, time", "imports time"),
        ("from pathlib import Path", "imports pathlib"),
        ("from asyncio.subprocess import PIPE", "imports asyncio.subprocess"),
        ("def f():\n    import sqlite3", "imports sqlite3"),
        ("text = open('a').read()", "uses open"),
        ("read = open", "uses open"),
        ("print('a')", "uses print"),
        ("input()", "uses input"),
        ("eval('1')", "uses eval"),
        ("exec('1')", "uses exec"),
        ("__import__('os')", "uses __import__"),
        ("a = datetime.now()", "asks a clock: datetime.now()"),
        ("a = datetime.datetime.utcnow()", "asks a clock: datetime.datetime.utcnow()"),
        ("a = dt.today()", "asks a clock: dt.today()"),
        ("a = field(default_factory=datetime.now)", "asks a clock: datetime.now()"),
    ],
)
def test_impurity_is_found(line: str, what: str) -> None:
    assert [finding.what for finding in house_rules.find_impurities(line)] == [what]


@pytest.mark.parametrize(
    "line",
    [
        "import re",
        "import ossify",
        "from handrail.engine import time_of",
        "run.open",
        "a = facts.now",
        "open: int = 3",
    ],
)
def test_pure_code_is_let_pass(line: str) -> None:
    assert house_rules.find_impurities(line) == []


def test_a_package_that_re_exports_is_found() -> None:
    assert house_rules.find_exports('"""About."""\n\n__version__ = "1"\n') == []
    assert house_rules.find_exports("") == []
    assert house_rules.find_exports('"""About."""\nfrom a import b\n') == [
        Finding(2, "holds from a import b")
    ]
    assert house_rules.find_exports('__all__ = ["a"]\n') == [Finding(1, "holds __all__ = ['a']")]
    assert house_rules.find_exports("__version__ = make()\n") == [Finding(1, "holds __version__ = make()")]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("if run.state == 'GATHER_EDITING': pass", "GATHER_EDITING"),
        ("match state:\n    case 'done': pass", "done"),
        ("tools = {'lumos': 1}", "lumos"),
        ("f'{prefix}/lumos'", "lumos"),
        ("message = 'call collab-clear now'", "collab-clear"),
        ("class S:\n    GATHER_EDITING = 1", "GATHER_EDITING"),
        ("S.GATHER_EDITING", "GATHER_EDITING"),
    ],
)
def test_the_name_of_a_state_in_python_is_found(source: str, name: str) -> None:
    assert [finding.what for finding in house_rules.find_workflow_names(source, NAMES)] == [f"names {name}"]


@pytest.mark.parametrize(
    "source",
    [
        '"""A spell such as lumos moves GATHER_EDITING."""',
        "def f():\n    'done'",
        "message = 'all is done'",
        "message = f'done {count} times'",
        "done = 3",
        "state = 'gather_editing'",
        "state = 'collab-clear-all'",
    ],
)
def test_other_words_are_let_pass(source: str) -> None:
    assert house_rules.find_workflow_names(source, NAMES) == []


def test_states_and_steps_of_a_workflow_file_are_names() -> None:
    text = "states:\n  A_ONE: {}\n  no: {router: true}\nsteps:\n  - name: write\n  - task: y\n  - z\n"

    assert house_rules.list_names_in_workflow(text) == {"A_ONE", "no", "write"}
    assert house_rules.list_names_in_workflow("- a list\n") == set()


@pytest.mark.parametrize("word", ["TO" + "DO", "FIX" + "ME", "XX" + "X"])
def test_work_put_off_is_found(word: str) -> None:
    assert house_rules.find_unfinished_work(f"a = 1\n# {word}: later\n") == [
        Finding(2, f"work put off: {word}")
    ]
    assert house_rules.find_unfinished_work("todos, TODOS and XXXL\n") == []


@pytest.mark.parametrize("host", ["pypi.", "files.pythonhosted.", "registry.npmjs.", "deb.debian."])
def test_the_host_of_a_registry_is_found(host: str) -> None:
    assert len(house_rules.find_registry_hosts(f"--index-url https://{host}org/simple\n")) == 1
    assert len(house_rules.find_registry_hosts(f"https://{host}com\n")) == 1
    assert house_rules.find_registry_hosts(f"{host} is named alone\n") == []


def test_a_path_out_of_the_project_is_found() -> None:
    path = "../" + "shared/design.md"

    assert house_rules.find_outside_paths(f"see {path}\n") == [
        Finding(1, f"leads out of the project: {path[:9]}")
    ]
    assert house_rules.find_outside_paths("see src/shared/design.md\n") == []


@pytest.mark.parametrize(
    "comment",
    [
        "noqa",
        "noqa: S101",
        "noqa: S101,D100 -",
        "type: ignore",
        "type: ignore[arg-type]",
        "type: ignore because it is late",
        "pragma: no cover",
        "ruff: noqa",
    ],
)
def test_a_tool_silenced_without_a_reason_is_found(comment: str) -> None:
    assert [
        finding.line for finding in house_rules.find_unexplained_silences(f"a = 1\nb = 2  # {comment}\n")
    ] == [2]


@pytest.mark.parametrize(
    "line",
    [
        "a = 1  # noqa: S101 - the reason",
        "a = 1  # noqa: S101, D100: the reason",
        "a = 1  # type: ignore[arg-type]  # the reason",
        "a = 1  # pragma: no cover - the reason",
        "a = '# noqa'",
    ],
)
def test_a_tool_silenced_with_a_rule_and_a_reason_is_let_pass(line: str) -> None:
    assert house_rules.find_unexplained_silences(f"{line}\n") == []


@pytest.mark.parametrize("call", ["time.sleep(1)", "sleep(1)", "asyncio.sleep(0)", "anyio.sleep(1)"])
def test_a_sleep_is_found(call: str) -> None:
    assert [finding.what for finding in house_rules.find_sleeps(call)] == [
        f"sleeps: {call.split('(', maxsplit=1)[0]}"
    ]
    assert house_rules.find_sleeps("sleep = 3\nasleep()") == []


def test_a_link_to_a_missing_file_is_found() -> None:
    page = (
        "[here](there.md#part), [there](gone.md) and\n[far](https://example.org/gone.md), [a](b/c.md 'd')\n"
    )

    assert house_rules.find_dead_links(page, {"there.md"}.__contains__) == [
        Finding(1, "links to gone.md, which does not exist"),
        Finding(2, "links to b/c.md, which does not exist"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "click>=8.3",
        "click",
        "-e .",
        "-e git+ssh://host/repo",
        "# a comment",
        "",
        "click==8.3 --hash=sha256:00",
        "click @ file:///click.whl",
        "click==8.*",
    ],
)
def test_a_line_that_pins_no_version_is_found(line: str) -> None:
    assert house_rules.find_loose_pins(f"a-b_c.d==1.0rc1\n{line}\n") == [
        Finding(2, f"is no name==version: {line}")
    ]


def test_a_package_without_a_pin_is_found() -> None:
    asked = ["Click>=8", "ruamel.yaml[jinja2]>=1; python_version < '4'", "pytest_xdist"]

    assert house_rules.find_unpinned_packages(asked, "click==8.3\nruamel-yaml==1\n") == ["pytest-xdist"]


def test_a_budget_that_is_too_long_or_has_no_time_for_a_part_is_found() -> None:
    assert house_rules.check_budget({"tests": 14.5, "lint": 0.25}, 15) == []
    assert house_rules.check_budget({"tests": 14.5, "lint": 0.5}, 15) == [
        "15 minutes in all; the limit is 15"
    ]
    assert house_rules.check_budget({"tests": 1.0, "lint": 0}, 15) == ["lint has no time"]


def test_a_public_function_that_is_only_a_participle_is_found() -> None:
    source = "def told(x): ...\ndef listed(): ...\ndef list_runs(): ...\ndef _kept(): ...\ndef feed(): ...\n"

    assert [finding.what for finding in house_rules.find_bare_participles(source)] == [
        "told is a bare participle",
        "listed is a bare participle",
    ]


def test_an_import_inside_a_function_is_counted_and_one_at_the_top_is_not() -> None:
    source = "import os\ndef f():\n    import sys\n    def g():\n        from json import loads\n"

    assert set(source_tree.find_inner_imports(source)) == {3, 5}
