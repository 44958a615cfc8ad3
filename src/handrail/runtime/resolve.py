"""Resolve effects to final values: the content each file will have, not the operations that lead there.

Only reads. Start at `resolve_effects`.
"""

import hashlib
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, count
from pathlib import PurePosixPath
from typing import assert_never

from msgspec import Struct

from handrail.engine.facts import Value
from handrail.engine.model import Archive, Describe, Effect, Event, Run, Step, Transition, Workflow, Write
from handrail.engine.rows import DecisionContext, read_claimed_facts, read_known_facts
from handrail.runtime.gather import FactContext, FileSnapshot, GatheredFacts
from handrail.runtime.records import ChangedContent
from handrail.workflows.compile import ARCHIVED_NAME, NOW_NAME
from handrail.workflows.registry import DESCRIPTION_PATH
from handrail.workflows.templates import render_template

_PATH_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


class ResolvedEffects(Struct, frozen=True):
    """The result of a turn's effects: changed files in the order they were decided, and a description.

    `describes` is the new commit description, or None; `anew` says that it begins another one. `archived` is
    the folder that files were moved to, the last one if there are several.
    """

    finals: tuple[ChangedContent, ...] = ()
    describes: str | None = None
    archived: str = ""
    anew: bool = False

    @property
    def files_after(self) -> Mapping[str, bytes | None]:
        """The content of each changed path after the turn. The description has a path of its own."""
        files = {final.path: final.after for final in self.finals}
        if self.describes is None:
            return files
        return {**files, DESCRIPTION_PATH: self.describes.encode("utf-8", "surrogatepass")}


class TemplateValues:
    """The values for placeholders in paths and texts: facts, draft values, and the run after the turn.

    In a sub-workflow, names mean its own variables and states, so each scope has its own view. Use it only
    after the payload of the event has been validated.
    """

    def __init__(
        self, workflow: Workflow, run: Run, event: Event, gathered: GatheredFacts, before: Run
    ) -> None:
        self._workflow, self._run, self._event, self._gathered = workflow, run, event, gathered
        self._step = (*run.open, *before.open, Step(0, "", 0))[0]
        self._views: dict[str, Mapping[str, Value]] = {}
        self._from = next((step.state for step in before.open if event.step in {None, step.number}), "")

    def in_scope(self, scope: str) -> Mapping[str, Value]:
        """Return the values by the names that rows and texts of this scope use."""
        if scope not in self._views:
            facts, values = self._gathered.facts, self._gathered.values
            context = DecisionContext(self._workflow, self._event, facts, self._run, self._step)
            known = read_known_facts(context, scope)
            claimed = read_claimed_facts(context, self._from) if self._from in self._workflow.states else {}
            self._views[scope] = {**facts, **values, **claimed, **known}
        return self._views[scope]


@dataclass(slots=True)
class _FilePlan:
    """The files after the effects resolved so far, layered over the snapshot. Writes nothing."""

    workflow: Workflow
    snapshot: FileSnapshot
    values: TemplateValues
    at: datetime
    files: dict[str, bytes | None] = field(default_factory=dict)
    made: list[str] = field(default_factory=list)
    moved: dict[str, str] = field(default_factory=dict)
    describes: str | None = None
    anew: bool = False

    def file(self, path: str) -> bytes | None:
        """Return the planned content of a file, else the content in the snapshot; None if there is none."""
        return self.files[path] if path in self.files else self.snapshot.read(path)


def resolve_effects(
    workflow: Workflow,
    effects: Iterable[tuple[str, Effect]],
    snapshot: FileSnapshot,
    values: TemplateValues,
    at: datetime,
) -> ResolvedEffects:
    """Return the final values of these effects, each given with its scope.

    Each effect sees the result of those before it. A file that ends unchanged is left out.
    """
    plan = _FilePlan(workflow, snapshot, values, at)
    for scope, effect in effects:
        named = values.in_scope(scope)
        match effect:
            case Write():
                _resolve_write(plan, effect, named)
            case Archive():
                _resolve_archive(plan, effect, named)
            case Describe(source, anew):
                plan.describes, plan.anew = str(named[source]), anew
            case _:
                assert_never(effect)
    changed = tuple(
        ChangedContent(path, before, after)
        for path, after in plan.files.items()
        if (before := hash_content(snapshot.read(path))) != hash_content(after)
    )
    return ResolvedEffects(changed, plan.describes, plan.made[-1] if plan.made else "", plan.anew)


