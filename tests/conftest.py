"""What holds for every test: the same random examples each time, and folders of its own, in memory."""

import os
import shutil
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from helpers import measurement
from helpers.cleanup import close_all
from helpers.memory_folder import find_memory_folder
from helpers.postgres import PostgresServer, await_end, join_run_server, release_run_server, set_common_folder

settings.register_profile("house", database=None, deadline=None, derandomize=True, print_blob=False)
settings.load_profile("house")

_FOLDERS = {
    "HOME": "",
    "XDG_CACHE_HOME": ".cache",
    "XDG_CONFIG_DIRS": "nowhere",
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_DIRS": "nowhere",
    "XDG_DATA_HOME": ".local/share",
    "XDG_RUNTIME_DIR": ".run",
    "XDG_STATE_HOME": ".local/state",
}


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Keep the folders of tests until the end, in memory where that can be; or where `--basetemp` says.

    A process that only starts those in which tests run is not measured.
    """
    if config.getoption("numprocesses", default=None):
        measurement.stop_measuring_here()
    if config.option.basetemp is None:
        folder = tempfile.mkdtemp(prefix="handrail-tests-", dir=find_memory_folder())
        config.option.basetemp = folder
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    base = Path(config.option.basetemp)
    set_common_folder(base.parent if _worker(config) else base)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Let the run end only when nothing is left of its PostgreSQL server."""
    release_run_server()
    if not _worker(config):
        await_end(Path(config.option.basetemp) / "postgres")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that are not measured come last."""
    measurement.move_unmeasured_last(items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Measure nothing from the first such test on."""
    if measurement.is_unmeasured(item):
        measurement.stop_measuring()


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder: neither a test nor a program it starts sees that of the person who runs it."""
    folder = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if name.startswith(("HANDRAIL_", "PG", "XDG_"))]:
        monkeypatch.delenv(name)
    for name, below in _FOLDERS.items():
        monkeypatch.setenv(name, str(folder / below))
    return folder


@pytest.fixture(scope="session")
def disk() -> Iterator[Path]:
    """A folder on the disk, for tests in which many meet: how long a turn takes there is part of the test."""
    with tempfile.TemporaryDirectory(prefix="handrail-tests-") as folder:
        yield Path(folder)


@pytest.fixture
def on_disk(disk: Path) -> Path:
    """A folder of the test's own there."""
    return Path(tempfile.mkdtemp(dir=disk))


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> PostgresServer:
    """The one PostgreSQL server of this test run, started by the first test that asks for it."""
    tmp_path_factory.getbasetemp()
    return join_run_server()


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[str]:
    """The URL of an empty PostgreSQL database of the test's own."""
    with postgres.lend_database() as url:
        yield url


@pytest.fixture(autouse=True)
def _nothing_is_left_open() -> Iterator[None]:
    """Close the databases that the test has opened and kept."""
    yield
    close_all()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many points each test went through that recorded its `points`: a count that fell is seen.

    What a test has recorded as its `table` is printed below that.
    """
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, number in getattr(report, "user_properties", ()) if _called(report) else ():
                if name == "points":
                    terminalreporter.write_line(f"{number:>7} points: {report.nodeid}")
                if name == "table":
                    terminalreporter.write_line(textwrap.indent(str(number), " " * 16))


def _worker(config: pytest.Config) -> bool:
    """True in a process that another one of the same run has started to run tests."""
    return hasattr(config, "workerinput")


def _called(report: object) -> bool:
    return isinstance(report, pytest.TestReport) and report.when == "call"
