"""The texts of a face, from the file beside it."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import msgspec.yaml
from msgspec import Struct

from handrail.engine.facts import Value
from handrail.workflows.render import render


class Texts(Struct, frozen=True):
    """Named texts with placeholders; `errors` are the sentences of refusals, by their code."""

    said: Mapping[str, str]
    errors: Mapping[str, str]
    needed: Mapping[str, tuple[str, ...]]

    def say(self, name: str, /, **values: Value) -> str:
        """A text with its placeholders filled, without the line break it ends with."""
        return render(self.said[name], values).rstrip("\n")

    def error(self, code: str, rule: str) -> str:
        """The sentence of a refusal; where the store has a code of its own, the rule says which."""
        return self.errors.get(code) or self.say("other", rule=rule)


@cache
def texts(face: str) -> Texts:
    """The texts of a face."""
    path = Path(__file__).with_name(f"{face}.yaml")
    found = msgspec.yaml.decode(path.read_bytes(), type=dict[str, Any])
    errors, needed = found.pop("errors"), found.pop("needed")
    return Texts(
        msgspec.convert(found, dict[str, str]),
        msgspec.convert(errors, dict[str, str]),
        msgspec.convert(needed, dict[str, tuple[str, ...]]),
    )
