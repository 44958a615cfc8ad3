"""The plan of a run: a document, criteria, or items and batches, read where they are kept."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from helpers.browser import DashboardProcess, await_live_updates, open_signed_in_page, run_dashboard
from helpers.face_runs import FaceRuns, play_faces, play_planner, play_skills, play_spells, require_success
from helpers.program import run_command
from helpers.repositories import Repo
from helpers.servers import Pipe, Place


@pytest.fixture
def page(context: BrowserContext, board: DashboardProcess) -> Iterator[Page]:
    """A page of a browser that was let in; it must have nothing to complain of."""
    made, complaints = open_signed_in_page(context, board), list[str]()
    made.on("console", lambda message: complaints.append(message.text))
    yield made
    assert complaints == []


def ticks(page: Page, place: str = "main") -> list[tuple[bool, str]]:
    """What has a box, and whether it is ticked."""
    return [
        (one.locator(".tick path").count() == 1, " ".join(one.inner_text().split()))
        for one in page.locator(f"{place} .ticks li").all()
    ]


def runs(at: Place) -> dict[str, str]:
    """The run of each face."""
    listed = run_command("runs", "list", "--store", at.store, "--json", cwd=at.folder).data["runs"]
    return {run["face"]: run["id"] for run in listed}


def test_the_plan_in_a_commit_is_shown_with_how_far_it_has_come(
    page: Page, board: DashboardProcess, faces: FaceRuns
) -> None:
    page.goto(f"{board.url}/runs/{faces.runs['planner']}/plan")

    assert page.locator("#plan h2").inner_text() == "feat(kettle): whistle when the water boils"
    assert page.locator(".progress .num").inner_text() == "5 of 7 done"
    assert page.locator("progress").get_attribute("value") == "5"
    assert page.locator("#plan ul li").all_inner_texts() == ["Never: boil it dry", "Do not: add a battery"]
    assert ticks(page) == [
        (True, "Choose a whistle"),
        (True, "Measure the spout"),
        (True, "Ask three people"),
        (False, "Fit it"),
        (True, "Drill the lid"),
        (False, "Solder the reed next"),
        (True, "Write the leaflet"),
    ]
    assert page.locator(".level-1").count() == 4
    page.goto(f"{board.url}/runs/{faces.runs['commits']}/plan")
    assert ticks(page) == [
        (True, "Heat water in the kettle"),
        (True, "Fill it from the tap"),
        (False, "Add leaves next two spoons"),
    ]


def test_criteria_are_shown_with_the_task_that_is_worked_on(
    page: Page, board: DashboardProcess, faces: FaceRuns
) -> None:
    page.goto(f"{board.url}/runs/{faces.runs['spells']}/plan")

    assert ticks(page, "#criteria") == [
        (True, "The list is sorted"),
        (False, "An empty list stays empty"),
        (False, "Equal entries keep their order"),
    ]
    assert page.locator("details[open] summary").all_inner_texts() == ["task.md now"]
    assert page.locator("details[open] h2").all_inner_texts() == ["Think of empty lists"]
    assert page.locator("summary code").all_inner_texts() == ["task.md", "plan.md"]


def test_items_and_batches_are_shown(page: Page, board: DashboardProcess, faces: FaceRuns) -> None:
    page.goto(f"{board.url}/runs/{faces.runs['skills']}/plan")

    assert ticks(page, "#items") == [
        (True, "1. Sort it code · documented"),
        (True, "2. Write it down task · documented"),
    ]
    assert ticks(page, "#batches") == [
        (True, "sort completed"),
        (False, "speed pending"),
        (False, "test pending · after sort, speed"),
    ]
    assert page.locator("#batches h3").all_inner_texts() == ["batch-1 under way now", "batch-2 pending"]


def test_runs_that_live_in_the_store_have_no_plan(
    page: Page, board: DashboardProcess, faces: FaceRuns
) -> None:
    url = f"{board.url}/runs/{faces.runs['steps']}"
    page.goto(url)
    assert "Plan" not in page.locator(".tabs a").all_inner_texts()
    answer = page.request.get(f"{url}/plan")
    assert answer.status == 404


def test_a_task_that_is_ticked_elsewhere_is_ticked_here_and_a_broken_plan_says_what_is_wrong(
    at: Place, context: BrowserContext
) -> None:
    play_faces(at, play_planner)
    repo = Repo("git", at.project, at.folder / "home")
    with run_dashboard(at) as pages, Pipe(at, "--face", "planner") as agent:
        page = open_signed_in_page(context, pages, f"/runs/{runs(at)['planner']}/plan")
        await_live_updates(page)
        for task in ("Solder the reed", "Fit it"):
            require_success(agent.call({"task_id": task}, "mark_task"))
        expect(page.locator(".progress .num")).to_have_text("7 of 7 done")
        require_success(agent.call({}, "finish_job"))
        expect(page.locator(".good")).to_have_text("The plan is complete.")

        store = repo.store()
        store.swap(store.read(), "feat(kettle): whistle\n\nTasks:\n- [?] what\n")
        page.reload()
        expect(page.locator("#plan .raw").first).to_contain_text("what")
        store.swap(store.read(), "")
        page.reload()
        expect(page.locator("main")).to_contain_text("There is no plan yet")


def test_what_cannot_be_seen_from_here_is_told_as_the_store_mirrors_it(
    at: Place, context: BrowserContext
) -> None:
    play_faces(at, play_spells, play_skills, play_planner)
    found = runs(at)
    at.project.rename(at.folder / "away")
    with run_dashboard(at) as pages:
        page = open_signed_in_page(context, pages, f"/runs/{found['planner']}/plan")
        expect(page.locator("#plan-gone")).to_contain_text("feat(kettle): whistle when the water boils")
        expect(page.locator("#plan-gone pre")).to_have_text("handrail plan show")
        page.goto(f"{pages.url}/runs/{found['spells']}/plan")
        expect(page.locator(".note")).to_contain_text("What is shown is what the store last saw of them.")
        assert [text for _, text in ticks(page, "#criteria")][1:] == [
            "An empty list stays empty",
            "Equal entries keep their order",
        ]
        page.goto(f"{pages.url}/runs/{found['skills']}/plan")
        expect(page.locator("#items")).to_contain_text("1. Sort it")
        expect(page.locator("#batches")).to_contain_text("which cannot be seen from here")
        page.goto(f"{pages.url}/runs/{found['skills']}/graph")
        expect(page.locator(".note")).to_contain_text("What its variables hold is not known")
        expect(page.locator("#graph .current")).to_have_attribute("data-state", "execute-batch")


def test_files_a_repository_or_a_workflow_that_are_gone_leave_what_the_store_has(
    at: Place, context: BrowserContext
) -> None:
    play_faces(at, play_spells, play_planner)
    found = runs(at)
    shutil.rmtree(at.project / ".git")
    shutil.rmtree(at.project / ".ai")
    with run_dashboard(at) as pages:
        page = open_signed_in_page(context, pages, f"/runs/{found['planner']}/plan")
        expect(page.locator("#plan-gone")).to_be_visible()
        page.goto(f"{pages.url}/runs/{found['spells']}/plan")
        expect(page.locator(".note")).to_be_visible()
        assert len(ticks(page, "#criteria")) == 3

        (at.project / ".handrail" / "workflows" / "spells.yaml").write_text("workflow: [", "utf-8")
        for tab in ("plan", "graph", "timeline"):
            page.goto(f"{pages.url}/runs/{found['spells']}/{tab}")
            expect(page.locator("#unseen")).to_contain_text("handrail workflows check spells --project")
