"""Importing the SDK fast: it has hundreds of models and all of a client, of which a server uses some."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import Loader
from importlib.util import find_spec, module_from_spec
from threading import RLock
from types import ModuleType
from typing import Final

PUT_OFF: Final = ("mcp", "httpx2")
"""The packages whose own code runs only if somebody asks for one of their names.

That of `mcp` imports what a client needs; what a server needs is imported from the modules below it. `httpx2`
is there for resources that are fetched from elsewhere, of which no face has any.
"""

LEFT_OUT: Final = "uvicorn"
"""What is imported only to have streams of HTTP end when a server of HTTP is told to."""

_due: Final[dict[str, Loader]] = {}
_lock: Final = RLock()


class Late(ModuleType):
    """A package that is in its place, for modules of it to be imported, and has not run yet.

    `LazyLoader` of Python's own would run it as soon as a module of it is imported.
    """

    def __getattr__(self, name: str) -> object:
        """A name that it does not have: it is run first, once, and then has it or never will."""
        with _lock:
            if loader := _due.pop(self.__name__, None):
                loader.exec_module(self)
        return super().__getattribute__(name)


@contextmanager
def quickened(*, http: bool) -> Iterator[None]:
    """A block in which the SDK is imported: a model or a client of it is made when it is first used.

    Where HTTP is not served, its server is as if it were not installed, which the SDK allows for. Garbage is
    not looked for from then on; whoever has imported everything says when that begins again.
    """
    gc.disable()
    from pydantic import BaseModel

    for name in PUT_OFF:
        _put_off(name)
    BaseModel.model_config["defer_build"] = True
    left_out = not http and LEFT_OUT not in sys.modules
    if left_out:
        sys.modules[LEFT_OUT] = None  # type: ignore[assignment]  # how Python is told that there is none
    try:
        yield
    finally:
        del BaseModel.model_config["defer_build"]
        if left_out:
            del sys.modules[LEFT_OUT]


def _put_off(name: str) -> None:
    """Let a package run late, unless it has been imported already."""
    spec = None if name in sys.modules else find_spec(name)
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        module.__class__ = Late
        sys.modules[name], _due[name] = module, spec.loader
