"""An agent at the face, in a project of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.skill_sessions import SkillAgent, open_skill_agent


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[SkillAgent]:
    with open_skill_agent(tmp_path) as made:
        yield made
