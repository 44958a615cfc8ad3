"""Resolve: effects become final values, by reading only. What a file will be, not what is done to it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath
from typing import assert_never

from msgspec import Struct

from handrail.engine.facts import Value
from handrail.engine.known import Stand, claimed, known
from handrail.engine.model import Archive, Describe, Effect, Event, Run, Step, Transition, Workflow, Write
from handrail.shell.apply import digest
from handrail.shell.facts import Asked, Gathered, Sight
from handrail.shell.readers import as_file
from handrail.shell.records import Final
from handrail.workflows.registry import DESCRIPTION
from handrail.workflows.render import render
from handrail.workflows.texts import ARCHIVED, NOW

_IN_PATH = re.compile(r"\{([^{}]*)\}")


class Resolved(Struct, frozen=True):
    """What the world will be: files in the order they were decided on, and the text of a description.

    `archived` is the folder that files were moved to, or the last of them. `anew`: the text begins another
    description.
    """

    finals: tuple[Final, ...] = ()
    describes: str | None = None
    archived: str = ""
    anew: bool = False

    @property
    def left(self) -> Mapping[str, bytes | None]:
        """What is then read by each path; the description has one of its own."""
        files = {final.path: final.after for final in self.finals}
        if self.describes is None:
            return files
        return {**files, DESCRIPTION: self.describes.encode("utf-8", "surrogatepass")}


class Values:
    """What paths and texts can be filled with: facts, what drafts made, and the run as the turn leaves it.

    Names of a sub-workflow mean its own variables and states: each scope has its view. They are asked for
    only of an event whose payload has been found good.
    """

    def __init__(self, workflow: Workflow, run: Run, event: Event, gathered: Gathered, before: Run) -> None:
        self._workflow, self._run, self._event, self._gathered = workflow, run, event, gathered
        stays = (*run.open, *before.open, Step(0, "", 0))
        self._step = stays[0]
        self._views: dict[str, Mapping[str, Value]] = {}
        self._from = next((step.state for step in before.open if event.step in {None, step.number}), "")

    def within(self, scope: str) -> Mapping[str, Value]:
        """The values as rows and texts of this scope name them."""
        if scope not in self._views:
            stand = Stand(self._workflow, self._event, self._gathered.facts, self._run, self._step)
            own = known(stand, scope)
            came = claimed(stand, self._from) if self._from in self._workflow.states else {}
            self._views[scope] = {**self._gathered.facts, **self._gathered.values, **came, **own}
        return self._views[scope]


@dataclass(slots=True)
class _Paper:
    """The files as they will be, written over what was seen; nothing is done yet."""

    workflow: Workflow
    sight: Sight
    values: Values
    at: datetime
    files: dict[str, bytes | None] = field(default_factory=dict)
    made: list[str] = field(default_factory=list)
    moved: dict[str, str] = field(default_factory=dict)
    describes: str | None = None
    anew: bool = False

    def file(self, path: str) -> bytes | None:
        return self.files[path] if path in self.files else self.sight.read(path)


def resolve(
    workflow: Workflow, effects: Iterable[tuple[str, Effect]], sight: Sight, values: Values, at: datetime
) -> Resolved:
    """The final values of these effects, given with their scopes, each seeing what those before it leave.

    A file that ends as it was seen is left out.
    """
    paper = _Paper(workflow, sight, values, at)
    for scope, effect in effects:
        _decide(paper, effect, values.within(scope))
    finals = [Final(path, digest(sight.read(path)), after) for path, after in paper.files.items()]
    changed = tuple(f for f in finals if f.before != digest(f.after))
    return Resolved(changed, paper.describes, paper.made[-1] if paper.made else "", paper.anew)


def destination(asked: Asked, row: Transition, path: str) -> str:
    """Where a file will be once what this row archives has been moved: where it is, if it is not moved.

    Raises `KeyError` for a name in a path that is no fact: what else it may be is not known yet.
    """
    values = Values(asked.workflow, asked.run, asked.event, Gathered(asked.facts, {}), asked.run)
    paper = _Paper(asked.workflow, asked.sight, values, asked.at)
    for effect in row.do:
        if isinstance(effect, Archive):
            _archive(paper, effect, asked.facts)
    return paper.moved.get(path, path)


def said(
    workflow: Workflow, name: str, values: Values, at: datetime, archived: str = ""
) -> Mapping[str, str]:
    """A text of the workflow, part by part, with its placeholders filled; `now` is the time of the turn.

    Bytes of a file that are no text are not told.
    """
    scope = name[: name.rfind("/") + 1]
    now = at.isoformat(timespec="seconds").replace("+00:00", "Z")
    seen = {**values.within(scope), NOW: now, ARCHIVED: archived}
    parts = workflow.texts[name].parts
    return {part: render(text, seen).encode("utf-8", "replace").decode() for part, text in parts.items()}


def _decide(paper: _Paper, effect: Effect, values: Mapping[str, Value]) -> None:
    match effect:
        case Write():
            _write(paper, effect, values)
        case Archive():
            _archive(paper, effect, values)
        case Describe(source, anew):
            paper.describes, paper.anew = str(values[source]), anew
        case _:
            assert_never(effect)


def _write(paper: _Paper, effect: Write, values: Mapping[str, Value]) -> None:
    path = _path(paper, effect.path, values)
    if effect.if_absent and paper.file(path) is not None:
        return
    if effect.source:
        text = str(values[effect.source])
    else:
        text = as_file(said(paper.workflow, effect.template, paper.values, paper.at))
    paper.files[path] = text.encode("utf-8", "surrogateescape")


def _archive(paper: _Paper, effect: Archive, values: Mapping[str, Value]) -> None:
    """Into a folder that is not there yet: nothing is ever moved over something else."""
    paths = [_path(paper, path, values) for path in effect.paths]
    there = [(path, data) for path in paths if (data := paper.file(path)) is not None]
    if not there:
        return
    folder = _new_folder(paper, _path(paper, effect.to, values))
    for path, data in there:
        paper.moved[path] = _new_name(paper, folder, PurePosixPath(path).name)
        paper.files[paper.moved[path]] = data
        paper.files[path] = None


def _new_folder(paper: _Paper, wanted: str) -> str:
    parent = str(PurePosixPath(wanted).parent)
    taken = {f"{parent}/{name}" for name in paper.sight.names("" if parent == "." else parent)}
    taken = {name.removeprefix("./") for name in taken}.union(paper.made)
    folder = _first_free(wanted, "", taken)
    paper.made.append(folder)
    return folder


def _new_name(paper: _Paper, folder: str, name: str) -> str:
    path = PurePosixPath(folder, name)
    return _first_free(str(path.with_suffix("")), path.suffix, paper.files.keys())


def _first_free(stem: str, suffix: str, taken: Iterable[str]) -> str:
    """The name, or the first of `-2`, `-3` … that is not taken."""
    occupied, number, name = set(taken), 1, stem + suffix
    while name in occupied:
        number += 1
        name = f"{stem}-{number}{suffix}"
    return name


def _path(paper: _Paper, path: str, values: Mapping[str, Value]) -> str:
    """The path with its names filled in; `now` is the minute of the turn."""
    named = {**values, NOW: paper.at.strftime("%Y-%m-%d-%H%M")}
    return _IN_PATH.sub(lambda match: str(named[match[1]]), path)
