"""`handrail plan`: read, check, write, convert and mark plan documents, and handle the plan in the commit.

The commands up to `hook` work on a file or stdin. `show`, `history`, `message`, `push` and `pull` work on the
description of the project's commit.
"""

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

import click

from handrail.app.plan_view import (
    AUTO_DIALECT,
    DIALECTS,
    STDIN,
    PlanText,
    format_plan_problems,
    parse_plan_text,
    source_name,
)
from handrail.cli.options import project_option, vcs_option
from handrail.cli.output import (
    MAX_NUMBER,
    Failure,
    NotFound,
    json_option,
    number_or_diff_options,
    print_diff,
    print_json,
    print_table,
    print_text,
)
from handrail.documents.plan.convert import convert_plan
from handrail.documents.plan.data import describe_plan
from handrail.documents.plan.edit import mark_task, parse_plan_data
from handrail.documents.plan.format import format_plan
from handrail.documents.plan.grammar import COMMITS, Dialect, PlanConfig
from handrail.documents.plan.model import Plan, PlanRefusal, PlanState, count_tasks, list_task_paths
from handrail.documents.plan.parse import DIALECT_CONFIGS
from handrail.documents.plan.stages import (
    decide_type,
    detect_phase,
    detect_stage,
    is_finished,
    measure_progress,
)
from handrail.documents.plan.validate import ValidationResult, validate_plan
from handrail.documents.text import escape_for_terminal
from handrail.runtime.errors import Unreadable
from handrail.runtime.ports.queries import PAGE_SIZE
from handrail.runtime.ports.turn import (
    JJ,
    DescriptionHistory,
    ExchangeOutcome,
    ExchangeResult,
    ProjectDescription,
    TextVersion,
)
from handrail.runtime.records import format_rfc3339
from handrail.runtime.system import read_bytes, resolve_path

# How many bytes of a text are read: far more than the grammar accepts, and few enough for any machine.
_MAX_BYTES: Final = 1 << 20
file_argument: Final = click.argument("file", default=STDIN)

dialect_option: Final = click.option(
    "--dialect",
    type=click.Choice([*DIALECTS, AUTO_DIALECT]),
    default=AUTO_DIALECT,
    show_default=True,
    help="How the text is laid out; `auto` looks for what only one of them has, and else takes planner.",
)


def _read_text(file: str) -> str:
    """Read the text of a file, or of stdin for `-`; fail if it is not UTF-8."""
    if file == STDIN:
        data = sys.stdin.buffer.read(_MAX_BYTES)
    else:
        path = Path(file)
        if not path.is_file():
            raise NotFound("file", file, "give the path of a text file, or - for stdin")
        data = read_bytes(path, _MAX_BYTES)
    try:
        return data.decode()
    except UnicodeDecodeError as fault:
        message = f"{source_name(file)}: byte {fault.start + 1} is no UTF-8"
        raise Failure("not_text", message, "save the text as UTF-8") from None


def _read_plan(file: str, dialect: str, *, has_modifications: bool = False) -> PlanText:
    """Read the plan in a file, or on stdin for `-`. With the dialect `auto`, detect the dialect."""
    return parse_plan_text(_read_text(file), file, dialect, has_modifications=has_modifications)


