"""Personas and guardrails: what agents are told besides their task, and where."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from handrail.engine.problems import Problem
from handrail.faces.board.definitions import Shelved, Standing, shelved
from handrail.faces.board.looks import page
from handrail.faces.board.markdown import rendered
from handrail.shell.catalog import DEFAULT, Found, Kind, Lost
from handrail.shell.hiding import Untrusted
from handrail.shell.shelf import SUPERVISOR, front_problems, guardrail_of, persona_of
from handrail.workflows.load import load

KINDS: Final = {"personas": Kind.PERSONA, "guardrails": Kind.GUARDRAIL}
"""The kinds as they stand in the URL, in the order in which they are listed."""


@dataclass(frozen=True, slots=True)
class Guide:
    """A persona or a guardrail: `html` is what agents read, `told_in` the workflows and steps it names."""

    standing: Standing
    about: str
    html: Markup
    told_in: tuple[tuple[str, ...], tuple[str, ...]]
    used_by: tuple[tuple[str, str], ...]
    problems: tuple[Problem, ...]
    untrusted: Untrusted | None


def guides(request: Request) -> Response:
    """All of them, and the one that is named, or else the first."""
    among = shelved(request)
    kinds, name = _asked(request)
    kind = KINDS[kinds]
    listed = {each: list(_listed(among, of)) for each, of in KINDS.items()}
    if not name and listed[kinds]:
        name = listed[kinds][0].name
    found, same = among.chosen(kind, name, request.query_params.get("from", ""))
    if name and not same:
        raise HTTPException(404)
    return page(
        "guides.html",
        viewer=among.viewer,
        among=among,
        listed=listed,
        kinds=kinds,
        kind=kind.value,
        guide=_guide(among, kind, found or same[0]) if same else None,
    )


def _asked(request: Request) -> tuple[str, str]:
    return request.url.path.split("/")[1], str(request.path_params.get("name", ""))


def _listed(among: Shelved, kind: Kind) -> Iterator[Standing]:
    yield from map(among.standing, among.shelf.found(kind))
    yield from map(among.lost, among.shelf.lost(kind))


def _guide(among: Shelved, kind: Kind, one: Found | Lost) -> Guide:
    if isinstance(one, Lost):
        return Guide(among.lost(one), "", Markup(), ((), ()), (), one.problems, None)
    problems = tuple(front_problems(kind, one.source))
    untrusted, standing = among.untrusted(one), among.standing(one)
    if kind is Kind.PERSONA:
        who = persona_of(one)
        used = tuple(_used(among, who.name))
        return Guide(standing, who.about, rendered(who.text), ((), ()), used, problems, untrusted)
    rule = guardrail_of(one)
    told_in = rule.workflows, rule.steps
    return Guide(standing, "", rendered(rule.text), told_in, (), problems, untrusted)


def _used(among: Shelved, name: str) -> Iterator[tuple[str, str]]:
    """The steps that this persona works in, each with its workflow."""
    names = {name, DEFAULT} if name == SUPERVISOR else {name}
    for other, source in among.sources.items():
        flow = load(source, among.sources.get).workflow
        for state in flow.states.values() if flow else ():
            if state.brief and state.brief.agent in names:
                yield other, state.name
