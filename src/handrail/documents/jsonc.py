"""Settings in JSON, with comments where a program allows them: changed in place, a member at a time.

What is not changed stays as it is to the byte: comments, order, indentation, line ends, a BOM.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from handrail.documents.jsontree import BLANK, Node, Part, Problem, problem, scan

_COMMENT: Final = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_FIRST_INDENT: Final = re.compile(r"[{\[][ \t]*(?:\r\n|\r|\n)([ \t]+)\S")
_INDENT: Final = "  "


def read(text: str) -> object:
    """The value that the text is, or a `Problem`; a text without any is an empty object.

    It is to be read only: the same one may be given again.
    """
    root = scan(text)
    if isinstance(root, Problem):
        return root
    return root.value if root else {}


def with_member(text: str, path: Sequence[str], value: object) -> str | Problem:
    """The text with this value at the path, behind its neighbours if it is new there.

    A member that has the value already is left as it is written. Objects on the way are made.
    """
    way = _way(text, path)
    if not isinstance(way, list):
        return way or _fresh(text, path, value)
    if len(way) <= len(path):
        return _inserted(text, way, path[len(way) - 1], _nested(path[len(way) :], value))
    return _replaced(text, way[-1], value)


def with_members(text: str, path: Sequence[str], members: Mapping[str, object]) -> str | Problem:
    """The text with these members in the object at the path, which keeps its others."""
    way = _way(text, path)
    if not isinstance(way, list) or len(way) <= len(path):
        return way if isinstance(way, Problem) else with_member(text, path, dict(members))
    if not isinstance(way[-1].value, dict):
        return _no(text, way[-1], path[-1], "an object")
    changed: str | Problem = text
    for key, value in members.items():
        changed = changed if isinstance(changed, Problem) else with_member(changed, (*path, key), value)
    return changed


def without_member(text: str, path: Sequence[str]) -> str | Problem:
    """The text without the member at the path, and without the objects on the way that it leaves empty.

    An object that still has a comment stays.
    """
    way = _way(text, path)
    if not isinstance(way, list):
        return way or text
    if len(way) <= len(path):
        return text
    return _cut(text, way)


def with_item(text: str, path: Sequence[str], value: object) -> str | Problem:
    """The text with this value in the list at the path, as its last item unless it has it already."""
    way = _way(text, path)
    if not isinstance(way, list) or len(way) <= len(path):
        return with_member(text, path, [value])
    if not isinstance(way[-1].value, list):
        return _no(text, way[-1], path[-1], "a list")
    if any(_same(item, value) for item in way[-1].value):
        return text
    return _inserted(text, way, None, value)


def without_items(text: str, path: Sequence[str], unwanted: Callable[[object], bool]) -> str | Problem:
    """The text without the unwanted items of the list at the path; what that leaves empty goes with them."""
    way = _way(text, path)
    if not isinstance(way, list):
        return way or text
    if len(way) <= len(path) or not isinstance(way[-1].value, list):
        return text
    for part in way[-1].parts:
        if unwanted(part.node.value):
            changed = _cut(text, [*way, part.node])
            return without_items(changed, path, unwanted)
    return text


def shown(value: object, unit: str = _INDENT, newline: str = "\n", indent: str = "") -> str:
    """A value as people write it: each member of an object on a line of its own, plain lists on one."""
    inner = indent + unit
    between = f",{newline}{inner}"
    if isinstance(value, dict) and value:
        members = between.join(f"{_plain(k)}: {shown(v, unit, newline, inner)}" for k, v in value.items())
        return f"{{{newline}{inner}{members}{newline}{indent}}}"
    if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        items = between.join(shown(item, unit, newline, inner) for item in value)
        return f"[{newline}{inner}{items}{newline}{indent}]"
    return _plain(value)


def _plain(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _same(one: object, other: object) -> bool:
    """True if both are written alike, whatever the order of keys: `1` is not `true`."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


# --- the way to a member ------------------------------------------------------------------------------------


def _way(text: str, path: Sequence[str]) -> list[Node] | Problem | None:
    """The root and what stands at each key of the path, as far as it leads; None if there is no root."""
    root = scan(text)
    if root is None or isinstance(root, Problem):
        return root
    way, above = [root], "the document"
    for key in path:
        here = way[-1]
        if not isinstance(here.value, dict):
            return _no(text, here, above, "an object")
        named = [part for part in here.parts if part.key == key]
        if len(named) > 1:
            return problem(
                text, named[1].start, f"the key `{key}` stands twice", "take one of the two out of the file"
            )
        if not named:
            break
        way.append(named[0].node)
        above = key
    return way


