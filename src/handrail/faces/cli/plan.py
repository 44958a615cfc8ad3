"""`handrail plan`: plan documents read, checked, written, converted and marked, and the check for git."""

import json
import re
from collections.abc import Mapping
from typing import Final

import click

from handrail.faces.cli.late import Late
from handrail.faces.cli.output import Failure, as_json, one_line, print_table, print_text
from handrail.faces.cli.plan_texts import (
    DIALECTS,
    Read,
    findings,
    in_dialect,
    modified,
    plan_in,
    plan_of_value,
    read_plan,
    read_text,
    refuse,
    rows,
    shown,
    text_file,
    value_in,
)
from handrail.plan.check import validate
from handrail.plan.convert import convert as convert_plan
from handrail.plan.data import as_data
from handrail.plan.detect import CONFIGS
from handrail.plan.format import format_plan
from handrail.plan.grammar import COMMITS, Config, Dialect
from handrail.plan.mark import mark_task
from handrail.plan.model import Plan, Refused
from handrail.plan.stage import decide_type, detect_stage

_SCISSORS: Final = re.compile(r"^# -+ >8 -+$.*", re.MULTILINE | re.DOTALL)
_COMMENT: Final = re.compile(r"^#.*\n?", re.MULTILINE)
_KEPT: Final = ("history", "message", "pull", "push", "show")
_MADE_BY_GIT: Final = ("Merge ", "Revert ", "fixup! ", "squash! ", "amend! ")


@click.group(cls=Late, modules=dict.fromkeys(_KEPT, "handrail.faces.cli.plan_kept"))
def plan() -> None:
    """Read, check, write and mark plan documents, and look at the one in the commit.

    FILE is a text in one of two dialects, planner or commits; without it, or with -, stdin is read.
    """


@plan.command()
@text_file
@in_dialect
@modified
@as_json
def parse(file: str, dialect: str, *, has_modifications: bool, as_json: bool) -> None:
    """Say what a plan document holds, and report what is wrong with it.

    Exits with 1 if it is no whole plan. A warning is no reason.
    """
    read = read_plan(file, dialect, has_modifications=has_modifications)
    if as_json:
        _print(as_data(read.plan, read.config, read.text))
    else:
        print_table(rows(read), ("part", "what it is"))
        if said := shown(read):
            click.echo(said, err=True)
    if read.plan.problems:
        raise SystemExit(Failure.exit_code)


@plan.command()
@text_file
@in_dialect
@as_json
def check(file: str, dialect: str, *, as_json: bool) -> None:
    """Check a plan document, or a JSON object in its shape, against the words and limits of its dialect.

    Exits with 1 if it is not valid. A warning is no reason.
    """
    text = read_text(file)
    given = value_in(text, dialect)
    read = plan_in(text, file, dialect)
    verdict = validate(*given) if given else validate(read.plan, read.config)
    if as_json:
        _print(verdict.as_data())
    else:
        print_table(findings(verdict), ("kind", "field", "code", "message"))
        said = "valid" if verdict.is_valid else "" if given else shown(read)
        click.echo(said or "not valid", err=True)
    if not verdict.is_valid:
        raise SystemExit(Failure.exit_code)


@plan.command("format")
@text_file
@in_dialect
@as_json
def format_(file: str, dialect: str, *, as_json: bool) -> None:
    """Print a plan document as Handrail writes it; no word is lost.

    FILE may also be a JSON object in the shape that `parse --json` prints.
    """
    text = read_text(file)
    given = value_in(text, dialect)
    if given:
        written = _written(plan_of_value(*given), given[1])
    else:
        read = plan_in(text, file, dialect)
        written = _written(_whole(read), read.config)
    if as_json:
        _print({"text": written})
    else:
        print_text(written)


