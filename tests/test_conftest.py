"""What every test can rely on."""

import os
from pathlib import Path

from hypothesis import settings


def test_a_test_has_an_empty_home_of_its_own(home: Path) -> None:
    folders = {name: value for name, value in os.environ.items() if name == "HOME" or name.startswith("XDG_")}

    assert Path.home() == home
    assert list(home.iterdir()) == []
    assert folders == {
        "HOME": f"{home}",
        "XDG_CACHE_HOME": f"{home}/.cache",
        "XDG_CONFIG_DIRS": f"{home}/nowhere",
        "XDG_CONFIG_HOME": f"{home}/.config",
        "XDG_DATA_DIRS": f"{home}/nowhere",
        "XDG_DATA_HOME": f"{home}/.local/share",
        "XDG_RUNTIME_DIR": f"{home}/.run",
        "XDG_STATE_HOME": f"{home}/.local/state",
    }


def test_random_examples_are_the_same_in_every_run() -> None:
    profile = settings.default

    assert profile is not None
    assert (profile.derandomize, profile.deadline, profile.print_blob, profile.database) == (
        True,
        None,
        False,
        None,
    )
