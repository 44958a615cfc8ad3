"""What every test can rely on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from helpers.crash import TESTS
from helpers.measurement import MARK


def test_a_test_has_an_empty_home_of_its_own(home: Path) -> None:
    folders = {name: value for name, value in os.environ.items() if name == "HOME" or name.startswith("XDG_")}

    assert Path.home() == home
    assert list(home.iterdir()) == []
    assert folders == {
        "HOME": f"{home}",
        "XDG_CACHE_HOME": f"{home}/.cache",
        "XDG_CONFIG_DIRS": f"{home}/nowhere",
        "XDG_CONFIG_HOME": f"{home}/.config",
        "XDG_DATA_DIRS": f"{home}/nowhere",
        "XDG_DATA_HOME": f"{home}/.local/share",
        "XDG_RUNTIME_DIR": f"{home}/.run",
        "XDG_STATE_HOME": f"{home}/.local/state",
    }


def test_random_examples_are_the_same_in_every_run() -> None:
    profile = settings.default

    assert profile is not None
    assert (profile.derandomize, profile.deadline, profile.print_blob, profile.database) == (
        True,
        None,
        False,
        None,
    )


SUBJECT = """
def often():
    return 1

def once():
    return 2
"""
TESTS_OF_IT = """
import os
import pytest
import subject

@pytest.mark.unmeasured
def test_that_stands_first():
    assert subject.often() == 1
    assert not [name for name in os.environ if name.startswith("COVERAGE_PROCESS_")]

def test_that_stands_last():
    assert subject.once() == 2
    assert "COVERAGE_PROCESS_CONFIG" in os.environ
"""
SETTINGS = """
[run]
source = .
include = subject.py
patch = subprocess
"""


@pytest.mark.unmeasured
def test_what_is_marked_as_unmeasured_runs_last_and_no_line_of_it_is_counted(tmp_path: Path) -> None:
    for name, text in (("subject", SUBJECT), ("test_it", TESTS_OF_IT)):
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "settings").write_text(SETTINGS)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\nmarkers =\n  {MARK}: as in the house\n")
    measured = (
        "coverage",
        "run",
        "--rcfile=settings",
        "-m",
        "pytest",
        "-p",
        "conftest",
        "-p",
        "no:cacheprovider",
    )

    said = _python(tmp_path, *measured, "-v", "test_it.py")
    found = json.loads(_python(tmp_path, "coverage", "json", "--rcfile=settings", "-o", "-", "--quiet"))

    order = [said.index(name) for name in ("test_that_stands_last PASSED", "test_that_stands_first PASSED")]
    assert order == sorted(order)
    assert found["files"]["subject.py"]["missing_lines"] == [3]


def _python(folder: Path, *words: str) -> str:
    path = os.pathsep.join([str(TESTS), *sys.path, str(folder)])
    env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    command, env = (sys.executable, "-m", *words), {**env, "PYTHONPATH": path}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
