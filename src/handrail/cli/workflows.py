"""`handrail workflows` and `handrail trust`: list, show, check, draw and start workflows, and trust files.

Trust concerns a project's files that hide the user's or the built-in ones: a person must allow their use.
"""

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from handrail.app.catalog import (
    PROJECT_ORIGIN,
    WORKFLOW_FILE_NAME,
    Catalog,
    DefinitionKind,
    FoundDefinition,
    SkippedFile,
    detect_kind,
    find_definition_files,
    open_catalog,
    open_sibling_catalog,
    read_source,
    read_text,
)
from handrail.app.definitions import Definitions, HidingFile, check_source, find_front_matter_problems
from handrail.app.faces import load_message_catalog
from handrail.app.run_pictures import build_run_graph
from handrail.app.trust import TrustMark, TrustStore, UntrustedFile, format_root
from handrail.app.workflow_view import format_workflow, workflow_data
from handrail.cli.options import TextParam, format_project_option, store_option, workflows_project_option
from handrail.cli.output import Failure, NotFound, json_option, print_json, print_table
from handrail.documents.text import escape_for_terminal
from handrail.drawing.diagrams import format_dot, format_mermaid
from handrail.drawing.graph import build_graph
from handrail.drawing.layout import lay_out_graph
from handrail.drawing.marks import NO_MARKS
from handrail.drawing.svg import draw_graph_svg
from handrail.engine.model import Workflow
from handrail.engine.problems import Problem
from handrail.stores.files.disk import DiskWorkspace
from handrail.workflows.load import LoadResult, SourceFinder, WorkflowSource, load_workflow
from handrail.workflows.nodes import NAME_PATTERN
from handrail.workflows.problem_report import format_problems

NEW_WORKFLOW_FILE: Final = Path(__file__).with_name("new.yaml")
_NAME_LINE: Final = "workflow: NAME"


@click.command()
@click.argument("name")
@click.option("--hide", is_flag=True, help="Make it even if it hides one of yours, or a built-in one.")
@workflows_project_option
def new(name: str, project: Path, *, hide: bool) -> None:
    """Begin the workflow NAME in a project: a file that works as it stands, with comments on what to change.

    A file that is there is never written over.
    """
    file = f"{name}{DefinitionKind.WORKFLOW.suffix}"
    if not NAME_PATTERN.fullmatch(name) or file == WORKFLOW_FILE_NAME:
        repair = "use letters, digits, `_`, `-` and `.`, beginning with a letter, at most 64"
        raise Failure("bad_name", f"a workflow cannot be called `{name}`", repair)
    folder = open_catalog(project).racks[0]
    disk = DiskWorkspace(project, folder.path.relative_to(project).as_posix())
    if {name, file} & set(disk.names("")):
        raise Failure(
            "exists", f"{folder.path / file} is there already", "choose another name, or change that file"
        )
    hidden = next(
        (one for one in open_catalog(project).all() if one.name == name and one.origin != PROJECT_ORIGIN),
        None,
    )
    if hidden and not hide:
        repair = "choose another name, or say --hide: then it is used only after `handrail trust`"
        raise Failure("hides", f"`{name}` is a {hidden.origin} workflow, which this one would hide", repair)
    text = NEW_WORKFLOW_FILE.read_text("utf-8").replace(_NAME_LINE, f"workflow: {name}", 1)
    disk.mkdir("")
    disk.write(file, text.encode())
    disk.sync("")
    click.echo(escape_for_terminal(str(folder.path / file)))
    option = format_project_option(project)
    if hidden:
        click.echo(f"it hides another: no run starts before `handrail trust {name}{option}`", err=True)
    click.echo("change it as its comments say, then:", err=True)
    check_command = f"handrail workflows check {escape_for_terminal(shlex.quote(str(folder.path / file)))}"
    click.echo(f"  {check_command}", err=True)
    click.echo(f"  handrail workflows show {name}{escape_for_terminal(option)}", err=True)


@click.group()
def workflows() -> None:
    """List, show, check, draw and begin workflows."""


workflows.add_command(new)


