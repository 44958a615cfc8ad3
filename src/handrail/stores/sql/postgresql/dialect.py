"""The statements of the store as PostgreSQL takes them: the common ones, some of them in other words."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from itertools import count
from typing import Final

from handrail.stores.sql.text import queries

_HERE: Final = "handrail.stores.sql.postgresql"
_VALUE: Final = re.compile(r"\?(\d*)")


@cache
def statements(file: str = "queries.sql") -> Mapping[str, str]:
    """The statements of a file, by name."""
    own = f"postgresql/{file}"
    there = files(_HERE).joinpath(file).is_file()
    return {
        name: numbered(text) for name, text in {**queries(file), **(queries(own) if there else {})}.items()
    }


def numbered(statement: str) -> str:
    """A statement whose values are numbered by `$`; those without a number are in order."""
    places = count(1)
    return _VALUE.sub(lambda found: f"${found[1] or next(places)}", statement)
