"""A project, and the folder of the user's that stands behind it."""

from pathlib import Path

import pytest

from handrail.app.definitions import Definitions
from handrail.app.trust import TrustStore


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def own(home: Path) -> Path:
    return home / ".config" / "handrail"


@pytest.fixture
def shelf(project: Path) -> Definitions:
    return Definitions(project, TrustStore())
