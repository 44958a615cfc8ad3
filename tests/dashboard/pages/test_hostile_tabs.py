"""Whatever somebody writes into a workflow, a plan or a file stands on the tabs of a run as text."""

from pathlib import Path
from typing import Final

import msgspec
import pytest
from playwright.sync_api import BrowserContext

from helpers.browser import await_live_updates, open_signed_in_page, run_dashboard
from helpers.face_runs import SESSION, play_planner, require_success
from helpers.hostile_texts import WatchedPage, list_hostile_texts
from helpers.program import run_command
from helpers.repositories import create_repository
from helpers.servers import Pipe, Place, create_place

pytestmark = pytest.mark.unmeasured
LINES: Final = [text for text in list_hostile_texts() if "\n" not in text and len(text) < 1000]
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
    answer = {"workflow": "hostile", "version": 1, "authority": "sql", "about": LINES[2], "steps": [one]}
    return msgspec.yaml.encode(answer).decode()


def written(at: Place) -> None:
    """Files of a task and of a session with these texts wherever they can stand."""
    task = at.project / ".ai" / "task"
    with Pipe(at, "--face", "spells") as agent:
        require_success(agent.call({}, "accio"))
        boxes = "".join(f"- [ ] {text}\n" for text in LINES)
        (task / "plan.md").write_text(f"# Plan\n\n## Acceptance Criteria\n\n{boxes}", "utf-8")
        require_success(agent.call({}, "accio"))
        (task / "task.md").write_text("\n\n".join(list_hostile_texts()), "utf-8")
        require_success(agent.call({}, "accio"))
    documents = at.project / ".collab" / "sessions" / SESSION / "documents"
    documents.mkdir(parents=True)
    items = [f"### Item {n}: {text}\n\n**Type:** {text}\n" for n, text in enumerate(LINES, start=1)]
    (documents / "design.md").write_text("## Work Items\n\n" + "\n".join(items), "utf-8")
    with Pipe(at, "--face", "skills") as agent:
        named = {"project": str(at.project), "session": SESSION}
        require_success(agent.call({**named, "skill": "collab-start"}, "complete_skill"))


def described(at: Place) -> None:
    """A plan with these texts as its tasks, its constraints and its description."""
    repo = create_repository("git", at.project, at.folder / "home")
    play_planner(at)
    tasks = "".join(f"- [ ] {text}\n" for text in LINES)
    store = repo.store()
    body = "\n".join(f"* {text}" for text in LINES)
    text = f"feat(x): {LINES[0]}\n\n{body}\n\nConstraints:\n- Never: {LINES[1]}\n\nTasks:\n{tasks}"
    store.swap(store.read(), text)


def test_hostile_texts_of_workflows_plans_and_files_are_inert(
    tmp_path: Path, context: BrowserContext
) -> None:
    at = create_place(tmp_path / "place", hostile=workflow())
    described(at)
    written(at)
    with Pipe(at) as agent:
        run = require_success(agent.start("hostile")).run
    runs = run_command("runs", "list", "--store", at.store, "--json", cwd=at.folder).data["runs"]
    assert sorted(one["face"] for one in runs) == ["planner", "skills", "spells", "steps"]
    paths = [f"/runs/{one['id']}/{tab}" for one in runs for tab in ("plan", "graph", "timeline")]
    paths.remove(f"/runs/{run}/plan")
    with run_dashboard(at) as pages:
        watched = WatchedPage(open_signed_in_page(context, pages, "/"), pages.url)
        page = watched.page
        assert page.evaluate(ODD, [*paths, f"/runs/{run}/graph?state=one"]) == ""
        for path in (*paths, f"/runs/{run}/graph?state=one"):
            page.goto(pages.url + path)
            await_live_updates(page)
        assert LINES[0] in page.locator("#state li").first.inner_text()
        spells = next(one["id"] for one in runs if one["face"] == "spells")
        page.goto(f"{pages.url}/runs/{spells}/plan")
        answer = page.locator("#criteria .ticks li").all_inner_texts()
        assert answer[0].strip() == LINES[0]
        assert len(answer) == len(LINES)

    assert watched.bad == []
    assert page.evaluate("window.owned") is None
