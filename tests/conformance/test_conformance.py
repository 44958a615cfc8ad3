"""The conformance suite of the protocol: what a server must do, in both protocol eras, ours does."""

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from helpers.conformance_server import FACE
from helpers.conformance_suite import FREE, REQUIRED, UNTESTABLE, find_faults, run_suite
from helpers.crash import Record
from helpers.http_servers import FACES, HttpServer, run_http_program, run_http_server
from helpers.servers import Place, create_place

pytestmark = pytest.mark.unmeasured
TESTS = Path(__file__).resolve().parent.parent


@pytest.fixture
def at(tmp_path: Path) -> Place:
    return create_place(tmp_path)


@contextmanager
def _workshop(at: Place) -> Iterator[HttpServer]:
    """A server of ours that also has the fixtures of the suite."""
    words = (sys.executable, "-m", "helpers.conformance_server", str(at.project), str(at.store))
    at.store.parent.mkdir()
    env = {**at.env, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
    with run_http_program(at, words, env, (FACE,)) as served:
        yield served


@pytest.mark.parametrize(("revision", "count"), [("2025-11-25", 30), ("2026-07-28", 37)])
def test_every_required_scenario_passes(
    at: Place, revision: str, count: int, record_property: Record
) -> None:
    with _workshop(at) as served:
        checks = run_suite(served.url(FACE), revision, at.folder / "found")

    required = REQUIRED[revision]
    assert {name: found for name in required if (found := find_faults(checks, name))} == {}
    assert len(set(required)) == count
    record_property("points", sum(len(checks[name]) for name in required))


@pytest.mark.parametrize("revision", REQUIRED)
def test_every_real_face_passes_what_asks_for_no_fixture(
    at: Place, revision: str, record_property: Record
) -> None:
    with run_http_server(at) as served, ThreadPoolExecutor() as pool:
        found = pool.map(lambda face: run_suite(served.url(face), revision, at.folder / face), FACES)
        by_face = dict(zip(FACES, found, strict=True))

    assert {
        (face, name): wrong
        for face, checks in by_face.items()
        for name in FREE[revision]
        if (wrong := find_faults(checks, name))
    } == {}
    for checks in by_face.values():
        odd = {one.name for one in checks.get("server-stateless", ()) if one.status != "SUCCESS"}
        assert odd == UNTESTABLE[revision]
    looked = [len(checks[name]) for checks in by_face.values() for name in FREE[revision]]
    record_property("points", sum(looked))
