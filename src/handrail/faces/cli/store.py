"""`handrail store`: where runs are kept, whether it is sound, and making room in it."""

from datetime import datetime
from pathlib import Path

import click
from msgspec.structs import asdict

from handrail.faces.cli.output import Failure, NotFound, as_json, confirm, one_line, print_json, print_table
from handrail.faces.cli.progress import followed
from handrail.faces.cli.stored import Moment, Text, at_store, opened, openings
from handrail.shell.faults import Fault
from handrail.shell.homes import data_folder
from handrail.shell.opening import Store, rebuilt
from handrail.shell.store_address import Where, located
from handrail.shell.system import SystemClock


@click.group()
def store() -> None:
    """Look after the place where runs are kept."""


@store.command()
@at_store
@as_json
def path(store: str | None, *, as_json: bool) -> None:
    """Print which file or database the store is, whether it is there or not."""
    where = located(store or "")
    if as_json:
        print_json({"path": str(where), "exists": _exists(where)})
    else:
        click.echo(one_line(str(where)))


@store.command()
@at_store
@as_json
def check(store: str | None, *, as_json: bool) -> None:
    """Check the file and every run in it, and report all damage.

    Exits with 1 if there is any. Others may go on working meanwhile.
    """
    with opened(store) as found:
        damage = list(found.keeper.check())
        size = found.keeper.size()
    if as_json:
        told = [asdict(one) for one in damage]
        print_json({"path": str(found.path), "bytes": size, "damage": told})
    else:
        print_table([(one.code, one.run, one.message) for one in damage], ("code", "run", "damage"))
    if damage:
        repair = "stop what uses it and restore a backup; `handrail runs export RUN` saves what can be read"
        click.echo(f"{len(damage)} found in {one_line(str(found.path))}\n  {repair}", err=True)
        raise SystemExit(Failure.exit_code)
    if not as_json:
        click.echo("no damage", err=True)


@store.command()
@at_store
@as_json
def vacuum(store: str | None, *, as_json: bool) -> None:
    """Give space that is not used any more back to the disk. Others wait meanwhile."""
    with opened(store) as found:
        before, after = found.keeper.vacuum()
    if as_json:
        print_json({"path": str(found.path), "before": before, "after": after})
    else:
        click.echo(f"{before} bytes before, {after} bytes now", err=True)


@store.command()
@click.option(
    "--older-than", type=Moment(), required=True, help="Runs that ended this long ago: 30d, 12h, 2w."
)
@click.option(
    "--archive",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to move them to; by default one named by the day, in `archive` beside the store.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@at_store
@as_json
def prune(older_than: datetime, archive: Path | None, store: str | None, *, yes: bool, as_json: bool) -> None:
    """Move runs that ended long ago out of the store, into an archive.

    They are deleted once the archive was read back. It never takes the place of a file: a number is put
    behind its name. The newest run stays, and so does the run of the newest event: no number is given twice.
    """
    with opened(store) as found:
        wanted = archive or _archive(found)
        count = found.keeper.old(older_than)
        if count and not yes:
            confirm(f"{count} runs would be moved to {wanted}")
        pruned = found.keeper.prune(older_than, wanted, _tell) if count else None
    if as_json:
        counts = {"archived": asdict(pruned.archived), "kept": pruned.kept} if pruned else {}
        print_json({"archive": str(pruned.archive) if pruned else None, **counts})
    elif pruned is None:
        click.echo("nothing is that old", err=True)
    else:
        click.echo(one_line(str(pruned.archive)))
        click.echo(
            f"{pruned.archived.runs - pruned.kept} runs moved; `handrail store vacuum` gives room", err=True
        )


@store.command()
@click.argument("source", metavar="FROM", type=Text())
@click.argument("target", metavar="TO", type=Text())
@as_json
def copy(source: str, target: str, *, as_json: bool) -> None:
    """Make TO a store with everything that FROM has: a file, or postgresql://user@host/name, either way.

    TO must be new: a file that is not there, or an empty database. It becomes a store when all of it was
    read back; until then nothing opens it. Stopped half-way, say the same again: what is there already is
    compared, and the copy goes on behind it. Stop what serves FROM: a copy that is behind it is refused.
    """
    there, wanted = located(source), located(target)
    if not openings().there(there):
        raise NotFound("store", str(there), "name the store to copy first, and the new one behind it")
    with followed() as told:
        made = openings().copied(there, wanted, told)
    if as_json:
        shape = {"from": str(there), "to": str(wanted), "continued": made.continued, "tables": made.tables}
        print_json(shape)
    else:
        print_table([(name, str(rows)) for name, rows in made.tables.items()], ("table", "rows"))


@store.command()
@click.option(
    "--project",
    "projects",
    multiple=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Look here too, besides the projects that the store knows. Can be given several times.",
)
@at_store
@as_json
def rebuild(projects: tuple[Path, ...], store: str | None, *, as_json: bool) -> None:
    """Show runs that are kept in files as their files have them.

    Such a run lives in its project; the store only mirrors it. What is missing here is brought over, and a
    mirror that is not what the run's own journal says is made anew. A store that was lost is made.
    """
    with opened(store, made=True) as found:
        brought = list(rebuilt(found.mirrors, openings().folder, projects))
    if as_json:
        print_json({"path": str(found.path), "runs": [asdict(one) for one in brought]})
    else:
        print_table(
            [(one.run, str(one.entries), one.folder) for one in brought], ("run", "entries", "folder")
        )


def _exists(where: Where) -> bool:
    """True if there is a store; one that cannot be reached is none."""
    try:
        return openings().there(where)
    except Fault:
        return False


def _archive(found: Store) -> Path:
    home = found.path.parent if isinstance(found.path, Path) else data_folder()
    return home / "archive" / f"runs-{SystemClock().now():%Y-%m-%d}.jsonl.gz"


def _tell(text: str) -> None:
    click.echo(one_line(text), err=True)
