"""Artifacts: what a run made. Each rendered, as it stands, to download, or beside another version."""

import difflib
import re
from collections.abc import Mapping
from functools import partial
from typing import Final

import msgspec
from starlette.datastructures import QueryParams

from handrail.faces.board.boards import Viewer
from handrail.faces.board.looks import lines
from handrail.faces.board.markdown import rendered
from handrail.faces.board.tabs.tab import Tab
from handrail.shell.view import EXCERPT, ArtifactRow, Records, RunRow, every

_MARKDOWN: Final = re.compile(r"^(#{1,6} |```|\|.+\||> |[*] |\d+[.] )|\]\(", re.MULTILINE)
"""What a text has somewhere that is meant to be rendered: code and changes have not."""

_COMPARED: Final = 2000
"""How many lines of each are compared: with many more, that could take minutes."""


def told(viewer: Viewer, row: RunRow, query: QueryParams) -> Mapping[str, object]:
    """The list; of the one that is named `n` its text, rendered unless it shall be `raw`; or a difference."""
    records = viewer.board.serving.records
    listed = list(every(partial(records.artifacts, row.id)))
    chosen = _named(listed, query.get("n", "")) or (listed[-1] if listed else None)
    other = _named(listed, query.get("from", ""))
    text = _text(records, row, chosen)
    data = _data(text)
    plain = "raw" in query or len(text) > EXCERPT or bool(data) or not _MARKDOWN.search(text)
    return {
        "artifacts": listed,
        "chosen": chosen,
        "other": other,
        "raw": "raw" in query,
        "text": lines(text[:EXCERPT] if "raw" in query else data or text[:EXCERPT]),
        "cut": len(text) > EXCERPT,
        "html": None if plain else rendered(text),
        "changes": _changes(_text(records, row, other), text) if other else None,
    }


def _named(listed: list[ArtifactRow], number: str) -> ArtifactRow | None:
    return next((one for one in listed if str(one.number) == number), None)


def _text(records: Records, row: RunRow, artifact: ArtifactRow | None) -> str:
    found = records.content(row.id, artifact.number) if artifact else None
    return found or ""


def _data(text: str) -> str:
    """The text with its parts under each other, if it is a JSON object or list that is not too long."""
    if not text.lstrip().startswith(("{", "[")) or len(text) > EXCERPT:
        return ""
    try:
        return msgspec.json.format(text, indent=2)
    except (msgspec.DecodeError, RecursionError):
        return ""


def _changes(old: str, new: str) -> list[tuple[str, str]]:
    """The lines of a difference, each with what it is: added, gone, same, or a place."""
    before, after = (lines(text).split("\n")[:_COMPARED] for text in (old, new))
    kinds = {"+": "added", "-": "gone", "@": "place", " ": "same"}
    found = list(difflib.unified_diff(before, after, lineterm="", n=3))[2:]
    return [(kinds[line[0]], line if line[0] == "@" else line[1:]) for line in found]


TAB: Final = Tab("artifacts", "artifacts.html", told)
