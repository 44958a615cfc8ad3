"""The examples of docs/reference/: what a command with `--json` prints when it is really typed."""

import json
import re
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Final

from click.testing import CliRunner

from handrail.app.definitions import SUPERVISOR
from handrail.cli.main import cli
from tools import docs_pages, docs_plans
from tools.docs_pages import SAMPLE
from tools.sample_store import OUTPUTS, sample_store

BREAK: Final = ("attempts: 3", "atempts: 3")
"""What is misspelt in the copy of the sample that shows a problem."""

ARGUMENTS: Final = {
    **docs_plans.ARGUMENTS,
    "handrail brief": "--project /home/ada/editor",
    "handrail doctor": "--only runs --project /home/ada/editor",
    "handrail init": "--client mcp --project /srv/shop",
    "handrail install": "mcp --from-index --project /srv/shop",
    "handrail project add": "shop /srv/shop",
    "handrail project remove": "shop",
    "handrail runs abandon": "00000007 --reason obsolete",
    "handrail runs artifacts": "00000007",
    "handrail runs comment": "00000007 Careful!",
    "handrail runs complete-step": "00000007 --output output.json",
    "handrail runs diverge": "00000007 --reason elsewhere",
    "handrail runs events": "00000007 --after 33",
    "handrail runs fail": "00000007 --reason impossible",
    "handrail runs fork": "00000001",
    "handrail runs list": "--limit 1",
    "handrail runs pause": "00000007 --reason lunch",
    "handrail runs resume": "00000007",
    "handrail runs show": "00000007",
    "handrail token create": "ada --scope run:read --scope run:write",
    "handrail trust": "--list",
    "handrail watch": "--once --project /home/ada/editor",
    "handrail stats": "--since 2026-01-31",
    "handrail store copy": "handrail.db team.db",
    "handrail store prune": "--older-than 2026-02-28 --archive old.jsonl.gz --yes",
    "handrail workflows check": f"{SAMPLE}.yaml",
    "handrail workflows show": SAMPLE,
}
"""What the examples of commands with `--json` are given."""

SAMPLED: Final = frozenset({"brief", "doctor", "runs", "stats", "store", "watch"})
"""The commands that are typed where there are runs."""

BEFORE: Final = {
    **dict.fromkeys(
        ("handrail project list", "handrail project remove"), ("project", "add", "shop", "/srv/shop")
    ),
    "handrail runs resume": ("runs", "pause", "00000007"),
    "handrail token list": ("token", "create", "ada", "--scope", "run:read", "--scope", "run:write"),
}
"""What is typed before an example, so that there is something to do."""

PLACED: Final = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f-]{21}\b")
"""Ids that follow from where a folder is, or from the key of a store."""

BYTES: Final = re.compile(r'"(bytes|before|after)": \d+')
"""Sizes, which differ from one SQLite to the next."""

CHANCE: Final = {
    r'"id": "[0-9a-f]+"': '"id": "5f0c0f4e3f0e"',
    r"hr_[\w-]{43}": "hr_Zm9yIGV4YW1wbGUgb25seSwgaXQgb3BlbnMgbm90aGluZw",
    r'"created": "[^"]+"': '"created": "2026-03-01T12:00:00.000Z"',
    r'"expires": "[^"]+"': '"expires": "2026-05-30T12:00:00.000Z"',
    r'"project_id": "[^"]+"': '"project_id": "3a5e1c0f9b7d2e48"',
}
"""What is another in every token, and in every project."""


def example(path: str, argument: str) -> tuple[str, str]:
    """What is typed and what is printed, with the folders of this machine taken out."""
    original = docs_pages.sample().path
    text = original.read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"{SAMPLE}.yaml").write_text(text.replace(*BREAK), "utf-8")
        (Path(folder) / "output.json").write_text(json.dumps(OUTPUTS[1]), "utf-8")
        store = Path(folder) / "handrail.db"
        if path.split()[1] in SAMPLED:
            sample_store(store, abandoned=path == "handrail stats")
        if path == "handrail repair":
            _sample_project(Path(folder))
        if path == "handrail trust":
            _sample_persona(Path(folder))
        (Path(folder) / "srv" / "shop").mkdir(parents=True)
        (Path(folder) / "plan.txt").write_text(docs_plans.PLAN, "utf-8")
        if path in docs_plans.KEPT:
            docs_plans.sample_repository(Path(folder), path)
        files = (".yaml", ".gz", ".json", ".txt", ".db")
        placed = (word.replace("/srv/", f"{folder}/srv/") for word in argument.split())
        given = [f"{folder}/{word}" if word.endswith(files) else word for word in placed]
        words = [*path.split()[1:], *given, "--json"]
        homes = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"), folder)
        environment = {**homes, "HANDRAIL_PROJECT": folder, "HANDRAIL_STORE": str(store)}
        runner = partial(CliRunner().invoke, cli, env=environment, catch_exceptions=False)
        if path in BEFORE:
            runner([word.replace("/srv/", f"{folder}/srv/") for word in BEFORE[path]])
        printed = runner(words).stdout
    ours = str(original.parent.parent.parent)
    return " ".join([path, *argument.split(), "--json"]), _anywhere(path, printed, folder, ours)


def _anywhere(path: str, printed: str, folder: str, ours: str) -> str:
    """What a command printed, without what is another on every machine and at every time."""
    printed = (
        printed.replace(f"{folder}/srv/", "/srv/")
        .replace(f"{folder}/", "")
        .replace(folder, "/home/you/project")
    )
    printed = (
        printed.replace(ours, "…/handrail/workflows").replace(sys.executable, "/usr/bin/python3").rstrip()
    )
    printed = PLACED.sub("9f0c0f4e-3f0e-5d55-9c2e-0f6d1b7a8c11", printed)
    printed = BYTES.sub(r'"\1": 98304', printed)
    for pattern, shown in CHANCE.items():
        printed = re.sub(pattern, shown, printed) if path.split()[1] in {"project", "token"} else printed
    for pattern, shown in docs_plans.CHANCE.items():
        printed = re.sub(pattern, shown, printed) if path in docs_plans.KEPT else printed
    return printed


def _sample_project(folder: Path) -> None:
    """A project with a workflow that lives in files, and a folder for its run."""
    workflow = folder / ".handrail" / "workflows" / "task.yaml"
    workflow.parent.mkdir(parents=True)
    (folder / ".ai" / "task").mkdir(parents=True)
    lines = (
        "{workflow: task, version: 1, authority: files, folder: .ai/task,",
        "states: {WRITING: {}, DONE: {terminal: true}},",
        "transitions: [{id: T1, from: WRITING, trigger: go, to: DONE}]}",
    )
    workflow.write_text("\n".join(lines), "utf-8")


def _sample_persona(folder: Path) -> None:
    """A project with a persona that hides a built-in one."""
    persona = folder / ".handrail" / "agents" / f"{SUPERVISOR}.md"
    persona.parent.mkdir(parents=True)
    persona.write_text("Do whatever the agent likes best.\n", "utf-8")
