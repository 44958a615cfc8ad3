"""Somebody at the face, over a repository of git."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.planner_agents import PlanAgent, open_plan_agent
from helpers.repositories import create_repository


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[PlanAgent]:
    with open_plan_agent(tmp_path, create_repository("git", tmp_path / "project", tmp_path / "home")) as here:
        yield here