@plan.command()
@text_file
@in_dialect
@as_json
def stage(file: str, dialect: str, *, as_json: bool) -> None:
    """Print how far a plan document has come, by what it holds.

    0 nothing, 1 a goal, 2 (or 3) a description, 4 constraints, 5 tasks, 6 complete.
    """
    found = detect_stage(read_plan(file, dialect).plan)
    if as_json:
        _print({"stage": found})
    else:
        click.echo("2/3" if found == 2 else found)


@plan.command()
@text_file
@in_dialect
@click.option("--to", type=click.Choice(DIALECTS), help="The dialect to write; the other one by default.")
@as_json
def convert(file: str, dialect: str, to: str | None, *, as_json: bool) -> None:
    """Print a plan document in the other dialect, and report on stderr what is not as it was."""
    read = read_plan(file, dialect)
    source = read.config.dialect
    other = Dialect.PLANNER if source is Dialect.COMMITS else Dialect.COMMITS
    target = Dialect(to) if to else other
    done = convert_plan(_whole(read), source, target)
    if isinstance(done, Refused):
        refuse(done)
    text = _written(done.plan, CONFIGS[target])
    if as_json:
        notes = [{"code": note.code, "text": note.text, "message": note.message} for note in done.notes]
        _print({"dialect": target, "text": text, "notes": notes})
        return
    for note in done.notes:
        click.echo(one_line(f"{note.code}: {note.message}"), err=True)
    print_text(text)


@plan.command()
@click.argument("task")
@text_file
@in_dialect
@click.option("--open", "reopened", is_flag=True, help="Mark it as open instead of complete.")
@as_json
def mark(task: str, file: str, dialect: str, *, reopened: bool, as_json: bool) -> None:
    """Print a plan document with TASK marked as complete.

    TASK is its text, a part of it, its id or its path, such as `write-it/test-it`; it must mean one task.
    """
    read = read_plan(file, dialect)
    done = mark_task(_whole(read), task, read.config, completed=not reopened)
    if isinstance(done, Refused):
        refuse(done)
    text = _written(done, read.config)
    if as_json:
        _print({"text": text, "warnings": [one.code for one in done.warnings]})
        return
    for one in done.warnings:
        click.echo(one_line(f"{one.code}: {one.message}"), err=True)
    print_text(text)


@plan.command("type")
@click.argument("types", nargs=-1, required=True)
@as_json
def type_(types: tuple[str, ...], *, as_json: bool) -> None:
    """Print the type of a commit whose changes are of these TYPES."""
    unknown = [one for one in types if one not in COMMITS.types]
    if unknown:
        repair = f"take some of {', '.join(COMMITS.types)}"
        raise Failure("type_unknown", f"`{unknown[0]}` is no type of a change", repair)
    decided = decide_type(types) or ""
    if as_json:
        _print({"type": decided})
    else:
        click.echo(decided)


@plan.command()
@click.argument("file")
@in_dialect
def hook(file: str, dialect: str) -> None:
    """Check the message of a commit: the hook `commit-msg` of git calls this with the FILE of the message.

    Comments are left out, and messages that git makes by itself (merges, reverts, fixups) pass.
    Exits with 1 if the message is no valid plan document; then there is no commit.
    """
    text = _COMMENT.sub("", _SCISSORS.sub("", read_text(file))).strip("\n") + "\n"
    if text.startswith(_MADE_BY_GIT):
        return
    read = plan_in(text, file, dialect)
    verdict = validate(read.plan, read.config)
    if verdict.is_valid:
        return
    if read.plan.problems:
        click.echo(shown(read), err=True)
        refuse(Refused(read.plan.problems))
    refuse(Refused(findings=verdict.errors))


def _whole(read: Read) -> Plan:
    """The plan of a text that was read to its end; of any other, the first problem."""
    if read.plan.problems:
        refuse(Refused(read.plan.problems))
    return read.plan


def _written(plan: Plan, config: Config) -> str:
    text = format_plan(plan, config)
    if isinstance(text, Refused):
        refuse(text)
    return text


def _print(data: Mapping[str, object]) -> None:
    """One JSON object on stdout, in exactly the shape that plans have."""
    click.echo(json.dumps(data, indent=2))
