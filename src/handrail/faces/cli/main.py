"""The program `handrail`: a group of commands, each in a file of its own."""

import click
from click.shell_completion import get_completion_class

import handrail
from handrail.faces.cli.demo import demo
from handrail.faces.cli.workflows import workflows


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
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


cli.add_command(demo)
cli.add_command(workflows)
