"""Addresses of resources: seven schemes in two spellings, read from whatever a client sends."""

import re
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from msgspec import Struct

from handrail.workflows.characters import safe

PERSONA: Final = "persona"
GUARDRAILS: Final = "guardrails"
CURRENT: Final = "current_step"
STATUS: Final = "workflow_status"
PROJECT: Final = "project_context"
WORKFLOWS: Final = "available_workflows"
ARTIFACTS: Final = "workflow_artifacts"

FORMS: Final = {
    PERSONA: "{agent}",
    GUARDRAILS: "active",
    CURRENT: "{execution_id}",
    STATUS: "{execution_id}",
    PROJECT: "{project_id}",
    WORKFLOWS: "all",
    ARTIFACTS: "{+pattern}",
}
"""The seven schemes as the source spells them, and what stands behind each."""

RECENT: Final = "recent"
FINAL: Final = "final"
FINAL_OF: Final = "final/"
TYPE: Final = "type/"

LONGEST: Final = 512
"""How many characters an address may have."""

_PAGED: Final = frozenset({STATUS, ARTIFACTS})
_SHOWN: Final = 80
_ADDRESS: Final = re.compile(r"([A-Za-z][A-Za-z0-9_-]*)://([^?#]*)(?:\?page=([1-9][0-9]{0,5}))?")
_RUN: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class Address(Struct, frozen=True):
    """What an address asks for: `name` is what stands behind the scheme, decoded once, and never a path.

    `portable` is how its scheme was spelled, so that an answer can name others the same way.
    """

    scheme: str
    name: str
    page: int = 1
    portable: bool = False

    @property
    def next(self) -> str:
        """The address of the next page."""
        return f"{uri(self.scheme, self.name, portable=self.portable)}?page={self.page + 1}"


def uri(scheme: str, name: str, *, portable: bool) -> str:
    """The address of this name under a scheme; `_`, which no scheme may have, is `-` where it is portable."""
    return f"{_spelled(scheme, portable=portable)}://{quote(name)}"


def form(scheme: str, *, portable: bool) -> str:
    """What addresses under a scheme look like."""
    return f"{_spelled(scheme, portable=portable)}://{FORMS[scheme]}"


def scheme_of(template: str) -> str:
    """The scheme whose addresses look like this, in either spelling; empty if none does."""
    scheme = template.partition("://")[0].replace("-", "_")
    known = scheme in FORMS and template in {form(scheme, portable=spelling) for spelling in (False, True)}
    return scheme if known else ""


def read(given: str) -> Address | str:
    """What an address asks for, or in a sentence why it is none."""
    if len(given) > LONGEST:
        return f"a resource address has at most {LONGEST} characters, this one has {len(given)}"
    found = _ADDRESS.fullmatch(given)
    scheme = found[1].lower().replace("-", "_") if found else ""
    if found is None or scheme not in FORMS:
        known = ", ".join(form(scheme, portable="-" in given.partition("://")[0]) for scheme in FORMS)
        return f"`{shown(given)}` is no resource of this server; there are {known}"
    try:
        name = unquote_to_bytes(found[2]).decode()
    except UnicodeError:
        return f"`{shown(given)}` is not UTF-8: percent-encode the bytes of a UTF-8 text"
    if found[3] and scheme not in _PAGED:
        return f"`{shown(given)}` has no pages: leave out what begins with `?`"
    if "\0" in name:
        return f"`{shown(given)}` has a NUL in it: leave it out"
    return Address(scheme, name, int(found[3] or 1), "-" in found[1])


def is_run(name: str) -> bool:
    """True if this is written as the whole id of a run."""
    return _RUN.fullmatch(name) is not None


def shown(text: str) -> str:
    """What somebody sent, so that it can stand in a message."""
    return safe(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def _spelled(scheme: str, *, portable: bool) -> str:
    return scheme.replace("_", "-") if portable else scheme
