"""`handrail workflows`: what there is, what is in it, whether it is sound, and how it looks."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from handrail.engine.model import Workflow
from handrail.engine.problems import Problem
from handrail.faces.board.texts import catalogue
from handrail.faces.cli.new import new
from handrail.faces.cli.output import Failure, NotFound, as_json, one_line, print_json, print_table
from handrail.faces.cli.pictured import standing
from handrail.faces.cli.placed import in_project, typed
from handrail.faces.cli.shown import as_data, described
from handrail.faces.cli.stored import Text, at_store
from handrail.shell.catalog import (
    Catalog,
    Found,
    Kind,
    Lost,
    beside,
    catalog,
    definition_files,
    kind_of,
    read_source,
    read_text,
)
from handrail.shell.checked import checked
from handrail.shell.pictured import graph_with
from handrail.shell.shelf import Shelf, front_problems
from handrail.shell.trust import Trusted
from handrail.workflows.carets import show_all
from handrail.workflows.draw.folds import graph_of
from handrail.workflows.draw.layout import layout_of
from handrail.workflows.draw.marks import NO_MARKS
from handrail.workflows.draw.svg import svg
from handrail.workflows.draw.text import dot, mermaid
from handrail.workflows.load import Find, Loaded, Source, load


@click.group()
def workflows() -> None:
    """List, show, check, draw and begin workflows."""


workflows.add_command(new)


@workflows.command("list")
@in_project
@as_json
def list_(project: Path, *, as_json: bool) -> None:
    """List every workflow found, whose it is, what it hides, and whether it is trusted.

    What personas and guardrails hide, and what is wrong with them, is told on stderr.
    """
    shelf = Shelf(project, Trusted())
    hiding = {one.file.path: one.trusted for one in shelf.hiding()}
    found, lost = shelf.workflows(), shelf.lost(Kind.WORKFLOW)
    sources = {one.name: one.source for one in found if not one.hidden}
    loaded = [(one, load(one.source, sources.get)) for one in found]
    if as_json:
        entries = [*(_entry(one, of, hiding) for one, of in loaded), *map(_lost_entry, lost)]
        print_json({"workflows": sorted(entries, key=lambda entry: str(entry["name"]))})
    else:
        rows = [(one.name, _whose(one, hiding), _about(of)) for one, of in loaded]
        rows += [(one.name or "-", one.origin, one.problems[0].message) for one in lost]
        print_table(sorted(rows, key=lambda row: row[0]), ("name", "from", "about"))
    for note in _notes(shelf, hiding):
        click.echo(one_line(note), err=True)
    if not all(hiding.values()):
        command = one_line(f"handrail trust{typed(project)}")
        click.echo(f"some files hide others and are not trusted; to look at them: {command}", err=True)


@workflows.command()
@click.argument("name")
@in_project
@as_json
def show(name: str, project: Path, *, as_json: bool) -> None:
    """Show the states and rows of the workflow NAME (or of a workflow file)."""
    workflow, found = _named(catalog(project), name)
    if as_json:
        print_json({"workflow": {**as_data(workflow), "origin": found.origin, "file": str(found.path)}})
    else:
        click.echo(described(workflow, f"{found.origin}, {found.path}"))


@workflows.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@in_project
@as_json
def check(paths: tuple[Path, ...], project: Path, *, as_json: bool) -> None:
    """Check workflow files, or all below folders, and report every problem with its place.

    Personas and guardrails are checked too, where they are looked for: in `agents` and `guardrails` of a
    folder `.handrail`. Exits with 1 if there is any problem, warnings included.
    """
    shelf = catalog(project)
    lost = _lost(project)
    files = [file for path in paths for file in _files(path)]
    problems: list[Problem] = []
    sources: dict[str, str] = {}
    for file in files:
        found, text = _checked(file, shelf, lost)
        problems += found
        sources |= text
    if as_json:
        print_json({"files": [str(file) for file in files], "problems": [_problem(p) for p in problems]})
    elif problems:
        click.echo(show_all(problems, sources))
    else:
        click.echo(f"{len(files)} checked, no problems", err=True)
    if problems:
        raise SystemExit(Failure.exit_code)


@workflows.command()
@click.argument("name", default="")
@click.option("--run", type=Text(), default="", help="Draw how this run stands in its workflow instead.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["mermaid", "dot", "svg"]),
    default="mermaid",
    show_default=True,
    help="Mermaid and DOT are text for other programs, SVG is a picture.",
)
@at_store
@in_project
def graph(name: str, run: str, form: str, store: str | None, project: Path) -> None:
    """Draw the workflow NAME (or a workflow file) on stdout.

    With `--run`, the workflow is the one that the run started with; the picture shows where the run is, where
    it has been, where it can go, and what keeps it from going elsewhere. DOT shows none of that.
    """
    if bool(name) == bool(run):
        raise click.UsageError("give NAME or --run, and not both")
    marks = NO_MARKS
    if run:
        workflow, marks = standing(store, run)
        drawn = graph_with(catalogue(), workflow, marks)
    else:
        workflow, _ = _named(catalog(project), name)
        drawn = graph_of(catalogue(), workflow)
    match form:
        case "svg":
            click.echo(svg(catalogue(), drawn, layout_of(drawn), marks))
        case "dot":
            click.echo(dot(drawn))
        case _:
            click.echo(mermaid(drawn, marks))


def _named(shelf: Catalog, name: str) -> tuple[Workflow, Found]:
    """The workflow of this name, or in this file."""
    found, path = shelf.find(name), Path(name)
    if found is None and path.suffix == ".yaml" and path.is_file():
        found = Found(path.stem, "file", path, read_source(path, shelf.name_of(path)))
    if found is None:
        raise NotFound("workflow", name, "handrail workflows list")
    loaded = load(found.source, _finder(found.path, shelf))
    if loaded.workflow is None:
        message = f"`{name}` has {_counted(loaded.problems)}"
        raise Failure("problems", message, f"handrail workflows check {found.path}")
    return loaded.workflow, found


def _files(path: Path) -> list[Path]:
    files = list(definition_files(path)) if path.exists() or path.is_symlink() else []
    if not files:
        raise NotFound(
            "workflow file", str(path), "give the path of a workflow file, or of a folder with some"
        )
    return files


def _lost(project: Path) -> dict[Path, tuple[Problem, ...]]:
    """Why each file of the project that is passed over is."""
    shelf = Shelf(project, Trusted())
    return {one.path.absolute(): one.problems for kind in Kind for one in shelf.lost(kind)}


def _checked(
    file: Path, shelf: Catalog, lost: Mapping[Path, tuple[Problem, ...]]
) -> tuple[tuple[Problem, ...], dict[str, str]]:
    """The problems of one file, and the texts they point into."""
    if file.absolute() in lost:
        return lost[file.absolute()], {}
    kind = kind_of(file) or Kind.WORKFLOW
    if kind is not Kind.WORKFLOW:
        text = read_text(file)
        return tuple(front_problems(kind, Source(str(file), text))), {str(file): text}
    source = read_source(file, shelf.name_of(file))
    problems = checked(source, _finder(file, shelf)).problems
    return problems, dict(_texts(source, problems))


def _texts(source: Source, problems: tuple[Problem, ...]) -> Iterator[tuple[str, str]]:
    yield source.file, source.text
    yield from source.beside.values()
    for file in {problem.place.file for problem in problems} - {source.file}:
        if file not in dict(source.beside.values()):
            yield file, read_text(Path(file))


def _finder(file: Path, shelf: Catalog) -> Find:
    """Other workflows are looked for beside the file first."""
    near = beside(file)
    return lambda name: near.source(name) or shelf.source(name)


def _whose(found: Found, hiding: Mapping[Path, bool]) -> str:
    words = [found.origin]
    if found.hidden:
        words.append("hidden")
    elif found.hides:
        words.append(f"hides {found.hides.origin}")
        words += [("trusted" if hiding[found.path] else "not trusted")] if found.path in hiding else []
    return ", ".join(words)


def _notes(shelf: Shelf, hiding: Mapping[Path, bool]) -> Iterator[str]:
    """What a list of workflows has no line for."""
    for kind in (Kind.PERSONA, Kind.GUARDRAIL):
        for found in shelf.found(kind):
            if found.hides and not found.hidden:
                yield f"{kind} {found.name}: {_whose(found, hiding)}"
        for problem in shelf.problems(kind):
            yield f"{problem.place.file}:{problem.place.line}: {problem.message}"


def _about(loaded: Loaded) -> str:
    return loaded.workflow.about if loaded.workflow else _counted(loaded.problems)


def _counted(problems: tuple[Problem, ...]) -> str:
    return "1 problem" if len(problems) == 1 else f"{len(problems)} problems"


def _entry(found: Found, loaded: Loaded, hiding: Mapping[Path, bool]) -> dict[str, object]:
    return {
        "name": found.name,
        "origin": found.origin,
        "file": str(found.path),
        "hidden": found.hidden,
        "hides": str(found.hides.path) if found.hides else None,
        "trusted": hiding.get(found.path),
        "about": loaded.workflow.about if loaded.workflow else None,
        "digest": loaded.workflow.digest if loaded.workflow else None,
        "problems": len(loaded.problems),
    }


def _lost_entry(lost: Lost) -> dict[str, object]:
    return {
        "name": lost.name,
        "origin": lost.origin,
        "file": str(lost.path),
        "hidden": False,
        "hides": None,
        "trusted": None,
        "about": None,
        "digest": None,
        "problems": len(lost.problems),
    }


def _problem(problem: Problem) -> dict[str, object]:
    return {
        "code": problem.code,
        "severity": str(problem.severity),
        "file": problem.place.file,
        "line": problem.place.line,
        "column": problem.place.column,
        "length": problem.place.length,
        "message": problem.message,
        "repair": problem.repair,
        "path": list(problem.path),
    }
