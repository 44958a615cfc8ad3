"""A repository of each kind."""

from pathlib import Path

import pytest

from helpers.repositories import KINDS, Repo, create_repository


@pytest.fixture(params=KINDS)
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Repo:
    return create_repository(request.param, tmp_path / "project", tmp_path / "home")


@pytest.fixture(params=["jj", "colocated"])
def jj(request: pytest.FixtureRequest, tmp_path: Path) -> Repo:
    """One of jj, with the folder of git beside its own and not."""
    return create_repository(request.param, tmp_path / "project", tmp_path / "home")


@pytest.fixture
def git(tmp_path: Path) -> Repo:
    return create_repository("git", tmp_path / "project", tmp_path / "home")