@workflows.command("list")
@workflows_project_option
@json_option
def list_workflows(project: Path, *, as_json: bool) -> None:
    """List every workflow found, whose it is, what it hides, and whether it is trusted.

    What personas and guardrails hide, and what is wrong with them, is told on stderr.
    """
    definitions = Definitions(project, TrustStore())
    hiding = {one.file.path: one.trusted for one in definitions.list_hiding_files()}
    found, skipped = definitions.workflows(), definitions.list_skipped(DefinitionKind.WORKFLOW)
    sources = {one.name: one.source for one in found if not one.hidden}
    loaded = [(one, load_workflow(one.source, sources.get)) for one in found]
    if as_json:
        entries = [*(_workflow_entry(one, of, hiding) for one, of in loaded), *map(_skipped_entry, skipped)]
        print_json({"workflows": sorted(entries, key=lambda entry: str(entry["name"]))})
    else:
        rows = [
            (
                one.name,
                _describe_origin(one, hiding),
                of.workflow.about if of.workflow else _count_problems(of.problems),
            )
            for one, of in loaded
        ]
        rows += [(one.name or "-", one.origin, one.problems[0].message) for one in skipped]
        print_table(sorted(rows, key=lambda row: row[0]), ("name", "from", "about"))
    for note in _list_notes(definitions, hiding):
        click.echo(escape_for_terminal(note), err=True)
    if not all(hiding.values()):
        command = escape_for_terminal(f"handrail trust{format_project_option(project)}")
        click.echo(f"some files hide others and are not trusted; to look at them: {command}", err=True)


@workflows.command()
@click.argument("name")
@workflows_project_option
@json_option
def show(name: str, project: Path, *, as_json: bool) -> None:
    """Show the states and rows of the workflow NAME (or of a workflow file)."""
    workflow, found = _load_workflow(open_catalog(project), name)
    if as_json:
        print_json({"workflow": {**workflow_data(workflow), "origin": found.origin, "file": str(found.path)}})
    else:
        click.echo(format_workflow(workflow, f"{found.origin}, {found.path}"))


@workflows.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@workflows_project_option
@json_option
def check(paths: tuple[Path, ...], project: Path, *, as_json: bool) -> None:
    """Check workflow files, or all below folders, and report every problem with its place.

    Personas and guardrails are checked too, where they are looked for: in `agents` and `guardrails` of a
    folder `.handrail`. Exits with 1 if there is any problem, warnings included.
    """
    catalog, definitions = open_catalog(project), Definitions(project, TrustStore())
    skipped = {
        one.path.absolute(): one.problems for kind in DefinitionKind for one in definitions.list_skipped(kind)
    }
    files: list[Path] = []
    for path in paths:
        found = list(find_definition_files(path)) if path.exists() or path.is_symlink() else []
        if not found:
            repair = "give the path of a workflow file, or of a folder with some"
            raise NotFound("workflow file", str(path), repair)
        files += found
    problems: list[Problem] = []
    texts: dict[str, str] = {}
    for file in files:
        if file.absolute() in skipped:
            problems += skipped[file.absolute()]
        elif (kind := detect_kind(file) or DefinitionKind.WORKFLOW) is DefinitionKind.WORKFLOW:
            source = read_source(file, catalog.name_of(file))
            file_problems = check_source(source, _build_finder(file, catalog)).problems
            problems += file_problems
            texts |= {source.file: source.text, **dict(source.beside.values())}
            texts |= {
                other: read_text(Path(other))
                for other in {problem.place.file for problem in file_problems} - texts.keys()
            }
        else:
            text = texts[str(file)] = read_text(file)
            problems += find_front_matter_problems(kind, WorkflowSource(str(file), text))
    if as_json:
        print_json({"files": [str(file) for file in files], "problems": [_problem_data(p) for p in problems]})
    elif problems:
        click.echo(format_problems(problems, texts))
    else:
        click.echo(f"{len(files)} checked, no problems", err=True)
    if problems:
        raise SystemExit(Failure.exit_code)


