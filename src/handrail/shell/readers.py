"""How facts of the files of a run are read: whether they are there, what they hold, what they say."""

from collections.abc import Iterator, Mapping
from typing import Final

from handrail.documents.criteria import MOST, Criterion, criteria
from handrail.documents.frontmatter import parse
from handrail.documents.links import fresh, handed, line
from handrail.documents.quote import bounded
from handrail.documents.slug import slug
from handrail.engine.facts import Value
from handrail.engine.model import Transition, Workflow
from handrail.shell.facts import Asked, Reader
from handrail.shell.faults import Unreadable

QUOTED: Final = 32 * 1024
"""How many bytes of a file are quoted; then its path is."""


def template(workflow: Workflow, name: str) -> str:
    """A text of the workflow as the file it begins as; empty if there is none of this name."""
    text = workflow.texts.get(name)
    return as_file(text.parts) if text else ""


def as_file(parts: Mapping[str, str]) -> str:
    """The parts of a text as one file."""
    return "\n\n".join(parts.values())


def document(asked: Asked, path: str) -> str:
    """A file as text that gives back the same bytes, in UTF-8 or not; empty if there is none.

    Raises `Unreadable` if it is longer than anything that is read for what it says.
    """
    data = asked.sight.read(path) or b""
    if len(data) > MOST:
        repair = "move what does not belong there into a file of its own, and keep the rest"
        raise Unreadable(f"{path} has {len(data)} bytes; {MOST} can be read", repair)
    return data.decode("utf-8", "surrogateescape")


def trying(asked: Asked, kind: str) -> Iterator[Transition]:
    """The rows that may be taken now and try an edit of this kind."""
    for step in asked.run.open:
        for row in asked.workflow.index.get((step.state, asked.event.trigger), ()):
            if any(tried == kind for _, tried in row.drafts):
                yield row


def _exists(asked: Asked, of: tuple[str, ...]) -> Value:
    return asked.sight.read(of[0]) is not None


def _blank(asked: Asked, of: tuple[str, ...]) -> Value:
    data = asked.sight.read(of[0])
    return data is not None and not data.decode("utf-8-sig", "replace").strip()


def _untouched(asked: Asked, of: tuple[str, ...]) -> Value:
    path, name = of
    return name in asked.workflow.texts and asked.sight.read(path) == template(asked.workflow, name).encode()


def _quoted(asked: Asked, of: tuple[str, ...]) -> Value:
    data = asked.sight.read(of[0])
    return "" if data is None else _bounded(asked, of[0], data.decode("utf-8", "replace"))


def _bounded(asked: Asked, path: str, text: str) -> str:
    """A text from a file of the run, for somebody who must not obey it."""
    return bounded(text, f"{asked.workflow.folder}/{path}".removeprefix("/"), asked.boundary, QUOTED)


def _criteria(asked: Asked, of: tuple[str, ...]) -> tuple[Criterion, ...]:
    path, name = of
    return criteria(document(asked, path), template(asked.workflow, name))


def _total(asked: Asked, of: tuple[str, ...]) -> Value:
    return len(_criteria(asked, of))


def _unchecked(asked: Asked, of: tuple[str, ...]) -> Value:
    return sum(not criterion.checked for criterion in _criteria(asked, of))


def _links(asked: Asked, of: tuple[str, ...]) -> tuple[str, ...]:
    plan, refs = of
    return fresh(document(asked, plan), document(asked, refs))


def _new_links(asked: Asked, of: tuple[str, ...]) -> Value:
    return len(_links(asked, of))


def _quoted_links(asked: Asked, of: tuple[str, ...]) -> Value:
    lines = "\n".join(map(line, handed(_links(asked, of))))
    return _bounded(asked, of[0], lines) if lines else ""


def _slug(asked: Asked, of: tuple[str, ...]) -> Value:
    path, key = of
    value = parse((asked.sight.read(path) or b"").decode("utf-8", "replace")).fields.get(key, "")
    return slug(value if isinstance(value, str) else "")


READERS: Final[Mapping[str, Reader]] = {
    "criteria.total": _total,
    "criteria.unchecked": _unchecked,
    "file.blank": _blank,
    "file.exists": _exists,
    "file.quoted": _quoted,
    "file.untouched": _untouched,
    "frontmatter.slug": _slug,
    "links.new": _new_links,
    "links.quoted": _quoted_links,
}
"""How facts are read, by the name of their reader."""
