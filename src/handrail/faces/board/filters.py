"""The filters of the overview: all of them stand in the URL, and nothing else does."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Final
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from handrail.engine.facts import sound
from handrail.engine.model import Lifecycle
from handrail.faces.board.boards import Board
from handrail.faces.cli.stored import moment
from handrail.shell.view import LONGEST, Wanted

LIFECYCLES: Final = tuple(one for one in Lifecycle if one is not Lifecycle.IDLE)
AGES: Final = ("1h", "1d", "7d", "30d")


@dataclass(frozen=True, slots=True)
class Filters:
    """What was asked for, as it was typed; `lifecycle` may be several."""

    project: str = ""
    face: str = ""
    workflow: str = ""
    agent: str = ""
    q: str = ""
    since: str = ""
    until: str = ""
    lifecycle: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        """Whether anything is asked for."""
        return bool(list(self.pairs()))

    @property
    def ages(self) -> tuple[str, ...]:
        """The ages to choose from, and the one that was typed."""
        return AGES if self.since in {"", *AGES} else (*AGES, self.since)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """What is asked for, as it stands in the URL."""
        for part in fields(self):
            value = getattr(self, part.name)
            for one in value if isinstance(value, tuple) else (value,):
                if one:
                    yield part.name, one

    def url(self, **more: str) -> str:
        """The overview with these filters, and this besides."""
        query = urlencode([*self.pairs(), *more.items()])
        return f"/?{query}" if query else "/"

    def without(self, name: str, value: str) -> str:
        """The overview with the same filters but this one."""
        query = urlencode([pair for pair in self.pairs() if pair != (name, value)])
        return f"/?{query}" if query else "/"

    def wanted(self, board: Board) -> tuple[Wanted, tuple[str, ...]]:
        """The runs that fit; and the names of the filters that say nothing, and are left out."""
        times: Mapping[str, datetime | None] = {name: _time(getattr(self, name)) for name in _TIMES}
        unclear = tuple(name for name, at in times.items() if at is None and getattr(self, name))
        return Wanted(
            board.naming.root_of(self.project) if self.project else "",
            self.face,
            self.workflow,
            tuple(one for one in LIFECYCLES if one in self.lifecycle),
            self.q,
            times["since"],
            times["until"],
            self.agent,
            board.reach if self.any else 0,
        ), unclear


_TIMES: Final = ("since", "until")


def filters(query: QueryParams) -> Filters:
    """What an URL asks for; what could be no text in a store is left out."""
    found = {name: query.get(name, "").strip() for name in _NAMES}
    kinds = tuple(one for one in LIFECYCLES if one in query.getlist("lifecycle"))
    kept = {name: text for name, text in found.items() if len(text) <= LONGEST and sound(text)}
    return Filters(**kept, lifecycle=kinds)


_NAMES: Final = tuple(part.name for part in fields(Filters) if part.name != "lifecycle")


def _time(text: str) -> datetime | None:
    try:
        return moment(text) if text else None
    except (ValueError, OverflowError):
        return None