@workflows.command()
@click.argument("name", default="")
@click.option("--run", type=TextParam(), default="", help="Draw how this run stands in its workflow instead.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["mermaid", "dot", "svg"]),
    default="mermaid",
    show_default=True,
    help="Mermaid and DOT are text for other programs, SVG is a picture.",
)
@store_option
@workflows_project_option
def graph(name: str, run: str, form: str, store: str | None, project: Path) -> None:
    """Draw the workflow NAME (or a workflow file) on stdout.

    With `--run`, the workflow is the one that the run started with; the picture shows where the run is, where
    it has been, where it can go, and what keeps it from going elsewhere. DOT shows none of that.
    """
    if bool(name) == bool(run):
        raise click.UsageError("give NAME or --run, and not both")
    marks = NO_MARKS
    if run:
        # The other commands open no store, and stores take as long to import as these commands take.
        from handrail.cli.runs import load_run_marks

        workflow, marks = load_run_marks(store, run)
        drawn = build_run_graph(load_message_catalog(), workflow, marks)
    else:
        workflow, _ = _load_workflow(open_catalog(project), name)
        drawn = build_graph(load_message_catalog(), workflow)
    match form:
        case "svg":
            click.echo(draw_graph_svg(load_message_catalog(), drawn, lay_out_graph(drawn), marks))
        case "dot":
            click.echo(format_dot(drawn))
        case _:
            click.echo(format_mermaid(drawn, marks))


def _load_workflow(catalog: Catalog, name: str) -> tuple[Workflow, FoundDefinition]:
    """Load the workflow of this name, or in this file; fail if it does not exist or has problems."""
    found, path = catalog.find(name), Path(name)
    if found is None and path.suffix == ".yaml" and path.is_file():
        found = FoundDefinition(path.stem, "file", path, read_source(path, catalog.name_of(path)))
    if found is None:
        raise NotFound("workflow", name, "handrail workflows list")
    loaded = load_workflow(found.source, _build_finder(found.path, catalog))
    if loaded.workflow is None:
        message = f"`{name}` has {_count_problems(loaded.problems)}"
        raise Failure("problems", message, f"handrail workflows check {found.path}")
    return loaded.workflow, found


def _build_finder(file: Path, catalog: Catalog) -> SourceFinder:
    """Return a finder for other workflows: it looks beside the file first, then in the catalog."""
    near = open_sibling_catalog(file)
    return lambda name: near.source(name) or catalog.source(name)


def _describe_origin(found: FoundDefinition, hiding: Mapping[Path, bool]) -> str:
    words = [found.origin]
    if found.hidden:
        words.append("hidden")
    elif found.hides:
        words.append(f"hides {found.hides.origin}")
        words += [("trusted" if hiding[found.path] else "not trusted")] if found.path in hiding else []
    return ", ".join(words)


def _list_notes(definitions: Definitions, hiding: Mapping[Path, bool]) -> Iterator[str]:
    """Yield notes about personas and guardrails: what they hide, and what is wrong with them."""
    for kind in (DefinitionKind.PERSONA, DefinitionKind.GUARDRAIL):
        for found in definitions.list_definitions(kind):
            if found.hides and not found.hidden:
                yield f"{kind} {found.name}: {_describe_origin(found, hiding)}"
        for problem in definitions.problems(kind):
            yield f"{problem.place.file}:{problem.place.line}: {problem.message}"


def _count_problems(problems: tuple[Problem, ...]) -> str:
    return "1 problem" if len(problems) == 1 else f"{len(problems)} problems"


def _workflow_entry(
    found: FoundDefinition, loaded: LoadResult, hiding: Mapping[Path, bool]
) -> dict[str, object]:
    workflow = loaded.workflow
    return {
        "name": found.name,
        "origin": found.origin,
        "file": str(found.path),
        "hidden": found.hidden,
        "hides": str(found.hides.path) if found.hides else None,
        "trusted": hiding.get(found.path),
        "about": workflow.about if workflow else None,
        "digest": workflow.digest if workflow else None,
        "problems": len(loaded.problems),
    }


def _skipped_entry(skipped: SkippedFile) -> dict[str, object]:
    unknown = dict.fromkeys(("hides", "trusted", "about", "digest"))
    named = {"name": skipped.name, "origin": skipped.origin, "file": str(skipped.path), "hidden": False}
    return {**named, **unknown, "problems": len(skipped.problems)}


def _problem_data(problem: Problem) -> dict[str, object]:
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


