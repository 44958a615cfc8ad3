"""Somebody at the face, over a repository of git."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.planner_agents import Cook, cook_in
from helpers.repositories import made


@pytest.fixture
def cook(tmp_path: Path) -> Iterator[Cook]:
    """Somebody who has planned nothing yet."""
    with cook_in(tmp_path, made("git", tmp_path / "project", tmp_path / "home")) as here:
        yield here
