"""Builds the documentation as a site: `python tools/docs_site.py [FOLDER]`, into `site/` by default.

Nothing is fetched, neither here nor by whoever reads it. What stands where is taken from docs/index.md, and
the workflows are drawn by Handrail itself.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from click.testing import CliRunner

from handrail.cli.main import cli

ROOT: Final = Path(__file__).resolve().parent.parent
DOCS: Final = ROOT / "docs"
BESIDE: Final = ("CHANGELOG.md", "SECURITY.md")
_DRAWN: Final = re.compile(r"^(## `([\w-]+)`\n.*?)^```mermaid\n.*?^```$", re.DOTALL | re.MULTILINE)
_PAINT: Final = re.compile(r"\x1b\[[0-9;]*m")
_LOOK: Final[Mapping[str, Any]] = {
    "font": False,
    "features": [
        "content.code.copy",
        "navigation.sections",
        "navigation.top",
        "search.highlight",
        "toc.follow",
    ],
    "palette": [
        {"scheme": "default", "toggle": {"icon": "lucide/moon", "name": "Dark"}},
        {"scheme": "slate", "toggle": {"icon": "lucide/sun", "name": "Light"}},
    ],
}


def build(site: Path) -> str:
    """Build the site into a folder, in place of what is there; what the builder found wrong, or nothing."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(DOCS, folder / "docs", ignore=shutil.ignore_patterns("*.yaml"))
        _brought(folder / "docs")
        reference = folder / "docs" / "reference" / "workflows.md"
        reference.write_text(pictured(reference.read_text("utf-8"), reference.parent), "utf-8")
        (folder / "mkdocs.yml").write_text(json.dumps(settings()), "utf-8")
        done = subprocess.run(
            (sys.executable, "-m", "zensical", "build", "--strict"),
            cwd=folder,
            env={**os.environ, "NO_COLOR": "1"},
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            return _PAINT.sub("", done.stdout.partition("Traceback")[0])
        shutil.rmtree(site, ignore_errors=True)
        shutil.move(folder / "site", site)
    return ""


def _brought(docs: Path) -> None:
    """Put the pages that lie beside the documentation into it, and have the links lead there."""
    for name in BESIDE:
        text = (ROOT / name).read_text("utf-8")
        (docs / name).write_text(text.replace("](docs/", "]("), "utf-8")
    for page in docs.rglob("*.md"):
        up = "../" * len(page.relative_to(docs).parts)
        text = page.read_text("utf-8")
        for name in BESIDE:
            text = text.replace(f"]({up}{name}", f"]({up.removeprefix('../')}{name}")
        page.write_text(text, "utf-8")


def settings() -> dict[str, Any]:
    """What the builder is told; YAML is a superset of JSON."""
    return {
        "site_name": "Handrail",
        "site_description": "Walks AI coding agents through workflows they cannot skip, fake or lose",
        "use_directory_urls": False,
        "nav": list(navigation((DOCS / "index.md").read_text("utf-8"))),
        "theme": {"name": "material", **_LOOK},
        "markdown_extensions": [
            "md_in_html",
            "tables",
            {"toc": {"permalink": True}},
            "pymdownx.highlight",
            "pymdownx.superfences",
        ],
    }


def navigation(index: str) -> Iterator[Mapping[str, object]]:
    """The pages as the index has them: under its headings, each by its title."""
    yield {"Home": "index.md"}
    for section in re.split(r"^## ", index, flags=re.MULTILINE)[1:]:
        title = section.partition("\n")[0]
        links = re.findall(r"^- \[([^\]]+)\]\(([^)]+\.md)\)", section, re.MULTILINE)
        yield {title: [{name: path} for name, path in links]}


def pictured(page: str, folder: Path) -> str:
    """The page of workflows with each drawn as a picture, which is put into the folder."""

    def drawn(found: re.Match[str]) -> str:
        head, name = found.groups()
        picture = CliRunner().invoke(cli, ["workflows", "graph", name, "--format", "svg"])
        if picture.exit_code:
            raise SystemExit(f"handrail workflows graph {name}: {picture.output}")
        (folder / f"{name}.svg").write_text(picture.stdout, "utf-8")
        return f"{head}![The states of {name}, and the ways between them]({name}.svg)"

    return _DRAWN.sub(drawn, page)


def main(arguments: Sequence[str]) -> int:
    """Builds, and says where it is; 1 with what is wrong if a page or a link is."""
    site = Path(arguments[0]) if arguments else ROOT / "site"
    wrong = build(site)
    if not wrong:
        answer = f"{site}/index.html is the documentation; to search it: python3 -m http.server -d {site}"
    print(wrong or answer)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
