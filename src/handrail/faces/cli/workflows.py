"""`handrail workflows`: what there is, what is in it, whether it is sound, and how it looks."""

from collections.abc import Iterator
from pathlib import Path

import click

from handrail.engine.check import check as check_workflow
from handrail.engine.model import Workflow
from handrail.engine.problems import Problem
from handrail.faces.cli.output import Failure, NotFound, as_json, print_json, print_table
from handrail.faces.cli.shown import as_data, described
from handrail.shell.catalog import Catalog, Found, catalog, read_source, read_text, workflow_files
from handrail.workflows.carets import show_all
from handrail.workflows.draw.folds import graph_of
from handrail.workflows.draw.layout import layout_of
from handrail.workflows.draw.svg import svg
from handrail.workflows.draw.text import dot, mermaid
from handrail.workflows.load import Find, Loaded, Source, load

in_project = click.option(
    "--project",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="HANDRAIL_PROJECT",
    default=".",
    help="The project whose .handrail/workflows come first; the current folder by default.",
)


@click.group()
def workflows() -> None:
    """List, show, check and draw workflows."""


@workflows.command("list")
@in_project
@as_json
def list_(project: Path, *, as_json: bool) -> None:
    """List every workflow found, and whose it is."""
    shelf = catalog(project)
    entries = [(found, load(read_source(found.path, found.name), shelf.source)) for found in shelf.all()]
    if as_json:
        print_json({"workflows": [_entry(found, loaded) for found, loaded in entries]})
        return
    rows = [(found.name, _whose(found), _about(loaded)) for found, loaded in entries]
    print_table(rows, ("name", "from", "about"))


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

    Exits with 1 if there is any problem, warnings included.
    """
    shelf = catalog(project)
    files = [file for path in paths for file in _files(path)]
    problems: list[Problem] = []
    sources: dict[str, str] = {}
    for file in files:
        found, text = _checked(file, shelf)
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
@click.argument("name")
@click.option(
    "--format",
    "form",
    type=click.Choice(["mermaid", "dot", "svg"]),
    default="mermaid",
    show_default=True,
    help="Mermaid and DOT are text for other programs, SVG is a picture.",
)
@in_project
def graph(name: str, form: str, project: Path) -> None:
    """Draw the workflow NAME (or a workflow file) on stdout."""
    workflow, _ = _named(catalog(project), name)
    drawn = graph_of(workflow)
    match form:
        case "svg":
            click.echo(svg(drawn, layout_of(drawn)))
        case "dot":
            click.echo(dot(drawn))
        case _:
            click.echo(mermaid(drawn))


def _named(shelf: Catalog, name: str) -> tuple[Workflow, Found]:
    """The workflow of this name, or in this file."""
    path = Path(name)
    found = shelf.find(name) or (Found(path.stem, "file", path) if path.suffix == ".yaml" else None)
    if found is None or not found.path.is_file():
        raise NotFound("workflow", name, "handrail workflows list")
    loaded = load(read_source(found.path, shelf.name_of(found.path)), _finder(found.path, shelf))
    if loaded.workflow is None:
        message = f"`{name}` has {_counted(loaded.problems)}"
        raise Failure("problems", message, f"handrail workflows check {found.path}")
    return loaded.workflow, found


def _files(path: Path) -> list[Path]:
    files = list(workflow_files(path)) if path.exists() else []
    if not files:
        raise NotFound(
            "workflow file", str(path), "give the path of a workflow file, or of a folder with some"
        )
    return files


def _checked(file: Path, shelf: Catalog) -> tuple[tuple[Problem, ...], dict[str, str]]:
    """The problems of one file, and the texts they point into."""
    source = read_source(file, shelf.name_of(file))
    loaded = load(source, _finder(file, shelf))
    problems = loaded.problems or (check_workflow(loaded.workflow) if loaded.workflow else ())
    return problems, dict(_texts(source, problems))


def _texts(source: Source, problems: tuple[Problem, ...]) -> Iterator[tuple[str, str]]:
    yield source.file, source.text
    yield from source.beside.values()
    for file in {problem.place.file for problem in problems} - {source.file}:
        if file not in dict(source.beside.values()):
            yield file, read_text(Path(file))


def _finder(file: Path, shelf: Catalog) -> Find:
    """Other workflows are looked for beside the file first."""
    beside = Catalog((("beside", file.parent),))
    return lambda name: beside.source(name) or shelf.source(name)


def _whose(found: Found) -> str:
    return f"{found.origin}, hidden" if found.hidden else found.origin


def _about(loaded: Loaded) -> str:
    return loaded.workflow.about if loaded.workflow else _counted(loaded.problems)


def _counted(problems: tuple[Problem, ...]) -> str:
    return "1 problem" if len(problems) == 1 else f"{len(problems)} problems"


def _entry(found: Found, loaded: Loaded) -> dict[str, object]:
    return {
        "name": found.name,
        "origin": found.origin,
        "file": str(found.path),
        "hidden": found.hidden,
        "about": loaded.workflow.about if loaded.workflow else None,
        "digest": loaded.workflow.digest if loaded.workflow else None,
        "problems": len(loaded.problems),
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
