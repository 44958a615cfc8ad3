"""The folders that a user has for programs: for settings, for data, and for what is remembered a while."""

import os
from pathlib import Path


def settings_folder() -> Path:
    """Handrail's folder among the user's settings, whether it is there or not."""
    return _home("XDG_CONFIG_HOME", ".config")


def data_folder() -> Path:
    """Handrail's folder among the user's data, whether it is there or not."""
    return _home("XDG_DATA_HOME", ".local/share")


def state_folder() -> Path:
    """Handrail's folder among what the user's programs remember, whether it is there or not."""
    return _home("XDG_STATE_HOME", ".local/state")


def store_file() -> Path:
    """The store that is meant where none is named."""
    return data_folder() / "handrail.db"


def _home(variable: str, usual: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / usual) / "handrail"
