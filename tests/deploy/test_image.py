"""The steps of deploy/Dockerfile, run without Docker: the wheel, an empty environment, and what starts in it.

What the steps do to folders of the system they do below one folder here.
"""

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from handrail import __version__
from helpers.crash import build_unmeasured_environment
from helpers.deploy_files import ROOT, find_last_instruction, read_deploy_file, read_stages

pytestmark = pytest.mark.unmeasured
BOUND: Final = 300.0
TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class Image:
    """A folder that has what the image has."""

    folder: Path

    @property
    def env(self) -> dict[str, str]:
        """The variables of the image, and no others."""
        said = " ".join(
            step.said for step in read_stages(read_deploy_file("Dockerfile"))[-1] if step.word == "ENV"
        )
        given = dict(one.split("=", 1) for one in shlex.split(self.here(said)))
        return {**given, "PATH": given["PATH"].replace("$PATH", os.environ["PATH"])}

    def here(self, said: str) -> str:
        """What an instruction says, for this folder."""
        for path in ("/opt/handrail", "/var/lib", "/etc"):
            said = said.replace(path, f"{self.folder}{path}")
        return said

    def start(self, *words: str) -> "subprocess.Popen[str]":
        program, *rest = find_last_instruction("ENTRYPOINT").words
        path = self.folder / "opt" / "handrail" / "bin" / program
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [path, *rest, *words], env=self.env, cwd="/", text=True, stdout=pipe, stderr=pipe
        )

    def run(self, *words: str) -> tuple[int, str]:
        """How a command of the image ends, and what it says."""
        with self.start(*words) as process:
            out, err = process.communicate(timeout=BOUND)
        return process.returncode, out + err

    def files(self) -> set[Path]:
        return set((self.folder / "opt").rglob("*"))


def _built(image: Image) -> None:
    """Run the instructions of the first stage."""
    work, env = (
        image.folder / "build",
        {**build_unmeasured_environment(), "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONPATH": ""},
    )
    env["PATH"] = f"{Path(sys.executable).parent}:{env['PATH']}"
    for step in read_stages(read_deploy_file("Dockerfile"))[0][1:]:
        match step.word:
            case "WORKDIR":
                work.mkdir()
            case "COPY":
                _copied([ROOT / path for path in step.said.split()[:-1]], work)
            case "ENV":
                env.update(re.findall(r"(\w+)=(\S+)", step.said))
            case "RUN":
                _tried(["/bin/sh", "-c", image.here(step.said)], work, env)
            case other:
                pytest.fail(f"{other} is not known here")


def _copied(paths: list[Path], to: Path) -> None:
    for path in paths:
        if path.is_dir():
            shutil.copytree(path, to / path.name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(path, to)


def _tried(words: list[str], folder: Path, env: Mapping[str, str]) -> None:
    """A registry may fail for a moment."""
    for _ in range(TRIES):
        done = subprocess.run(words, cwd=folder, env=env, check=False, capture_output=True, text=True)
        if done.returncode == 0:
            return
    pytest.fail(f"{words[-1]}\n{done.stdout}{done.stderr}")


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    with tempfile.TemporaryDirectory(prefix="handrail-image-") as folder:
        made = Image(Path(folder))
        _built(made)
        state = made.folder / "var" / "lib" / "handrail"
        state.mkdir(parents=True, mode=0o700)
        yield made


def test_what_the_image_has_is_the_program_and_its_extra(image: Image) -> None:
    python = str(image.folder / "opt" / "handrail" / "bin" / "python")
    asked = "import handrail; print(handrail.__file__)"
    found = subprocess.run([python, "-c", asked], env=image.env, cwd="/", check=True, capture_output=True)

    assert found.stdout.decode().startswith(f"{image.folder}/opt/handrail/lib/")
    assert image.run("--version") == (0, f"handrail {__version__}\n")


def test_the_image_serves_and_says_that_it_is_well_and_leaves_what_is_installed_as_it_is(
    image: Image,
) -> None:
    """Nothing is served before there are a token and a project; both are made by the image itself."""
    project = image.folder / "var" / "lib" / "handrail" / "shop"
    with socket.create_server(("127.0.0.1", 0)) as free:
        listens = f"0.0.0.0:{free.getsockname()[1]}"
    serve, health = (
        [word.replace("0.0.0.0:8765", listens) for word in find_last_instruction(kind).words]
        for kind in ("CMD", "HEALTHCHECK")
    )
    before = image.files()
    status, said = image.run(*serve, "--known-as", "localhost:8080")
    assert (status, "handrail token create NAME" in said) == (1, True)
    project.mkdir()
    assert image.run("project", "add", "shop", str(project))[0] == 0
    assert image.run("token", "create", "ada", "--scope", "run:read")[0] == 0
    assert image.run(*health[1:])[0] == 1

    with image.start(*serve, "--known-as", "localhost:8080") as server:
        try:
            assert image.run(*health[1:], "--within", "60") == (0, "")
        finally:
            server.send_signal(signal.SIGTERM)
        assert server.wait(BOUND) == 0

    assert image.files() == before
