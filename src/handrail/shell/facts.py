"""Gather: the facts and drafts a decision needs, each read once, all from one look at the world."""

from collections.abc import Callable, Mapping
from datetime import datetime
from operator import attrgetter
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from handrail.engine.explore import needs, needs_to_start
from handrail.engine.facts import Value
from handrail.engine.lifecycle import START
from handrail.engine.model import Event, Needs, Run, Workflow
from handrail.shell.ports import Files

_Drafts: TypeAlias = frozenset[tuple[str, str]]
_state = attrgetter("state")


class Sight:
    """One look at the files: a file is read once, and is what it was, however often it is asked for.

    `after` are files as they will be, in place of those that are there.
    """

    def __init__(self, workspace: Files | None, after: Mapping[str, bytes | None] | None = None) -> None:
        self._workspace = workspace
        self._seen: dict[str, bytes | None] = dict(after or {})

    def read(self, path: str) -> bytes | None:
        """The bytes of a file, or None if there is none."""
        if path not in self._seen:
            self._seen[path] = self._workspace.read(path) if self._workspace else None
        return self._seen[path]

    @property
    def seen(self) -> Mapping[str, bytes | None]:
        """What was read, by path; None where there was no file."""
        return self._seen

    def names(self, folder: str) -> tuple[str, ...]:
        """The names in a folder."""
        return self._workspace.names(folder) if self._workspace else ()


class Asked(Struct, frozen=True):
    """What a reader or a drafter is asked about, and when.

    `at` is the time of the turn. Nobody can guess the `boundary`: it is made for this turn, and keeps apart
    what is ours and what is quoted. A drafter also has the `facts` that were read.
    """

    workflow: Workflow
    sight: Sight
    run: Run
    event: Event
    at: datetime
    boundary: str
    facts: Mapping[str, Value] = field(default_factory=dict)


class Drafted(Struct, frozen=True):
    """An edit tried on paper: the facts it yields, and the values it makes."""

    facts: Mapping[str, Value]
    values: Mapping[str, str] = field(default_factory=dict)


Reader: TypeAlias = Callable[[Asked, tuple[str, ...]], Value]
Drafter: TypeAlias = Callable[[Asked], Drafted]


class Gathered(Struct, frozen=True):
    """The facts of the world for one decision, and what the drafts made, by `draft.value`."""

    facts: Mapping[str, Value]
    values: Mapping[str, str]


def gather(asked: Asked, readers: Mapping[str, Reader], drafters: Mapping[str, Drafter]) -> Gathered:
    """Every fact that the rows of the open states name, and the drafts of those that wait for the event.

    A fact that no reader here reads is left out: a guard over it is then an error, never a pass.
    """
    workflow = asked.workflow
    facts: dict[str, Value] = {}
    if workflow.derive:
        facts[workflow.derive] = _read(asked, workflow.derive, readers)
    wanted = _wanted(asked, facts)
    if not wanted.facts and not wanted.drafts:
        return Gathered(facts, {})
    for name in sorted(wanted.facts - facts.keys()):
        if workflow.facts[name].reader in readers:
            facts[name] = _read(asked, name, readers)
    values: dict[str, str] = {}
    seen = replace(asked, facts=dict(facts)) if wanted.drafts else asked
    for name, kind in sorted(wanted.drafts):
        drafted = drafters[kind](seen)
        facts |= {f"{name}.{fact}": value for fact, value in drafted.facts.items()}
        values |= {f"{name}.{value}": text for value, text in drafted.values.items()}
    return Gathered(facts, values)


def _read(asked: Asked, name: str, readers: Mapping[str, Reader]) -> Value:
    fact = asked.workflow.facts[name]
    return readers[fact.reader](asked, fact.of)


def _wanted(asked: Asked, facts: Mapping[str, Value]) -> Needs:
    workflow = asked.workflow
    if asked.event.trigger == START:
        return needs_to_start(workflow)
    states = [str(facts[workflow.derive])] if workflow.derive else map(_state, asked.run.open)
    named, drafts = _needs_in(workflow, tuple(filter(workflow.states.__contains__, states)))
    return Needs(named, drafts.get(asked.event.trigger, frozenset()))


def _needs_in(workflow: Workflow, states: tuple[str, ...]) -> tuple[frozenset[str], Mapping[str, _Drafts]]:
    """The facts that the rows of these states name, and by trigger the drafts of those that wait for it."""
    if (_needs_in, states) not in workflow.memo:
        triggers = {trigger for state, trigger in workflow.index if trigger and state in states}
        workflow.memo[_needs_in, states] = (
            frozenset().union(*[needs(workflow, state).facts for state in states]),
            {
                trigger: frozenset().union(*[needs(workflow, state, trigger).drafts for state in states])
                for trigger in triggers
            },
        )
    found: tuple[frozenset[str], Mapping[str, _Drafts]] = workflow.memo[_needs_in, states]
    return found
