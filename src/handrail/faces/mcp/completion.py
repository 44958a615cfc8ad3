"""What a client may offer to somebody who fills in a template."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from handrail.engine.model import Lifecycle
from handrail.faces.mcp import addresses
from handrail.faces.mcp.addresses import FINAL, FINAL_OF, LONGEST, RECENT, TYPE
from handrail.shell.records import project_id
from handrail.shell.view import Records, Wanted

MOST: Final = 100
"""How many values a client is offered at most."""


class Completion(Struct, frozen=True):
    """Who knows the agents, runs, projects and artifacts there are; projects by root, with their names."""

    records: Records
    projects: Mapping[str, str]
    personas: Sequence[str]

    def of(self, template: str, argument: str, typed: str) -> tuple[str, ...]:
        """What an argument of a template may be that begins as typed, the likeliest first."""
        if len(typed) > LONGEST or any("\ud800" <= character <= "\udfff" for character in typed):
            return ()
        match addresses.scheme_of(template), argument:
            case addresses.PERSONA, "agent":
                found = self._agents(typed)
            case ((addresses.CURRENT | addresses.STATUS), "execution_id"):
                found = self._runs(typed)
            case addresses.PROJECT, "project_id":
                found = self._projects(typed)
            case addresses.ARTIFACTS, "pattern":
                found = self._patterns(typed)
            case _:
                return ()
        return tuple(dict.fromkeys(found))[:MOST]

    def _agents(self, typed: str) -> Iterator[str]:
        return (name for name in self.personas if name.startswith(typed))

    def _runs(self, typed: str) -> Iterator[str]:
        """Those under way in these projects, the last ones of all, and whatever else begins so."""
        yield from self.records.live(tuple(self.projects), typed)
        yield from (row.id for row in self.records.runs(Wanted()) if row.id.startswith(typed))
        if typed:
            yield from self.records.named(typed)

    def _projects(self, typed: str) -> Iterator[str]:
        """Those whose id or name begins so."""
        for root, name in self.projects.items():
            if project_id(root).startswith(typed) or name.startswith(typed):
                yield project_id(root)

    def _patterns(self, typed: str) -> Iterator[str]:
        last = [f"{FINAL_OF}{run}" for run in self.records.completed()]
        types = [f"{TYPE}{type_}" for type_ in self.records.types()]
        yield from (name for name in (RECENT, FINAL, *last, *types) if name.startswith(typed))
        begun = typed.removeprefix(FINAL_OF)
        for run in self.records.named(begun) if begun and begun != typed else ():
            row = self.records.run(run)
            if row and row.lifecycle is Lifecycle.COMPLETED:
                yield f"{FINAL_OF}{run}"
