"""Load a workflow from its file: parse the YAML, read the declarations, load sub-workflows and compile.

Start reading at `load_workflow`. `LOADING_CODES` lists every problem that can keep a file from loading; the
soundness check (`engine.soundness`) adds its own.
"""

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Final, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from handrail.documents.text import split_lines
from handrail.engine.lifecycle import CONTINUE
from handrail.engine.model import Workflow
from handrail.engine.paths import reads_world
from handrail.engine.problems import Problem, sort_problems
from handrail.workflows.compile import InlinedWorkflow, inline_workflow, link_workflow
from handrail.workflows.declarations import DeclaredWorkflow, read_declarations
from handrail.workflows.nodes import (
    NodeReader,
    Scalar,
    list_character_problems,
    quote_excerpt,
    read_yaml,
    to_plain,
)
from handrail.workflows.registry import BUILT_IN_REGISTRY, Registry

LOADING_CODES: Final[Mapping[str, str]] = {
    "accept-in-router": "a row out of a router has `accept`, and nothing comes with an event into a router",
    "bad-name": "a name has characters that a name cannot have, is too long, or means something else",
    "bad-placeholder": "braces in a text are no placeholder",
    "bad-schema": "the schema of a contract is no JSON Schema, or refers to something outside itself",
    "both-forms": "two keys stand together of which only one may, such as `steps` and `states`",
    "broken-workflow": "a sub-workflow has problems of its own",
    "derived-router": "the state is derived from a fact, so no run can be in a router",
    "derived-target": "the state is derived from a fact, so no row can set it",
    "duplicate-key": "a key stands twice in one mapping",
    "duplicate-row": "two rows have the same id",
    "duplicate-state": "two steps have the same name",
    "duplicate-text": "a text is written in the file and also beside it",
    "except-without-star": '`except` goes with `from: "*"` only',
    "guard-syntax": "a guard is no CEL expression",
    "guard-type": "a guard compares what cannot be compared, or is no yes-or-no",
    "misnamed": "the workflow is not called what its file is called",
    "missing-key": "a key that is needed is not there",
    "missing-trigger": "a row has no trigger, and the state it leaves is no router",
    "no-source": "a row leaves no state",
    "no-states": "the workflow has no state",
    "only-says-and-acts": "a row with `only_says` has nothing to say, or goes, sets or does something",
    "payload-in-when": "`when` names what comes with the event; that stands under `accept`",
    "reading-trigger": "a row waits for a tool that only reads",
    "refuse-and-act": "a row refuses and also goes, sets, does or says something",
    "refuse-in-router": "a row out of a router refuses, so that nobody could tell beforehand what is open",
    "reserved-trigger": "a row waits for a word that acts on the run as a whole",
    "router-shape": "a router is also terminal, or something is to be done in it",
    "router-trigger": "a row out of a router has a trigger",
    "row-from-end": "a row leaves a terminal state",
    "terminal-shape": "something is to be done in a terminal state",
    "too-large": "too many states or rows, workflows inside each other, or files in a folder",
    "underivable": 'a row goes to "@derived", and no draft of it says where that is',
    "underivable-state": "the fact that the state is derived from never has this value",
    "unfit-workflow": "a sub-workflow cannot stand inside this one",
    "unknown-draft": "no draft has this name",
    "unknown-effect": "no effect has this name",
    "unknown-fact": "no fact has this name",
    "unknown-filter": "no filter has this name",
    "unknown-key": "a mapping has no such key",
    "unknown-placeholder": "a text or a path names something that cannot be filled in here",
    "unknown-state": "no state has this name",
    "unknown-text": "no text has this name",
    "unknown-trigger": "no tool sends this trigger",
    "unknown-type": "there is no such type",
    "unknown-value": "the word is none of those that can stand here",
    "unknown-variable": "no variable has this name",
    "unknown-workflow": "no workflow has this name",
    "unsafe-path": "the path of an effect leads out of the task folder, or one of `edits` out of the project",
    "workflow-cycle": "a workflow contains itself",
    "wrong-authority": "the effect is not to be had where the state of this workflow lives",
    "wrong-type": "a value is not of the shape that is needed",
    "wrong-value": "a value does not fit the type of its variable",
    "yaml-alias": "an alias names an anchor that is not there, or that contains it",
    "yaml-aliases": "too many aliases, or too much text once they are filled in",
    "yaml-character": "a character that has no place in a text, or a byte that is not UTF-8",
    "yaml-depth": "too deeply nested",
    "yaml-directive": "a `%` directive",
    "yaml-documents": "more than one document in a file",
    "yaml-empty": "nothing in the file",
    "yaml-key": "a key that is no plain text",
    "yaml-merge": "a merge key `<<`",
    "yaml-number": "a whole number of more than 64 bits",
    "yaml-size": "too much text",
    "yaml-syntax": "not YAML",
    "yaml-tag": "a tag",
}

