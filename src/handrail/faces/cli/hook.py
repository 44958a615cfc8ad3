"""`handrail hook`: what a client asks at every word of a person and every edit of an agent, told at once."""

import click

from handrail.faces.cli.hook_entry import CLIENTS, EVENTS, answer_hook


class Harmless(click.Command):
    """A command whose words are read by who answers: none of them is a reason to stop a client."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words as they are, unless somebody wants to read about it."""
        if {"-h", "--help"} & set(args):
            return super().parse_args(ctx, args)
        ctx.args = list(args)
        return []

    def invoke(self, ctx: click.Context) -> None:
        """Answer."""
        answer_hook(ctx.args, ctx.obj.read_only)


@click.command(cls=Harmless)
@click.argument("event", type=click.Choice(EVENTS))
@click.option("--client", type=click.Choice(CLIENTS), required=True, help="Who asks, and is to be answered.")
@click.option("--face", help="The face that the client is served; without it, any.")
@click.option("--store", metavar="FILE", envvar="HANDRAIL_STORE", help="The store of the server.")
def hook(**_: str) -> None:
    """Answer a hook of a client: its JSON comes on stdin, and goes back on stdout.

    `prompt` sees what a person typed, `session` tells where the run is, `edit` keeps files from being changed
    where the run says so, `stop` reminds of a step that is not handed in. Nothing on stdout means: go on.
    Whatever goes wrong is one line on stderr, and the status is 0 all the same.
    """
