"""A database that has our tables, whichever it is: what the parts of this store ask of it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias


class Found(Protocol):
    """What a statement has found, or how many rows it has changed."""

    @property
    def description(self) -> Sequence[Any] | None:
        """The columns; the name of each comes first."""
        ...

    @property
    def rowcount(self) -> int:
        """How many rows were changed."""
        ...

    def fetchone(self) -> Any:  # noqa: ANN401 - what a row holds, the statement says
        """The next row, or None."""
        ...

    def fetchall(self) -> list[Any]:
        """The rows that are left."""
        ...

    def __iter__(self) -> Iterator[Any]:
        """The rows that are left."""
        ...


Execute: TypeAlias = Callable[[str, Sequence[Any]], Found]
"""Runs one statement with these values."""


class Ear(Protocol):
    """Hears that somebody has written."""

    def wait(self, seconds: float) -> bool:
        """Until somebody has written, `wake` was called, or the time is up. May return for nothing.

        True if the database may have lost what was not confirmed: then a `pulse` may be as it was before.
        """
        ...

    def wake(self) -> None:
        """End the waiting; may be called by any thread."""
        ...

    def close(self) -> None:
        """Hear nothing any more."""
        ...


class Readable(Protocol):
    """A database with our tables that can be asked."""

    def sql(self, file: str = "queries.sql") -> Mapping[str, str]:
        """The statements of a file, by name, as this database takes them."""
        ...

    def read(self) -> AbstractContextManager[Execute]:
        """A block that cannot write; each statement sees what is committed."""
        ...

    def seen(self) -> AbstractContextManager[Execute]:
        """Like `read`, but every statement of the block, in this thread, sees the same moment."""
        ...

    def settled(self) -> int:
        """The number of an entry: of those that are not committed yet, none will have a smaller one.

        Raises `Busy` if whoever writes does not come to an end.
        """
        ...


class Tables(Readable, Protocol):
    """A database with our tables. What is written in a block is there as a whole, or never was."""

    def written(self) -> AbstractContextManager[Execute]:
        """A transaction, committed when the block ends well, gone without a trace when it does not."""
        ...

    def peek(self, statement: str, values: Sequence[Any]) -> list[Any]:
        """The rows of a statement that takes no time; it sees what is committed."""
        ...

    def held(self, run: str) -> AbstractContextManager[None]:
        """A block in which nobody else commits to this run, at least until this thread has."""
        ...

    def elected(self, task: str) -> AbstractContextManager[bool]:
        """A block that is told whether to do a task that nobody else does meanwhile, in any process."""
        ...

    def pulse(self) -> int:
        """A number that is another one whenever another connection has committed since."""
        ...

    def ear(self) -> Ear:
        """What hears that somebody has written."""
        ...

    def size(self) -> int:
        """How many bytes it takes."""
        ...

    def vacuum(self) -> None:
        """Give unused space back."""
        ...

    def flaws(self) -> Iterator[tuple[str, str]]:
        """What is wrong with the database itself, whatever it holds: the code of a damage, and what it is."""
        ...

    def there(self) -> None:
        """Raises a fault if it cannot be read, or is another one than was opened."""
        ...

    def rest(self) -> None:
        """What can wait until a reply is given."""
        ...

    def close(self) -> None:
        """Let go of it; once is enough."""
        ...
