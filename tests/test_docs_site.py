"""The documentation as a site: every page is there, and nothing on it is fetched from elsewhere."""

import re
from pathlib import Path

import pytest

from tools import docs_site as site

pytestmark = pytest.mark.unmeasured

FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|link(?![^>]*rel="?canonical))[^>]*?(?:src|href)="?(https?:[^"\s>]+)"""
)


def test_every_page_is_on_the_site_and_nothing_is_fetched_from_elsewhere(tmp_path: Path) -> None:
    assert site.build(tmp_path / "site") == ""

    pages = {path.relative_to(tmp_path / "site"): path for path in (tmp_path / "site").rglob("*.html")}
    written = {path.relative_to(site.DOCS).with_suffix(".html") for path in site.DOCS.rglob("*.md")}
    assert written - {Path("design/README.html")} | {Path("design/index.html")} <= pages.keys()
    assert [(name, FETCHED.findall(path.read_text("utf-8"))) for name, path in pages.items()] == [
        (name, []) for name in pages
    ]
    workflows = pages[Path("reference/workflows.html")].read_text("utf-8")
    assert 'src="bug-fix.svg"' in workflows
    assert "stateDiagram" not in workflows
    assert (tmp_path / "site" / "reference" / "bug-fix.svg").read_text("utf-8").startswith("<svg")


def test_a_site_with_a_link_that_leads_nowhere_is_not_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = tmp_path / "docs"
    (docs / "reference").mkdir(parents=True)
    (docs / "index.md").write_text("# Home\n\nSee [it](nowhere.md).\n")
    (docs / "reference" / "workflows.md").write_text("# Workflows\n")
    monkeypatch.setattr(site, "DOCS", docs)

    assert "nowhere.md" in site.build(tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_the_pages_stand_in_the_order_of_the_index() -> None:
    guides = "## Guides\n\n- [One](guides/one.md): first\n- [Two](guides/two.md)\n"
    index = f"# Docs\n\n{guides}\n## Words\n\n- [All](all.md)\n"

    assert list(site.navigation(index)) == [
        {"Home": "index.md"},
        {"Guides": [{"One": "guides/one.md"}, {"Two": "guides/two.md"}]},
        {"Words": [{"All": "all.md"}]},
    ]
