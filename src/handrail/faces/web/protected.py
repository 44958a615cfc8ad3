"""A server as a resource that OAuth protects (RFC 9728): what clients are told of it before they come in."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from mcp.server.auth.routes import create_protected_resource_routes
from pydantic import AnyHttpUrl, ConfigDict, TypeAdapter
from starlette.routing import Route

from handrail.shell.access import Scope

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
USUAL: Final = (Scope.READ, Scope.WRITE)
"""What an agent needs; for more, it is told what when it asks."""

_URL: Final = TypeAdapter(AnyHttpUrl, config=ConfigDict(url_preserve_empty_path=True))
"""An address without a path stays without one: clients compare it as a text."""


@dataclass(frozen=True, slots=True)
class Protected:
    """A server and its issuer. `url` is what clients call the server, and `faces` are the paths in it."""

    url: str
    issuer: str
    faces: frozenset[str]

    def is_open(self, path: str) -> bool:
        """Whether anybody may read this: who gives out tokens for the server, or for one of its faces."""
        face = path.removeprefix(WELL_KNOWN)
        return face != path and (not face or face in self.faces)

    def audiences(self, path: str) -> tuple[str, ...]:
        """For whom a token shown at this path may be: for all of the server, or for the face there."""
        return (self.url, f"{self.url}{path}") if path in self.faces else (self.url,)

    def challenge(self, path: str, scopes: Iterable[Scope] = USUAL, error: str = "") -> str:
        """How a client at this path learns what is missing, and where tokens are given out."""
        told = {
            "error": error,
            "scope": " ".join(scopes),
            "resource_metadata": f"{self.url}{WELL_KNOWN}{path if path in self.faces else ''}",
        }
        return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in told.items() if value)

    def routes(self) -> list[Route]:
        """A page of metadata for the server, and for each of its faces."""
        issuer = _URL.validate_python(self.issuer)
        return [
            route
            for face in ("", *sorted(self.faces))
            for route in create_protected_resource_routes(
                _URL.validate_python(f"{self.url}{face}"), [issuer], list(USUAL), "Handrail"
            )
        ]
