"""What a check finds."""

from msgspec import Struct


class Finding(Struct, frozen=True, gc=False):
    """What is wrong with one field, by its path: `constraints.0.1`."""

    field: str
    message: str
    code: str
