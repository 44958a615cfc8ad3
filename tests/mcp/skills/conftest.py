"""An agent at the face, in a project of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.skill_sessions import Agent, agent_in


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    with agent_in(tmp_path) as made:
        yield made
