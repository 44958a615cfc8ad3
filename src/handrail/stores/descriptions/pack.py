"""A commit with one file, put into the form in which git takes objects: all of it in one process.

Git computes the names of what it takes itself; a pack whose names were wrong would leave a commit that is not
there, and git moves no ref to such a one.
"""

import hashlib
import zlib
from dataclasses import dataclass
from datetime import datetime
from typing import Final

_KINDS: Final = {"commit": 1, "tree": 2, "blob": 3}


@dataclass(frozen=True, slots=True)
class Committed:
    """The name that git gives a commit, and the pack that has it with all that it names."""

    name: str
    pack: bytes


@dataclass(frozen=True, slots=True)
class Packer:
    """Packs for a repository that names its objects by this hash; `who` is a name and an address."""

    algorithm: str
    who: bytes

    def commit(self, file: str, data: bytes, message: str, parent: str, at: datetime) -> Committed:
        """A commit on top of the parent, or of none, with this file alone."""
        blob = self._named("blob", data)
        tree = b"100644 " + file.encode() + b"\0" + blob
        by = self.who + f" {int(at.timestamp())} +0000".encode()
        above = [f"parent {parent}".encode()] if parent else []
        head = [f"tree {self._named('tree', tree).hex()}".encode(), *above]
        body = b"\n".join([*head, b"author " + by, b"committer " + by, b"", message.encode()])
        objects = (("blob", data), ("tree", tree), ("commit", body))
        pack = b"PACK" + (2).to_bytes(4, "big") + len(objects).to_bytes(4, "big")
        pack += b"".join(_entry(kind, content) for kind, content in objects)
        return Committed(self._named("commit", body).hex(), pack + self._hash(pack))

    def _named(self, kind: str, data: bytes) -> bytes:
        return self._hash(f"{kind} {len(data)}\0".encode() + data)

    def _hash(self, data: bytes) -> bytes:
        return hashlib.new(self.algorithm, data, usedforsecurity=False).digest()


def _entry(kind: str, data: bytes) -> bytes:
    """An object as a pack has it: its kind and size in as few bytes as can be, then it, deflated."""
    size = len(data)
    head = [_KINDS[kind] << 4 | size & 0x0F]
    size >>= 4
    while size:
        head[-1] |= 0x80
        head.append(size & 0x7F)
        size >>= 7
    return bytes(head) + zlib.compress(data)
