"""What a row does: each item of `do` read by the keys its effect declares."""

from collections.abc import Collection
from dataclasses import dataclass

from handrail.engine.explore import path_names
from handrail.engine.model import Authority, Effect
from handrail.workflows.nodes import Items, Node, Scalar, Table
from handrail.workflows.reader import Reader
from handrail.workflows.registry import EffectKind, Registry
from handrail.workflows.texts import NOW, Texts


@dataclass(frozen=True, slots=True)
class Scope:
    """What an effect of one row may name: facts and draft values, texts; and where the state lives."""

    what: str
    names: Collection[str]
    values: Collection[str]
    texts: Texts
    authority: Authority


def read_effects(
    reader: Reader, registry: Registry, nodes: tuple[Node, ...], scope: Scope
) -> tuple[Effect, ...]:
    """The effects of a row, in order."""
    found = (_effect(reader, registry, node, scope) for node in nodes)
    return tuple(effect for effect in found if effect is not None)


def _effect(reader: Reader, registry: Registry, node: Node, scope: Scope) -> Effect | None:
    if not isinstance(node, Table) or not node.entries:
        reader.problem(
            "wrong-type", node.place, f"{scope.what}: an effect is a mapping, such as `write: plan.md`"
        )
        return None
    kind = next((registry.effects[e.key.text] for e in node.entries if e.key.text in registry.effects), None)
    if kind is None:
        key = node.entries[0].key
        reader.unknown("effect", key.text, key.place, registry.effects, f"{scope.what}: no effect is called")
        return None
    if scope.authority not in kind.authorities:
        where = " or ".join(kind.authorities)
        message = (
            f"{scope.what}: `{kind.name}` needs `authority: {where}`, this workflow has {scope.authority}"
        )
        reader.problem("wrong-authority", node.place, message)
    before = len(reader.problems)
    given = _given(reader, kind, node, scope)
    return kind.build(given) if len(reader.problems) == before else None


def _given(reader: Reader, kind: EffectKind, node: Table, scope: Scope) -> dict[str, object]:
    what = f"`{kind.name}` of {scope.what}"
    required = [name for name, param in kind.params.items() if param.required]
    fields = reader.fields(node, kind.params, what, required)
    if kind.one_of and len(kind.one_of & fields.keys()) != 1:
        message = f"{what} needs one of {' and '.join(f'`{name}`' for name in sorted(kind.one_of))}"
        reader.problem("missing-key", node.place, message, "give exactly one")
    given: dict[str, object] = {}
    for name, value in fields.items():
        given[name] = _value(reader, kind.params[name].kind, value, scope, f"`{name}` of {what}")
    return given


def _value(reader: Reader, kind: str, node: Node, scope: Scope, what: str) -> object:
    match kind:
        case "flag":
            return reader.flag(node, what)
        case "paths":
            paths = node.items if isinstance(node, Items) else (node,)
            return [_path(reader, path, scope, what) for path in paths]
        case "path":
            return _path(reader, node, scope, what)
        case "template":
            return scope.texts.named(_scalar(reader, node, what), [*scope.names, *scope.values], scope.what)
        case _:
            return _draft_value(reader, node, scope, what)


def _scalar(reader: Reader, node: Node, what: str) -> Scalar | None:
    found = reader.scalars(node, what)
    return found[0] if found else None


def _draft_value(reader: Reader, node: Node, scope: Scope, what: str) -> str:
    name = reader.text(node, what)
    if name not in scope.values:
        message = f"{what}: no draft of this row makes"
        reader.unknown("value", name, node.place, scope.values, message)
    return name


def _path(reader: Reader, node: Node, scope: Scope, what: str) -> str:
    """A path below the task folder; `{fact}` and `{now}` may stand in it."""
    path = reader.text(node, what)
    parts = path.split("/")
    if path.startswith("/") or "\\" in path or any(part in {"", ".", ".."} for part in parts):
        message = f"{what}: `{path}` is no path below the task folder"
        reader.problem("unsafe-path", node.place, message, "write it relative, without `..`")
    for name in path_names(path):
        if name != NOW and name not in scope.names:
            reader.unknown("placeholder", name, node.place, scope.names, f"{what}: nothing is called")
    return path
