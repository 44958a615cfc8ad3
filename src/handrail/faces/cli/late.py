"""Groups of commands that are imported when they are asked for, so that each starts as fast as it can."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class Late(click.Group):
    """A group that also has the commands of these `modules`; the command in a module has the same name."""

    def __init__(self, *given: Any, modules: Mapping[str, str], **more: Any) -> None:  # noqa: ANN401 - click's own
        super().__init__(*given, **more)
        self.modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands, imported or not."""
        return sorted([*super().list_commands(ctx), *self.modules])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name."""
        if cmd_name not in self.modules:
            return super().get_command(ctx, cmd_name)
        command = getattr(import_module(self.modules[cmd_name]), cmd_name)
        return command if isinstance(command, click.Command) else None