def _parse_plan_value(text: str, dialect: str) -> tuple[Mapping[str, Any], PlanConfig] | None:
    """Parse a JSON object and return it with the configuration of its dialect; None if the text is a plan."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as fault:
        message = f"the text begins like JSON and is none: {fault}"
        raise Failure("not_json", message, "give a plan document, or one JSON object") from None
    header = value.get("header")
    commits = isinstance(header, Mapping) and "summary" in header
    kind = (Dialect.COMMITS if commits else Dialect.PLANNER) if dialect == AUTO_DIALECT else Dialect(dialect)
    return value, DIALECT_CONFIGS[kind]


def _raise_refusal(refused: PlanRefusal) -> NoReturn:
    """End the command with one reason of a refusal: the first finding, or else the last problem."""
    if refused.findings:
        first = refused.findings[0]
        raise Failure(first.code, f"{first.field}: {first.message}", "handrail plan check tells all of it")
    problem = refused.problems[-1]
    place = f"line {problem.line}: " if problem.line else ""
    raise Failure(problem.code, f"{place}{problem.message}", problem.repair)


def _list_plan_rows(read: PlanText) -> list[tuple[str, str]]:
    """Return a table row for each part of a plan."""
    plan = read.plan
    total, ticked = count_tasks(plan.tasks or ())
    commits = read.config.dialect is Dialect.COMMITS
    progress = ("phase", str(detect_phase(plan))) if commits else ("stage", str(detect_stage(plan)))
    rows = [("dialect", str(read.config.dialect)), ("state", str(plan.state)), progress]
    if plan.header is not None:
        rows.append(("type", plan.header.type))
        rows += [("scope", plan.header.scope)] if plan.header.scope is not None else []
        rows += [("title", plan.header.title)] if plan.header.title is not None else []
        rows += [("breaking", "yes")] if plan.header.breaking else []
    if plan.description is not None:
        lines = plan.description.count("\n") + 1
        rows.append(("description", "1 line" if lines == 1 else f"{lines} lines"))
    rows += [("constraint", f"{key}: {value}") for key, value in plan.constraints or ()]
    rows += [("tasks", f"{ticked} of {total} complete")] if total else []
    rows += [("direction", plan.direction)] if plan.direction is not None else []
    return rows


_SCISSORS: Final = re.compile(r"^# -+ >8 -+$.*", re.MULTILINE | re.DOTALL)
_COMMENT_LINE: Final = re.compile(r"^#.*\n?", re.MULTILINE)
_GIT_PREFIXES: Final = ("Merge ", "Revert ", "fixup! ", "squash! ", "amend! ")


@click.group()
def plan() -> None:
    """Read, check, write and mark plan documents, and look at the one in the commit.

    FILE is a text in one of two dialects, planner or commits; without it, or with -, stdin is read.
    """


@plan.command()
@file_argument
@dialect_option
@click.option(
    "--has-modifications",
    is_flag=True,
    help="Files were changed in the commit: then an empty text is no fresh start of commits.",
)
@json_option
def parse(file: str, dialect: str, *, has_modifications: bool, as_json: bool) -> None:
    """Say what a plan document holds, and report what is wrong with it.

    Exits with 1 if it is no whole plan. A warning is no reason.
    """
    read = _read_plan(file, dialect, has_modifications=has_modifications)
    if as_json:
        _print_plan_json(describe_plan(read.plan, read.config, read.text))
    else:
        print_table(_list_plan_rows(read), ("part", "what it is"))
        if problems_text := format_plan_problems(read):
            click.echo(problems_text, err=True)
    if read.plan.problems:
        raise SystemExit(Failure.exit_code)


@plan.command()
@file_argument
@dialect_option
@json_option
def check(file: str, dialect: str, *, as_json: bool) -> None:
    """Check a plan document, or a JSON object in its shape, against the words and limits of its dialect.

    Exits with 1 if it is not valid. A warning is no reason.
    """
    text = _read_text(file)
    given = _parse_plan_value(text, dialect)
    read = parse_plan_text(text, file, dialect)
    verdict = validate_plan(*given) if given else validate_plan(read.plan, read.config)
    if as_json:
        _print_plan_json(verdict.to_data())
    else:
        rows = [
            (kind, one.field, one.code, one.message)
            for kind, findings in (("error", verdict.errors), ("warning", verdict.warnings))
            for one in findings
        ]
        print_table(rows, ("kind", "field", "code", "message"))
        message = "valid" if verdict.is_valid else "" if given else format_plan_problems(read)
        click.echo(message or "not valid", err=True)
    if not verdict.is_valid:
        raise SystemExit(Failure.exit_code)


@plan.command("format")
@file_argument
@dialect_option
@json_option
def format_(file: str, dialect: str, *, as_json: bool) -> None:
    """Print a plan document as Handrail writes it; no word is lost.

    FILE may also be a JSON object in the shape that `parse --json` prints.
    """
    text = _read_text(file)
    if given := _parse_plan_value(text, dialect):
        value, config = given
        plan = parse_plan_data(value, config)
        if isinstance(plan, ValidationResult):
            _raise_refusal(PlanRefusal(findings=plan.errors))
    else:
        read = parse_plan_text(text, file, dialect)
        plan, config = _require_plan(read), read.config
    written = _format_or_fail(plan, config)
    if as_json:
        _print_plan_json({"text": written})
    else:
        print_text(written)


@plan.command()
@file_argument
@dialect_option
@json_option
def stage(file: str, dialect: str, *, as_json: bool) -> None:
    """Print how far a plan document has come, by what it holds.

    0 nothing, 1 a goal, 2 (or 3) a description, 4 constraints, 5 tasks, 6 complete.
    """
    found = detect_stage(_read_plan(file, dialect).plan)
    if as_json:
        _print_plan_json({"stage": found})
    else:
        click.echo("2/3" if found == 2 else found)


@plan.command()
@file_argument
@dialect_option
@click.option("--to", type=click.Choice(DIALECTS), help="The dialect to write; the other one by default.")
@json_option
def convert(file: str, dialect: str, to: str | None, *, as_json: bool) -> None:
    """Print a plan document in the other dialect, and report on stderr what is not as it was."""
    read = _read_plan(file, dialect)
    source = read.config.dialect
    other = Dialect.PLANNER if source is Dialect.COMMITS else Dialect.COMMITS
    target = Dialect(to) if to else other
    done = convert_plan(_require_plan(read), source, target)
    if isinstance(done, PlanRefusal):
        _raise_refusal(done)
    text = _format_or_fail(done.plan, DIALECT_CONFIGS[target])
    if as_json:
        notes = [{"code": note.code, "text": note.text, "message": note.message} for note in done.notes]
        _print_plan_json({"dialect": target, "text": text, "notes": notes})
        return
    for note in done.notes:
        click.echo(escape_for_terminal(f"{note.code}: {note.message}"), err=True)
    print_text(text)


@plan.command()
@click.argument("task")
@file_argument
@dialect_option
@click.option("--open", "reopened", is_flag=True, help="Mark it as open instead of complete.")
@json_option
def mark(task: str, file: str, dialect: str, *, reopened: bool, as_json: bool) -> None:
    """Print a plan document with TASK marked as complete.

    TASK is its text, a part of it, its id or its path, such as `write-it/test-it`; it must mean one task.
    """
    read = _read_plan(file, dialect)
    done = mark_task(_require_plan(read), task, read.config, completed=not reopened)
    if isinstance(done, PlanRefusal):
        _raise_refusal(done)
    text = _format_or_fail(done, read.config)
    if as_json:
        _print_plan_json({"text": text, "warnings": [one.code for one in done.warnings]})
        return
    for one in done.warnings:
        click.echo(escape_for_terminal(f"{one.code}: {one.message}"), err=True)
    print_text(text)


@plan.command("type")
@click.argument("types", nargs=-1, required=True)
@json_option
def type_(types: tuple[str, ...], *, as_json: bool) -> None:
    """Print the type of a commit whose changes are of these TYPES."""
    unknown = [one for one in types if one not in COMMITS.types]
    if unknown:
        repair = f"take some of {', '.join(COMMITS.types)}"
        raise Failure("type_unknown", f"`{unknown[0]}` is no type of a change", repair)
    decided = decide_type(types) or ""
    if as_json:
        _print_plan_json({"type": decided})
    else:
        click.echo(decided)


@plan.command()
@click.argument("file")
@dialect_option
def hook(file: str, dialect: str) -> None:
    """Check the message of a commit: the hook `commit-msg` of git calls this with the FILE of the message.

    Comments are left out, and messages that git makes by itself (merges, reverts, fixups) pass.
    Exits with 1 if the message is no valid plan document; then there is no commit.
    """
    text = _COMMENT_LINE.sub("", _SCISSORS.sub("", _read_text(file))).strip("\n") + "\n"
    if text.startswith(_GIT_PREFIXES):
        return
    read = parse_plan_text(text, file, dialect)
    verdict = validate_plan(read.plan, read.config)
    if verdict.is_valid:
        return
    if read.plan.problems:
        click.echo(format_plan_problems(read), err=True)
        _raise_refusal(PlanRefusal(read.plan.problems))
    _raise_refusal(PlanRefusal(findings=verdict.errors))


def _require_plan(read: PlanText) -> Plan:
    """Return the plan of a text without problems; otherwise end the command."""
    if read.plan.problems:
        _raise_refusal(PlanRefusal(read.plan.problems))
    return read.plan


def _format_or_fail(plan: Plan, config: PlanConfig) -> str:
    text = format_plan(plan, config)
    if isinstance(text, PlanRefusal):
        _raise_refusal(text)
    return text


def _print_plan_json(data: Mapping[str, object]) -> None:
    """Print one JSON object on stdout, in exactly the shape of plans: without the schema number."""
    click.echo(json.dumps(data, indent=2))


# How many lines a text may have to be compared with another.
MAX_COMPARED_LINES: Final = 2000
_DESCRIPTION_NAME: Final = "description"
_SERVER_TEXT: Final = "a server of `--face planner` or `--face commits`"
_CHANGE_ID_LENGTH: Final = 12

_EXCHANGE_TEXTS: Final = {
    ExchangeOutcome.SENT: "sent to `{remote}`, where it stands under `{ref}`",
    ExchangeOutcome.TAKEN: "taken from `{ref}` of `{remote}`",
    ExchangeOutcome.SAME: "`{ref}` of `{remote}` has the same plan already",
    ExchangeOutcome.AHEAD: "the plan here is newer than `{ref}` of `{remote}`: `handrail plan push` sends it",
}

plan_project_option = project_option("The project whose commit has the plan")

plan_name_option = click.option(
    "--name", help="What the plan is called at the remote; by default as the branch is."
)

remote_argument = click.argument("remote", required=False)


@plan.command()
@plan_project_option
@vcs_option
@json_option
def show(project: Path, vcs: str | None, *, as_json: bool) -> None:
    """Show the plan in the commit of a project: how far it has come, what is next, and what is wrong with it.

    Exits with 1 if the text is no whole plan.
    """
    description = _open_plan(project, vcs)
    described = description.descriptions.read()
    read = parse_plan_text(described.text, _DESCRIPTION_NAME, AUTO_DIALECT)
    following = _find_next_task(read.plan)
    if as_json:
        print_json(
            {
                "vcs": description.kind,
                "folder": str(description.folder),
                "change": described.change,
                "dialect": str(read.config.dialect),
                "state": str(read.plan.state),
                "stage": detect_stage(read.plan),
                "phase": str(detect_phase(read.plan)),
                "next": following,
                "text": described.text,
                "plan": describe_plan(read.plan, read.config, described.text),
            }
        )
    else:
        repository = ("repository", f"{description.kind} in {description.folder}")
        next_row = [("next", following)] if following else []
        rows = [repository, ("change", described.change), *_list_plan_rows(read), *next_row]
        print_table(rows, ("part", "what it is"))
        if described.text:
            click.echo()
            print_text(described.text)
    if problems_text := format_plan_problems(read):
        click.echo(problems_text, err=True)
    if read.plan.state is PlanState.EMPTY:
        click.echo(f"there is no plan yet: {_SERVER_TEXT} begins one", err=True)
    elif read.plan.state is not PlanState.PARSED:
        by_hand = "mend it with `jj describe`, or " if description.kind == JJ else ""
        keep = "have the server of `--face planner` set a goal with `keep: true`, which keeps it below"
        click.echo(f"this text is no plan, and nothing writes over it: {by_hand}{keep}", err=True)
        raise SystemExit(Failure.exit_code)


@plan.command()
@number_or_diff_options("version")
@click.option(
    "--after", type=click.IntRange(1, MAX_NUMBER), metavar="NUMBER", help="Go on behind this version."
)
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=PAGE_SIZE, show_default=True, help="How many at most."
)
@plan_project_option
@vcs_option
@json_option
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
    past = _open_plan(project, vcs).past
    versions = past.versions()
    if diff:
        (before, old), (later, new) = (_load_versions(past, versions, one - 1, one)[0] for one in diff)
        if max(text.count("\n") for text in (old, new)) > MAX_COMPARED_LINES:
            repair = "print each with `handrail plan history NUMBER`, and compare them with another program"
            problem = f"a text of more than {MAX_COMPARED_LINES} lines is not compared"
            raise Failure("too_long", problem, repair)
        heads = (
            f"{diff[0]} {format_rfc3339(before.at)} {before.who}",
            f"{diff[1]} {format_rfc3339(later.at)} {later.who}",
        )
        print_diff((old, new), heads, as_json=as_json)
    elif number:
        version, text = _load_versions(past, versions, number - 1, number)[0]
        if as_json:
            print_json({"version": {**_version_data(number, version, text), "text": text}})
        else:
            print_text(text)
    else:
        last = len(versions) if after is None else min(after - 1, len(versions))
        first = max(last - limit, 0)
        found = enumerate(_load_versions(past, versions, first, last), first + 1)
        rows = [_version_data(at, version, text) for at, (version, text) in found][::-1]
        if as_json:
            print_json({"versions": rows, "next": first + 1 if first else None})
            return
        columns = ("number", "at", "who", "stage", "tasks", "title")
        cells = [tuple(str(row[name]) for name in columns) for row in rows]
        print_table(cells, ("number", "when", "who", "stage", "tasks", "title"))
        if not rows:
            click.echo("no such version", err=True)
        if first:
            click.echo(f"there are more: the same with --after {first + 1}", err=True)


def _load_versions(
    past: DescriptionHistory, versions: tuple[TextVersion, ...], first: int, last: int
) -> list[tuple[TextVersion, str]]:
    """Return the versions from `first` to before `last`, counted from 0, with their texts."""
    if last > len(versions):
        raise NotFound("version", str(last), "handrail plan history")
    wanted = versions[first:last]
    try:
        return list(zip(wanted, past.texts(tuple(one.name for one in wanted)), strict=True))
    except Unreadable as fault:
        raise Unreadable(fault.message, "ask for fewer with --limit") from fault


@plan.command()
@plan_project_option
@vcs_option
def message(project: Path, vcs: str | None) -> None:
    """Print the plan in the commit as it is, for `handrail plan message | git commit -F -`.

    In jj it is the message of its commit already.
    """
    text = _open_plan(project, vcs).descriptions.read().text
    if not text:
        raise Failure("no_plan", "there is no plan yet", f"begin one with {_SERVER_TEXT}")
    if not is_finished(parse_plan_text(text, _DESCRIPTION_NAME, AUTO_DIALECT).plan):
        click.echo("the plan is not complete yet", err=True)
    print_text(text)


@plan.command()
@remote_argument
@plan_name_option
@plan_project_option
@vcs_option
@json_option
def push(remote: str | None, name: str | None, project: Path, vcs: str | None, *, as_json: bool) -> None:
    """Send the plan of a git worktree to REMOTE, with every text it has had.

    It stands there below `refs/handrail/plans/`. Nothing is written over: where somebody has changed the plan
    meanwhile, it is refused, and both sides are told. A complete plan that stands there is archived.
    """
    description = _open_plan(project, vcs)
    if description.sharing is None:
        raise _not_shared_failure(description, "jj git push --change {change}")
    _print_exchange(description.sharing.push(remote or "", name or ""), as_json=as_json)


@plan.command()
@remote_argument
@plan_name_option
@click.option("--archive", is_flag=True, help="Where both sides changed it: archive yours, and take theirs.")
@plan_project_option
@vcs_option
@json_option
def pull(  # noqa: PLR0913 - each option is one argument
    remote: str | None, name: str | None, project: Path, vcs: str | None, *, archive: bool, as_json: bool
) -> None:
    """Take the plan of a git worktree from REMOTE, and go on with it here.

    Another plan that stands here is archived below `refs/handrail/done/`. Where both sides have changed the
    same plan, it is refused, and both are told.
    """
    description = _open_plan(project, vcs)
    if description.sharing is None:
        raise _not_shared_failure(
            description,
            "jj git fetch, then jj bookmark track NAME@REMOTE for its bookmark, and jj edit its change",
        )
    _print_exchange(description.sharing.pull(remote or "", name or "", archive=archive), as_json=as_json)


def _open_plan(project: Path, vcs: str | None) -> ProjectDescription:
    """Open the description of a project's commit, with its history and its sharing."""
    if not project.is_dir():
        raise NotFound("folder", str(project), "name the folder of the project with --project")
    # Stores take longer to import than `plan hook`, which git calls at every commit, takes in all.
    from handrail.app.stores import ProjectRuns

    return ProjectRuns(vcs or "").open_description(resolve_path(project))


