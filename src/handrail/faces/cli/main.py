"""The program `handrail`: a group of commands, each in a file of its own, imported when it is called."""

import click
from click.shell_completion import get_completion_class

import handrail
from handrail.faces.cli.late import Late
from handrail.faces.cli.output import Failure
from handrail.shell.faults import SYNC_FAILED_STATUS, Fault, SyncFailed

INTERRUPTED = 130
"""How a command ends that somebody stopped with Ctrl-C."""

COMMANDS = {
    "brief": "handrail.faces.cli.brief",
    "dashboard": "handrail.faces.cli.dashboard",
    "demo": "handrail.faces.cli.demo",
    "doctor": "handrail.faces.cli.doctor",
    "hook": "handrail.faces.cli.hook",
    "init": "handrail.faces.cli.init",
    "install": "handrail.faces.cli.install",
    "plan": "handrail.faces.cli.plan",
    "project": "handrail.faces.cli.project",
    "ready": "handrail.faces.cli.ready",
    "repair": "handrail.faces.cli.repair",
    "runs": "handrail.faces.cli.runs",
    "serve": "handrail.faces.cli.serve",
    "stats": "handrail.faces.cli.stats",
    "store": "handrail.faces.cli.store",
    "token": "handrail.faces.cli.token",
    "trust": "handrail.faces.cli.trust",
    "watch": "handrail.faces.cli.watch",
    "workflows": "handrail.faces.cli.workflows",
}
"""The module of each command; the command in it has the same name."""


class Unconfirmed(Failure):
    """The disk did not confirm a write."""

    exit_code = SYNC_FAILED_STATUS


class Program(Late):
    """All commands; what the world does to one is a failure with a name and a repair."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise SystemExit(INTERRUPTED) from None
        except Fault as fault:
            kind = Unconfirmed if isinstance(fault, SyncFailed) else Failure
            raise kind(fault.code, fault.message, fault.repair) from None
        except OSError as fault:
            if fault.filename is None:
                raise
            repair = "see that it is there, and that you may read it"
            raise Failure("unreadable", f"{fault.filename}: {fault.strerror}", repair) from None


@click.group(cls=Program, modules=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(handrail.__version__, prog_name="handrail", message="%(prog)s %(version)s")
def cli() -> None:
    """Walk AI coding agents through workflows they cannot skip, fake or lose."""


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that completes commands in your shell.

    For bash, put this into ~/.bashrc: eval "$(handrail completion bash)"
    """
    kind = get_completion_class(shell)
    if kind is not None:
        click.echo(kind(cli, {}, "handrail", "_HANDRAIL_COMPLETE").source())
