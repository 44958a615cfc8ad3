"""A server as a resource that OAuth protects (RFC 9728): what clients are told of it before they come in."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from handrail.shell.access import Scope

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
USUAL: Final = (Scope.READ, Scope.WRITE)
"""What an agent needs; for more, it is told what when it asks."""


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
        return [self._route(face) for face in ("", *sorted(self.faces))]

    def _route(self, face: str) -> Route:
        page = JSONResponse(
            {
                "resource": f"{self.url}{face}",
                "authorization_servers": [self.issuer],
                "scopes_supported": list(USUAL),
                "bearer_methods_supported": ["header"],
                "resource_name": "Handrail",
            }
        )

        async def told(_: Request) -> JSONResponse:
            return page

        return Route(WELL_KNOWN + face, told, methods=["GET"])
