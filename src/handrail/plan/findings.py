"""What a check finds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with one field, by its path: `constraints.0.1`."""

    field: str
    message: str
    code: str
