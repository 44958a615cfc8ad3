"""`handrail token` and `handrail project`: who may use a store over HTTP, and which projects it serves.

Both work on the store only; a server that is already running follows the change.
"""

from datetime import datetime, timedelta
from pathlib import Path

import click

from handrail.app.projects import describe_overlap
from handrail.cli.options import TextParam, check_root, store_option
from handrail.cli.output import Failure, NotFound, json_option, print_json, print_table
from handrail.cli.store import open_cli_app
from handrail.runtime.ports.access import (
    PROJECT_NAME,
    TOKEN_NAME,
    AccessScope,
    AccessToken,
    Grant,
    RegisteredProject,
    create_secret,
)
from handrail.runtime.records import format_rfc3339, project_id
from handrail.runtime.system import AGE_UNITS, SystemClock, parse_age, resolve_path

_NEVER = "never"
_MAX_LIFETIME = timedelta(days=3653)


class LifetimeParam(click.ParamType[timedelta | None]):
    """How long a token is valid, such as `30d`; `never` if it does not expire."""

    name = "age"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta | None:
        """Return the lifetime; None if the token does not expire."""
        if value == _NEVER:
            return None
        try:
            lifetime = parse_age(value)
        except OverflowError:
            lifetime = None
        if not lifetime or lifetime > _MAX_LIFETIME:
            units = f"(units: {', '.join(AGE_UNITS)})"
            self.fail(f"is neither a time like 30d {units}, at most ten years, nor `{_NEVER}`", param, ctx)
        return lifetime


@click.group()
def token() -> None:
    """Give away, list and revoke the secrets that open this store over HTTP."""


@token.command()
@click.argument("principal", type=TextParam())
@click.option(
    "--scope",
    "scopes",
    type=click.Choice([str(scope) for scope in AccessScope]),
    multiple=True,
    required=True,
    help="What it is good for; may be given several times, and none holds another.",
)
@click.option(
    "--project",
    "projects",
    type=TextParam(),
    multiple=True,
    help="The project it is for, by its name; may be given several times. All that are served by default.",
)
@click.option(
    "--expires",
    type=LifetimeParam(),
    default="90d",
    show_default=True,
    help="For how long, such as 30d, or never.",
)
@store_option
@json_option
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
    if not TOKEN_NAME.fullmatch(principal):
        message = f"`{principal}` is no name of a principal"
        raise Failure("bad_name", message, f"write one that matches {TOKEN_NAME.pattern}")
    secret, now = create_secret(), SystemClock().now()
    with open_cli_app(store, create=True) as app:
        # A token for an unknown name would open any project that is added under that name later.
        known = {one.name for one in app.store.registry.projects()}
        if unknown := [name for name in projects if name not in known]:
            repair = "handrail project list, or add it: handrail project add"
            raise NotFound("project", unknown[0], repair)
        grant = Grant(principal, frozenset(map(AccessScope, scopes)), frozenset(projects) or None)
        made = AccessToken(secret.id, grant, now, now + expires if expires else None)
        app.store.access.add_token(secret.digest, made)
    if as_json:
        print_json({"token": {**_token_data(made, now), "secret": secret.text}})
    else:
        click.echo(secret.text)
        click.echo(f"token {secret.id} for {principal}: keep it, it is not shown again", err=True)


@token.command("list")
@store_option
@json_option
def list_tokens(store: str | None, *, as_json: bool) -> None:
    """List the secrets that were given away, without the secrets."""
    now = SystemClock().now()
    with open_cli_app(store) as app:
        tokens = app.store.access.tokens()
    if as_json:
        print_json({"tokens": [_token_data(one, now) for one in tokens]})
        return
    rows = [
        (
            one.id,
            one.grant.principal,
            " ".join(sorted(one.grant.scopes)),
            _token_status(one, now),
            format_rfc3339(one.expires) if one.expires else _NEVER,
            format_rfc3339(one.used) if one.used else _NEVER,
            "all" if one.grant.projects is None else " ".join(sorted(one.grant.projects)),
        )
        for one in tokens
    ]
    print_table(rows, ("id", "principal", "scopes", "", "expires", "last used", "projects"))


