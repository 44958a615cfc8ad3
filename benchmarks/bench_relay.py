"""From the start of a process to its first answer, with a resident server: milliseconds, and against Python.

Against Python means: against a process of Python that does nothing. What is not measured before the goal is
what everybody pays who starts a program in Python at all.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

from bench_start import HELLO
from rounds import report

ROUNDS: Final = 25


def answered(words: Sequence[str], env: dict[str, str], folder: str) -> float:
    """Start a server and shake hands: the seconds until its answer."""
    began = time.perf_counter()
    with subprocess.Popen(  # noqa: S603 - our own program
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, cwd=folder
    ) as server:
        if server.stdin is None or server.stdout is None:
            raise SystemExit("a server without pipes cannot be measured")
        server.stdin.write(json.dumps(HELLO[0]).encode() + b"\n")
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
        taken = time.perf_counter() - began
        server.stdin.close()
    if "result" not in answer:
        raise SystemExit(f"{words} does not shake hands: {answer}")
    return taken


def nothing(env: dict[str, str]) -> float:
    """The seconds that a process of Python takes to do nothing."""
    began = time.perf_counter()
    subprocess.run((sys.executable, "-c", "pass"), env=env, check=True)
    return time.perf_counter() - began


def main() -> None:
    """Print the figures; the store is there already, as it is from the second start on."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        project.mkdir()
        places = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"), folder)
        env = {**os.environ, **places, "HANDRAIL_STORE": f"{folder}/handrail.db"}
        program = (sys.executable, "-m", "handrail")
        words = (*program, "serve", "--project", str(project))
        subprocess.run((*program, "up"), env=env, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own program
        try:
            taken = [(answered(words, env, folder), nothing(env)) for _ in range(ROUNDS)][1:]
        finally:
            subprocess.run((*program, "down"), env=env, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - the same
    ours, python = (median(times) for times in zip(*taken, strict=True))
    print(f"relay: {ours * 1e3:.1f} ms to the first answer, Python alone {python * 1e3:.1f} ms")
    report("relay_first_answer_ms", ours * 1e3, 50)


if __name__ == "__main__":
    main()