def find_destination(context: FactContext, row: Transition, path: str) -> str:
    """Return the path of a file after this row's archive effects; the same path if they do not move it.

    Raises `KeyError` if a placeholder in a path is not a fact: other values are not known yet.
    """
    gathered = GatheredFacts(context.facts, {})
    values = TemplateValues(context.workflow, context.run, context.event, gathered, context.run)
    plan = _FilePlan(context.workflow, context.snapshot, values, context.at)
    for effect in row.do:
        if isinstance(effect, Archive):
            _resolve_archive(plan, effect, context.facts)
    return plan.moved.get(path, path)


def render_workflow_text(
    workflow: Workflow, name: str, values: TemplateValues, at: datetime, archived: str = ""
) -> Mapping[str, str]:
    """Return a text of the workflow, part by part, with its placeholders filled.

    `now` is the time of the turn. Bytes that are not valid text are replaced.
    """
    scope = name[: name.rfind("/") + 1]
    now = at.isoformat(timespec="seconds").replace("+00:00", "Z")
    filled = {**values.in_scope(scope), NOW_NAME: now, ARCHIVED_NAME: archived}
    parts = workflow.texts[name].parts
    rendered = ((part, render_template(text, filled)) for part, text in parts.items())
    return {part: text.encode("utf-8", "replace").decode() for part, text in rendered}


def join_text_parts(parts: Mapping[str, str]) -> str:
    """Join the parts of a text as one file."""
    return "\n\n".join(parts.values())


def hash_content(data: bytes | None) -> str | None:
    """Return the SHA-256 hash of a file's content, or None for no file."""
    return None if data is None else hashlib.sha256(data).hexdigest()


def _resolve_write(plan: _FilePlan, effect: Write, values: Mapping[str, Value]) -> None:
    path = _fill_path(plan, effect.path, values)
    if effect.if_absent and plan.file(path) is not None:
        return
    if effect.source:
        text = str(values[effect.source])
    else:
        text = join_text_parts(render_workflow_text(plan.workflow, effect.template, plan.values, plan.at))
    plan.files[path] = text.encode("utf-8", "surrogateescape")


def _resolve_archive(plan: _FilePlan, effect: Archive, values: Mapping[str, Value]) -> None:
    """Move the files into a new folder, so that nothing is ever moved over an existing file."""
    paths = [_fill_path(plan, path, values) for path in effect.paths]
    existing = [(path, data) for path in paths if (data := plan.file(path)) is not None]
    if not existing:
        return
    wanted = _fill_path(plan, effect.to, values)
    parent = str(PurePosixPath(wanted).parent)
    siblings = {f"{parent}/{name}" for name in plan.snapshot.names("" if parent == "." else parent)}
    taken = {name.removeprefix("./") for name in siblings}.union(plan.made)
    folder = _first_free_name(wanted, "", taken)
    plan.made.append(folder)
    for path, data in existing:
        new = PurePosixPath(folder, PurePosixPath(path).name)
        plan.moved[path] = _first_free_name(str(new.with_suffix("")), new.suffix, plan.files.keys())
        plan.files[plan.moved[path]] = data
        plan.files[path] = None


def _first_free_name(stem: str, suffix: str, taken: Container[str]) -> str:
    """Return the name, or the first with `-2`, `-3` … that is not taken."""
    names = chain([stem + suffix], (f"{stem}-{number}{suffix}" for number in count(2)))
    return next(name for name in names if name not in taken)


def _fill_path(plan: _FilePlan, path: str, values: Mapping[str, Value]) -> str:
    """Return the path with its placeholders filled; `now` is the minute of the turn."""
    named = {**values, NOW_NAME: plan.at.strftime("%Y-%m-%d-%H%M")}
    return _PATH_PLACEHOLDER.sub(lambda match: str(named[match[1]]), path)