@token.command()
@click.argument("identity", metavar="ID", type=TextParam())
@store_option
def revoke(identity: str, store: str | None) -> None:
    """Let a secret open nothing any more, from now on."""
    with open_cli_app(store) as app:
        if not app.store.access.revoke(identity, SystemClock().now()):
            raise NotFound("token that is not revoked", identity, "handrail token list")
    click.echo(f"token {identity} opens nothing any more", err=True)


def _token_data(one: AccessToken, now: datetime) -> dict[str, object]:
    grant = one.grant
    return {
        "id": one.id,
        "principal": grant.principal,
        "scopes": sorted(grant.scopes),
        "projects": None if grant.projects is None else sorted(grant.projects),
        "standing": _token_status(one, now),
        "created": format_rfc3339(one.created),
        "expires": format_rfc3339(one.expires) if one.expires else None,
        "used": format_rfc3339(one.used) if one.used else None,
    }


def _token_status(one: AccessToken, now: datetime) -> str:
    return "good" if one.is_valid_at(now) else "revoked" if one.revoked else "expired"


@click.group()
def project() -> None:
    """Add, list and remove the projects that this store's server serves over HTTP."""


@project.command()
@click.argument("name", type=TextParam())
@click.argument("root", type=click.Path(path_type=Path))
@store_option
@json_option
def add(name: str, root: Path, store: str | None, *, as_json: bool) -> None:
    """Have the project in the folder ROOT served as NAME, also by a server that runs already."""
    if not PROJECT_NAME.fullmatch(name):
        message = f"`{name}` is no name of a project"
        raise Failure("bad_name", message, f"write one that matches {PROJECT_NAME.pattern}")
    if not root.is_dir():
        raise Failure("no_project", f"there is no folder {root}", "make it, or name the one that is meant")
    folder = resolve_path(root)
    check_root(folder, "name the folder of a project")
    with open_cli_app(store, create=True) as app:
        made = RegisteredProject(name, str(folder), SystemClock().now())
        for other in app.store.registry.projects():
            if other.name == name:
                message = f"`{name}` is the project in {other.root} already"
                repair = f"choose another name, or: handrail project remove {name}"
                raise Failure("taken", message, repair)
            if common := describe_overlap(folder, Path(other.root)):
                message = f"{folder} is not apart from `{other.name}` in {other.root}: {common}"
                repair = f"use `{other.name}` for both, or: handrail project remove {other.name}"
                raise Failure("not_apart", message, repair)
        if not app.store.registry.add(made):
            raise Failure("taken", f"`{name}` was added by somebody else just now", "handrail project list")
    if as_json:
        print_json({"project": _project_data(made)})
    else:
        click.echo(f"project {name} is served from {folder}", err=True)


@project.command("list")
@store_option
@json_option
def list_projects(store: str | None, *, as_json: bool) -> None:
    """List the projects that are served over HTTP."""
    with open_cli_app(store) as app:
        projects = app.store.registry.projects()
    if as_json:
        print_json({"projects": [_project_data(one) for one in projects]})
    else:
        rows = [(one.name, one.root, format_rfc3339(one.created)) for one in projects]
        print_table(rows, ("name", "root", "since"))


@project.command()
@click.argument("name", type=TextParam())
@store_option
@json_option
def remove(name: str, store: str | None, *, as_json: bool) -> None:
    """Serve the project NAME no longer; its runs and its files stay as they are."""
    with open_cli_app(store) as app:
        gone = next((one for one in app.store.registry.projects() if one.name == name), None)
        if gone is None or not app.store.registry.remove(name):
            raise NotFound("project", name, "handrail project list")
    if as_json:
        print_json({"project": _project_data(gone)})
    else:
        kept = f"its runs are kept: handrail runs list --project {gone.root}"
        click.echo(f"project {name} is served no longer; {kept}", err=True)


def _project_data(one: RegisteredProject) -> dict[str, object]:
    return {
        "name": one.name,
        "root": one.root,
        "project_id": project_id(one.root),
        "created": format_rfc3339(one.created),
    }
