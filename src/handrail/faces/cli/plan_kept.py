"""`handrail plan` over the plan in the commit of a project: shown, as it was, exchanged and committed."""

from pathlib import Path
from typing import Final

import click

from handrail.faces.cli.compared import LAST, one_or_diff, print_diff
from handrail.faces.cli.output import (
    Failure,
    NotFound,
    as_json,
    one_line,
    print_json,
    print_table,
    print_text,
)
from handrail.faces.cli.placed import by_vcs, project_option
from handrail.faces.cli.plan_texts import AUTO, Read, plan_in, rows, shown
from handrail.faces.cli.stored import openings
from handrail.plan.data import as_data
from handrail.plan.model import Plan, State
from handrail.plan.stage import detect_stage, is_finished, phase_of, progress
from handrail.plan.tasks import paths
from handrail.shell.carried import Carried, Exchanged, Moved, Version
from handrail.shell.faults import Unreadable
from handrail.shell.reading import whole
from handrail.shell.records import rfc3339
from handrail.shell.vcs import JJ
from handrail.shell.view import PAGE

LINES: Final = 2000
"""How many lines a text may have that is compared with another."""

_FILE: Final = "description"
_SERVER: Final = "a server of `--face planner` or `--face commits`"
_SHORT: Final = 12
_MOVED: Final = {
    Moved.SENT: "sent to `{remote}`, where it stands under `{ref}`",
    Moved.TAKEN: "taken from `{ref}` of `{remote}`",
    Moved.SAME: "`{ref}` of `{remote}` has the same plan already",
    Moved.AHEAD: "the plan here is newer than `{ref}` of `{remote}`: `handrail plan push` sends it",
}

of_project = project_option("The project whose commit has the plan")
named = click.option("--name", help="What the plan is called at the remote; by default as the branch is.")
at_remote = click.argument("remote", required=False)


@click.command()
@of_project
@by_vcs
@as_json
def show(project: Path, vcs: str | None, *, as_json: bool) -> None:
    """Show the plan in the commit of a project: how far it has come, what is next, and what is wrong with it.

    Exits with 1 if the text is no whole plan.
    """
    found = _carried(project, vcs)
    described = found.descriptions.read()
    read = plan_in(described.text, _FILE, AUTO)
    if as_json:
        place = {"vcs": found.kind, "folder": str(found.folder), "change": described.change}
        far = {"stage": detect_stage(read.plan), "phase": str(phase_of(read.plan)), "next": _next(read.plan)}
        told = as_data(read.plan, read.config, described.text)
        dialect = {"dialect": str(read.config.dialect), "state": str(read.plan.state)}
        print_json({**place, **dialect, **far, "text": described.text, "plan": told})
    else:
        place_rows = [("repository", f"{found.kind} in {found.folder}"), ("change", described.change)]
        after = _next(read.plan)
        next_row = [("next", after)] if after else []
        print_table([*place_rows, *rows(read), *next_row], ("part", "what it is"))
        if described.text:
            click.echo()
            print_text(described.text)
    _advise(found.kind, read)


@click.command()
@one_or_diff("version")
@click.option("--after", type=click.IntRange(1, LAST), metavar="NUMBER", help="Go on behind this version.")
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=PAGE, show_default=True, help="How many at most."
)
@of_project
@by_vcs
@as_json
def history(  # noqa: PLR0913 - each option is one argument
    *,
    number: int | None,
    diff: tuple[int, int] | None,
    after: int | None,
    limit: int,
    project: Path,
    vcs: str | None,
    as_json: bool,
) -> None:
    """List every text that the plan in the commit has had, the newest first, or print the one of NUMBER.

    1 is the oldest. In a pipe a text is printed byte for byte; on a terminal, what would give orders to it is
    written out. With `--json`, the one version is `version` with its `text`, and a difference is `diff`.
    """
    if diff and number:
        raise click.UsageError("give NUMBER or --diff, not both")
    found = _carried(project, vcs)
    versions = found.past.versions()
    if diff:
        _print_diff(found, versions, diff, as_json=as_json)
    elif number:
        _print_version(found, versions, number, as_json=as_json)
    else:
        last = len(versions) if after is None else min(after - 1, len(versions))
        _print_versions(found, versions, (max(last - limit, 0), last), as_json=as_json)


@click.command()
@of_project
@by_vcs
def message(project: Path, vcs: str | None) -> None:
    """Print the plan in the commit as it is, for `handrail plan message | git commit -F -`.

    In jj it is the message of its commit already.
    """
    text = _carried(project, vcs).descriptions.read().text
    if not text:
        raise Failure("no_plan", "there is no plan yet", f"begin one with {_SERVER}")
    if not is_finished(plan_in(text, _FILE, AUTO).plan):
        click.echo("the plan is not complete yet", err=True)
    print_text(text)


@click.command()
@at_remote
@named
@of_project
@by_vcs
@as_json
def push(remote: str | None, name: str | None, project: Path, vcs: str | None, *, as_json: bool) -> None:
    """Send the plan of a git worktree to REMOTE, with every text it has had.

    It stands there below `refs/handrail/plans/`. Nothing is written over: where somebody has changed the plan
    meanwhile, it is refused, and both sides are told. A complete plan that stands there is archived.
    """
    found = _carried(project, vcs)
    if found.sharing is None:
        raise _with_the_commit(found, "jj git push --change {change}")
    _print_exchanged(found.sharing.push(remote or "", name or ""), as_json=as_json)


