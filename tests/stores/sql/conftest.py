"""A store in a file."""

from pathlib import Path

import pytest

from handrail.stores.sql.runs import SqliteRuns
from helpers.turns import open_sqlite


@pytest.fixture
def runs(tmp_path: Path) -> SqliteRuns:
    """A store in a new file; it has its key already."""
    store = open_sqlite(tmp_path)
    store.load_token_key()
    return store
