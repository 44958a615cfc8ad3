"""Build and parse the URIs of resources: seven schemes, each in two spellings.

The source document writes `_` in schemes, which URI syntax does not allow; the portable spelling has `-`.
Both are accepted everywhere.
"""

import re
from enum import StrEnum
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from msgspec import Struct

from handrail.documents.text import escape_for_terminal

PERSONA: Final = "persona"
GUARDRAILS: Final = "guardrails"
CURRENT: Final = "current_step"
STATUS: Final = "workflow_status"
PROJECT: Final = "project_context"
WORKFLOWS: Final = "available_workflows"
ARTIFACTS: Final = "workflow_artifacts"

# The seven schemes as the source spells them, each with the form of what follows `://`.
URI_FORMS: Final = {
    PERSONA: "{agent}",
    GUARDRAILS: "active",
    CURRENT: "{execution_id}",
    STATUS: "{execution_id}",
    PROJECT: "{project_id}",
    WORKFLOWS: "all",
    ARTIFACTS: "{+pattern}",
}

RECENT_PATTERN: Final = "recent"
FINAL_PATTERN: Final = "final"
FINAL_PREFIX: Final = "final/"
TYPE_PREFIX: Final = "type/"
MAX_URI_CHARACTERS: Final = 512
_PAGED_SCHEMES: Final = frozenset({STATUS, ARTIFACTS})
_MAX_SHOWN_CHARACTERS: Final = 80
_URI_PATTERN: Final = re.compile(r"([A-Za-z][A-Za-z0-9_-]*)://([^?#]*)(?:\?page=([1-9][0-9]{0,5}))?")
_RUN_ID_PATTERN: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class ResourceAddress(Struct, frozen=True):
    """A parsed URI: `name` is the part after `://`, percent-decoded once; it is never used as a path.

    `portable` is true if the scheme was in the portable spelling, so that an answer can use the same one.
    """

    scheme: str
    name: str
    page: int = 1
    portable: bool = False

    @property
    def next(self) -> str:
        """The URI of the next page."""
        return f"{build_uri(self.scheme, self.name, portable=self.portable)}?page={self.page + 1}"


def build_uri(scheme: str, name: str, *, portable: bool) -> str:
    """Return the URI of a name under a scheme; the portable spelling has `-` for each `_` in the scheme."""
    return f"{_spell_scheme(scheme, portable=portable)}://{quote(name)}"


def build_uri_template(scheme: str, *, portable: bool) -> str:
    """Return the URI template of a scheme."""
    return f"{_spell_scheme(scheme, portable=portable)}://{URI_FORMS[scheme]}"


def scheme_of(template: str) -> str:
    """Return the scheme of a URI template in either spelling; empty if no scheme has this template."""
    scheme = template.partition("://")[0].replace("-", "_")
    if scheme not in URI_FORMS:
        return ""
    spellings = [build_uri_template(scheme, portable=portable) for portable in (False, True)]
    return scheme if template in spellings else ""


def parse_uri(given: str) -> ResourceAddress | str:
    """Parse a URI; return a sentence that says what is wrong with it if it is not valid."""
    if len(given) > MAX_URI_CHARACTERS:
        return f"a resource address has at most {MAX_URI_CHARACTERS} characters, this one has {len(given)}"
    match = _URI_PATTERN.fullmatch(given)
    scheme = match[1].lower().replace("-", "_") if match else ""
    if match is None or scheme not in URI_FORMS:
        portable = "-" in given.partition("://")[0]
        known = ", ".join(build_uri_template(scheme, portable=portable) for scheme in URI_FORMS)
        return f"`{safe_excerpt(given)}` is no resource of this server; there are {known}"
    try:
        name = unquote_to_bytes(match[2]).decode()
    except UnicodeError:
        return f"`{safe_excerpt(given)}` is not UTF-8: percent-encode the bytes of a UTF-8 text"
    if match[3] and scheme not in _PAGED_SCHEMES:
        return f"`{safe_excerpt(given)}` has no pages: leave out what begins with `?`"
    if "\0" in name:
        return f"`{safe_excerpt(given)}` has a NUL in it: leave it out"
    return ResourceAddress(scheme, name, int(match[3] or 1), "-" in match[1])


def is_run_id(name: str) -> bool:
    """True if the text has the form of a complete run id."""
    return _RUN_ID_PATTERN.fullmatch(name) is not None


def safe_excerpt(text: str) -> str:
    """Return text from a client, shortened and escaped so that it is safe in a message."""
    most = _MAX_SHOWN_CHARACTERS
    return escape_for_terminal(text if len(text) <= most else f"{text[:most]}…")


def _spell_scheme(scheme: str, *, portable: bool) -> str:
    return scheme.replace("_", "-") if portable else scheme


class Spelling(StrEnum):
    """The spelling of names and URIs in lists; both are always accepted."""

    PORTABLE = "portable"
    SOURCE = "source"

    def tool_names(self, source: str) -> tuple[str, ...]:
        """Return the names of a tool; the first is the one that is listed."""
        portable = source.replace(".", "_")
        both = (portable, source) if self is Spelling.PORTABLE else (source, portable)
        return tuple(dict.fromkeys(both))

    def status_uri(self, run: str) -> str:
        """Return the URI of the resource with everything about a run."""
        return self.uri(STATUS, run)

    def uri(self, scheme: str, name: str) -> str:
        """Return the URI of a resource in this spelling."""
        return build_uri(scheme, name, portable=self is Spelling.PORTABLE)
