"""Objects of git, each a file of its own, written as git itself does it: whole by its name, or not there.

An object is named by its hash, so a file of its name is the same object. What a kill leaves is no object, or
one that nothing refers to; git removes both in time. Git moves no ref to a commit that it does not find.
"""

import hashlib
import os
import stat
import zlib
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import mkstemp
from typing import Final

from handrail.shell import errnos

_UNFINISHED: Final = "tmp_obj_"
"""How a file begins that git takes for an object that was never finished."""

_FASTEST: Final = 1
"""How git compresses such files."""


@dataclass(frozen=True, slots=True)
class Objects:
    """Those in this folder of a repository that names them by this hash; `who` is a name and an address."""

    folder: Path
    algorithm: str
    who: bytes

    def commit(self, file: str, data: bytes, message: str, parent: str, at: datetime) -> str:
        """The name of a new commit on top of the parent, or of none, with this file alone.

        Raises the fault of what could not be written.
        """
        blob = self._put("blob", data)
        tree = self._put("tree", b"100644 " + file.encode() + b"\0" + bytes.fromhex(blob))
        by = self.who + f" {int(at.timestamp())} +0000".encode()
        above = [f"parent {parent}".encode()] if parent else []
        head = [f"tree {tree}".encode(), *above, b"author " + by, b"committer " + by]
        return self._put("commit", b"\n".join([*head, b"", message.encode()]))

    def _put(self, kind: str, data: bytes) -> str:
        """The name of an object, which is there now."""
        whole = f"{kind} {len(data)}\0".encode() + data
        name = hashlib.new(self.algorithm, whole, usedforsecurity=False).hexdigest()
        path = self.folder / name[:2] / name[2:]
        try:
            if not _freshened(path):
                self._write(path, zlib.compress(whole, _FASTEST))
        except OSError as error:
            raise errnos.unchanged(f"{path}", error) from error
        return name

    def _write(self, path: Path, data: bytes) -> None:
        """Whoever may use the folder of objects may use what is written."""
        mode = stat.S_IMODE(self.folder.stat().st_mode)
        with suppress(FileExistsError):
            path.parent.mkdir()
            path.parent.chmod(mode)
        opened, unfinished = mkstemp(prefix=_UNFINISHED, dir=path.parent)
        try:
            with os.fdopen(opened, "wb") as file:
                file.write(data)
                os.fchmod(opened, mode & 0o444)
            Path(unfinished).rename(path)
        except OSError:
            with suppress(OSError):
                Path(unfinished).unlink()
            raise


def _freshened(path: Path) -> bool:
    """Whether an object is there already; it is as good as new then, and not removed for its age."""
    try:
        os.utime(path)
    except OSError:
        return False
    return True
