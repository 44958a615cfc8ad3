"""Takes pictures of every page: `python tools/screenshots.py [FOLDER]`; light, dark, and as wide as a phone.

The store behind them is filled by real runs of all five faces.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from playwright.sync_api import Browser, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from handrail.engine.lifecycle import ABANDON, CONTINUE, FAIL, PAUSE
from tools.sample_store import OUTPUTS, Played

PROGRAM: Final = Path(sys.executable).with_name("handrail")
CHROMIUM: Final = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
LOOKS: Final[Mapping[str, Mapping[str, Any]]] = {
    "light": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light", "device_scale_factor": 2},
}
GOAL: Final = {"type": "feat", "scope": "search", "title": "find notes by their tags"}
DETAIL: Final = {
    "description": "People remember tags, not words.\n\nTARGETS OF CHANGE:\n1. The index\n2. The field",
    "constraints": ["Never: read a note twice", "Do not: add a dependency"],
}
PLAN: Final[list[Any]] = [
    [True, "Index the tags", [[True, "Read them from the front matter", []], [True, "Keep them sorted", []]]],
    [False, "Search by tag", [[True, "Understand #tag", []], [False, "Several tags at once", []]]],
    [False, "Tell people about it", []],
]
CALLS: Final[tuple[tuple[str, str, str, Mapping[str, Any]], ...]] = (
    ("spells", "accio", "editor", {}),
    (
        "skills",
        "complete_skill",
        "gallery",
        {"project": "ROOT", "session": "open-gallery", "skill": "collab-start"},
    ),
    ("planner", "set_overarching_goal", "editor", {"goal": GOAL}),
    ("planner", "set_detailed_goal", "editor", DETAIL),
    ("planner", "set_plan", "editor", {"plan": PLAN}),
    (
        "commits",
        "start_planning",
        "gallery",
        {"type": "fix", "summary": "keep the cursor where it was", "confirm": True},
    ),
)
"""A call of each face but `steps`, and the project it is in; the argument ROOT is the folder of that."""

GOALS: Final = (
    ("Saving a file twice loses the second change", 4, ""),
    ("The window forgets its size after a restart", 2, ""),
    ("Undo skips every other step in long documents", 3, FAIL),
    ("Search misses words with an umlaut", 1, PAUSE),
    ("Opening a folder with 10,000 files blocks the window for eight seconds", 0, ""),
    ("The export drops footnotes", 1, ABANDON),
    ("Dark mode flashes white when a dialog opens", 4, ""),
    ("A crash when two windows close at once", 2, ""),
)
NOTES: Final = {
    FAIL: "the cause lies in the file system of the test machine",
    PAUSE: "waiting for the words from the customer",
    ABANDON: "footnotes go away in version 3",
}


def repository(folder: Path) -> Path:
    """A project with a first commit."""
    folder.mkdir()
    person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (("init", "-q"), (*person, "commit", "-q", "--allow-empty", "-m", "begin")):
        subprocess.run([shutil.which("git") or "git", *words], cwd=folder, check=True)
    return folder


def fill(store: Path, project: Path) -> Mapping[str, str]:
    """Runs of the face `steps` of the last hours; one for each end, by its name."""
    ends: dict[str, str] = {}
    with Played(store) as play:
        play.clock.at = datetime.now(UTC) - timedelta(minutes=80)
        for goal, steps, end in GOALS:
            run = play.start(goal, project=str(project))
            play.send(run, CONTINUE, {**OUTPUTS[0], "artifacts": []})
            play.walk(run, steps)
            if end:
                play.send(run, end, note=NOTES[end])
            ends[end or ("completed" if steps == len(OUTPUTS) else "running" if steps else "begun")] = run
    return ends


async def call(face: str, tool: str, given: Mapping[str, Any], store: Path, project: Path) -> None:
    """Call a tool of a face as an agent does."""
    words = ["serve", "--face", face, "--project", str(project), "--store", str(store)]
    started = StdioServerParameters(command=str(PROGRAM), args=words, env=dict(os.environ), cwd=project)
    arguments = {name: str(project) if value == "ROOT" else value for name, value in given.items()}
    async with Client(stdio_client(started), mode="auto") as client:
        told = await client.call_tool(tool, arguments)
    if told.is_error:
        raise LookupError(f"{tool} of {face} was refused: {told.content}")


@contextmanager
def dashboard(store: Path) -> Iterator[str]:
    """The link to the pages over a store."""
    command = [str(PROGRAM), "dashboard", "--store", str(store), "--port", "0", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        if process.stdout is None:
            raise LookupError("it says nothing")
        yield process.stdout.readline().strip()
        process.terminate()


def planned(store: Path) -> str:
    """The run that is a plan."""
    words = (str(PROGRAM), "runs", "list", "--store", str(store), "--face", "planner", "--json")
    listed = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    return str(listed["runs"][0]["id"])


def pages(ends: Mapping[str, str], plan: str) -> Mapping[str, str]:
    """Where each page is, by what its picture is called."""
    running, whole, failed, paused = (ends[name] for name in ("running", "completed", FAIL, PAUSE))
    return {
        "overview": "/",
        "filters": "/?q=the&lifecycle=running&lifecycle=completed",
        "now": f"/runs/{running}",
        "paused": f"/runs/{paused}?acted={PAUSE}",
        "plan": f"/runs/{plan}/plan",
        "graph": f"/runs/{whole}/graph",
        "state": f"/runs/{running}/graph?state=mend",
        "timeline": f"/runs/{whole}/timeline",
        "history": f"/runs/{whole}/history",
        "artifacts": f"/runs/{whole}/artifacts?n=3",
        "changes": f"/runs/{whole}/artifacts?n=3&from=2",
        "fork": f"/runs/{failed}/do/fork",
        "by-hand": f"/runs/{running}/do/complete-step",
        "nowhere": "/runs/nobody",
    }


def shoot(browser: Browser, link: str, wanted: Mapping[str, str], folder: Path) -> int:
    """Take the pictures; how many."""
    url, _, _ = link.partition("/in/")
    first = browser.new_context()
    first.new_page().goto(link)
    taken = 0
    for name, how in LOOKS.items():
        context = browser.new_context(storage_state=first.storage_state(), **how)
        page = context.new_page()
        for what, path in wanted.items():
            page.goto(url + path)
            if page.locator(".live").count():
                page.locator(".live[data-state=live]").wait_for()
            page.screenshot(path=folder / f"{what}-{name}.png", full_page=True)
            taken += 1
        context.close()
    return taken


def main(folder: Path) -> None:
    """Fill a store, show it, and take the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        store = Path(place) / "store" / "handrail.db"
        os.environ.update(HOME=place, XDG_CONFIG_HOME=f"{place}/.config", HANDRAIL_IDLE_RUNNING="7200")
        projects = {name: repository(Path(place) / name) for name in ("editor", "gallery")}
        ends = fill(store, projects["editor"])
        for face, tool, name, given in CALLS:
            anyio.run(call, face, tool, given, store, projects[name])
        with dashboard(store) as link, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS])
            taken = shoot(browser, link, pages(ends, planned(store)), folder)
            browser.close()
    print(f"{taken} pictures in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "dist/screenshots"))