MAX_STATES = 2_000
MAX_ROWS = 5_000
MAX_NESTED_WORKFLOWS = 8
_MAX_CACHED_TEXTS = 64


class WorkflowSource(Struct, frozen=True):
    """A workflow file and the texts beside it: name to file and content. `name` if it was looked up."""

    file: str
    text: str
    beside: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    name: str = ""


# A function that returns the source of another workflow by its name, or None.
SourceFinder: TypeAlias = Callable[[str], WorkflowSource | None]


class LoadResult(Struct, frozen=True):
    """A workflow, if there is no problem; otherwise None and every problem in reading order."""

    workflow: Workflow | None
    problems: tuple[Problem, ...]


class LoadContext(Struct, frozen=True):
    """How to find other workflows, what they may name, those around this one, and the results so far."""

    find: SourceFinder
    registry: Registry
    within: tuple[str, ...] = ()
    loaded: dict[str, LoadResult] = field(default_factory=dict)


def load_workflow(
    source: WorkflowSource, find: SourceFinder = lambda _: None, registry: Registry = BUILT_IN_REGISTRY
) -> LoadResult:
    """Load the workflow of a file. Never raises for what an author can write.

    The result is cached by the text, and used again while the sub-workflows that it asked for are unchanged.
    """
    if registry is not BUILT_IN_REGISTRY:
        return _load_source(source, LoadContext(find, registry))
    cached = _get_cached_results(source.file, source.text, tuple(source.beside.items()), source.name)
    for requested, loaded in tuple(cached):
        if all(find(name) == earlier for name, earlier in requested.items()):
            return loaded
    requested = {}

    def find_and_record(name: str) -> WorkflowSource | None:
        requested[name] = find(name)
        return requested[name]

    loaded = _load_source(source, LoadContext(find_and_record, registry))
    cached[:] = [(requested, loaded)]
    return loaded


@lru_cache(maxsize=_MAX_CACHED_TEXTS)
def _get_cached_results(*_: object) -> list[tuple[dict[str, WorkflowSource | None], LoadResult]]:
    """Return the cached list for a text: its last result and the sources it asked for, or nothing yet."""
    return []


def _load_source(source: WorkflowSource, context: LoadContext) -> LoadResult:
    document = read_yaml(source.text, source.file)
    if document.root is None:
        return LoadResult(None, document.problems)
    reader = NodeReader()
    reader.problems += document.problems
    for file, text in source.beside.values():
        reader.problems += list_character_problems(split_lines(text), file)
    declared = read_declarations(reader, document.root, source.beside)
    workflow = None
    if declared is not None:
        if source.name and declared.name and declared.name != source.name:
            message = f"the file is found as `{source.name}`, and the workflow in it is `{declared.name}`"
            reader.report_problem("misnamed", declared.place, message, "give both the same name")
        inner = replace(context, within=(*context.within, declared.name))
        used = {name: _load_sub_workflow(reader, declared, sub, inner) for name, sub in declared.uses.items()}
        found = {name: sub for name, sub in used.items() if sub is not None}
        subs = {name: inline_workflow(declared.states[name], sub) for name, sub in found.items()}
        if _check_size(reader, declared, subs):
            beside = sorted((name, text) for name, (_, text) in source.beside.items())
            # Comments and layout do not change the digest; the order of what is declared does.
            content = [to_plain(document.root), beside, [sub.digest for sub in found.values()]]
            digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
            workflow = link_workflow(reader, context.registry, declared, subs, digest)
    problems = reader.problems
    if any(problem.code in {"yaml-key", "yaml-merge"} for problem in problems):
        # These follow from the key that could not be read.
        problems = [problem for problem in problems if problem.code not in {"missing-key", "no-states"}]
    if problems or workflow is None:
        return LoadResult(None, sort_problems(problems))
    return LoadResult(dataclasses.replace(workflow, reads=reads_world(workflow)), ())


