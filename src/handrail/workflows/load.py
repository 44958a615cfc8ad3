"""YAML text in, a workflow or all of its problems out. Pure: who calls it has read the files."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from handrail.engine.model import Workflow
from handrail.engine.problems import Problem, in_reading_order
from handrail.workflows.declare import declare
from handrail.workflows.declared import Declared
from handrail.workflows.inline import Inlined, inline
from handrail.workflows.link import link
from handrail.workflows.nodes import Scalar, plain, read
from handrail.workflows.reader import Reader
from handrail.workflows.registry import BUILT_IN, Registry


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a workflow file, and the texts of the files beside it: name to file and content.

    `name` is what the workflow must be called, where it was looked up by name.
    """

    file: str
    text: str
    beside: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    name: str = ""


Find: TypeAlias = Callable[[str], Source | None]
"""Where the text of another workflow is found, by its name."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A workflow, if there is no problem; otherwise None and every problem in reading order."""

    workflow: Workflow | None
    problems: tuple[Problem, ...]


def _nothing(_: str) -> Source | None:
    return None


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where other workflows are found and what may be named; `within` are the workflows being loaded."""

    find: Find
    registry: Registry
    within: tuple[str, ...] = ()


def load(source: Source, find: Find = _nothing, registry: Registry = BUILT_IN) -> Loaded:
    """The workflow of a file. Never raises for what an author can write."""
    return _load(source, Shelf(find, registry))


def _load(source: Source, shelf: Shelf) -> Loaded:
    document = read(source.text, source.file)
    if document.root is None or document.problems:
        return Loaded(None, document.problems)
    reader = Reader()
    declared = declare(reader, document.root, source.beside)
    if declared is None:
        return Loaded(None, in_reading_order(reader.problems))
    if source.name and declared.name != source.name:
        message = f"the file is found as `{source.name}`, and the workflow in it is called `{declared.name}`"
        reader.problem("misnamed", declared.place, message, "give both the same name")
    if not declared.states:
        reader.problem("no-states", declared.place, "the workflow has no state", "declare one")
    subs, digests = _subs(reader, declared, replace(shelf, within=(*shelf.within, declared.name)))
    content = [plain(document.root), sorted((n, text) for n, (_, text) in source.beside.items()), digests]
    workflow = link(reader, shelf.registry, declared, subs, _digest(content))
    return Loaded(None if reader.problems else workflow, in_reading_order(reader.problems))


def _digest(content: object) -> str:
    """The hash of what a workflow says: comments and layout do not count, order does."""
    return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode("utf-8")).hexdigest()


def _subs(reader: Reader, declared: Declared, shelf: Shelf) -> tuple[dict[str, Inlined], list[str]]:
    """The sub-workflows by the state that uses them, and their digests."""
    subs, digests = {}, []
    for name, used in declared.uses.items():
        state = declared.states[name]
        sub = _sub(reader, declared, used, shelf)
        if state.attempts or state.brief or state.router or state.terminal:
            message = (
                f"state `{name}` stands for `{used.text}`: what is done there, and how often, is said there"
            )
            reader.problem(
                "unfit-workflow", state.place, message, "keep `workflow`, `about` and `phase` only"
            )
        elif sub is not None:
            subs[name] = inline(state, sub)
            digests.append(sub.digest)
    return subs, digests


def _sub(reader: Reader, declared: Declared, used: Scalar, shelf: Shelf) -> Workflow | None:
    """The other workflow, if it can stand inside this one."""
    what = f"sub-workflow `{used.text}`"
    if used.text in shelf.within:
        way = " → ".join((*shelf.within[shelf.within.index(used.text) :], used.text))
        reader.problem("workflow-cycle", used.place, f"{what} contains itself: {way}", "take one of them out")
        return None
    source = shelf.find(used.text)
    if source is None:
        repair = "put it beside this file, or use a name that `handrail workflows list` shows"
        reader.problem("unknown-workflow", used.place, f"no workflow is called `{used.text}`", repair)
        return None
    loaded = _load(source, shelf)
    if loaded.workflow is None:
        first = f"{source.file}:{loaded.problems[0].place.line}"
        message = f"{what} has problems of its own, {len(loaded.problems)} in all, the first at {first}"
        reader.problem("broken-workflow", used.place, message, f"handrail workflows check {source.file}")
        return None
    for message in _unfit(declared, loaded.workflow):
        reader.problem("unfit-workflow", used.place, f"{what} {message}")
    return loaded.workflow


def _unfit(declared: Declared, sub: Workflow) -> Iterator[str]:
    """Why a workflow cannot stand inside this one."""
    if sub.authority is not declared.authority:
        yield f"has `authority: {sub.authority}`, this one {declared.authority}"
    if sub.derive:
        yield "derives its state, so it cannot stand inside another"
    if not any(state.terminal for state in sub.states.values()):
        yield "has no terminal state, so it never ends"
    for name, variable in sub.inputs.items():
        if name not in declared.inputs or declared.inputs[name].type != variable.type:
            yield f"needs the input `{name}` of type {variable.type}: declare it here too"
    for name, tool in sub.tools.items():
        if name not in declared.tools or declared.tools[name].params.keys() != tool.params.keys():
            yield f"needs the tool `{name}` with the same parameters: declare it here too"
