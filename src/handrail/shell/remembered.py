"""What was made of the text of a workflow, kept as long as no text that it was made of is another."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from handrail.workflows.load import Find, Source

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _Made(Generic[Result]):
    """A result, the text it was made of, and what was found by each name on the way, or was not."""

    source: Source
    found: Mapping[str, Source | None]
    result: Result

    def still(self, source: Source, find: Find) -> bool:
        """Whether the same would be made again."""
        return self.source == source and all(find(name) == was for name, was in self.found.items())


class Remembered(Generic[Result]):
    """Makes something of a text and of those that it names, anew only if one of them has changed.

    `most` texts are kept, those that were asked for last; may be asked by many threads at once.
    """

    def __init__(self, make: Callable[[Source, Find], Result], most: int = 256) -> None:
        self._make, self._most = make, most
        self._made: dict[str, _Made[Result]] = {}

    def __call__(self, source: Source, find: Find) -> Result:
        """What is made of this text; `find` finds others by name."""
        known = self._made.pop(source.file, None)
        if known is None or not known.still(source, find):
            found: dict[str, Source | None] = {}

            def finding(name: str) -> Source | None:
                found[name] = find(name)
                return found[name]

            known = _Made(source, found, self._make(source, finding))
        self._made[source.file] = known
        for file in list(self._made)[: max(0, len(self._made) - self._most)]:
            self._made.pop(file, None)
        return known.result
