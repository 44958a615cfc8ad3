"""Files of tests in memory: what a turn confirms to a disk takes most of its time there, and shows nothing.

That a confirmation is asked for, and at the right moment, is shown with disks that lose their power. Tests in
which many meet stay on the disk: in memory a turn is so short that the scheduler decides who is next.
"""

import os
import shutil
from pathlib import Path
from typing import Final

ROOM: Final = 2 * 1024**3
"""How many bytes must be free: all tests together leave less."""

_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - whoever keeps files there makes a folder of its own


def find_memory_folder() -> Path | None:
    """Where files are kept in memory, if there is room and programs can be run; else None."""
    if not _MEMORY.is_dir() or shutil.disk_usage(_MEMORY).free < ROOM:
        return None
    return None if os.statvfs(_MEMORY).f_flag & os.ST_NOEXEC else _MEMORY