def _no(text: str, node: Node, name: str, wanted: str) -> Problem:
    return problem(
        text, node.start, f"`{name}` is not {wanted}", f"make it {wanted}, or take it out of the file"
    )


def _nested(path: Sequence[str], value: object) -> object:
    for key in reversed(path):
        value = {key: value}
    return value


# --- changes ------------------------------------------------------------------------------------------------


def _fresh(text: str, path: Sequence[str], value: object) -> str:
    """A text that has no value yet, with this one as its first member."""
    newline = _newline(text)
    gap = newline if text.removeprefix("\ufeff").strip(BLANK) and not text.endswith(newline) else ""
    return text + gap + shown(_nested(path, value), newline=newline) + newline


def _replaced(text: str, node: Node, value: object) -> str:
    if _same(node.value, value):
        return text
    written = shown(value, _unit(text), _newline(text), _indent(text, node.start))
    return text[: node.start] + written + text[node.end :]


def _inserted(text: str, way: Sequence[Node], key: str | None, value: object) -> str:
    """The text with one more part in the last object or list of the way, behind the parts it has."""
    holder, newline, unit = way[-1], _newline(text), _unit(text)
    inner = text[holder.start + 1 : holder.end - 1]
    point = holder.start + 1 + len(inner.rstrip(BLANK))
    bare = not inner.strip(BLANK)
    several = (
        "\n" in text[way[0].start : holder.start] or holder is way[0]
        if bare
        else _breaks(text, point, holder)
    )
    label = "" if key is None else f"{_plain(key)}: "
    if not several:
        gap = "" if bare else " "
        return _put(text, holder, point, f"{gap}{label}{_plain(value)}")
    indent = _indent(text, holder.parts[-1].start if holder.parts else holder.start)
    indent += "" if holder.parts else unit
    written = f"{newline}{indent}{label}{shown(value, unit, newline, indent)}"
    if not bare:
        return _put(text, holder, point, written)
    closing = newline + _indent(text, holder.start)
    return text[: holder.start + 1] + written + closing + text[holder.end - 1 :]


def _breaks(text: str, point: int, holder: Node) -> bool:
    return "\n" in text[point : holder.end] or "\r" in text[point : holder.end]


def _put(text: str, holder: Node, point: int, written: str) -> str:
    """Put a part behind the last one, with the commas that are then needed; one at the end stays there."""
    last = holder.parts[-1] if holder.parts else None
    if last is None:
        return text[:point] + written + text[point:]
    if last.comma >= 0:
        return text[:point] + written + "," + text[point:]
    return text[: last.node.end] + "," + text[last.node.end : point] + written + text[point:]


def _cut(text: str, way: Sequence[Node]) -> str:
    """The text without the last node of the way, or the first above it that would be left empty."""
    gone, holder = way[-1], way[-2]
    if len(way) > 2 and len(holder.parts) == 1 and not _comments(text, holder, gone):
        return _cut(text, way[:-1])
    index = next(at for at, part in enumerate(holder.parts) if part.node is gone)
    part = holder.parts[index]
    end = part.comma + 1 if part.comma >= 0 else gone.end
    start = _begin(text, part, end)
    if len(holder.parts) == 1 and start == holder.start + 1 and not text[end : holder.end - 1].strip(BLANK):
        end = holder.end - 1
    before = text[:start]
    if part.comma < 0 and index:
        comma = holder.parts[index - 1].comma
        before = text[:comma] + text[comma + 1 : start]
    return before + text[end:]


def _begin(text: str, part: Part, end: int) -> int:
    """Where a part begins with the blanks before it, unless these end a comment that takes up its line."""
    start = len(text[: part.start].rstrip(BLANK))
    comments = _COMMENT.findall(text[part.before : part.start])
    ends_line = re.match(r"[ \t]*[\r\n]", text[end:])
    return part.start if comments and comments[-1].startswith("//") and not ends_line else start


def _comments(text: str, holder: Node, only: Node) -> bool:
    """True if something besides its only part stands in an object or list."""
    part = holder.parts[0]
    end = part.comma + 1 if part.comma >= 0 else only.end
    around = (
        text[holder.start + 1 : part.start],
        text[only.end : end].removesuffix(","),
        text[end : holder.end - 1],
    )
    return any(piece.strip(BLANK) for piece in around)


# --- how a text is written ----------------------------------------------------------------------------------


def _newline(text: str) -> str:
    found = re.search(r"\r\n|\r|\n", text)
    return found.group() if found else "\n"


def _unit(text: str) -> str:
    found = _FIRST_INDENT.search(text)
    return found.group(1) if found else _INDENT


def _indent(text: str, place: int) -> str:
    """The blanks that the line of this place begins with."""
    line = re.split(r"[\r\n]", text[:place])[-1].removeprefix("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]
