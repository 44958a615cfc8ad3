"""What a hook costs that a client asks at every word and every edit, against a bare interpreter."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from bench_start import HELLO
from rounds import cost_ratio, report

GOALS: Final = {"prompt": 8.5, "prompt_word": 8.5, "prompt_talk": 3.5, "edit": 8.5, "session": 8.5}
"""How many times what `python -c pass` costs each may cost; that is about 11 ms on a quiet machine."""


def asked(words: Sequence[str], given: Mapping[str, object], env: dict[str, str]) -> None:
    """Start a program with this on its stdin, and wait for its end."""
    done = subprocess.run(  # noqa: S603 - our own program, and the interpreter
        words, input=json.dumps(given).encode(), env=env, stdout=subprocess.DEVNULL, check=False
    )
    if done.returncode:
        raise SystemExit(f"{words} ended with {done.returncode}")


START: Final = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {
        "name": "workflow_next_step",
        "arguments": {"template_name": "refactor", "inputs": {"target": "src/shop.py"}},
    },
}


def begun(words: Sequence[str], env: dict[str, str], folder: str) -> None:
    """Start a server, have it start a run, and end it by closing its input."""
    sent = "".join(json.dumps(message) + "\n" for message in (*HELLO[:2], START))
    with subprocess.Popen(  # noqa: S603 - our own program
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, cwd=folder
    ) as server:
        if server.stdin is None or server.stdout is None:
            raise SystemExit("a server without pipes cannot be measured")
        server.stdin.write(sent.encode())
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        server.stdin.close()
    if answers[1]["result"]["structuredContent"]["status"] != "ok":
        raise SystemExit("the run was not started")


def main(rounds: int = 15) -> None:
    """Print the figures: a store with a run is there, as it is while an agent works."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        project.mkdir()
        env = {**os.environ, "HOME": folder, "HANDRAIL_STORE": f"{folder}/handrail.db"}
        begun((sys.executable, "-m", "handrail", "serve", "--project", str(project)), env, folder)
        common = {"cwd": str(project), "hook_event_name": "X"}
        bare = (sys.executable, "-c", "pass")
        given: Mapping[str, Mapping[str, object]] = {
            "prompt": {**common, "prompt": "next"},
            "prompt_word": {**common, "prompt": "accio"},
            "prompt_talk": {**common, "prompt": "Please have a look at the failing test of the shop."},
            "edit": {**common, "tool_input": {"file_path": "src/shop.py"}},
            "session": common,
        }
        for name, goal in GOALS.items():
            words = (sys.executable, "-m", "handrail", "hook", name.partition("_")[0], "--client", "claude")
            ours = partial(asked, words, given[name], env)
            figure = cost_ratio(ours, partial(asked, bare, {}, env), rounds)
            report(f"hook_{name}_x_python", figure, goal)


if __name__ == "__main__":
    main()
