"""What a tab of the page of a run is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starlette.datastructures import QueryParams

from handrail.faces.board.boards import Viewer
from handrail.shell.view import RunRow


@dataclass(frozen=True, slots=True)
class Tab:
    """A tab: its name in the URL and in the catalogue, its template, and what that is given.

    `fits` says of which runs there is such a tab.
    """

    name: str
    template: str
    told: Callable[[Viewer, RunRow, QueryParams], Mapping[str, object]]
    fits: Callable[[RunRow], bool] = lambda _: True
