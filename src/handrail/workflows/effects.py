"""What a row does: each item of `do` read by the keys its effect declares."""

from collections.abc import Collection

from msgspec import Struct

from handrail.engine.explore import path_names
from handrail.engine.model import STATE_FILES, Authority, Effect
from handrail.workflows.nodes import Items, Node, Table
from handrail.workflows.reader import Reader, quoted, spot, unsafe
from handrail.workflows.registry import EffectKind, Registry
from handrail.workflows.texts import NOW, Texts

OURS = frozenset({".handrail", *STATE_FILES})
"""What no effect may touch: the state of the run, and what keeps it safe."""


class Scope(Struct, frozen=True):
    """What an effect of one row may name: facts and draft values, texts; and where the state lives."""

    what: str
    names: Collection[str]
    values: Collection[str]
    texts: Texts
    authority: Authority | None


def read_effects(
    reader: Reader, registry: Registry, nodes: tuple[Node, ...], scope: Scope
) -> tuple[Effect, ...]:
    """The effects of a row, in order."""
    found = (_effect(reader, registry, node, scope) for node in nodes)
    return tuple(effect for effect in found if effect is not None)


def _effect(reader: Reader, registry: Registry, node: Node, scope: Scope) -> Effect | None:
    if not isinstance(node, Table) or not node.entries:
        message = f"{scope.what}: an effect is a mapping, such as `write: plan.md`"
        reader.problem("wrong-type", node.place, message, f"begin with {_or(registry.effects)}")
        return None
    entry = next((entry for entry in node.entries if entry.key.text in registry.effects), node.entries[0])
    kind = registry.effects.get(entry.key.text)
    if kind is None:
        known, name = registry.effects, entry.key
        reader.unknown("effect", name.text, name.place, known, f"{scope.what}: no effect is called")
        return None
    if scope.authority not in {None, *kind.authorities}:
        where = " or ".join(kind.authorities)
        message = (
            f"{scope.what}: `{kind.name}` needs `authority: {where}`, this workflow has {scope.authority}"
        )
        reader.problem("wrong-authority", entry.key.place, message, "drop it, or change `authority`")
    before = len(reader.problems)
    given = _given(reader, kind, node, scope)
    return kind.build(given) if len(reader.problems) == before else None


def _or(names: Collection[str]) -> str:
    return " or ".join(f"`{name}`" for name in sorted(names))


def _given(reader: Reader, kind: EffectKind, node: Table, scope: Scope) -> dict[str, object]:
    what = f"`{kind.name}` of {scope.what}"
    required = [name for name, param in kind.params.items() if param.required]
    fields = reader.fields(node, kind.params, what, required)
    chosen = [entry.key for entry in node.entries if entry.key.text in kind.one_of]
    if kind.one_of and not chosen:
        message = f"{what} needs {_or(kind.one_of)}"
        reader.problem("missing-key", node.place, message, "add one of them")
    for key in chosen[1:]:
        message = f"{what} takes {_or(kind.one_of)}, not both"
        reader.problem("both-forms", key.place, message, "drop one of them")
    given: dict[str, object] = {}
    for name, value in fields.items():
        where = what if name == kind.name else f"`{name}` of {what}"
        given[name] = _value(reader, kind.params[name].kind, value, scope, where)
    return given


def _value(reader: Reader, kind: str, node: Node, scope: Scope, what: str) -> object:
    match kind:
        case "flag":
            return reader.flag(node, what)
        case "paths":
            paths = node.items if isinstance(node, Items) else (node,)
            if not paths:
                reader.problem("wrong-type", node.place, f"{what} names no file", "name one, or several")
            return [_path(reader, path, scope, what) for path in paths]
        case "path":
            return _path(reader, node, scope, what)
        case "template":
            known = [*scope.names, *scope.values]
            return scope.texts.named(reader.single(node, what), known, scope.what)
        case _:
            return _draft_value(reader, node, scope, what)


def _draft_value(reader: Reader, node: Node, scope: Scope, what: str) -> str:
    name = reader.single(node, what)
    if name is None:
        return ""
    if name.text not in scope.values:
        message = f"{what}: no draft of this row makes"
        reader.unknown("value", name.text, name.place, scope.values, message)
    return name.text


def _path(reader: Reader, node: Node, scope: Scope, what: str) -> str:
    """A path below the task folder; `{fact}` and `{now}` may stand in it."""
    path = reader.single(node, what)
    if path is None:
        return ""
    if unsafe(path.text):
        message = f"{what}: {quoted(path.text)} is no path below the task folder"
        reader.problem("unsafe-path", path.place, message, "write it relative, without `..`")
    elif path.text.split("/")[0] in OURS:
        message = f"{what}: {quoted(path.text)} is where Handrail keeps the run itself"
        reader.problem("unsafe-path", path.place, message, "name another file")
    bare = path.text
    for name in path_names(path.text):
        bare = bare.replace(f"{{{name}}}", " " * (len(name) + 2), 1)
        if name != NOW and name not in scope.names:
            place = spot(path, 1, path.text.find(f"{{{name}}}") + 2, len(name))
            message = f"{what}: there is nothing to put in for"
            reader.unknown("placeholder", name, place, scope.names, message)
    if stray := [sign for sign in "{}" if sign in bare]:
        message = f"{what}: `{stray[0]}` is no part of a placeholder"
        place = spot(path, 1, bare.find(stray[0]) + 1, 1)
        reader.problem("bad-placeholder", place, message, "write `{name}`")
    return path.text
