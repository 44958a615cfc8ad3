"""A server over stdin imports nothing that only pages or a database of a team need."""

import json
import os
import subprocess
import sys
from pathlib import Path

from helpers.servers import create_place

HELLO = (
    '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", '
    '"capabilities": {}, "clientInfo": {"name": "somebody", "version": "1"}}}\n'
)
NEVER = ("jinja2", "psycopg", "prometheus_client", "websockets")
PROGRAM = (
    "import atexit, sys; atexit.register(lambda: sys.stderr.write('\\n'.join(sys.modules))); "
    "from handrail.__main__ import main; main()"
)


def test_a_server_over_stdin_imports_no_pages_and_no_driver(tmp_path: Path) -> None:
    at = create_place(tmp_path)
    stored = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "serve", "--project", str(at.project)],
        input=HELLO,
        env={**stored, **at.env},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    found = done.stderr.split("\n")
    assert json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "handrail"
    assert "handrail.mcp.server" in found
    assert [name for name in NEVER if name in found] == []