def _find_next_task(plan: Plan) -> str | None:
    """Return the path of the first open task without open subtasks; None if there is none."""
    tasks = plan.tasks or ()
    for index, task in enumerate(tasks):
        rest = tasks[index + 1 :]
        end = next((at for at, one in enumerate(rest) if one.level <= task.level), len(rest))
        if not task.ticked and all(one.ticked for one in rest[:end]):
            return list_task_paths(tasks)[index]
    return None


def _version_data(number: int, version: TextVersion, text: str) -> dict[str, object]:
    """Return a version as lists show it."""
    plan = parse_plan_text(text, _DESCRIPTION_NAME, AUTO_DIALECT).plan
    progress = measure_progress(plan)
    return {
        "number": number,
        "name": version.name,
        "at": format_rfc3339(version.at),
        "who": version.who,
        "stage": detect_stage(plan),
        "tasks": f"{progress.ticked}/{progress.total}",
        "title": text.partition("\n")[0],
    }


def _not_shared_failure(description: ProjectDescription, command: str) -> Failure:
    change = description.descriptions.read().change
    return Failure(
        "with_the_commit",
        "in jj the plan is the description of its commit, and travels with it",
        f"run it yourself: {command.format(change=change[:_CHANGE_ID_LENGTH])}",
    )


def _print_exchange(result: ExchangeResult, *, as_json: bool) -> None:
    if as_json:
        data = {"remote": result.remote, "ref": result.ref, "moved": str(result.moved)}
        print_json({**data, "archived": result.archived or None})
        return
    message = _EXCHANGE_TEXTS[result.moved].format(remote=result.remote, ref=result.ref)
    click.echo(escape_for_terminal(message), err=True)
    if result.archived:
        sent = result.moved is ExchangeOutcome.SENT
        place = f"there is kept at `{result.remote}`" if sent else "here is kept"
        click.echo(escape_for_terminal(f"what stood {place} as `{result.archived}`"), err=True)
