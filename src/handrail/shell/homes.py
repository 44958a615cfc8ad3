"""The folders that a user has for programs: one for settings, one for data."""

import os
from pathlib import Path


def settings_folder() -> Path:
    """Handrail's folder among the user's settings, whether it is there or not."""
    return _home("XDG_CONFIG_HOME", ".config")


def data_folder() -> Path:
    """Handrail's folder among the user's data, whether it is there or not."""
    return _home("XDG_DATA_HOME", ".local/share")


def _home(variable: str, usual: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / usual) / "handrail"
