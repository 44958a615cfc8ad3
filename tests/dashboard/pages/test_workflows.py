"""The pages of workflows: whose they are, which hides which, their source, their graph, and what is wrong."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from helpers.browser import DashboardProcess, open_signed_in_page, run_dashboard
from helpers.hostile_texts import WatchedPage
from helpers.program import CommandResult, run_handrail
from helpers.servers import BRIEF, Pipe, Place, create_place

BROKEN: Final = """\
workflow: broken
version: 1
authority: sql
about: "<script>alert(1)</script> & more"
states:
  first: {agent: writer, task: "<img src=x onerror=alert(1)> \u202egnp"}
  never: {agent: writer, task: Nobody comes here.}
  done: {terminal: true}
transitions:
  - {id: R1, from: first, trigger: continue, to: done}
  - {id: R2, from: never, trigger: continue, to: done}
"""
OWN: Final = BRIEF.replace("workflow: brief", "workflow: release")
LONG: Final = "workflow: long\nversion: 1\nauthority: sql\nabout: A long way\nsteps:\n" + "".join(
    f"  - {{name: s{number}, agent: writer, task: Walk.}}\n" for number in range(60)
)


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A project with a workflow of each sort: good, wrong, long, hiding, unreadable."""
    made = create_place(
        Path(tmp_path_factory.mktemp("flows")) / "place", broken=BROKEN, release=OWN, long=LONG
    )
    shelf = made.project / ".handrail" / "workflows"
    (shelf / "unread.yaml").write_text("workflow: [", "utf-8")
    (shelf / "bytes.yaml").write_bytes(b"workflow: bytes\n# \xff\xfe\n")
    (shelf / "linked.yaml").symlink_to("/etc/hostname")
    settings = made.folder / "home" / ".config" / "handrail" / "workflows"
    settings.mkdir(parents=True)
    (settings / "brief.yaml").write_text(BRIEF.replace("One step", "Mine"), "utf-8")
    return made


@pytest.fixture(scope="module")
def shown(at: Place) -> Iterator[DashboardProcess]:
    """The pages of somebody who works in it."""
    with run_dashboard(at, "--project", str(at.project)) as made:
        yield made


@pytest.fixture
def page(context: BrowserContext, shown: DashboardProcess) -> Page:
    """A page of a browser that was let in."""
    return open_signed_in_page(context, shown, "/workflows")


def cli(at: Place, *words: str) -> CommandResult:
    """What the command line says in the same project."""
    return run_handrail(*words, cwd=at.project, HOME=at.env["HOME"], **_homes(at))


