"""Everything the pages say, from one catalogue: a language is one file."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec.yaml

from handrail.engine.facts import Value
from handrail.workflows.render import render

ENGLISH: Final = "en"


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

    def count(self, name: str, number: int) -> str:
        """How many there are of something: `name` has a text for `one`, and for `more`."""
        return self(f"{name}.one" if number == 1 else f"{name}.more", n=number)


@cache
def catalogue(language: str = ENGLISH) -> Catalogue:
    """The texts of a language."""
    text = files(__package__).joinpath("texts", f"{language}.yaml").read_bytes()
    return Catalogue(dict(_flat(msgspec.yaml.decode(text, type=dict[str, Any]))))


def _flat(said: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for name, value in said.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", msgspec.convert(value, str)