@click.command()
@at_remote
@named
@click.option("--archive", is_flag=True, help="Where both sides changed it: archive yours, and take theirs.")
@of_project
@by_vcs
@as_json
def pull(  # noqa: PLR0913 - each option is one argument
    remote: str | None, name: str | None, project: Path, vcs: str | None, *, archive: bool, as_json: bool
) -> None:
    """Take the plan of a git worktree from REMOTE, and go on with it here.

    Another plan that stands here is archived below `refs/handrail/done/`. Where both sides have changed the
    same plan, it is refused, and both are told.
    """
    found = _carried(project, vcs)
    if found.sharing is None:
        raise _with_the_commit(
            found, "jj git fetch, then jj bookmark track NAME@REMOTE for its bookmark, and jj edit its change"
        )
    _print_exchanged(found.sharing.pull(remote or "", name or "", archive=archive), as_json=as_json)


def _carried(project: Path, vcs: str | None) -> Carried:
    """The description of a project, with all about it."""
    if not project.is_dir():
        raise NotFound("folder", str(project), "name the folder of the project with --project")
    return openings(vcs or "").carried(whole(project))


def _next(plan: Plan) -> str | None:
    """The path of the first open task that has no open ones below it."""
    tasks = plan.tasks or ()
    for index, task in enumerate(tasks):
        rest = tasks[index + 1 :]
        end = next((at for at, one in enumerate(rest) if one.level <= task.level), len(rest))
        if not task.ticked and all(one.ticked for one in rest[:end]):
            return paths(tasks)[index]
    return None


def _advise(kind: str, read: Read) -> None:
    """On stderr, what is wrong with the text and what to do about it."""
    if said := shown(read):
        click.echo(said, err=True)
    if read.plan.state is State.EMPTY:
        click.echo(f"there is no plan yet: {_SERVER} begins one", err=True)
    elif read.plan.state is not State.PARSED:
        by_hand = "mend it with `jj describe`, or " if kind == JJ else ""
        keep = "have the server of `--face planner` set a goal with `keep: true`, which keeps it below"
        click.echo(f"this text is no plan, and nothing writes over it: {by_hand}{keep}", err=True)
        raise SystemExit(Failure.exit_code)


def _print_versions(
    found: Carried, versions: tuple[Version, ...], part: tuple[int, int], *, as_json: bool
) -> None:
    first, last = part
    texts = _texts(found, versions[first:last])
    listed = enumerate(zip(versions[first:last], texts, strict=True), first + 1)
    told = [_version(number, one, text) for number, (one, text) in listed][::-1]
    more = first + 1 if first else None
    if as_json:
        print_json({"versions": told, "next": more})
        return
    cells = [
        tuple(str(one[name]) for name in ("number", "at", "who", "stage", "tasks", "title")) for one in told
    ]
    print_table(cells, ("number", "when", "who", "stage", "tasks", "title"))
    if not told:
        click.echo("no such version", err=True)
    if more:
        click.echo(f"there are more: the same with --after {more}", err=True)


def _version(number: int, version: Version, text: str) -> dict[str, object]:
    """A version as lists show it."""
    plan = plan_in(text, _FILE, AUTO).plan
    done = progress(plan)
    return {
        "number": number,
        "name": version.name,
        "at": rfc3339(version.at),
        "who": version.who,
        "stage": detect_stage(plan),
        "tasks": f"{done.ticked}/{done.total}",
        "title": text.partition("\n")[0],
    }


def _print_version(found: Carried, versions: tuple[Version, ...], number: int, *, as_json: bool) -> None:
    version, text = _one(found, versions, number)
    if as_json:
        print_json({"version": {**_version(number, version, text), "text": text}})
    else:
        print_text(text)


def _print_diff(
    found: Carried, versions: tuple[Version, ...], numbers: tuple[int, int], *, as_json: bool
) -> None:
    (before, old), (after, new) = (_one(found, versions, number) for number in numbers)
    if max(text.count("\n") for text in (old, new)) > LINES:
        repair = "print each with `handrail plan history NUMBER`, and compare them with another program"
        raise Failure("too_long", f"a text of more than {LINES} lines is not compared", repair)
    heads = [
        f"{number} {rfc3339(one.at)} {one.who}" for number, one in zip(numbers, (before, after), strict=True)
    ]
    print_diff((old, new), (heads[0], heads[1]), as_json=as_json)


def _one(found: Carried, versions: tuple[Version, ...], number: int) -> tuple[Version, str]:
    if number > len(versions):
        raise NotFound("version", str(number), "handrail plan history")
    version = versions[number - 1]
    return version, _texts(found, (version,))[0]


def _texts(found: Carried, versions: tuple[Version, ...]) -> tuple[str, ...]:
    try:
        return found.past.texts(tuple(one.name for one in versions))
    except Unreadable as fault:
        raise Unreadable(fault.message, "ask for fewer with --limit") from fault


def _with_the_commit(found: Carried, command: str) -> Failure:
    change = found.descriptions.read().change
    return Failure(
        "with_the_commit",
        "in jj the plan is the description of its commit, and travels with it",
        f"run it yourself: {command.format(change=change[:_SHORT])}",
    )


def _print_exchanged(done: Exchanged, *, as_json: bool) -> None:
    if as_json:
        told = {"remote": done.remote, "ref": done.ref, "moved": str(done.moved)}
        print_json({**told, "archived": done.archived or None})
        return
    click.echo(one_line(_MOVED[done.moved].format(remote=done.remote, ref=done.ref)), err=True)
    if done.archived:
        stood = f"there is kept at `{done.remote}`" if done.moved is Moved.SENT else "here is kept"
        click.echo(one_line(f"what stood {stood} as `{done.archived}`"), err=True)
