"""Which spelling of a name is listed: some clients take no dot in a tool's name, no URI scheme has a `_`."""

from enum import StrEnum

from handrail.faces.mcp.addresses import STATUS, uri


class Names(StrEnum):
    """What is listed; every spelling is accepted whatever this is."""

    PORTABLE = "portable"
    SOURCE = "source"

    def tool(self, source: str) -> tuple[str, ...]:
        """The names of a tool, the one that is listed first."""
        portable = source.replace(".", "_")
        both = (portable, source) if self is Names.PORTABLE else (source, portable)
        return tuple(dict.fromkeys(both))

    def status(self, run: str) -> str:
        """Where everything about a run can be read."""
        return self.uri(STATUS, run)

    def uri(self, scheme: str, name: str) -> str:
        """The address of a resource as it is listed."""
        return uri(scheme, name, portable=self is Names.PORTABLE)
