"""Importing the SDK fast: it has hundreds of models, of which a server uses some."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quickened() -> Iterator[None]:
    """A block in which the SDK is imported: a model of it is built when it is first used.

    Garbage is not looked for from then on; whoever has imported everything says when that begins again.
    """
    gc.disable()
    from pydantic import BaseModel

    BaseModel.model_config["defer_build"] = True
    try:
        yield
    finally:
        del BaseModel.model_config["defer_build"]
