"""Whom a run waited for, and when: its time cut into spans, from its journal alone."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol

from handrail.engine.lifecycle import terminal
from handrail.engine.model import Lifecycle, Who, Workflow
from handrail.telemetry.entries import Entry, EntryKind


class Waited(StrEnum):
    """Whom or what a run waits for in a step: an agent, a person, a check, or to be resumed."""

    AGENT = "agent"
    PERSON = "person"
    CHECK = "check"
    PAUSE = "pause"


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a step, by the step's number, in which one thing was waited for; `ended` is None as yet."""

    number: int
    state: str
    waited: Waited
    began: datetime
    ended: datetime | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that was refused, or failed: when, in which state if one is known, and with which code."""

    at: datetime
    state: str
    code: str
    trigger: str


class Line(Protocol):
    """A line of the journal, as stores give it."""

    @property
    def at(self) -> datetime:
        """When it was written."""
        ...

    @property
    def entry(self) -> Entry:
        """What it tells."""
        ...


_WHO: Final = {Who.AGENT: Waited.AGENT, Who.PERSON: Waited.PERSON, Who.SERVER: Waited.CHECK}
_CLOSED: Final = frozenset({EntryKind.STEP_COMPLETED, EntryKind.STEP_FAILED})
_TAKEN_OVER: Final = frozenset({EntryKind.STATE_ADOPTED, EntryKind.STATE_REPAIRED})
_ENDED: Final = frozenset(str(one) for one in Lifecycle if terminal(one))


def waited_for(workflow: Workflow) -> Mapping[str, Waited]:
    """Whom a step in each state waits for: the agent, unless only somebody else can bring it on."""
    found: dict[str, set[Who]] = {}
    for (state, trigger), rows in workflow.index.items():
        tool = workflow.tools.get(trigger or "")
        if any(not row.refuse for row in rows):
            found.setdefault(state, set()).add(tool.who if tool else Who.AGENT)
    one = {state: next(who for who in Who if who in all_) for state, all_ in found.items()}
    return {state: _WHO[who] for state, who in one.items()}


def spans_of(journal: Iterable[Line], waits: Mapping[str, Waited]) -> tuple[Span, ...]:
    """The spans of a run, in the order in which they began; `waits` is what `waited_for` says.

    A step that received what it asked for waits for a check; one of a run that rests, for the run to be
    resumed. The state of a step that nobody opened is known by what was entered of it.
    """
    told = _Told(waits)
    for line in journal:
        told.hear(line.at, line.entry)
    return tuple(sorted(told.spans(), key=lambda span: (span.began, span.number)))


def refusals_of(journal: Iterable[Line]) -> tuple[Refusal, ...]:
    """The refusals of a run, in their order."""
    lines = (line for line in journal if line.entry.kind is EntryKind.ERROR_OCCURRED)
    return tuple(Refusal(line.at, line.entry.step, *_said(line.entry)) for line in lines)


def _said(entry: Entry) -> tuple[str, str]:
    return str(entry.data.get("error_type", "")), str(entry.data.get("trigger", ""))


@dataclass(frozen=True, slots=True)
class _Open:
    """An open step: its span as it is now, the trigger it holds, and what it waits for after a rest."""

    span: Span
    held: str = ""
    then: Waited = Waited.AGENT


class _Told:
    """The steps of a run as its journal is read: those that are open, and what is over."""

    def __init__(self, waits: Mapping[str, Waited]) -> None:
        self._waits = waits
        self._open: dict[int, _Open] = {}
        self._over: list[Span] = []
        self._last = 0

    def spans(self) -> Iterator[Span]:
        yield from self._over
        yield from (one.span for one in self._open.values())

    def hear(self, at: datetime, entry: Entry) -> None:
        match entry.kind:
            case EntryKind.STEP_STARTED:
                self._begin(at, _number(entry) or self._last + 1, entry.step)
            case kind if kind in _CLOSED:
                self._end(at, [_number(entry)])
            case EntryKind.STEP_WAITING:
                for one in self._in(entry.step):
                    self._change(at, one, Waited.CHECK, str(entry.data.get("trigger", "")))
            case EntryKind.STEP_STAYED:
                self._stayed(at, entry)
            case kind if kind in _TAKEN_OVER:
                self._found(at, entry.step)
            case EntryKind.WORKFLOW_STATE_TRANSITION:
                self._lived(at, str(entry.data.get("to", "")))

    def _begin(self, at: datetime, number: int, state: str) -> None:
        self._last = max(self._last, number)
        self._open[number] = _Open(Span(number, state, self._waits.get(state, Waited.AGENT), at))

    def _end(self, at: datetime, numbers: Iterable[int]) -> None:
        for number in numbers:
            if one := self._open.pop(number, None):
                self._over.append(replace(one.span, ended=max(at, one.span.began)))

    def _change(self, at: datetime, one: _Open, waited: Waited, held: str) -> None:
        """From now on this step waits for something else."""
        if one.span.waited is not waited:
            self._end(at, [one.span.number])
            span = Span(one.span.number, one.span.state, waited, at)
            self._open[span.number] = _Open(span, held, one.span.waited)

    def _in(self, state: str) -> list[_Open]:
        """The open steps in a state."""
        return [one for one in self._open.values() if one.span.state == state]

    def _stayed(self, at: datetime, entry: Entry) -> None:
        """A row that stays settles what the step holds; where the state is derived, it may be another."""
        if not entry.step:
            self._found(at, str(entry.data.get("to", "")))
            return
        for one in self._in(entry.step):
            if one.held and one.held == entry.data.get("trigger"):
                self._change(at, one, self._waits.get(entry.step, Waited.AGENT), "")

    def _found(self, at: datetime, state: str) -> None:
        """The run stands in this state, whatever it did before."""
        if state and [one.span.state for one in self._open.values()] != [state]:
            self._end(at, list(self._open))
            self._begin(at, self._last + 1, state)

    def _lived(self, at: datetime, lifecycle: str) -> None:
        for one in list(self._open.values()):
            if lifecycle == Lifecycle.PAUSED:
                self._change(at, one, Waited.PAUSE, one.held)
            elif lifecycle in _ENDED:
                self._end(at, [one.span.number])
            elif one.span.waited is Waited.PAUSE:
                self._change(at, one, one.then, one.held)


def _number(entry: Entry) -> int:
    number = entry.data.get("number")
    return number if isinstance(number, int) else 0