def _check_size(reader: NodeReader, declared: DeclaredWorkflow, subs: Mapping[str, InlinedWorkflow]) -> bool:
    """Return False if there are too many states or rows to link and check them in reasonable time."""
    states = len(declared.states) + sum(len(sub.states) for sub in subs.values())
    rows = len(declared.rows) + sum(len(sub.rows) for sub in subs.values())
    for count, most, what in ((states, MAX_STATES, "states"), (rows, MAX_ROWS, "rows")):
        if count > most:
            message = f"the workflow has {count:,} {what}, sub-workflows included; {most:,} are the most"
            reader.report_problem("too-large", declared.place, message, "split it into several workflows")
            return False
    return True


def _load_sub_workflow(
    reader: NodeReader, declared: DeclaredWorkflow, used: Scalar, context: LoadContext
) -> Workflow | None:
    """Return the other workflow, or None if it cannot be used inside this one."""
    what = f"the workflow `{used.text}`"
    if used.text in context.within:
        cycle = " → ".join((*context.within[context.within.index(used.text) :], used.text))
        message = f"{what} contains itself: {cycle}"
        reader.report_problem("workflow-cycle", used.place, message, "take one of them out")
        return None
    if len(context.within) > MAX_NESTED_WORKFLOWS:
        message = f"{what} would be the {MAX_NESTED_WORKFLOWS + 1}th inside another"
        reader.report_problem("too-large", used.place, message, "nest them less")
        return None
    source = context.find(used.text)
    if source is None:
        message = f"no workflow is called {quote_excerpt(used.text)}"
        repair = "put it beside this file, or use a name that `handrail workflows list` shows"
        reader.report_problem("unknown-workflow", used.place, message, repair)
        return None
    if used.text not in context.loaded:
        context.loaded[used.text] = _load_source(source, context)
    loaded = context.loaded[used.text]
    if loaded.workflow is None:
        first = loaded.problems[0]
        where = f"{first.place.file}:{first.place.line}"
        message = f"{what} has a problem of its own, at {where}: {first.message}"
        repair = f"mend it first: `handrail workflows check {source.file}`"
        reader.report_problem("broken-workflow", used.place, message, repair)
        return None
    unfit = tuple(_find_misfits(declared, loaded.workflow))
    for message, repair in unfit:
        reader.report_problem("unfit-workflow", used.place, f"{what} {message}", repair)
    return None if unfit else loaded.workflow


def _find_misfits(declared: DeclaredWorkflow, sub: Workflow) -> Iterator[tuple[str, str]]:
    """Yield why a workflow cannot be used inside this one, and how to fix it."""
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
        own = declared.tools[name].params if name in declared.tools else None
        types = None if own is None else {param: own[param].type for param in own}
        if types != {param: each.type for param, each in tool.params.items()}:
            yield f"needs the tool `{name}` with the same `params`", f"declare `{name}` under `tools` too"
    sent = {CONTINUE, *sub.tools, *declared.tools}
    for name in sorted({row.trigger for row in sub.rows if row.trigger} - sent) if declared.tools else ():
        yield f"waits for `{name}`, which no tool sends", f"declare `{name}` under `tools`"
