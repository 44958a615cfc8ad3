"""Everything the pages and pictures say, from one catalogue: a language is one file."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec.yaml

from handrail.workflows.catalogue import Catalogue

ENGLISH: Final = "en"


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
