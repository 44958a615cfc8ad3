"""Shaking hands with a server: a real one answers; whatever else is started is told in one sentence."""

import os
import sys
from pathlib import Path

import pytest

from handrail.clients.probes import probe_stdio_server
from handrail.runtime.errors import Unreadable


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def test_a_server_answers_with_its_tools(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "handrail", "serve", "--project", str(tmp_path)]

    met = probe_stdio_server(words, tmp_path, os.environ)

    assert (met.name, met.tools) == ("handrail", ("workflow_next_step",))
    assert met.seconds > 0


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["/no/such/program"], "it cannot be started: No such file or directory"),
        (python("raise SystemExit('no store')"), "it ended: no store"),
        (python("pass"), "it ended"),
        (python("print('hello', flush=True); input()"), "it wrote to stdout what is no message"),
        (python('print(\'{"id": 1, "error": {}}\', flush=True); input()'), "it refused `initialize`"),
        (python("print('x' * 2000000, flush=True); input()"), "it says too much"),
        (python("import sys; sys.stdin.read()"), "it does not answer in time"),
    ],
    ids=["absent", "ends", "ends at once", "talks", "refuses", "shouts", "listens"],
)
def test_whatever_does_not_serve_is_told_in_a_sentence(words: list[str], why: str, tmp_path: Path) -> None:
    with pytest.raises(Unreadable) as wrong:
        probe_stdio_server(words, tmp_path, os.environ, 1.0 if "stdin.read" in words[-1] else 20.0)

    assert wrong.value.message.endswith(f" does not serve: {why}")
    assert wrong.value.repair == "start it in a terminal, and read what it says"
