"""YAML text in, a workflow or all of its problems out. Pure: who calls it has read the files."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from handrail.engine.facts import Type
from handrail.engine.lifecycle import CONTINUE
from handrail.engine.model import Tool, Workflow
from handrail.engine.problems import Problem, in_reading_order
from handrail.workflows.characters import split_lines, unfit_characters
from handrail.workflows.declare import declare
from handrail.workflows.declared import Declared
from handrail.workflows.inline import Inlined, inline
from handrail.workflows.link import link
from handrail.workflows.nodes import Scalar, plain, read
from handrail.workflows.reader import Reader, quoted
from handrail.workflows.registry import BUILT_IN, Registry

MOST_STATES = 2_000
MOST_ROWS = 5_000
DEEPEST = 8
"""How many workflows can stand inside each other."""

_REMEMBERED = 64
"""How many texts are not read again."""


class Source(Struct, frozen=True):
    """The text of a workflow file, and the texts of the files beside it: name to file and content.

    `name` is what the workflow must be called, where it was looked up by name.
    """

    file: str
    text: str
    beside: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    name: str = ""


Find: TypeAlias = Callable[[str], Source | None]
"""Where the text of another workflow is found, by its name."""


class Loaded(Struct, frozen=True):
    """A workflow, if there is no problem; otherwise None and every problem in reading order."""

    workflow: Workflow | None
    problems: tuple[Problem, ...]


def _nothing(_: str) -> Source | None:
    return None


class Shelf(Struct, frozen=True):
    """Where other workflows are found and what may be named.

    `within` are the workflows being loaded, `loaded` what each of them came to: none is read twice.
    """

    find: Find
    registry: Registry
    within: tuple[str, ...] = ()
    loaded: dict[str, Loaded] = field(default_factory=dict)


def load(source: Source, find: Find = _nothing, registry: Registry = BUILT_IN) -> Loaded:
    """The workflow of a file. Never raises for what an author can write.

    What a text came to is remembered, and is the answer again while all else that it asked for is the same.
    """
    if registry is not BUILT_IN:
        return _load(source, Shelf(find, registry))
    known = _known(source.file, source.text, tuple(source.beside.items()), source.name)
    for asked, loaded in tuple(known):
        if all(find(name) == found for name, found in asked.items()):
            return loaded
    asked = {}

    def found(name: str) -> Source | None:
        asked[name] = find(name)
        return asked[name]

    loaded = _load(source, Shelf(found, registry))
    known[:] = [(asked, loaded)]
    return loaded


@lru_cache(maxsize=_REMEMBERED)
def _known(*_: object) -> list[tuple[dict[str, Source | None], Loaded]]:
    """What the text of a file came to last, beside what it asked for; empty until that is put there."""
    return []


def _load(source: Source, shelf: Shelf) -> Loaded:
    document = read(source.text, source.file)
    if document.root is None:
        return Loaded(None, document.problems)
    reader = Reader()
    reader.problems += document.problems
    for file, text in source.beside.values():
        reader.problems += unfit_characters(split_lines(text), file)
    declared = declare(reader, document.root, source.beside)
    workflow = None
    if declared is not None:
        if source.name and declared.name and declared.name != source.name:
            message = f"the file is found as `{source.name}`, and the workflow in it is `{declared.name}`"
            reader.problem("misnamed", declared.place, message, "give both the same name")
        subs, digests = _subs(reader, declared, replace(shelf, within=(*shelf.within, declared.name)))
        beside = sorted((name, text) for name, (_, text) in source.beside.items())
        if _bearable(reader, declared, subs):
            digest = _digest([plain(document.root), beside, digests])
            workflow = link(reader, shelf.registry, declared, subs, digest)
    return Loaded(None if reader.problems else workflow, in_reading_order(_told(reader.problems)))


def _told(problems: list[Problem]) -> list[Problem]:
    """The problems, without those that follow from a key that could not be read."""
    unread = any(problem.code in {"yaml-key", "yaml-merge"} for problem in problems)
    return [problem for problem in problems if not (unread and problem.code in {"missing-key", "no-states"})]


def _digest(content: object) -> str:
    """The hash of what a workflow says: comments and layout do not count, order does."""
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _bearable(reader: Reader, declared: Declared, subs: Mapping[str, Inlined]) -> bool:
    """False if there are so many states and rows that linking and checking them would take too long."""
    states = len(declared.states) + sum(len(sub.states) for sub in subs.values())
    rows = len(declared.rows) + sum(len(sub.rows) for sub in subs.values())
    for count, most, what in ((states, MOST_STATES, "states"), (rows, MOST_ROWS, "rows")):
        if count > most:
            message = f"the workflow has {count:,} {what}, sub-workflows included; {most:,} are the most"
            reader.problem("too-large", declared.place, message, "split it into several workflows")
            return False
    return True


def _subs(reader: Reader, declared: Declared, shelf: Shelf) -> tuple[dict[str, Inlined], list[str]]:
    """The sub-workflows by the state that uses them, and their digests."""
    subs, digests = {}, []
    for name, used in declared.uses.items():
        sub = _sub(reader, declared, used, shelf)
        if sub is not None:
            subs[name] = inline(declared.states[name], sub)
            digests.append(sub.digest)
    return subs, digests


def _sub(reader: Reader, declared: Declared, used: Scalar, shelf: Shelf) -> Workflow | None:
    """The other workflow, if it can stand inside this one."""
    what = f"the workflow `{used.text}`"
    if used.text in shelf.within:
        way = " → ".join((*shelf.within[shelf.within.index(used.text) :], used.text))
        reader.problem("workflow-cycle", used.place, f"{what} contains itself: {way}", "take one of them out")
        return None
    if len(shelf.within) > DEEPEST:
        message = f"{what} would be the {DEEPEST + 1}th inside another"
        reader.problem("too-large", used.place, message, "nest them less")
        return None
    source = shelf.find(used.text)
    if source is None:
        repair = "put it beside this file, or use a name that `handrail workflows list` shows"
        reader.problem("unknown-workflow", used.place, f"no workflow is called {quoted(used.text)}", repair)
        return None
    if used.text not in shelf.loaded:
        shelf.loaded[used.text] = _load(source, shelf)
    loaded = shelf.loaded[used.text]
    if loaded.workflow is None:
        first = loaded.problems[0]
        message = (
            f"{what} has a problem of its own, at {first.place.file}:{first.place.line}: {first.message}"
        )
        repair = f"mend it first: `handrail workflows check {source.file}`"
        reader.problem("broken-workflow", used.place, message, repair)
        return None
    unfit = tuple(_unfit(declared, loaded.workflow))
    for message, repair in unfit:
        reader.problem("unfit-workflow", used.place, f"{what} {message}", repair)
    return None if unfit else loaded.workflow


def _unfit(declared: Declared, sub: Workflow) -> Iterator[tuple[str, str]]:
    """Why a workflow cannot stand inside this one, and what can be done about it."""
    if declared.authority not in {None, sub.authority}:
        yield f"has `authority: {sub.authority}`, this one {declared.authority}", "give both the same"
    if sub.derive:
        yield "derives its state, so it cannot stand inside another", "drop `derive` in it"
    if declared.derive:
        yield "cannot stand here, where the state is derived", "drop `derive`, or the workflow"
    if not any(state.terminal for state in sub.states.values()):
        yield "has no terminal state, so it never ends", "give it one"
    for name, variable in sub.inputs.items():
        if name not in declared.inputs or declared.inputs[name].type != variable.type:
            yield f"needs the input `{name}` of type {variable.type}", f"declare `{name}` under `inputs` too"
    for name, tool in sub.tools.items():
        if name not in declared.tools or _takes(declared.tools[name]) != _takes(tool):
            yield f"needs the tool `{name}` with the same `params`", f"declare `{name}` under `tools` too"
    sent = {CONTINUE, *sub.tools, *declared.tools}
    for name in sorted({row.trigger for row in sub.rows if row.trigger} - sent) if declared.tools else ():
        yield f"waits for `{name}`, which no tool sends", f"declare `{name}` under `tools`"


def _takes(tool: Tool) -> dict[str, Type]:
    return {name: param.type for name, param in tool.params.items()}
