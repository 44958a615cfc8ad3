"""The graph of a run: drawn as it stands, moved and scaled, with what there is to know of each state."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from helpers.browser import DashboardProcess, await_live_updates, open_signed_in_page, run_dashboard
from helpers.face_runs import FaceRuns, play_steps
from helpers.history import create_history
from helpers.large_workflow import STATES
from helpers.servers import Pipe, Place

SPOT = "document.querySelector('#graph svg').getBoundingClientRect()"


@pytest.fixture
def page(context: BrowserContext, board: DashboardProcess) -> Iterator[Page]:
    """A page of a browser that was let in; it must have nothing to complain of."""
    made, complaints = open_signed_in_page(context, board), list[str]()
    made.on("console", lambda message: complaints.append(message.text))
    made.on("pageerror", lambda error: complaints.append(str(error)))
    yield made
    assert complaints == []


@pytest.fixture
def plain(scriptless: BrowserContext, board: DashboardProcess) -> Page:
    """A page without JavaScript."""
    return open_signed_in_page(scriptless, board)


def drawn(page: Page) -> list[str]:
    """What is written in the nodes of the picture."""
    return [text.strip() for text in page.locator("#graph .node > text").all_text_contents()]


def spot(page: Page) -> tuple[float, float, float]:
    """Where the picture stands in its frame, and how wide it is, once it has come to rest."""
    page.evaluate(
        "Promise.all(document.querySelector('#graph svg').getAnimations().map((one) => one.finished))"
    )
    box = page.evaluate(f"({{x: {SPOT}.x, y: {SPOT}.y, width: {SPOT}.width}})")
    frame = page.locator("[data-canvas]").bounding_box()
    assert frame is not None
    return round(box["x"] - frame["x"], 1), round(box["y"] - frame["y"], 1), round(box["width"], 1)


def test_the_picture_shows_where_the_run_is_was_and_can_go(
    page: Page, board: DashboardProcess, faces: FaceRuns
) -> None:
    page.goto(f"{board.url}/runs/{faces.runs['steps']}/graph")

    assert drawn(page) == ["one", "two", "three", "four", "five", "six", "end"]
    marked = {
        word: [one.get_attribute("data-state") for one in page.locator(f"#graph .node.{word}").all()]
        for word in ("visited", "current", "possible")
    }
    assert marked == {"visited": ["one", "two"], "current": ["three"], "possible": ["four"]}
    assert page.locator("#graph [style]").count() == 0


@pytest.mark.parametrize(
    ("face", "state"),
    [
        ("steps", "three"),
        ("spells", "ACHIEVE_TASK_EXECUTED"),
        ("skills", "execute-batch"),
        ("planner", "stage-5"),
        ("commits", "phase-executing-open"),
    ],
)
def test_runs_of_every_face_are_drawn_where_they_stand(
    face: str, state: str, page: Page, board: DashboardProcess, faces: FaceRuns
) -> None:
    page.goto(f"{board.url}/runs/{faces.runs[face]}/graph")

    current = page.locator("#graph [aria-current=step]").all()
    assert [one.get_attribute("data-state") for one in current] == [state]
    assert page.locator(".note").count() == 0
    assert page.locator("#graph .edge.walked").count() >= 2


def test_a_state_is_shown_with_its_contract_its_ways_and_its_visits(
    plain: Page, board: DashboardProcess, faces: FaceRuns
) -> None:
    plain.goto(f"{board.url}/runs/{faces.runs['steps']}/graph")
    expect(plain.locator("#state")).to_contain_text("No state is chosen")

    plain.locator("#graph a[data-state=one]").click()
    answer = plain.locator("#state")
    expect(answer.locator("h2")).to_have_text("one")
    expect(answer).to_contain_text("The run was here once. Runs begin here.")
    expect(answer).to_contain_text("architect")
    expect(answer).to_contain_text("First.")
    expect(answer).to_contain_text("Artifacts: note")
    expect(answer).to_contain_text("Confidence of at least 0.5")
    expect(answer.locator(".visits")).to_contain_text("It is drawn.")
    expect(answer.get_by_role("link", name="A note")).to_have_attribute(
        "href", f"/runs/{faces.runs['steps']}/artifacts?n=1"
    )
    assert plain.locator("#graph [data-chosen]").get_attribute("data-state") == "one"

    answer.get_by_role("link", name="two").click()
    expect(answer.locator("h2")).to_have_text("two")
    answer.get_by_role("link", name="Close").click()
    expect(answer).to_contain_text("No state is chosen")


def test_the_guards_of_a_state_say_whether_they_hold_now(
    page: Page, board: DashboardProcess, faces: FaceRuns
) -> None:
    page.goto(f"{board.url}/runs/{faces.runs['spells']}/graph?state=ACHIEVE_TASK_EXECUTED")

    rows = {
        str(one.locator("code").first.inner_text()): re.sub(r"\s+", " ", one.inner_text())
        for one in page.locator("#state .rows li").all()
    }
    assert rows["A2b"] == "A2b Accio → ERROR_TASK_RESULTS_MISSING !results.exists Can be taken"
    assert rows["A2c"] == "A2c Accio → ERROR_PLAN_MISSING !plan.exists Blocked: !plan.exists"
    assert rows["A6"] == "A6 Finite is refused"
    page.goto(f"{board.url}/runs/{faces.runs['skills']}/graph?state=execute-batch")
    expect(page.locator("#state .rows .is-unsure").first).to_contain_text("May be taken")
    expect(page.locator("#state .facts")).to_contain_text("executing-plans")
    page.goto(f"{board.url}/runs/{faces.runs['skills']}/graph?state=work-item-router")
    expect(page.locator("#state")).to_contain_text("It is left at once")
    page.goto(f"{board.url}/runs/{faces.runs['planner']}/graph?state=stage-5")
    expect(page.locator("#state .rows")).to_contain_text("to where mark.stage says")
    page.goto(f"{board.url}/runs/{faces.runs['spells']}/graph?state=nothing&view=nothing")
    expect(page.locator("#state")).to_contain_text("No state is chosen")


def test_a_large_workflow_is_an_overview_whose_groups_open_without_a_script(
    plain: Page, board: DashboardProcess, faces: FaceRuns
) -> None:
    with Pipe(faces.at) as agent:
        run = agent.start("large").run
    plain.goto(f"{board.url}/runs/{run}/graph")
    expect(plain.get_by_role("link", name="Overview")).to_have_attribute("aria-current", "true")
    before = drawn(plain)
    assert len(before) <= 42

    group = plain.locator("#graph a[data-group]").last
    name = group.get_attribute("data-group")
    group.click()
    expect(plain.locator(".chip")).to_have_text(str(name))
    assert len(drawn(plain)) > len(before)
    plain.locator(".chip").click()
    expect(plain.locator(".chip")).to_have_count(0)
    assert drawn(plain) == before

    plain.get_by_role("link", name="Nearby").click()
    expect(plain.get_by_role("link", name="Nearby")).to_have_attribute("aria-current", "true")
    assert drawn(plain)[:3] == ["state-000", "state-001", "state-002"]
    plain.get_by_role("link", name="All states").click()
    expect(plain.locator("#graph .node")).to_have_count(STATES + 1)

    plain.get_by_role("link", name="Overview").click()
    plain.get_by_label("Go to the state").fill("state-250")
    plain.get_by_role("button", name="Go", exact=True).click()
    expect(plain.get_by_role("heading", name="state-250")).to_be_visible()
    assert "state-250" in drawn(plain)
    assert len(drawn(plain)) <= 45


@pytest.mark.parametrize("face", ["spells", "skills"])
def test_a_picture_begins_so_large_that_its_names_can_be_read_and_with_where_the_run_stands(
    page: Page, board: DashboardProcess, faces: FaceRuns, face: str
) -> None:
    page.goto(f"{board.url}/runs/{faces.runs[face]}/graph")
    drawn_at = page.evaluate(f"{SPOT}.width / document.querySelector('#graph svg').viewBox.baseVal.width")
    frame, here = (
        page.locator(one).bounding_box() for one in ("[data-canvas]", "#graph [aria-current] > rect")
    )
    assert frame is not None
    assert here is not None

    assert 13 * drawn_at >= 10
    assert frame["x"] <= here["x"] <= frame["x"] + frame["width"] - here["width"]
    assert frame["y"] <= here["y"] <= frame["y"] + frame["height"] - here["height"]


def test_a_picture_of_a_workflow_begins_where_runs_begin_also_on_a_phone(
    page: Page, board: DashboardProcess
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{board.url}/workflows/skills")
    frame, here = (page.locator(one).bounding_box() for one in ("[data-canvas]", "#graph .initial > rect"))
    assert frame is not None
    assert here is not None

    assert frame["x"] <= here["x"] <= frame["x"] + frame["width"] - here["width"]
    assert frame["y"] <= here["y"] <= frame["y"] + frame["height"] - here["height"]


def test_keys_buttons_the_wheel_and_the_pointer_move_the_picture(
    page: Page, board: DashboardProcess, faces: FaceRuns
) -> None:
    page.goto(f"{board.url}/runs/{faces.runs['spells']}/graph")
    x, y, width = spot(page)
    page.keyboard.press("+")
    assert spot(page)[2] == pytest.approx(width * 1.25, abs=0.5)
    page.keyboard.press("-")
    assert spot(page) == pytest.approx((x, y, width), abs=0.5)
    page.get_by_role("button", name="Closer").click()
    assert spot(page)[2] == pytest.approx(width * 1.25, abs=0.5)
    page.keyboard.press("0")
    frame = page.locator("[data-canvas]").bounding_box()
    assert frame is not None
    fitted = spot(page)
    assert fitted[2] <= frame["width"]

    page.locator("[data-canvas]").focus()
    page.keyboard.press("ArrowRight")
    assert spot(page)[0] == pytest.approx(fitted[0] - 60, abs=0.5)
    page.keyboard.press("ArrowLeft")

    at = (frame["x"] + 10, frame["y"] + 10)
    page.mouse.move(*at)
    page.mouse.down()
    page.mouse.move(at[0] + 30, at[1] + 20, steps=3)
    page.mouse.up()
    assert spot(page)[:2] == pytest.approx((fitted[0] + 30, fitted[1] + 20), abs=0.5)

    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    page.wait_for_function(f"{SPOT}.width > {fitted[2]} * 1.5")


def test_a_drag_over_a_state_does_not_choose_it_and_a_click_does_without_leaving_the_page(
    page: Page, board: DashboardProcess, faces: FaceRuns
) -> None:
    page.goto(f"{board.url}/runs/{faces.runs['steps']}/graph")
    await_live_updates(page)
    page.evaluate("window.same = true")
    box = page.locator("#graph a[data-state=two]").bounding_box()
    assert box is not None
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] + 40, middle[1], steps=4)
    page.mouse.up()
    expect(page.locator("#state")).to_contain_text("No state is chosen")
    before = spot(page)

    page.mouse.click(middle[0] + 40, middle[1])
    expect(page.locator("#state h2")).to_have_text("two")
    expect(page.locator("#graph [data-chosen]")).to_have_attribute("data-state", "two")
    assert spot(page) == before
    assert page.url.endswith("/graph?view=whole&state=two")

    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#state h2")).to_have_text("three")
    assert page.evaluate("window.same") is True


def test_a_state_that_gets_the_focus_is_brought_into_sight(
    page: Page, board: DashboardProcess, faces: FaceRuns
) -> None:
    page.goto(f"{board.url}/runs/{faces.runs['skills']}/graph")
    page.keyboard.press("+")
    page.keyboard.press("+")
    page.locator("[data-canvas]").focus()
    page.keyboard.press("Tab")
    spot(page)

    node = page.locator("#graph a:focus").bounding_box()
    frame = page.locator("[data-canvas]").bounding_box()
    assert node is not None
    assert frame is not None
    assert node["x"] >= frame["x"]
    assert node["y"] >= frame["y"]
    assert node["x"] + node["width"] <= frame["x"] + frame["width"]
    assert node["y"] + node["height"] <= frame["y"] + frame["height"]


def test_nothing_glides_for_those_who_want_no_motion(
    context: BrowserContext, board: DashboardProcess, faces: FaceRuns
) -> None:
    page = open_signed_in_page(context, board)
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{board.url}/runs/{faces.runs['steps']}/graph")
    width = spot(page)[2]
    page.keyboard.press("+")

    assert page.evaluate("document.querySelector('#graph svg').getAnimations().length") == 0
    assert spot(page)[2] == pytest.approx(width * 1.25, abs=0.5)


def test_the_picture_follows_the_run_and_stays_where_it_was_moved_to(
    at: Place, context: BrowserContext
) -> None:
    run = play_steps(at)
    with run_dashboard(at) as pages, Pipe(at) as agent:
        page = open_signed_in_page(context, pages, f"/runs/{run}/graph?state=four")
        await_live_updates(page)
        page.keyboard.press("+")
        page.keyboard.press("+")
        before = spot(page)

        assert not agent.continue_run(agent.recover(run).token, summary="It is tested.").failed
        expect(page.locator("#graph [aria-current=step]")).to_have_attribute("data-state", "four")
        expect(page.locator("#state")).to_contain_text("The run is here now.")
        assert spot(page) == before


def test_a_run_whose_workflow_cannot_be_read_says_so_with_the_repair(
    at: Place, context: BrowserContext
) -> None:
    at.store.parent.mkdir(mode=0o700)
    past = create_history(at.store)
    with run_dashboard(at) as pages:
        page = open_signed_in_page(context, pages)
        for tab in ("graph", "timeline"):
            page.goto(f"{pages.url}/runs/{past.runs['waiting']}/{tab}")
            expect(page.locator("#unseen")).to_contain_text("fork the run with the workflow as it is now")
        page.goto(f"{pages.url}/runs/{past.runs['completed']}/graph")
        expect(page.locator("#graph .current")).to_have_attribute("data-state", "proved")
