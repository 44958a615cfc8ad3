"""What a server needs, imported and made once, so that a process that is forked from this one has it."""

import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from handrail.faces.cli.serve import FACES
from handrail.resident.host import Program, status_of

_HELLO: Final = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
    '"clientInfo":{"name":"handrail","version":"1"}}}\n'
    '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    '{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n'
)


def warm(program: Program) -> None:
    """Serve each face once, to nobody, over a store that is thrown away; no thread is left behind."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        _redirected(stack, Path(name))
        for face in FACES:
            os.lseek(0, 0, os.SEEK_SET)
            status_of(program, ["serve", "--face", face, "--project", name, "--store", f"{name}/handrail.db"])


def _redirected(stack: ExitStack, folder: Path) -> None:
    """Have stdin say hello and stdout forget, for the block."""
    (folder / "hello").write_text(_HELLO)
    sys.stdout.flush()
    hello, nothing = os.open(folder / "hello", os.O_RDONLY), os.open(os.devnull, os.O_WRONLY)
    for number, instead in ((0, hello), (1, nothing)):
        before = os.dup(number)
        os.dup2(instead, number)
        os.close(instead)
        stack.callback(os.close, before)
        stack.callback(os.dup2, before, number)
