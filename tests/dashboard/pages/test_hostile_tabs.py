"""Whatever somebody writes into a workflow, a plan or a file stands on the tabs of a run as text."""

from pathlib import Path
from typing import Final

import msgspec
import pytest
from playwright.sync_api import BrowserContext

from helpers.browser import dashboard, entered, live
from helpers.face_runs import SESSION, good, planner
from helpers.hostile_texts import Watched, strings
from helpers.program import command
from helpers.repositories import made
from helpers.servers import Pipe, Place, place

pytestmark = pytest.mark.unmeasured
LINES: Final = [text for text in strings() if "\n" not in text and len(text) < 1000]
ODD: Final = (Path(__file__).parent / "odd.js").read_text("utf-8")


def workflow() -> str:
    """A workflow with these texts wherever it can have one."""
    one = {
        "name": "one",
        "agent": "implementer",
        "about": LINES[0],
        "task": "\n".join(text for text in LINES if "{{" not in text),
        "inputs": LINES,
        "allowed_actions": LINES,
        "forbidden_actions": LINES,
        "done_when": LINES,
        "phase": LINES[1],
    }
    told = {"workflow": "hostile", "version": 1, "authority": "sql", "about": LINES[2], "steps": [one]}
    return msgspec.yaml.encode(told).decode()


def written(at: Place) -> None:
    """Files of a task and of a session with these texts wherever they can stand."""
    task = at.project / ".ai" / "task"
    with Pipe(at, "--face", "spells") as agent:
        good(agent.call({}, "accio"))
        boxes = "".join(f"- [ ] {text}\n" for text in LINES)
        (task / "plan.md").write_text(f"# Plan\n\n## Acceptance Criteria\n\n{boxes}", "utf-8")
        good(agent.call({}, "accio"))
        (task / "task.md").write_text("\n\n".join(strings()), "utf-8")
        good(agent.call({}, "accio"))
    documents = at.project / ".collab" / "sessions" / SESSION / "documents"
    documents.mkdir(parents=True)
    items = [f"### Item {n}: {text}\n\n**Type:** {text}\n" for n, text in enumerate(LINES, start=1)]
    (documents / "design.md").write_text("## Work Items\n\n" + "\n".join(items), "utf-8")
    with Pipe(at, "--face", "skills") as agent:
        named = {"project": str(at.project), "session": SESSION}
        good(agent.call({**named, "skill": "collab-start"}, "complete_skill"))


def described(at: Place) -> None:
    """A plan with these texts as its tasks, its constraints and its description."""
    repo = made("git", at.project, at.folder / "home")
    planner(at)
    tasks = "".join(f"- [ ] {text}\n" for text in LINES)
    store = repo.store()
    body = "\n".join(f"* {text}" for text in LINES)
    text = f"feat(x): {LINES[0]}\n\n{body}\n\nConstraints:\n- Never: {LINES[1]}\n\nTasks:\n{tasks}"
    store.swap(store.read(), text)


def test_hostile_texts_of_workflows_plans_and_files_are_inert(
    tmp_path: Path, context: BrowserContext
) -> None:
    at = place(tmp_path / "place", hostile=workflow())
    described(at)
    written(at)
    with Pipe(at) as agent:
        run = good(agent.start("hostile")).run
    runs = command("runs", "list", "--store", at.store, "--json", cwd=at.folder).data["runs"]
    assert sorted(one["face"] for one in runs) == ["planner", "skills", "spells", "steps"]
    paths = [f"/runs/{one['id']}/{tab}" for one in runs for tab in ("plan", "graph", "timeline")]
    paths.remove(f"/runs/{run}/plan")
    with dashboard(at) as pages:
        watched = Watched(entered(context, pages, "/"), pages.url)
        page = watched.page
        assert page.evaluate(ODD, [*paths, f"/runs/{run}/graph?state=one"]) == ""
        for path in (*paths, f"/runs/{run}/graph?state=one"):
            page.goto(pages.url + path)
            live(page)
        assert LINES[0] in page.locator("#state li").first.inner_text()
        spells = next(one["id"] for one in runs if one["face"] == "spells")
        page.goto(f"{pages.url}/runs/{spells}/plan")
        told = page.locator("#criteria .ticks li").all_inner_texts()
        assert told[0].strip() == LINES[0]
        assert len(told) == len(LINES)

    assert watched.bad == []
    assert page.evaluate("window.owned") is None
