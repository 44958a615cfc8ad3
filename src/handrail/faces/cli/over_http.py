"""`handrail serve --http`: where it listens, and who comes in. Where others could, nobody does unasked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from handrail.faces.cli.output import Failure
from handrail.shell.opening import rate

if TYPE_CHECKING:
    from handrail.faces.mcp.names import Names
    from handrail.faces.mcp.server import Served
    from handrail.faces.mcp.spans import Spans
    from handrail.faces.web.address import Address, Before
    from handrail.faces.web.app import Behind
    from handrail.faces.web.issued import Issued
    from handrail.faces.web.metrics import Metrics
    from handrail.faces.web.sessions import Allowed
    from handrail.shell.opening import Openings, Serving
    from handrail.shell.store_address import Where


@dataclass(frozen=True, slots=True)
class Asking:
    """Which tokens are asked for, as the command line says it: the kinds, and what is told of the issuer."""

    auth: tuple[str, ...]
    issuer: str
    audience: str
    claim: str

    def kinds(self, where: "Address") -> frozenset[str]:
        """The kinds of tokens that open a server there; none if nobody is asked."""
        usual = ("oauth",) if self.issuer else ("none",) if where.is_loopback else ("token",)
        kinds = frozenset(self.auth or usual)
        if self.issuer and "oauth" not in kinds:
            message = f"tokens of {self.issuer} are not asked for"
            raise Failure("no_authentication", message, "say --auth oauth, or leave --issuer out")
        if "none" in kinds and len(kinds) > 1:
            message = "nobody is asked who they are, and yet tokens are asked for"
            raise Failure("no_authentication", message, "leave --auth none out, or the rest")
        if kinds == {"none"} and not where.is_loopback:
            message = f"{where.host} is reached from other machines, and nobody is asked who they are"
            raise Failure("no_authentication", message, "leave --auth out, or listen at 127.0.0.1 or [::1]")
        return kinds - {"none"}


@dataclass(frozen=True, slots=True)
class Over:
    """What is served: these faces of the projects in these folders, the names that are listed, the store.

    `spans` is told of calls, if somebody wants to trace them.
    """

    opens: "Openings"
    faces: tuple[str, ...]
    roots: tuple[Path, ...]
    names: "Names"
    store: "Where"
    spans: "Spans | None"


@dataclass(frozen=True, slots=True)
class OverHttp:
    """How faces are served over HTTP, and what is counted of them."""

    metrics: "Metrics"
    run: Callable[["Serving", Over], bool]


def over(
    given: str,
    asking: Asking,
    before: "Before",
    projects: tuple[Path, ...] = (),
    *,
    replicas: bool = False,
) -> OverHttp:
    """How faces are served there, through what, and with which tokens."""
    from handrail.faces.web.address import address
    from handrail.faces.web.limits import Limits
    from handrail.faces.web.metrics import Metrics
    from handrail.faces.web.run import run
    from handrail.faces.web.sessions import allowed
    from handrail.faces.web.who import Door

    where = address(given)
    kinds = asking.kinds(where)
    names = _names(where, asking.audience if "oauth" in kinds else "", before.names)
    if kinds and projects:
        message = "where tokens are asked for, only projects that have a name are served"
        repair = f"handrail project add NAME {projects[0]}, then leave --project and HANDRAIL_PROJECT out"
        raise Failure("no_name", message, repair)
    limits, may, metrics = Limits(rate()), allowed(sessions=not replicas), Metrics()
    issued = _issued(asking, where) if "oauth" in kinds else None

    def served(serving: "Serving", what: Over) -> bool:
        clock, access = serving.world.clock, serving.access if "token" in kinds else None
        if kinds:
            _check_open(serving, tokens_only=issued is None)
        given = {} if kinds else _by_folder(serving, what.roots)
        behind = _behind(serving, what, given, metrics, may)
        door = Door(access, clock, limits, issued, asking.audience)
        return run(where, door, behind, replace(before, names=names), may.limit)

    return OverHttp(metrics, served)


def _names(where: "Address", audience: str, known_as: frozenset[str]) -> frozenset[str]:
    """The names by which requests may call the server, besides where it listens."""
    names = frozenset(name for given in known_as for name in _usual(given)) | _named(audience)
    if where.is_anywhere and not names:
        message = f"at {where.host} nobody knows what the server is called"
        raise Failure("no_name", message, "say what requests call it with --known-as HOST:PORT")
    return names


def _behind(
    serving: "Serving", what: Over, given: "Mapping[str, Path]", metrics: "Metrics", may: "Allowed"
) -> "Behind":
    """The faces and the pages of a server."""
    from handrail.faces.board.boards import Boards
    from handrail.faces.board.served import ServedPages, boards
    from handrail.faces.web.app import Behind
    from handrail.faces.web.serving import Known, tenants

    def told(face: str, served: "Served") -> None:
        served.meter = partial(metrics.called, face)
        if what.spans:
            served.trace(what.spans.carried)

    known = Known(serving, given, what.store)
    everybody = tenants(serving, what.opens, what.faces, known, what.names, allowed=may, told=told)
    pages = ServedPages(Boards(boards(serving, what.opens, known), everybody.halted), serving.secret)
    return Behind(everybody, metrics, serving.strain, pages)


def _check_open(serving: "Serving", *, tokens_only: bool) -> None:
    """Fail if nobody could come in, or would find anything there."""
    now = serving.world.clock.now()
    if tokens_only and not any(token.good_at(now) for token in serving.access.tokens()):
        repair = "handrail token create NAME --scope run:read --scope run:write"
        raise Failure("no_authentication", "no token is good, so nobody could come in", repair)
    if not serving.registry.projects():
        repair = "handrail project add NAME ROOT"
        raise Failure("no_project", "no project is served, so there is nothing to do", repair)


def _by_folder(serving: "Serving", roots: tuple[Path, ...]) -> dict[str, Path]:
    """The projects of the command line by the names of their folders; one that has a name keeps it."""
    taken = {one.name: Path(one.root) for one in serving.registry.projects()}
    found: dict[str, Path] = {}
    for root in (root for root in roots if root not in taken.values()):
        if (other := {**taken, **found}.get(root.name)) is not None:
            message = f"{root} and {other} would both be called `{root.name}`"
            raise Failure("taken", message, f"give it another name: handrail project add NAME {root}")
        found[root.name] = root
    return found


def _named(audience: str) -> frozenset[str]:
    """The names of a server in `Host`, by what its clients call it; a usual port may be left out."""
    if not audience:
        return frozenset()
    from handrail.faces.web.issuer import is_web

    parts = urlsplit(audience)
    if not is_web(audience, whole=True) or parts.path:
        message = f"`{audience}` is not what clients call a server"
        repair = "write --audience as https://HOST or https://HOST:PORT; http is for this machine only"
        raise Failure("no_audience", message, repair)
    usual = ":443" if parts.scheme == "https" else ":80"
    return _usual(parts.netloc if parts.port else parts.netloc + usual)


def _usual(name: str) -> frozenset[str]:
    """A name in `Host`: clients leave out a port that is the usual one."""
    return frozenset({name, name.removesuffix(":443").removesuffix(":80")})


def _issued(asking: Asking, where: "Address") -> "Issued":
    """How tokens of the issuer are read. Raises `NoIssuer` if it cannot be reached."""
    from handrail.faces.web.issued import Issued
    from handrail.faces.web.issuer import find_keys

    if not asking.issuer:
        raise Failure("no_issuer", "nobody is named who gives out tokens", "name them with --issuer URL")
    if not (asking.audience or where.is_loopback):
        message = f"for whom tokens are given out that open {where.host} is not said"
        raise Failure("no_audience", message, "say what clients call this server with --audience URL")
    return Issued(asking.issuer, find_keys(asking.issuer), asking.claim)
