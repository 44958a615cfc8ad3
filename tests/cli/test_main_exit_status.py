"""Whatever is typed, a command ends with a status of the documented ones, and shows nobody a stack."""

import json
import shutil
import socket
import subprocess
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import click
import pytest

from handrail.cli.main import COMMANDS
from helpers.history import History, create_history
from helpers.nonsense_commands import (
    CommandEnd,
    Words,
    build_good_words,
    build_nonsense_words,
    create_nonsense_paths,
    interrupt_stuck_command,
    list_leaf_commands,
    run_to_end,
)
from tools.sample_store import OUTPUTS

pytestmark = pytest.mark.unmeasured
RUN = "00000001-0000-4000-8000-000000000000"
COMMON = {"run": RUN, "runs": RUN, "file": "plan.md", "store": "handrail.db"}
"""Good values of all commands that have such."""

GOOD: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "completion": {"shell": "bash"},
        "dashboard": {"port": "TAKEN"},
        "doctor": {"only": "store"},
        "init": {"names": "claude"},
        "hook": {"event": "prompt", "client": "claude"},
        "install": {"names": "claude"},
        "plan mark": {"task": "write"},
        "plan pull": {"remote": "origin"},
        "plan push": {"remote": "origin"},
        "plan type": {"types": "feat"},
        "project add": {"name": "shop", "root": "folder"},
        "project remove": {"name": "shop"},
        "ready": {"server": "127.0.0.1:1"},
        "runs abandon": {"reason": "x"},
        "runs comment": {"text": "x"},
        "runs complete-step": {"output": "output.json"},
        "runs diverge": {"reason": "x"},
        "runs fail": {"reason": "x"},
        "serve": {"http": "127.0.0.1:TAKEN"},
        "store copy": {"source": "handrail.db", "target": "copy.db"},
        "store prune": {"older_than": "1d"},
        "token create": {"principal": "ann", "scopes": "admin"},
        "token revoke": {"identity": "x"},
        "watch": {"once": ""},
        "workflows check": {"paths": "good.yaml"},
        "workflows new": {"name": "mine"},
        "workflows show": {"name": "bug-fix"},
    }
)
"""Good values of commands that need more. A port that is taken ends a server, which would else go on."""

ENDS = {
    **dict.fromkeys(("dashboard", "serve", "ready"), 1),
    **dict.fromkeys(("plan message", "plan pull", "plan push"), 1),
    **dict.fromkeys(("runs fork", "runs resume", "store prune"), 1),
    **dict.fromkeys(("project remove", "repair", "token revoke"), 3),
}
"""How a command ends with good values, if not with 0."""

STEPS = {
    **dict.fromkeys(("repair", "workflows list"), 16),
    **dict.fromkeys(("runs diverge", "runs fail", "runs pause", "runs resume", "workflows graph"), 5),
    "serve": 3,
}
"""Every so manieth kind is enough where all workflows are loaded, or where a like command has had all."""

WALKS = frozenset({"workflows check"})
"""Commands that read all that is below a folder: `/etc` stands for `/`, which is the whole machine."""

TOPS = ["completion", *(name for name in sorted(COMMANDS) if name not in {"demo", "down", "status"})]
"""The commands that are given values, themselves or one below them."""

WORKFLOW = """\
workflow: good
version: 1
authority: sql
states:
  build: {agent: builder, task: Build it.}
  shipped: {terminal: true}
transitions:
  - {id: B1, from: build, trigger: continue, to: shipped}
"""


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> History:
    return create_history(tmp_path_factory.mktemp("past") / "handrail.db")


@pytest.fixture
def taken() -> Iterator[str]:
    """A port that somebody else listens at."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield str(listening.getsockname()[1])


@pytest.fixture
def place(tmp_path: Path, past: History, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Go to a folder of a repository, new each time, with a store and what the nonsense leads to."""
    number = iter(range(100))

    def fresh() -> None:
        folder = tmp_path / "far" / "below" / str(next(number))
        folder.mkdir(parents=True)
        subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)  # noqa: S607 - the one of the path
        shutil.copy(past.path, folder / "handrail.db")
        (folder / "plan.md").write_text("feat(shop): sell\n\n- [ ]: write it\n")
        (folder / "output.json").write_text(json.dumps(OUTPUTS[2]))
        (folder / "good.yaml").write_text(WORKFLOW)
        create_nonsense_paths(folder)
        monkeypatch.chdir(folder)

    return fresh


@pytest.mark.parametrize("top", TOPS)
def test_no_nonsense_makes_a_command_stumble(
    top: str, place: Callable[[], None], taken: str, record_property: Callable[[str, object], None]
) -> None:
    points, wrong, sound = 0, [], {}
    with interrupt_stuck_command():
        for words, command in _below(top):
            place()
            name, good = " ".join(words), _good(words, command)
            sound[name] = _ended((*words, *build_good_words(command, good)), taken).status
            for spoiled in build_nonsense_words(command, good, STEPS.get(name, 1)):
                line = ["/etc" if name in WALKS and word == "/" else word for word in spoiled]
                points += 1
                if found := _wrong(_ended((*words, *line), taken)):
                    wrong.append(f"{[*words, *(word[:60] for word in line)]}: {found}")

    record_property("points", points)
    assert points
    assert sound == {name: ENDS.get(name, 0) for name in sound}
    assert "\n".join(wrong) == ""


def _below(top: str) -> list[tuple[Words, click.Command]]:
    return [(words, command) for words, command in list_leaf_commands() if words[0] == top]


def _good(words: Words, command: click.Command) -> Mapping[str, str]:
    names = {parameter.name for parameter in command.params}
    common = {name: value for name, value in COMMON.items() if name in names}
    return {**common, **GOOD.get(" ".join(words), {})}


def _ended(words: Words, taken: str) -> CommandEnd:
    return run_to_end([word.replace("TAKEN", taken) for word in words])


def _wrong(end: CommandEnd) -> str:
    """What is wrong with how a command has ended, if anything is."""
    if end.raised is not None:
        return "".join(traceback.format_exception(end.raised))
    unclean = {sign for sign in end.said if not sign.isprintable() and sign not in "\n\t"}
    if unclean or "Traceback" in end.said or "nternal" in end.said or (end.status and not end.said.strip()):
        return f"it says {end.said[-1000:]!r}"
    return "" if end.status in {0, 1, 2, 3} else f"status {end.status}"
