"""`handrail trust`: let a project's files be used although they hide others, once a person has looked."""

import shlex
import sys
from pathlib import Path

import click

from handrail.faces.cli.output import Failure, NotFound, as_json, one_line, print_json, print_table
from handrail.faces.cli.placed import in_project, typed
from handrail.shell.catalog import Kind
from handrail.shell.hiding import Untrusted
from handrail.shell.shelf import Hiding, Shelf
from handrail.shell.trust import Mark, Trusted, root_text


@click.command()
@click.argument("words", nargs=-1, metavar="[NAME|PATH]...")
@click.option("--yes", "way", flag_value="yes", help="Do not ask.")
@click.option(
    "--list", "way", flag_value="list", help="Only say which files hide others, and which are trusted."
)
@click.option(
    "--revoke", "way", flag_value="revoke", help="Trust them no longer, whatever they said back then."
)
@in_project
@as_json
def trust(words: tuple[str, ...], way: str | None, project: Path, *, as_json: bool) -> None:
    """Show what a project's files change that hide your own or built-in ones, and trust them.

    Without a name: all of them. Such a file is used only once it is trusted, and is not trusted any more when
    it changes. A file that hides nothing needs no trust. Exits with 1 if one of them was not trusted.
    """
    trusted = Trusted()
    shelf = Shelf(project, trusted)
    match way:
        case "list":
            chosen = _chosen(shelf, words)
        case "revoke":
            _revoke(shelf, trusted, project, words)
            chosen = shelf.hiding()
        case _:
            chosen = _chosen(shelf, words)
            new = [one.file for one in chosen if not one.trusted]
            agreed = _agreed(new, _again(words, project), yes=way == "yes", quiet=as_json)
            trusted.add(map(shelf.mark, agreed))
            chosen = tuple(Hiding(one.file, one.trusted or one.file in agreed) for one in chosen)
    if as_json:
        print_json({"project": root_text(project), "files": list(map(_as_data, chosen))})
    elif way == "list":
        print_table(list(map(_row, chosen)), ("kind", "name", "", "file", "hides"))
    else:
        click.echo(_summary(chosen), err=True)
    if way in {None, "yes"} and not all(one.trusted for one in chosen):
        raise SystemExit(Failure.exit_code)


def _chosen(shelf: Shelf, words: tuple[str, ...]) -> tuple[Hiding, ...]:
    """The files that are meant: those named, or all."""
    hiding = shelf.hiding()
    for word in words:
        if not any(_means(word, one.file) for one in hiding):
            known = [found for kind in Kind for found in shelf.found(kind)]
            if any(word == found.name or Path(word).absolute() == found.path.absolute() for found in known):
                message = f"`{word}` hides nothing else, so it needs no trust"
                raise Failure("needless", message, "handrail trust --list")
            raise NotFound("file that hides another", word, "handrail trust --list")
    return tuple(one for one in hiding if not words or any(_means(word, one.file) for word in words))


def _means(word: str, file: Untrusted) -> bool:
    return word == file.name or Path(word).absolute() == file.path.absolute()


def _again(words: tuple[str, ...], project: Path) -> str:
    """The same command for somebody who cannot be asked."""
    return shlex.join(["handrail", "trust", *words, "--yes"]) + typed(project)


def _agreed(files: list[Untrusted], command: str, *, yes: bool, quiet: bool) -> list[Untrusted]:
    """Those of the files that a person lets be used, once what they change was shown."""
    asks = not yes and not quiet and sys.stdin.isatty()
    agreed = []
    for file in files:
        if not quiet:
            click.echo(f"{_what(file)}\n{file.whole}")
        if yes or (asks and click.confirm(f"Trust the {file.kind} {file.name}?", err=True)):
            agreed.append(file)
    if files and not yes and not asks:
        raise Failure("unconfirmed", f"{_counted(len(files))} not trusted, and nobody was asked", command)
    return agreed


def _revoke(shelf: Shelf, trusted: Trusted, project: Path, words: tuple[str, ...]) -> None:
    here = [mark for mark in trusted.marks() if mark.project == root_text(project)]
    files = [one.file for one in shelf.hiding()]
    gone: list[Mark] = []
    for word in words:
        names = {(file.kind, file.name) for file in files if _means(word, file)}
        meant = [mark for mark in here if mark.name == word or (mark.kind, mark.name) in names]
        if not meant:
            raise NotFound("trusted file", word, "handrail trust --list")
        gone += meant
    trusted.drop(gone if words else here)


def _what(file: Untrusted) -> str:
    return one_line(f"{file.kind} {file.name}: {file.path} hides {file.hides}")


def _row(one: Hiding) -> tuple[str, ...]:
    file = one.file
    return file.kind, file.name, "trusted" if one.trusted else "not trusted", str(file.path), str(file.hides)


def _summary(chosen: tuple[Hiding, ...]) -> str:
    if not chosen:
        return "nothing here hides another file: nothing needs trust"
    return f"{sum(one.trusted for one in chosen)} of {_counted(len(chosen))} trusted"


def _counted(number: int) -> str:
    return "1 file that hides another is" if number == 1 else f"{number} files that hide others are"


def _as_data(one: Hiding) -> dict[str, object]:
    file = one.file
    return {
        "kind": str(file.kind),
        "name": file.name,
        "file": str(file.path),
        "hides": str(file.hides),
        "digest": file.digest,
        "trusted": one.trusted,
        "diff": file.whole,
    }
