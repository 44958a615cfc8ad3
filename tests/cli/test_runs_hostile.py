"""Whatever a run says, no command over runs lets it give orders to the terminal."""

import subprocess
from pathlib import Path

import pytest

from helpers.history import open_sample_store
from helpers.program import PROGRAM, run_handrail, run_on_terminal
from tools.sample_store import output

HOSTILE = "\x1b[2J\u202egnp.exe\u200b\x9b31m\x07\r\nnext"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A run in which every text is hostile."""
    path = tmp_path / "handrail.db"
    monkeypatch.setenv("HANDRAIL_STORE", str(path))
    with open_sample_store(path) as play:
        found = play.start(HOSTILE, project=f"/p/{HOSTILE}", face=HOSTILE)
        play.send(found, HOSTILE)
        first = output("reproduction", HOSTILE, f"{HOSTILE}\nsecond\n", command="run", exit_code=1)
        found_not = {"reproducible": False, "location": HOSTILE}
        play.send(found, "continue", first)
        play.send(found, "continue", output("diagnosis", f"{HOSTILE}2", f"{HOSTILE}2\n", **found_not))
        play.send(found, "pause", note=HOSTILE)
    return found


def unclean(text: str) -> list[str]:
    return [sign for sign in text if not sign.isprintable() and sign not in "\n\t"]


@pytest.mark.parametrize(
    "words",
    [
        ("list",),
        ("list", "--json"),
        ("show", "RUN"),
        ("show", "RUN", "--json"),
        ("events", "RUN"),
        ("events", "RUN", "--json"),
        ("artifacts", "RUN"),
        ("artifacts", "RUN", "--json"),
        ("artifacts", "RUN", "1", "--json"),
        ("artifacts", "RUN", "--diff", "1", "2", "--json"),
        ("export", "RUN"),
        ("show", HOSTILE),
        ("pause", HOSTILE),
        ("complete-step", "RUN", "--output", HOSTILE),
        ("fork", "RUN", "--workflow", HOSTILE),
        ("list", "--since", HOSTILE),
    ],
)
def test_what_a_command_prints_is_clean(words: tuple[str, ...], run: str) -> None:
    said = run_handrail("runs", *(run if word == "RUN" else word for word in words))

    assert "2J" in said.out + said.err
    assert unclean(said.out + said.err) == []


def test_the_text_of_an_artifact_is_verbatim_in_a_pipe(run: str) -> None:
    done = subprocess.run(
        [PROGRAM, "runs", "artifacts", run, "1"], capture_output=True, timeout=60, check=False
    )

    assert done.stdout == f"{HOSTILE}\nsecond\n".encode()


@pytest.mark.parametrize(
    "words",
    [
        ("list",),
        ("show", "RUN"),
        ("events", "RUN"),
        ("artifacts", "RUN"),
        ("artifacts", "RUN", "1"),
        ("artifacts", "RUN", "--diff", "1", "2"),
    ],
)
def test_on_a_terminal_everything_is_clean(words: tuple[str, ...], run: str) -> None:
    said = run_on_terminal("runs", *(run if word == "RUN" else word for word in words), NO_COLOR="1")

    assert said.status == 0
    assert "2J" in said.out
    assert unclean(said.out.replace("\r\n", "\n")) == []


def test_a_difference_is_coloured_on_a_terminal_only(run: str) -> None:
    words = ("runs", "artifacts", run, "--diff", "1", "2")

    assert "\x1b[31m-second" in run_on_terminal(*words, TERM="xterm").out
    assert "\x1b[31m-second" not in run_handrail(*words).out


def test_the_list_has_heads_on_a_terminal(run: str) -> None:
    assert run
    assert run_on_terminal("runs", "list", COLUMNS="200").out.split()[:3] == ["run", "workflow", "lifecycle"]
