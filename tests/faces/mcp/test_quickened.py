"""What a server over stdin imports, and what it imports late is as it would be otherwise."""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mcp.server.mcpserver.utilities import logging as sdk

from faces.mcp.desk import place
from handrail.faces.mcp import logs

HELLO = (
    '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", '
    '"capabilities": {}, "clientInfo": {"name": "somebody", "version": "1"}}}\n'
)
NEVER = (
    "httpx2._client",
    "mcp.client",
    "mcp.client.client",
    "rich",
    "uvicorn",
    "jinja2",
    "psycopg",
)
LATE = """
from handrail.faces.cli.quickened import quickened
with quickened(http=False):
    import mcp.server
"""
NAMES = "import mcp, httpx2; print(*(one.__module__ for one in (mcp.Client, mcp.types.Tool, httpx2.Client)))"
Wrong = tuple[type[Exception], Exception, None] | tuple[None, None, None]


def python(program: str, *words: str, sent: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """What a process of its own says, which has imported nothing yet."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    return subprocess.run(
        [sys.executable, "-c", program, *words],
        input=sent,
        env={**kept, **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )


def test_a_server_imports_no_client_and_nothing_to_colour_a_log(tmp_path: Path) -> None:
    at = place(tmp_path)
    told = "import atexit, sys; atexit.register(lambda: sys.stderr.write('\\n'.join(sys.modules)))"

    done = python(
        f"{told}; from handrail.app import main; main()",
        *("serve", "--project", str(at.project)),
        sent=HELLO,
        **at.env,
    )

    found = done.stderr.split("\n")
    assert json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "handrail"
    assert "mcp.server.mcpserver.server" in found
    assert [name for name in NEVER if name in found] == []


def test_what_is_put_off_is_there_for_whoever_asks() -> None:
    told = python(LATE + "import sys; assert 'mcp.client' not in sys.modules\n" + NAMES).stdout

    assert told == python(NAMES).stdout
    assert told.startswith("mcp.client.client ")


def test_a_name_that_a_package_does_not_have_is_missed_as_ever() -> None:
    twice = "for _ in range(2):\n    print(hasattr(mcp, 'nothing'), hasattr(mcp, 'Client'))\n"

    assert python(LATE + twice).stdout == "False True\nFalse True\n"


@pytest.mark.parametrize(
    "wrong", [(None, None, None), (ValueError, ValueError("a [bold]value[/bold]"), None)]
)
def test_the_log_is_written_as_the_sdk_writes_it(
    wrong: Wrong, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = []
    for configure in (sdk.configure_logging, logs.configure_logging):
        root = logging.RootLogger(logging.NOTSET)
        monkeypatch.setattr(logging, "root", root)
        configure("WARNING")
        for number in (1, 2):
            record = root.makeRecord("handrail", logging.ERROR, __file__, 1, "it is %s", (number,), wrong)
            record.created = 0.0
            root.handle(record)
        told.append((root.level, capsys.readouterr().err))

    assert told[0] == told[1]
    assert "it is 2" in told[0][1]


def test_a_log_that_cannot_be_coloured_is_plain(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "rich.logging", None)
    handler = logs.Late()
    handler.handle(logging.LogRecord("handrail", logging.ERROR, __file__, 1, "it broke", None, None))

    assert capsys.readouterr().err == "it broke\n"
