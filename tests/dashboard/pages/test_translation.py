"""With every text of the catalogue marked, nothing that a page says is without a mark.

So a language is one file. What stays unmarked is data: what a store or its files say, names of workflows,
what the program calls things in its journal and its refusals, and numbers with their units.
"""

import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec.yaml
import pytest
from playwright.sync_api import BrowserContext

import handrail
from handrail.app.run_view import CODE_MEANINGS
from handrail.engine.model import Lifecycle
from handrail.runtime.entries import EntryKind
from helpers.browser import DashboardProcess, await_live_updates, open_signed_in_page, run_dashboard
from helpers.commit_plans import CONSTRAINTS, DESCRIPTION, TO_FILL, TO_PLAN
from helpers.face_runs import FaceRuns

TEXTS: Final = Path("app") / "languages" / "en.yaml"
PLACEHOLDER: Final = re.compile(r"(\{\{[^{}]*\}\})")
MARKED: Final = re.compile(r"⟦[^⟦⟧]*⟧")
LETTERS: Final = re.compile(r"[^\W\d_]{2,}")
UNITS: Final = re.compile(r"\b\d[\d.,:\u202f]*\s?(?:ms|s|min|h|d)\b|\bUTC\b|\b[0-9a-f]{7,}\b")
NUMBERS: Final = re.compile(r"(?<![\w-])\.?\d[\d.\u202f]*(?![\w-])")
ODD: Final = (Path(__file__).parent / "marked.js").read_text("utf-8")
BOARDS: Final = ("workflows", "steps", "telemetry", "activity")
TABS: Final = ("", "/plan", "/graph", "/timeline", "/history?only=all", "/artifacts")


def marked(value: object) -> object:
    """A catalogue with every text marked, but not what is put into it."""
    if isinstance(value, dict):
        return {name: said if name == "lang" else marked(said) for name, said in value.items()}
    parts = PLACEHOLDER.split(str(value))
    return "".join(part if PLACEHOLDER.fullmatch(part) or not part else f"⟦{part}⟧" for part in parts)


def test_the_marks_stand_around_what_is_said_and_not_around_what_is_put_in() -> None:
    assert marked({"lang": "en", "a": {"b": "{{n}} of 3 {{what}}"}}) == {
        "lang": "en",
        "a": {"b": "{{n}}⟦ of 3 ⟧{{what}}"},
    }


@pytest.fixture(scope="module")
def pages(faces: FaceRuns, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DashboardProcess]:
    """The pages of a program in which this one file is another."""
    copy = tmp_path_factory.mktemp("marked") / "handrail"
    shutil.copytree(Path(handrail.__file__).parent, copy, ignore=lambda *_: {"__pycache__"})
    said: dict[str, Any] = msgspec.yaml.decode((copy / TEXTS).read_bytes())
    (copy / TEXTS).write_bytes(msgspec.yaml.encode(marked(said)))
    with run_dashboard(faces.at, PYTHONPATH=str(copy.parent)) as made:
        yield made


@pytest.fixture(scope="module")
def data(faces: FaceRuns) -> str:
    """All that is data: of the store, its projects and what is installed, and the words of the journal."""
    stored = sqlite3.connect(f"file:{faces.at.store}?mode=ro", uri=True)
    try:
        tables = [name for (name,) in stored.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = [row for table in tables for row in stored.execute(f'SELECT * FROM "{table}"')]  # noqa: S608 - our names
    finally:
        stored.close()
    cells = [
        one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one) for row in rows for one in row
    ]
    installed = Path(handrail.__file__).parent / "workflows"
    roots = (installed, faces.at.project, faces.at.folder / "second" / "project")
    files = [
        path.read_text("utf-8", "replace")
        for root in roots
        for path in sorted(root.rglob("*"))
        if path.suffix in {".md", ".yaml", ".json"}
    ]
    planned = [str(one) for one in (CONSTRAINTS, DESCRIPTION, TO_PLAN, TO_FILL)]
    words = [
        *planned,
        *map(str, Lifecycle),
        *map(str, EntryKind),
        *CODE_MEANINGS,
        *CODE_MEANINGS.values(),
        handrail.__version__,
    ]
    return flat("\n".join([*cells, *files, *words]))


def flat(text: str) -> str:
    """A text as it is compared: letters and digits, and a blank between those."""
    return " ".join(re.findall(r"[\w]+", text)).casefold()


def unmarked(said: list[str], data: str) -> list[str]:
    """What was said that is neither marked nor data."""
    found = []
    for text in said:
        for part in MARKED.split(text):
            pieces = re.split(r"[\n·;]|: |, | → |\(|\)", UNITS.sub(" ", part))
            wrong = [one for one in pieces if LETTERS.search(one) and flat(one) not in data]
            found += [one.strip() for one in wrong if flat(NUMBERS.sub(" ", one)) not in data]
    return found


def test_what_has_no_mark_is_found_unless_it_is_data() -> None:
    data = flat("walk, in its step one")

    assert unmarked(["⟦Runs⟧", "walk · one", "12 s", "⟦at ⟧step one"], data) == []
    assert unmarked(["⟦Runs⟧ of walk", "no step", "⟦at ⟧two"], data) == ["of walk", "no step", "two"]


@pytest.mark.unmeasured
def test_everything_that_a_page_says_is_in_the_catalogue(
    context: BrowserContext,
    pages: DashboardProcess,
    faces: FaceRuns,
    data: str,
    record_property: Callable[[str, object], None],
) -> None:
    page = open_signed_in_page(context, pages, "/")
    await_live_updates(page)
    runs = [f"/runs/{run}{tab}" for run in faces.runs.values() for tab in TABS]
    steps = faces.runs["steps"]
    paths = [
        *("/", "/?q=0x", "/?lifecycle=running", "/nowhere", "/personas", "/workflows"),
        *(f"/insights/{board}?range=all" for board in BOARDS),
        *(f"/workflows/{name}" for name in ("walk", "large", "bug-fix", "spells")),
        *(f"/runs/{steps}/do/{action}" for action in ("abandon", "diverge", "fail", "complete-step")),
        *(f"/runs/{steps}/graph?state=two", f"/runs/{steps}/artifacts?n=1", *runs),
    ]
    answer: list[list[str]] = page.evaluate(ODD, [None, *paths])

    found = {path: unmarked(said, data) for path, said in zip(["", *paths], answer, strict=True)}
    assert {path: wrong for path, wrong in found.items() if wrong} == {}
    assert sum("⟦" in text for said in answer for text in said) > 1_000
    record_property("points", len(paths))