def _homes(at: Place) -> dict[str, str]:
    return {name: at.env[name] for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME")}


def row(page: Page, name: str, number: int = 0) -> Locator:
    """The row of a workflow in the list."""
    return page.locator(".flows tbody tr", has=page.get_by_role("link", name=name, exact=True)).nth(number)


def test_the_list_is_that_of_the_command_line(page: Page, at: Place) -> None:
    entries = cli(at, "workflows", "list", "--json").data["workflows"]

    names = page.locator(".flows .title").all_inner_texts()
    marks = [" ".join(one.split()) for one in page.locator(".flows .c-from").all_inner_texts()]

    assert names == [entry["name"] for entry in entries]
    answer = {"project": "the project's", "user": "yours", "built-in": "built in"}
    assert [mark.startswith(answer[entry["origin"]]) for mark, entry in zip(marks, entries, strict=True)] == (
        [True] * len(entries)
    )
    assert [("hidden" in mark) for mark in marks] == [entry["hidden"] for entry in entries]


def test_each_line_says_whose_it_is_what_it_hides_and_what_is_wrong(page: Page) -> None:
    def told(name: str, number: int = 0) -> list[str]:
        lines = row(page, name, number).inner_text().replace("\t", "\n").split("\n")
        return [line.strip() for line in lines if line.strip()]

    assert told("brief") == [
        *("brief", "One step", "the project's", "hides yours", "not trusted yet", "2", "no problems"),
    ]
    assert told("brief", 1)[1:4] == ["Mine", "yours", "hidden"]
    assert told("broken")[-1] == "1 problem"
    assert told("linked")[1:4] == ["It cannot be read.", "the project's", "passed over"]
    assert told("release")[2:5] == ["the project's", "hides the built-in one", "not trusted yet"]


def test_the_report_is_that_of_the_command_line_and_leads_to_the_line(
    page: Page, at: Place, shown: DashboardProcess
) -> None:
    (problem,) = json.loads(cli(at, "workflows", "check", ".handrail/workflows/broken.yaml", "--json").out)[
        "problems"
    ]
    page.goto(f"{shown.url}/workflows/broken")

    assert page.locator("#report li p").all_inner_texts()[1:3] == [problem["message"], problem["repair"]]
    assert page.locator("#report li code").first.inner_text() == problem["code"] == "unreachable-state"
    page.get_by_role("link", name="line 7").click()
    page.wait_for_url("**#L7")
    assert page.locator(".source .is-wrong").all_inner_texts() == [BROKEN.split("\n")[6] + "\n"]
    assert (problem["line"], page.locator(".source .line").count()) == (7, 11)


def test_the_source_stands_there_as_it_is_with_the_numbers_of_its_lines(
    page: Page, shown: DashboardProcess
) -> None:
    page.goto(f"{shown.url}/workflows/walk")
    lines = page.locator(".source .line").all_inner_texts()

    assert [line.removesuffix("\n") for line in lines[:3]] == ["", "workflow: walk", "version: 1"]
    numbered = "one => getComputedStyle(one, '::before').content"
    assert page.locator("#L2").evaluate(numbered) == "counter(line)"
    page.goto(f"{shown.url}/workflows/spells")
    texts = page.locator(".beside summary").all_inner_texts()
    assert texts
    assert all(text.startswith("Text ") for text in texts)


def test_a_state_of_the_graph_leads_to_what_it_asks_for(page: Page, shown: DashboardProcess) -> None:
    page.goto(f"{shown.url}/workflows/walk")
    page.locator("svg a[data-state=three]").click()
    page.wait_for_url("**#state=three")

    assert page.locator(":target h3").inner_text() == "three"
    assert "an artifact of the type note" in page.locator(":target").inner_text()
    page.locator(":target").get_by_role("link", name="tester").click()
    page.wait_for_url("**/personas/tester?**")
    page.get_by_role("link", name="walk · three").click()
    page.wait_for_url("**/workflows/walk?**#state=three")


def test_a_long_workflow_is_drawn_in_groups_that_can_be_taken_apart(
    page: Page, shown: DashboardProcess
) -> None:
    page.goto(f"{shown.url}/workflows/long")
    few = page.locator("svg .node").count()
    page.locator("svg a[data-group]").first.click()
    page.wait_for_url("**#group=**")
    page.locator(".groups").get_by_role("link", name="Take it apart").first.click()
    page.wait_for_url("**open=**")
    more = page.locator("svg .node").count()
    page.goto(f"{shown.url}/workflows/long?whole=1")

    assert few < 10 < more
    assert page.locator("svg .node").count() == 61
    page.goto(f"{shown.url}/workflows/long?open=s1%2B58")
    expect(page.get_by_role("link", name="Draw it in groups again")).to_be_visible()


def test_what_hides_another_shows_what_it_changes_until_it_is_trusted(
    page: Page, shown: DashboardProcess, at: Place
) -> None:
    page.goto(f"{shown.url}/workflows/release")
    expect(page.locator("#untrusted code").first).to_have_text("handrail trust release")
    expect(page.locator("#untrusted pre")).to_contain_text("+++ ")
    expect(page.locator("#untrusted pre")).to_contain_text(
        "cut here; `handrail trust release` shows all of it"
    )
    assert page.locator(".others a").nth(1).locator(".tag").all_inner_texts() == ["built in", "hidden"]
    page.locator(".others a").nth(1).click()
    page.wait_for_url("**from=built-in")
    expect(page.locator(".lead")).to_contain_text("Take stock")

    assert cli(at, "trust", "release", "--yes").status == 0
    page.goto(f"{shown.url}/workflows/release")

    assert page.locator("#untrusted").count() == 0
    expect(page.locator(".run-title .is-good")).to_have_text("trusted")


def test_what_cannot_be_read_says_why(page: Page, shown: DashboardProcess) -> None:
    for name, words in {
        "unread": "while parsing a node",
        "bytes": "UTF-8",
        "linked": "leads through a link",
    }.items():
        page.goto(f"{shown.url}/workflows/{name}")
        assert page.locator("#report li").count() >= 1, name
        expect(page.locator("#report")).to_contain_text(words)
        assert page.locator("#graph").count() == 0, name
    assert "hostname" not in page.locator("#main").inner_text()


def test_a_name_that_nobody_has_is_told_with_where_to_look(page: Page, shown: DashboardProcess) -> None:
    answered = page.goto(f"{shown.url}/workflows/%3Cb%3Enobody")

    assert answered is not None
    assert answered.status == 404
    expect(page.get_by_text("<b>nobody is not among those that this project sees.")).to_be_visible()
    page.get_by_role("link", name="All workflows").click()
    page.wait_for_url("**/workflows?**")
    assert page.request.get(f"{shown.url}/workflows?project=elsewhere").status == 404


def test_hostile_texts_stand_there_as_text(context: BrowserContext, shown: DashboardProcess) -> None:
    watched = WatchedPage(open_signed_in_page(context, shown), shown.url)
    page = watched.page
    for path in ("/workflows", "/workflows/broken", "/workflows/bytes"):
        page.goto(shown.url + path)
        assert page.locator("#main script, #main img, #main [style]:not([data-canvas])").count() == 0
        assert "\u202e" not in page.content()
    page.goto(f"{shown.url}/workflows/broken")

    assert page.locator(".lead").inner_text() == "<script>alert(1)</script> & more"
    assert page.locator("[id='state=first'] .said").inner_text() == (
        "<img src=x onerror=alert(1)> \\u{202e}gnp"
    )
    assert watched.bad == []


def test_a_run_leads_to_its_workflow_and_that_to_its_runs(at: Place, context: BrowserContext) -> None:
    other = create_place(at.folder / "walked")
    with Pipe(other) as agent:
        begun = agent.start(goal="To be followed")
    with run_dashboard(other) as pages:
        page = open_signed_in_page(context, pages, f"/runs/{begun.run}")
        page.get_by_role("link", name="walk", exact=True).click()
        page.wait_for_url("**/workflows/walk?project=project")
        expect(page.locator(".lead")).to_have_text("Six steps in a row")
        page.get_by_role("link", name="How its runs go").click()
        page.wait_for_url("**/insights")
        page.goto(f"{pages.url}/workflows/walk?project=project")
        page.get_by_role("link", name="Its runs", exact=True).click()
        page.wait_for_url("**/?workflow=walk")
        expect(page.get_by_role("link", name="To be followed")).to_be_visible()
        page.goto(f"{pages.url}/workflows")
        expect(page.get_by_label("Project")).to_have_value("walked")
        page.get_by_label("Project").select_option("project")
        page.get_by_role("button", name="Show").click()
        page.wait_for_url("**/workflows?project=project")
        expect(row(page, "walk")).to_be_visible()


def test_a_run_of_a_project_without_definitions_leads_to_what_every_project_sees(
    at: Place, context: BrowserContext
) -> None:
    other = create_place(at.folder / "plain")
    bare = at.folder / "plain" / "bare"
    bare.mkdir()
    with Pipe(other, "--project", str(bare)) as agent:
        begun = agent.start("bug-fix", goal="To be mended", project="bare", inputs={"report": "It fails."})
    with run_dashboard(other) as pages:
        page = open_signed_in_page(context, pages, f"/runs/{begun.run}")
        page.get_by_role("link", name="bug-fix", exact=True).click()
        page.wait_for_url("**/workflows/bug-fix?project=bare")

        expect(page.locator(".lead")).to_have_text(
            "Reproduce a bug, find its cause, mend it, prove it mended"
        )
