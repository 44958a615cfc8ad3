"""What a server logs, as the SDK writes it: by rich, which is imported when there is something to write."""

import logging


class Late(logging.Handler):
    """Writes each record as the handler does that the SDK sets up, which is made for the first of them.

    If it cannot be imported any more, as when too many files are open, the record is written as plain text.
    """

    def __init__(self) -> None:
        super().__init__()
        self._made: logging.Handler | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record to stderr."""
        self._made = self._made or _rich()
        handler = self._made or logging.StreamHandler()
        handler.setFormatter(self.formatter)
        handler.handle(record)


def configure_logging(level: str = "INFO") -> None:
    """What the SDK's function of this name does: log to stderr, unless it is settled already where to."""
    logging.basicConfig(level=level, format="%(message)s", handlers=[Late()])


def _rich() -> logging.Handler | None:
    """The handler that the SDK sets up, if it can be imported."""
    try:
        from rich.console import Console  # noqa: PLC0415 - 40 modules that only a server with a log needs
        from rich.logging import RichHandler  # noqa: PLC0415 - the same
    except (ImportError, OSError):
        return None
    return RichHandler(console=Console(stderr=True), rich_tracebacks=True)
