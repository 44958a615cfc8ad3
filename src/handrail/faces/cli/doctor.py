"""`handrail doctor`: whether everything is as it must be for an agent to be led, and how it is mended."""

from pathlib import Path
from typing import Final

import click

from handrail.faces.cli.output import Failure, as_json, one_line, print_json
from handrail.faces.cli.placed import project_option
from handrail.shell.reading import whole
from handrail.shell.system import SystemClock

NAMES: Final = ("versions", "settings", "store", "clients", "handshake", "listening", "vcs", "runs", "port")
"""What can be looked at, in this order."""

_MARKS: Final = {"ok": "✔ ok    ", "note": "! note  ", "failed": "✘ failed", "fixed": "✔ fixed "}


@click.command()
@click.option("--fix", is_flag=True, help="Make the repairs that cannot harm: rights, and entries of ours.")
@click.option(
    "--only",
    type=click.Choice(NAMES),
    multiple=True,
    help="Make this check only; may be given several times.",
)
@project_option("The project")
@click.option("--store", metavar="FILE", default="", envvar="HANDRAIL_STORE", help="The store of the server.")
@as_json
def doctor(only: tuple[str, ...], project: Path, store: str, *, fix: bool, as_json: bool) -> None:
    """Look whether everything is as it must be: store, clients, hooks, a real handshake, version control.

    Exits with 1 if something failed. Every failure ends with the command that repairs it.
    """
    from handrail.faces.cli.checks import Patient, Status, examined

    patient = Patient(whole(project), store, click.get_current_context().obj.read_only, SystemClock().now())
    told: list[dict[str, object]] = []
    for check, finding in examined(patient, only):
        fixed = bool(fix and finding.fix and finding.status is Status.FAILED)
        if fixed and finding.fix:
            finding.fix()
        status = "fixed" if fixed else str(finding.status)
        told.append({"check": check, "status": status, "message": finding.message, "repair": finding.repair})
        if not as_json:
            click.echo(f"{_MARKS[status]} {check}: {one_line(finding.message)}")
            if finding.repair and not fixed:
                click.echo(f"           {one_line(finding.repair)}")
    failed = sum(one["status"] == "failed" for one in told)
    if as_json:
        print_json({"ok": not failed, "checks": told})
    if failed:
        click.echo(f"{failed} failed: type what stands below each, then handrail doctor again", err=True)
        raise SystemExit(Failure.exit_code)
