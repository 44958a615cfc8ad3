"""A place for servers: a project with two workflows, a home and a store."""

from pathlib import Path

import pytest

from helpers.servers import Place, create_place


@pytest.fixture
def at(tmp_path: Path) -> Place:
    return create_place(tmp_path / "place")
