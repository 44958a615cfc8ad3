"""The `handrail` program: the table of its commands, and how errors end it.

Start reading at COMMANDS. The module of a command is imported when the command runs, so that
`handrail --version` and shell completion load none of them.
"""

import gc
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click
from click.shell_completion import get_completion_class

import handrail
from handrail.cli.output import Failure
from handrail.runtime.errors import SYNC_FAILED_EXIT_STATUS, Fault, FaultCode, SyncFailed


class LazyGroup(click.Group):
    """A group that imports its commands on first use.

    `modules` maps each command to its module; the function in the module has the name of the command.
    """

    def __init__(self, *args: Any, modules: Mapping[str, str], **options: Any) -> None:  # noqa: ANN401 - click's own
        super().__init__(*args, **options)
        self.modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, imported or not."""
        return sorted([*super().list_commands(ctx), *self.modules])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of this name, importing its module if needed; None if there is none."""
        if cmd_name not in self.modules:
            return super().get_command(ctx, cmd_name)
        gc.disable()  # an import creates many objects, and none of them is garbage
        command = getattr(import_module(self.modules[cmd_name]), cmd_name)
        gc.enable()
        return command if isinstance(command, click.Command) else None


# Exit status of a command that was stopped with Ctrl-C.
INTERRUPTED_STATUS = 130

# The module of each command; the function in it has the name of the command.
COMMANDS = {
    "brief": "handrail.cli.clients",
    "dashboard": "handrail.cli.serve_http",
    "demo": "handrail.cli.demo",
    "doctor": "handrail.cli.doctor",
    "hook": "handrail.cli.clients",
    "init": "handrail.cli.clients",
    "install": "handrail.cli.clients",
    "plan": "handrail.cli.plans",
    "project": "handrail.cli.team",
    "ready": "handrail.cli.doctor",
    "repair": "handrail.cli.store",
    "runs": "handrail.cli.runs",
    "serve": "handrail.cli.serve",
    "stats": "handrail.cli.stats",
    "store": "handrail.cli.store",
    "token": "handrail.cli.team",
    "trust": "handrail.cli.workflows",
    "watch": "handrail.cli.runs",
    "workflows": "handrail.cli.workflows",
}


class UnconfirmedWrite(Failure):
    """The disk did not confirm a write."""

    exit_code = SYNC_FAILED_EXIT_STATUS


class Program(LazyGroup):
    """The top-level group. It turns faults and file errors into a `Failure` with a code and a repair."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command, and end with the exit status of the error it raises."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise SystemExit(INTERRUPTED_STATUS) from None
        except Fault as fault:
            kind = UnconfirmedWrite if isinstance(fault, SyncFailed) else Failure
            raise kind(fault.code, fault.message, fault.repair) from None
        except OSError as fault:
            if fault.filename is None:
                raise
            repair = "see that it is there, and that you may read it"
            raise Failure(FaultCode.UNREADABLE, f"{fault.filename}: {fault.strerror}", repair) from None


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