@click.command()
@click.argument("words", nargs=-1, metavar="[NAME|PATH]...")
@click.option("--yes", "way", flag_value="yes", help="Do not ask.")
@click.option(
    "--list", "way", flag_value="list", help="Only say which files hide others, and which are trusted."
)
@click.option(
    "--revoke", "way", flag_value="revoke", help="Trust them no longer, whatever they said back then."
)
@workflows_project_option
@json_option
def trust(words: tuple[str, ...], way: str | None, project: Path, *, as_json: bool) -> None:
    """Show what a project's files change that hide your own or built-in ones, and trust them.

    Without a name: all of them. Such a file is used only once it is trusted, and is not trusted any more when
    it changes. A file that hides nothing needs no trust. Exits with 1 if one of them was not trusted.
    """
    trusted = TrustStore()
    definitions = Definitions(project, trusted)
    match way:
        case "list":
            chosen = _choose_files(definitions, words)
        case "revoke":
            marks = [mark for mark in trusted.marks() if mark.project == format_root(project)]
            trusted.drop(_choose_marks(definitions, marks, words) if words else marks)
            chosen = definitions.list_hiding_files()
        case _:
            chosen = _choose_files(definitions, words)
            agreed = _ask_trust([one.file for one in chosen if not one.trusted], yes=bool(way), quiet=as_json)
            if agreed is None:
                left = _count_hiding_files(sum(not one.trusted for one in chosen))
                repair = shlex.join(["handrail", "trust", *words, "--yes"]) + format_project_option(project)
                raise Failure("unconfirmed", f"{left} not trusted, and nobody was asked", repair)
            trusted.add(map(definitions.trust_mark, agreed))
            chosen = tuple(HidingFile(one.file, one.trusted or one.file in agreed) for one in chosen)
    if as_json:
        print_json({"project": format_root(project), "files": list(map(_trust_data, chosen))})
    elif way == "list":
        rows = [
            (file.kind, file.name, "trusted" if known else "not trusted", str(file.path), str(file.hides))
            for file, known in ((one.file, one.trusted) for one in chosen)
        ]
        print_table(rows, ("kind", "name", "", "file", "hides"))
    elif chosen:
        count = sum(one.trusted for one in chosen)
        click.echo(f"{count} of {_count_hiding_files(len(chosen))} trusted", err=True)
    else:
        click.echo("nothing here hides another file: nothing needs trust", err=True)
    if way in {None, "yes"} and not all(one.trusted for one in chosen):
        raise SystemExit(Failure.exit_code)


def _ask_trust(files: list[UntrustedFile], *, yes: bool, quiet: bool) -> list[UntrustedFile] | None:
    """Show what the files change, and return those that the person trusts; None if no person can be asked."""
    asks = not yes and not quiet and sys.stdin.isatty()
    agreed = []
    for file in files:
        if not quiet:
            about = escape_for_terminal(f"{file.kind} {file.name}: {file.path} hides {file.hides}")
            click.echo(f"{about}\n{file.whole}")
        if yes or (asks and click.confirm(f"Trust the {file.kind} {file.name}?", err=True)):
            agreed.append(file)
    return agreed if yes or asks or not files else None


def _choose_marks(
    definitions: Definitions, marks: Sequence[TrustMark], words: tuple[str, ...]
) -> list[TrustMark]:
    """Return the marks of the named files; fail if a name means none of them."""
    files = [one.file for one in definitions.list_hiding_files()]
    chosen: list[TrustMark] = []
    for word in words:
        names = {(file.kind, file.name) for file in files if _matches_file(word, file)}
        meant = [mark for mark in marks if mark.name == word or (mark.kind, mark.name) in names]
        if not meant:
            raise NotFound("trusted file", word, "handrail trust --list")
        chosen += meant
    return chosen


def _trust_data(one: HidingFile) -> dict[str, object]:
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


def _choose_files(definitions: Definitions, words: tuple[str, ...]) -> tuple[HidingFile, ...]:
    """Return the named files that hide others, or all; fail if a name means none of them."""
    hiding = definitions.list_hiding_files()
    for word in words:
        if not any(_matches_file(word, one.file) for one in hiding):
            known = [found for kind in DefinitionKind for found in definitions.list_definitions(kind)]
            if any(word == found.name or Path(word).absolute() == found.path.absolute() for found in known):
                message = f"`{word}` hides nothing else, so it needs no trust"
                raise Failure("needless", message, "handrail trust --list")
            raise NotFound("file that hides another", word, "handrail trust --list")
    return tuple(one for one in hiding if not words or any(_matches_file(word, one.file) for word in words))


def _matches_file(word: str, file: UntrustedFile) -> bool:
    return word == file.name or Path(word).absolute() == file.path.absolute()


def _count_hiding_files(number: int) -> str:
    return "1 file that hides another is" if number == 1 else f"{number} files that hide others are"
