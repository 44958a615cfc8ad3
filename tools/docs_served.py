"""The pages of docs/reference/ about what a server offers and what a store holds; `docs.py` writes them."""

import asyncio
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from unittest.mock import patch

from mcp import Client
from mcp_types import Prompt, Tool

from handrail.app.app import open_app
from handrail.app.faces import FACES
from handrail.mcp.addresses import Spelling
from handrail.mcp.server import FaceServer, build_server
from handrail.stores.sql.sqlite import SqliteDatabase
from tools.docs_pages import page, table

_FROM_THE_START: Final = "steps"


def served_page() -> str:
    """What each face offers a client: instructions, tools, resources and prompts, as a server lists them."""
    with TemporaryDirectory() as name, patch.dict(os.environ, XDG_CONFIG_HOME=name):
        project = Path(name) / "project"
        project.mkdir()
        with open_app(Path(name) / "handrail.db", [project]) as app:
            faces = {face: build_server(app, face, Spelling.PORTABLE) for face in FACES}
            parts = [part for face, server in faces.items() for part in _face(face, server)]
            common = asyncio.run(_common(faces[_FROM_THE_START]))
    return page(
        "What an agent sees",
        "What `handrail serve --face NAME` gives a client, as it lists it: the instructions, the tools, and",
        "the prompts that a person picks. Resources are the same for all faces. Over HTTP each face is at",
        "`/mcp/NAME`: [serving an agent](../guides/serving-an-agent.md#over-http) tells of that.\n",
        *parts,
        *common,
    )


def _face(name: str, server: FaceServer) -> Iterator[str]:
    tools, prompts = asyncio.run(_listed(server))
    yield f"## {name}\n"
    yield f"```text\n{(server.instructions or '').rstrip()}\n```\n"
    for tool in tools:
        yield from _tool(tool)
    yield "### Prompts\n"
    yield table(
        ("prompt", "meaning", "arguments"),
        [(f"`{one.name}`", _line(one.description), _arguments(one)) for one in prompts],
    )
    yield ""


async def _listed(server: FaceServer) -> tuple[list[Tool], list[Prompt]]:
    async with Client(server) as client:
        return (await client.list_tools()).tools, (await client.list_prompts()).prompts


def _tool(tool: Tool) -> Iterator[str]:
    yield f"### `{tool.name}`\n"
    yield f"{(tool.description or '').strip()}\n"
    required = tool.input_schema.get("required", ())
    rows = [
        (f"`{name}`", _kind(schema), "yes" if name in required else "", _line(schema.get("description")))
        for name, schema in tool.input_schema.get("properties", {}).items()
    ]
    if rows:
        yield table(("argument", "value", "needed", "meaning"), rows) + "\n"


def _kind(schema: Mapping[str, Any]) -> str:
    """What an argument may be, in few words."""
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    ways = schema.get("anyOf") or schema.get("oneOf")
    if ways:
        return " or ".join(dict.fromkeys(_kind(way) for way in ways))
    kind = schema.get("type", "any value")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _arguments(prompt: Prompt) -> str:
    return ", ".join(f"`{one.name}`" for one in prompt.arguments or ())


async def _common(server: FaceServer) -> Sequence[str]:
    async with Client(server) as client:
        fixed = (await client.list_resources()).resources
        taking = (await client.list_resource_templates()).resource_templates
    rows = [(f"`{one.uri}`", one.mime_type or "", _line(one.description)) for one in fixed]
    rows += [(f"`{one.uri_template}`", one.mime_type or "", _line(one.description)) for one in taking]
    return (
        "## Resources\n",
        "A client lists what is there now; these are the addresses. Each can be subscribed to.\n",
        table(("address", "type", "what it is"), rows),
    )


def _line(text: str | None) -> str:
    return " ".join((text or "").split())


def schema_page(meanings: Mapping[str, str]) -> str:
    """Every table and view of a store, with its columns."""
    with TemporaryDirectory() as name:
        path = Path(name) / "handrail.db"
        SqliteDatabase(path).close()
        with closing(sqlite3.connect(path)) as store:
            found = store.execute(
                "SELECT type, name FROM sqlite_schema WHERE type IN ('table', 'view')"
                " AND name NOT LIKE 'sqlite_%' ORDER BY type, name"
            ).fetchall()
            version = store.execute("PRAGMA user_version").fetchone()[0]
            if gone := meanings.keys() - {name for _, name in found}:
                raise ValueError(f"meanings.yaml tells of tables that there are not: {sorted(gone)}")
            parts = [part for kind, name in found for part in _table(store, kind, name, meanings)]
    return page(
        "The SQL schema",
        f"What a store holds, in version {version} of its schema; on PostgreSQL the tables and views have",
        "the same names and columns. Views have the names of the documents that Handrail was made from: ask",
        "those, and let Handrail write. Times are texts in UTC, `2026-01-31 09:00:00.000`.\n",
        *parts,
    )


def _table(store: sqlite3.Connection, kind: str, name: str, meanings: Mapping[str, str]) -> Iterator[str]:
    if name not in meanings:
        raise ValueError(f"docs/meanings.yaml says nothing of the {kind} {name}")
    yield f"## `{name}`\n"
    yield f"{'View' if kind == 'view' else 'Table'}: {meanings[name]}\n"
    asked = 'SELECT name, type, "notnull", pk FROM pragma_table_info(?)'
    columns = store.execute(asked, (name,)).fetchall()
    if kind == "view":
        yield ", ".join(f"`{column}`" for column, *_ in columns) + "\n"
        return
    yield table(
        ("column", "type", "always there", "key"),
        [
            (f"`{column}`", type_ or "any", "yes" if always or key else "", str(key) if key else "")
            for column, type_, always, key in columns
        ],
    )
    indexes = store.execute(
        "SELECT sql FROM sqlite_schema"
        " WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL ORDER BY name",
        (name,),
    ).fetchall()
    if indexes:
        yield "\n```sql\n" + "\n".join(_line(sql) + ";" for (sql,) in indexes) + "\n```"
    yield ""
