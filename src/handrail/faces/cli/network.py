"""Addresses and networks as they are typed."""

from ipaddress import ip_network

import click

from handrail.faces.cli.output import one_line


class Network(click.ParamType[str]):
    """An address such as `10.0.0.7`, or a network such as `10.0.0.0/24`."""

    name = "network"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """As it is usually written."""
        try:
            return str(ip_network(value))
        except ValueError:
            message = (
                f"`{one_line(value)}` is neither an address like 10.0.0.7 nor a network like 10.0.0.0/24"
            )
            self.fail(message, param, ctx)
