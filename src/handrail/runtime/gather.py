"""Gather the facts and drafts that a decision needs.

Each fact is read once, and all of them from one `FileSnapshot`. Only reads; start at `gather_facts`.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Final, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from handrail.engine.facts import Value
from handrail.engine.lifecycle import START
from handrail.engine.model import Event, Requirements, Run, Workflow
from handrail.engine.paths import find_requirements, find_start_requirements
from handrail.runtime.ports.turn import Files

_DraftNames: TypeAlias = frozenset[tuple[str, str]]
_state_of = attrgetter("state")


class FileSnapshot(Struct):
    """The files at one moment: each is read once, and later reads return the same bytes.

    `files_read` holds them by path; None means that there is no such file. To begin with, it may hold the
    files as they will be after the turn.
    """

    workspace: Files | None
    files_read: dict[str, bytes | None] = field(default_factory=dict)

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a file, or None if it does not exist."""
        if path not in self.files_read:
            self.files_read[path] = self.workspace.read(path) if self.workspace else None
        return self.files_read[path]

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the names in a folder."""
        return self.workspace.names(folder) if self.workspace else ()


class FactContext(Struct, frozen=True):
    """What a fact reader or a drafter works on: the run, the event, the files, and the time of the turn.

    `boundary` is random and made for this turn, so it cannot be guessed. It separates our text from quoted
    text. `facts` is filled for drafters only, with the facts read before.
    """

    workflow: Workflow
    snapshot: FileSnapshot
    run: Run
    event: Event
    at: datetime
    boundary: str
    facts: Mapping[str, Value] = field(default_factory=dict)


class DraftResult(Struct, frozen=True):
    """The result of an edit that was tried but not written: facts about it, and the values it makes."""

    facts: Mapping[str, Value]
    values: Mapping[str, str] = field(default_factory=dict)


FactReader: TypeAlias = Callable[[FactContext, tuple[str, ...]], Value]
"""Reads one fact; the second argument is the `of` of the fact, such as a path."""

Drafter: TypeAlias = Callable[[FactContext], DraftResult]
"""Tries one kind of edit."""


class GatheredFacts(Struct, frozen=True):
    """The facts for one decision, and the values that drafts made, by `draft.value`."""

    facts: Mapping[str, Value]
    values: Mapping[str, str]


NOTHING_GATHERED: Final = GatheredFacts({}, {})
"""What is gathered for a workflow that reads nothing from the world."""


@cache
def _load_fact_code() -> tuple[Mapping[str, FactReader], Mapping[str, Drafter]]:
    from handrail.runtime import facts  # noqa: PLC0415 - slow to import, and most runs read no document

    return (
        {**facts.FILE_READERS, **facts.ITEM_READERS, **facts.PLAN_READERS},
        {**facts.CRITERIA_DRAFTERS, **facts.ITEM_DRAFTERS, **facts.PLAN_DRAFTERS},
    )


def load_readers() -> Mapping[str, FactReader]:
    """Return the functions that read facts, by name."""
    return _load_fact_code()[0]


def load_drafters() -> Mapping[str, Drafter]:
    """Return the functions that try edits, by name."""
    return _load_fact_code()[1]


def gather_facts(
    context: FactContext, readers: Mapping[str, FactReader], drafters: Mapping[str, Drafter]
) -> GatheredFacts:
    """Read every fact that rows of the open states name, and try the drafts of rows that wait for the event.

    A fact without a reader is left out: a guard over it is then an error, never a pass.
    """
    workflow = context.workflow
    facts: dict[str, Value] = {}
    if workflow.derive:
        facts[workflow.derive] = _read_fact(context, workflow.derive, readers)
    needed = _collect_needs(context, facts)
    if not needed.facts and not needed.drafts:
        return GatheredFacts(facts, {})
    for name in sorted(needed.facts - facts.keys()):
        if workflow.facts[name].reader in readers:
            facts[name] = _read_fact(context, name, readers)
    values: dict[str, str] = {}
    draft_context = replace(context, facts=dict(facts)) if needed.drafts else context
    for name, kind in sorted(needed.drafts):
        drafted = drafters[kind](draft_context)
        facts |= {f"{name}.{fact}": value for fact, value in drafted.facts.items()}
        values |= {f"{name}.{value}": text for value, text in drafted.values.items()}
    return GatheredFacts(facts, values)


def _read_fact(context: FactContext, name: str, readers: Mapping[str, FactReader]) -> Value:
    fact = context.workflow.facts[name]
    return readers[fact.reader](context, fact.of)


def _collect_needs(context: FactContext, facts: Mapping[str, Value]) -> Requirements:
    """Return the facts and drafts that the start, or the open states and the trigger, require."""
    workflow = context.workflow
    if context.event.trigger == START:
        return find_start_requirements(workflow)
    states = [str(facts[workflow.derive])] if workflow.derive else map(_state_of, context.run.open)
    named, drafts = _needs_of_states(workflow, tuple(filter(workflow.states.__contains__, states)))
    return Requirements(named, drafts.get(context.event.trigger, frozenset()))


def _needs_of_states(
    workflow: Workflow, states: tuple[str, ...]
) -> tuple[frozenset[str], Mapping[str, _DraftNames]]:
    """Return the facts that rows of these states name, and their drafts by the trigger that rows wait for.

    Computed once per workflow and set of states.
    """
    if (_needs_of_states, states) not in workflow.memo:
        triggers = {trigger for state, trigger in workflow.index if trigger and state in states}
        workflow.memo[_needs_of_states, states] = (
            frozenset().union(*[find_requirements(workflow, state).facts for state in states]),
            {
                trigger: frozenset().union(
                    *[find_requirements(workflow, state, trigger).drafts for state in states]
                )
                for trigger in triggers
            },
        )
    needs: tuple[frozenset[str], Mapping[str, _DraftNames]] = workflow.memo[_needs_of_states, states]
    return needs
