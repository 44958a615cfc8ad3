"""The wheel and the sdist, built once; the program as uv installs it, and as it fetches it for one start."""

import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from handrail import __version__
from helpers.crash import build_unmeasured_environment
from helpers.deploy_files import ROOT

pytestmark = pytest.mark.unmeasured
BOUND: Final = 300.0
TRIES: Final = 3
UV: Final = Path(sys.executable).with_name("uv")


@dataclass(frozen=True, slots=True)
class Packages:
    """A folder in which everything of uv lies, and what was built there."""

    folder: Path

    @property
    def wheel(self) -> Path:
        return next(self.folder.glob("dist/*.whl"))

    @property
    def sdist(self) -> Path:
        return next(self.folder.glob("dist/*.tar.gz"))

    @property
    def env(self) -> dict[str, str]:
        """Nothing of the user's is read or written, and every version is the pinned one."""
        pinned = str(ROOT / "constraints.txt")
        return {
            **build_unmeasured_environment(),
            **_index(),
            "HOME": str(self.folder),
            "PYTHONPATH": "",
            "UV_BUILD_CONSTRAINT": pinned,
            "UV_CACHE_DIR": str(self.folder / "cache"),
            "UV_CONSTRAINT": pinned,
            "UV_PYTHON": os.path.realpath(sys.executable),
            "UV_TOOL_BIN_DIR": str(self.folder / "bin"),
            "UV_TOOL_DIR": str(self.folder / "tools"),
        }

    def run(self, *words: str | Path, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*map(str, words)],
            cwd=cwd or self.folder,
            env=self.env,
            check=False,
            capture_output=True,
            text=True,
            timeout=BOUND,
        )

    def tried(self, *words: str | Path) -> None:
        """A registry may fail for a moment."""
        for _ in range(TRIES):
            done = self.run(*words)
            if done.returncode == 0:
                return
        pytest.fail(f"{words}\n{done.stdout}{done.stderr}")


@cache
def _index() -> dict[str, str]:
    """Where pip finds packages on this machine, for uv, which does not read its settings."""
    asked = [sys.executable, "-m", "pip", "config", "list"]
    answer = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    found = re.search(r"^\S*\.index-url='([^']+)'", answer, re.MULTILINE)
    return {"UV_DEFAULT_INDEX": found[1]} if found else {}


@pytest.fixture(scope="module")
def packages() -> Iterator[Packages]:
    with tempfile.TemporaryDirectory(prefix="handrail-packages-") as folder:
        made = Packages(Path(folder))
        made.tried(UV, "build", "--quiet", "--out-dir", made.folder / "dist", ROOT)
        made.tried(UV, "tool", "install", "--quiet", made.wheel)
        (made.folder / "shop").mkdir()
        yield made


def test_the_wheel_has_every_file_of_the_program_and_nothing_else(packages: Packages) -> None:
    """It was built from the sdist, so that has them too."""
    source = ROOT / "src"
    ours = {
        path.relative_to(source).as_posix()
        for path in (source / "handrail").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(packages.wheel) as wheel:
        names = set(wheel.namelist())

    assert {name for name in names if not re.match(r"handrail-[^/]*\.dist-info/", name)} == ours
    assert "handrail/clients/clients.yaml" in ours


def test_the_sdist_has_what_the_tests_need(packages: Packages) -> None:
    with tarfile.open(packages.sdist) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}

    assert {
        *("Makefile", "constraints.txt", "server.json", "SECURITY.md", "CHANGELOG.md", "tests/conftest.py"),
        *("plugin/.claude-plugin/plugin.json", ".claude-plugin/marketplace.json", "tools/setup", ".ci/run"),
        *("benchmarks/bench_start.py", ".github/workflows/ci.yml"),
    } <= names
    assert not {
        name for name in names if "__pycache__" in name or name.startswith((".venv", ".node", ".agents"))
    }


def test_what_uv_has_installed_is_what_clients_are_told_to_start(packages: Packages) -> None:
    program = packages.folder / "bin" / "handrail"

    assert packages.run(program, "--version").stdout == f"handrail {__version__}\n"
    assert packages.run(program, "install", "claude", cwd=packages.folder / "shop").returncode == 0
    entry = json.loads((packages.folder / "shop" / ".mcp.json").read_text())["mcpServers"]["handrail"]
    assert entry["command"] == str(program)


def test_without_an_extra_the_program_says_which_one_is_missing(packages: Packages) -> None:
    program = packages.folder / "bin" / "handrail"

    done = packages.run(program, "store", "check", "--store", "postgresql://nobody@nowhere/nothing")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("  pip install 'handrail[postgresql]'\n")
    assert "Traceback" not in done.stderr


def test_what_uvx_has_fetched_for_one_start_is_not_written_down(packages: Packages) -> None:
    uvx = (UV, "tool", "run", "--quiet", "--isolated", "--from", packages.wheel, "handrail")

    done = packages.run(*uvx, "install", "mcp", "--print", cwd=packages.folder / "shop")

    assert (done.returncode, " may soon be gone: " in done.stderr) == (0, True), done.stderr
    assert '"command": "uvx",\n      "args": ["handrail", "serve"]\n' in done.stdout
