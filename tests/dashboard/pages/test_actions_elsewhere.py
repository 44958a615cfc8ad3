"""A run that is kept elsewhere is moved by its agent: its page says by which words, or what to type."""

from playwright.sync_api import BrowserContext, expect

from helpers.browser import DashboardProcess, open_signed_in_page
from helpers.face_runs import SESSION, FaceRuns
from helpers.program import run_command


def test_the_page_of_a_run_in_files_says_which_words_move_it_now(
    context: BrowserContext, board: DashboardProcess, faces: FaceRuns
) -> None:
    page = open_signed_in_page(context, board, f"/runs/{faces.runs['spells']}")
    now = page.locator("#now")

    expect(now).to_contain_text("It is kept in files, and moves by what you say to the agent")
    expect(now.locator(".words dt")).to_have_text(["Accio"])
    expect(now.locator(".words dd").first).to_have_text("Go one step on")
    expect(now).to_contain_text(f"handrail repair --project {faces.at.project}")
    expect(page.locator(".run-head .actions")).to_have_count(0)
    expect(page.get_by_role("textbox", name="Comment")).to_be_visible()


def test_the_command_that_a_page_names_shows_how_the_run_stands(
    context: BrowserContext, board: DashboardProcess, faces: FaceRuns
) -> None:
    for face, says in (("skills", SESSION), ("planner", "whistle when the water boils")):
        page = open_signed_in_page(context, board, f"/runs/{faces.runs[face]}")
        typed = page.locator("#now .copy code").last.inner_text()
        said = run_command(*typed.removeprefix("handrail ").split(), cwd=faces.at.folder)

        assert (said.status, says in said.out) == (0, True), typed
        page.close()
