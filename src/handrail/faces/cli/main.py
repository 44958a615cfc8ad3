"""The program `handrail`: a group of commands, each in a file of its own, imported when it is called."""

from importlib import import_module

import click
from click.shell_completion import get_completion_class

import handrail
from handrail.faces.cli.output import Failure
from handrail.shell.faults import SYNC_FAILED_STATUS, Fault, SyncFailed

INTERRUPTED = 130
"""How a command ends that somebody stopped with Ctrl-C."""

COMMANDS = {
    "demo": "handrail.faces.cli.demo",
    "plan": "handrail.faces.cli.plan",
    "project": "handrail.faces.cli.project",
    "repair": "handrail.faces.cli.repair",
    "runs": "handrail.faces.cli.runs",
    "serve": "handrail.faces.cli.serve",
    "stats": "handrail.faces.cli.stats",
    "store": "handrail.faces.cli.store",
    "token": "handrail.faces.cli.token",
    "trust": "handrail.faces.cli.trust",
    "workflows": "handrail.faces.cli.workflows",
}
"""The module of each command; the command in it has the same name."""


class Unconfirmed(Failure):
    """The disk did not confirm a write."""

    exit_code = SYNC_FAILED_STATUS


class Late(click.Group):
    """A group whose commands are imported when they are asked for, so that each starts as fast as it can."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands, imported or not."""
        return sorted([*super().list_commands(ctx), *COMMANDS])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name."""
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        command = getattr(import_module(COMMANDS[cmd_name]), cmd_name)
        return command if isinstance(command, click.Command) else None

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; what the world does to it is a failure with a name and a repair."""
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


@click.group(cls=Late, context_settings={"help_option_names": ["-h", "--help"]})
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
