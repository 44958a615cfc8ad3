"""docs/guides/team-server.md: what it has people type is taken, and what it says of backups is tried."""

import asyncio
import re
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path

from handrail.app.faces import StepsStatus
from handrail.http.metrics import Metrics
from helpers.deploy_files import FOLDER, ROOT, find_command_error
from helpers.http_clients import WireClient
from helpers.http_servers import run_http_server
from helpers.program import run_command
from helpers.servers import TOOL, build_note_output, create_place

GUIDE = (ROOT / "docs" / "guides" / "team-server.md").read_text("utf-8")


def typed() -> list[str]:
    """Every command of Handrail on the page, without the program."""
    return re.findall(r"(?:\bhandrail|--rm handrail-1) ((?:project|token|store|ready|serve) [^`\n]+)", GUIDE)


def test_every_command_on_the_page_is_one_that_the_program_takes() -> None:
    found = typed()

    assert len(found) >= 15
    assert {
        line: find_command_error(shlex.split(line)) for line in found if find_command_error(shlex.split(line))
    } == {}


def test_every_file_on_the_page_is_there() -> None:
    named = set(re.findall(r"\bdeploy/([\w.-]+\w)", GUIDE))

    assert named - {"projects"} == {
        *("handrail.env", "handrail.service", "as-handrail", "nginx.conf", "nginx-tls.conf"),
        *("kubernetes.yaml", "Dockerfile", "handrail"),
    }
    assert [name for name in named - {"projects", "handrail"} if not (FOLDER / name).is_file()] == []


def test_every_figure_on_the_page_is_one_that_a_server_tells() -> None:
    answer = set(re.findall(r"^# TYPE (\w+)", Metrics().text().decode(), re.MULTILINE))
    named = set(re.findall(r"`((?:handrail|process)_\w+)`", GUIDE))

    assert named >= {
        one for one in answer if one.startswith("handrail_") and not one.endswith("_created")
    } - {"handrail_memory_blocks"}
    assert named - answer == set()


def test_a_backup_made_while_a_server_works_has_all_that_was_acknowledged(tmp_path: Path) -> None:
    """The run goes on in a server that has the copy for its store."""
    (statement,) = re.findall(r'sqlite3 handrail.db "(VACUUM INTO [^"]+)"', GUIDE)
    at, copy = create_place(tmp_path / "place"), tmp_path / "place" / "store" / "backup.db"

    with run_http_server(at) as served:
        begun = asyncio.run(WireClient(served, "steps", "auto").call(1, TOOL, {"template_name": "walk"}))
        with closing(sqlite3.connect(at.store)) as store:
            store.execute(statement.replace("backup.db", str(copy)))
    assert run_command("store", "check", "--store", copy, cwd=tmp_path).status == 0

    (tmp_path / "old").mkdir()
    for left in at.store.parent.glob("handrail.db*"):
        left.rename(tmp_path / "old" / left.name)
    copy.rename(at.store)
    with run_http_server(at) as served:
        given = {"step_token": begun.token, "model_output_so_far": build_note_output()}
        answer = asyncio.run(WireClient(served, "steps", "auto").call(1, TOOL, given))
    assert (answer.code, answer.run) == (StepsStatus.OK, begun.run)
