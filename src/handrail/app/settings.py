"""Read and change the user's settings: one small file, `settings.yaml`, beside the user's workflows."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec.yaml

from handrail.app.user_files import LinkFollowingFolder
from handrail.runtime.errors import Unreadable
from handrail.runtime.system import settings_folder

SETTINGS_FILE_NAME: Final = "settings.yaml"


class Requirement(StrEnum):
    """Whether something is required."""

    REQUIRED = "required"
    OPTIONAL = "optional"


class SpellSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the spells face. `permit`: whether each word needs a permit from a client's hook."""

    permit: Requirement = Requirement.OPTIONAL


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings of a user."""

    spells: SpellSettings = SpellSettings()


def settings_path() -> Path:
    """Return the path of the settings file, which need not exist."""
    return settings_folder() / SETTINGS_FILE_NAME


def load_settings() -> Settings:
    """Load the settings; missing ones have their defaults. Raises `Unreadable` for an invalid file."""
    data = LinkFollowingFolder(settings_folder()).read(SETTINGS_FILE_NAME)
    if data is None or not data.strip():
        return Settings()
    try:
        return msgspec.yaml.decode(data, type=Settings)
    except (msgspec.ValidationError, msgspec.DecodeError) as wrong:
        repair = "write `spells: {permit: required}` or `spells: {permit: optional}`, or move the file away"
        raise Unreadable(f"{settings_path()} is not as it must be: {wrong}", repair) from wrong


def require_permits() -> None:
    """Require a permit for every word. Raises `Unreadable` if an existing file does not require it."""
    if load_settings().spells.permit is Requirement.REQUIRED:
        return
    path, line = settings_path(), f"spells: {{permit: {Requirement.REQUIRED}}}\n"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        message = f"{path} is there already, and says otherwise"
        raise Unreadable(message, f"write in it: {line.strip()}") from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(line)
