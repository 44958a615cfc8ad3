"""Why a request is not let in."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not let in."""

    status: int
    text: str
    headers: dict[str, str] | None = None
