"""Everything a person reads, by name: pages and pictures are given it, and have no words of their own."""

from collections.abc import Mapping

from handrail.engine.facts import Value
from handrail.workflows.render import render


class Catalogue:
    """Texts by their names, such as `overview.title`; placeholders as in workflows: `{{name}}`."""

    def __init__(self, said: Mapping[str, str]) -> None:
        self.said = said

    def __call__(self, name: str, /, **values: Value) -> str:
        """The text with its placeholders filled. Raises `KeyError` for a name that nobody has written."""
        return render(self.said[name], values).rstrip("\n")

    def __contains__(self, name: str) -> bool:
        """Whether there is such a text."""
        return name in self.said

    def count(self, name: str, number: int, **values: Value) -> str:
        """How many there are of something: `name` has a text for `one`, and for `more`."""
        return self(f"{name}.one" if number == 1 else f"{name}.more", n=number, **values)
