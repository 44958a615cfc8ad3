"""An open page shows what happens, whichever process did it, and what a person does there is done."""

from playwright.sync_api import BrowserContext, expect

from faces.board.desk import dashboard, entered, live
from faces.mcp.desk import Pipe, Place


def test_a_tool_call_in_another_process_changes_the_open_page_without_a_reload(
    at: Place, context: BrowserContext
) -> None:
    with Pipe(at) as agent, dashboard(at) as pages:
        first = agent.start(goal="Walk to the lake")
        page = entered(context, pages)
        row = page.locator(f"#run-{first.run}")
        expect(row.locator(".c-state")).to_have_text("one")
        live(page)
        page.evaluate("window.kept = 'here'")

        agent.go_on(first.token)
        expect(row.locator(".c-state")).to_have_text("two")
        other = agent.start(goal="Another one")
        expect(page.locator(f"#run-{other.run} .title")).to_have_text("Another one")

        assert page.evaluate("window.kept") == "here"


def test_a_run_that_is_paused_on_its_page_is_paused_for_its_agent(at: Place, context: BrowserContext) -> None:
    with Pipe(at) as agent, dashboard(at) as pages:
        first = agent.start(goal="Walk to the lake")
        page = entered(context, pages, f"/runs/{first.run}")

        page.get_by_role("button", name="Pause", exact=True).click()
        expect(page.get_by_role("heading", name="The run is paused.")).to_be_visible()
        told = agent.go_on(first.token)

        assert (told.failed, told.code) == (True, "not_running")
        page.get_by_role("button", name="Resume", exact=True).click()
        expect(page.get_by_role("heading", name="The run is running.")).to_be_visible()
        expect(page.locator("#acted code")).to_have_text(
            f"Go on with the Handrail run: call workflow_next_step with execution_id {first.run}"
        )
        assert agent.recover(first.run).reply["status"] == "ok"
