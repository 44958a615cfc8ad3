"""How edits are tried on paper, for rows that want to know before they are taken."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from handrail.documents.criteria import check_off
from handrail.documents.quote import bounded
from handrail.shell.facts import Asked, Drafted, Drafter
from handrail.shell.readers import QUOTED, document, template, trying
from handrail.shell.resolve import destination
from handrail.workflows.registry import OK, PLAN, PROBLEMS

_CHECK_OFF: Final = "criteria.check_off"
_RESULTS: Final = "task-results.md"
_MOST: Final = 100
_LONGEST: Final = 300


def _check_off(asked: Asked) -> Drafted:
    """The plan with the criteria checked that the results list, linked to where this turn will put those."""
    path, name = PLAN
    places, problems = _places(asked)
    if asked.sight.read(path) is None:
        problems.append(f"{path} is not there")
    plan, results = document(asked, path), document(asked, _RESULTS)
    found = check_off(plan, results, places[0], template(asked.workflow, name))
    checked, unmatched = _told(found.checked), _told(found.unmatched)
    quoted = _quoted(asked, {"checked off in": checked, "found nowhere in": unmatched})
    facts = {"checked": checked, "unmatched": unmatched, "quoted": quoted}
    return Drafted({OK: not problems, PROBLEMS: problems, **facts}, {"text": found.text})


def _places(asked: Asked) -> tuple[list[str], list[str]]:
    """Where the results may be after this turn, and why it cannot be said, if it cannot."""
    try:
        places = sorted({destination(asked, row, _RESULTS) for row in trying(asked, _CHECK_OFF)})
    except KeyError as unknown:
        return [_RESULTS], [f"where {_RESULTS} is kept depends on {unknown}, which is no fact"]
    if len(places) > 1:
        return places, [f"{_RESULTS} would be kept as {' or '.join(places)}; a link can name one"]
    return places or [_RESULTS], []


def _quoted(asked: Asked, lists: Mapping[str, Sequence[str]]) -> str:
    """Texts of the results, and what became of them in the plan, for somebody who must not obey them."""
    path, folder = PLAN[0], asked.workflow.folder
    lines = [f"{what} `{path}`: {json.dumps(texts, ensure_ascii=False)}" for what, texts in lists.items()]
    return bounded("\n".join(lines), f"{folder}/{_RESULTS}".removeprefix("/"), asked.boundary, QUOTED)


def _told(found: Sequence[str]) -> list[str]:
    """As many as anybody reads, none longer than that, and how many more there are."""
    shown = [text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…" for text in found[:_MOST]]
    return [*shown, f"… and {len(found) - _MOST} more"] if len(found) > _MOST else shown


DRAFTERS: Final[Mapping[str, Drafter]] = {_CHECK_OFF: _check_off}
"""How edits are tried, by the name of their kind."""
