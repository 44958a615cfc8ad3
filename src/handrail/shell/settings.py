"""What a user has set, in one small file of theirs: `settings.yaml` beside their workflows."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec
import msgspec.yaml

from handrail.shell.faults import Unreadable
from handrail.shell.followed import Followed
from handrail.shell.homes import settings_folder

FILE: Final = "settings.yaml"


class Need(StrEnum):
    """Whether something is asked for."""

    REQUIRED = "required"
    OPTIONAL = "optional"


class Spells(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is set for the words: whether each needs a permit, which the hook of a client leaves."""

    permit: Need = Need.OPTIONAL


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that can be set."""

    spells: Spells = Spells()


def settings_file() -> Path:
    """Where they are, whether there are any or not."""
    return settings_folder() / FILE


def settings() -> Settings:
    """What is set now; what is not is as usual. Raises `Unreadable` for a file that is not as it must be."""
    data = Followed(settings_folder()).read(FILE)
    if data is None or not data.strip():
        return Settings()
    try:
        return msgspec.yaml.decode(data, type=Settings)
    except (msgspec.ValidationError, msgspec.DecodeError) as wrong:
        repair = "write `spells: {permit: required}` or `spells: {permit: optional}`, or move the file away"
        raise Unreadable(f"{settings_file()} is not as it must be: {wrong}", repair) from wrong


def require_permits() -> None:
    """Have every word need a permit from now on. Raises `Unreadable` if a file there says otherwise."""
    if settings().spells.permit is Need.REQUIRED:
        return
    path, line = settings_file(), f"spells: {{permit: {Need.REQUIRED}}}\n"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        raise Unreadable(
            f"{path} is there already, and says otherwise", f"write in it: {line.strip()}"
        ) from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(line)
