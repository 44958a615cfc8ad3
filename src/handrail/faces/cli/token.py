"""`handrail token`: secrets that open a server's way in over HTTP, for a person or a program each."""

from datetime import datetime, timedelta

import click

from handrail.faces.cli.output import Failure, NotFound, as_json, print_json, print_table
from handrail.faces.cli.stored import UNITS, Text, aged, at_store, opened
from handrail.shell.access import NAME, AccessToken, Grant, Scope, new_secret
from handrail.shell.records import rfc3339
from handrail.shell.registry import Registry
from handrail.shell.system import SystemClock

_NEVER = "never"
_ALL = "all"
_LONGEST = timedelta(days=3653)


class Lasting(click.ParamType[timedelta | None]):
    """How long something is good: such as `30d`, or `never` for always."""

    name = "age"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta | None:
        """The time, or None."""
        if value == _NEVER:
            return None
        try:
            lasting = aged(value)
        except OverflowError:
            lasting = None
        if not lasting or lasting > _LONGEST:
            units = ", ".join(UNITS)
            self.fail(
                f"is neither a time like 30d (units: {units}), at most ten years, nor `{_NEVER}`", param, ctx
            )
        return lasting


@click.group()
def token() -> None:
    """Give away, list and revoke the secrets that open this store over HTTP."""


@token.command()
@click.argument("principal", type=Text())
@click.option(
    "--scope",
    "scopes",
    type=click.Choice([str(scope) for scope in Scope]),
    multiple=True,
    required=True,
    help="What it is good for; may be given several times, and none holds another.",
)
@click.option(
    "--project",
    "projects",
    type=Text(),
    multiple=True,
    help="The project it is for, by its name; may be given several times. All that are served by default.",
)
@click.option(
    "--expires", type=Lasting(), default="90d", show_default=True, help="For how long, such as 30d, or never."
)
@at_store
@as_json
def create(  # noqa: PLR0913 - an argument for each option
    principal: str,
    scopes: tuple[str, ...],
    projects: tuple[str, ...],
    expires: timedelta | None,
    store: str | None,
    *,
    as_json: bool,
) -> None:
    """Make a secret for PRINCIPAL, and show it this once: of what is kept, nobody can make it again."""
    if not NAME.fullmatch(principal):
        message = f"`{principal}` is no name of a principal"
        raise Failure("bad_name", message, f"write one that matches {NAME.pattern}")
    secret, now = new_secret(), SystemClock().now()
    with opened(store, made=True) as found:
        _check_known(found.registry, projects)
        grant = Grant(principal, frozenset(map(Scope, scopes)), frozenset(projects) or None)
        made = AccessToken(secret.id, grant, now, now + expires if expires else None)
        found.access.give(secret.digest, made)
    if as_json:
        print_json({"token": {**_as_data(made, now), "secret": secret.text}})
    else:
        click.echo(secret.text)
        click.echo(f"token {secret.id} for {principal}: keep it, it is not shown again", err=True)


@token.command("list")
@at_store
@as_json
def list_(store: str | None, *, as_json: bool) -> None:
    """List the secrets that were given away, without the secrets."""
    now = SystemClock().now()
    with opened(store) as found:
        tokens = found.access.tokens()
    if as_json:
        print_json({"tokens": [_as_data(one, now) for one in tokens]})
        return
    heads = ("id", "principal", "scopes", "", "expires", "last used", "projects")
    print_table([_row(one, now) for one in tokens], heads)


@token.command()
@click.argument("identity", metavar="ID", type=Text())
@at_store
def revoke(identity: str, store: str | None) -> None:
    """Let a secret open nothing any more, from now on."""
    with opened(store) as found:
        if not found.access.revoke(identity, SystemClock().now()):
            raise NotFound("token that is not revoked", identity, "handrail token list")
    click.echo(f"token {identity} opens nothing any more", err=True)


def _check_known(registry: Registry, projects: tuple[str, ...]) -> None:
    """Fail if a project is not served: a name that is added later would be opened by it unawares."""
    known = {one.name for one in registry.projects()}
    for name in projects:
        if name not in known:
            raise NotFound("project", name, "handrail project list, or add it: handrail project add")


def _as_data(one: AccessToken, now: datetime) -> dict[str, object]:
    grant = one.grant
    return {
        "id": one.id,
        "principal": grant.principal,
        "scopes": sorted(grant.scopes),
        "projects": None if grant.projects is None else sorted(grant.projects),
        "standing": _standing(one, now),
        "created": rfc3339(one.created),
        "expires": rfc3339(one.expires) if one.expires else None,
        "used": rfc3339(one.used) if one.used else None,
    }


def _row(one: AccessToken, now: datetime) -> tuple[str, ...]:
    grant = one.grant
    return (
        one.id,
        grant.principal,
        " ".join(sorted(grant.scopes)),
        _standing(one, now),
        rfc3339(one.expires) if one.expires else _NEVER,
        rfc3339(one.used) if one.used else _NEVER,
        _ALL if grant.projects is None else " ".join(sorted(grant.projects)),
    )


def _standing(one: AccessToken, now: datetime) -> str:
    if one.good_at(now):
        return "good"
    return "revoked" if one.revoked else "expired"
