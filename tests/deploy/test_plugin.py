"""What others find of Handrail: the plugin, the marketplace, the registry entry; all of one version."""

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

import handrail
from handrail.app.faces import FACES
from handrail.cli.main import cli
from handrail.clients.formats import load_clients

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "plugin"
EVENTS = {
    "UserPromptSubmit": "handrail hook prompt --client claude",
    "SessionStart": "handrail hook session --client claude",
    "PreToolUse": "handrail hook edit --client claude",
    "Stop": "handrail hook stop --client claude",
}


def _json(path: str) -> Any:  # noqa: ANN401 - files of others' shapes
    return json.loads((ROOT / path).read_text("utf-8"))


@pytest.mark.parametrize(
    "path", ["plugin/.claude-plugin/plugin.json", ".claude-plugin/marketplace.json", "server.json"]
)
def test_every_version_is_that_of_the_program(path: str) -> None:
    versions = re.findall(r'"version": "([^"]*)"', (ROOT / path).read_text("utf-8"))

    assert versions
    assert set(versions) == {handrail.__version__}


def test_the_plugin_says_who_made_it_and_its_marketplace_leads_to_it() -> None:
    plugin, market = _json("plugin/.claude-plugin/plugin.json"), _json(".claude-plugin/marketplace.json")
    [listed] = market["plugins"]

    assert {"name", "version", "description", "author", "license"} <= plugin.keys()
    assert (listed["name"], listed["description"]) == (plugin["name"], plugin["description"])
    assert (ROOT / listed["source"]).resolve() == PLUGIN


def test_the_plugin_starts_the_server_as_install_has_it_started() -> None:
    [(name, entry)] = _json("plugin/.mcp.json")["mcpServers"].items()

    assert (name, entry["command"], entry["args"]) == ("handrail", "handrail", ["serve"])
    assert entry.keys() == load_clients()["claude"].stdio.keys()


def test_each_hook_of_the_plugin_is_one_command() -> None:
    found = {
        event: hook["command"]
        for event, groups in _json("plugin/hooks/hooks.json")["hooks"].items()
        for group in groups
        for hook in group["hooks"]
    }

    assert found == EVENTS
    assert all(shlex.split(command)[0] == "handrail" for command in found.values())


def test_the_skill_of_the_plugin_is_found_by_its_words() -> None:
    text = (PLUGIN / "skills" / "handrail" / "SKILL.md").read_text("utf-8")
    _, front, body = text.split("---\n", 2)
    head = yaml.safe_load(front)

    assert head.keys() == {"name", "description"}
    assert head["name"] == "handrail"
    assert len(head["description"]) <= 1024
    assert "workflow_next_step" in body


def test_the_registry_is_told_what_the_program_takes() -> None:
    entry = _json("server.json")
    [package] = entry["packages"]
    serve = cli.get_command(click.Context(cli), "serve")
    assert serve
    options = {name for parameter in serve.params for name in parameter.opts}
    settings = {parameter.envvar for parameter in serve.params}

    assert 0 < len(entry["description"]) <= 100
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", entry["name"])
    assert f"<!-- mcp-name: {entry['name']} -->" in (ROOT / "README.md").read_text("utf-8")
    assert (package["registryType"], package["identifier"]) == ("pypi", "handrail")
    first, *named = package["packageArguments"]
    assert first == {"type": "positional", "value": "serve"}
    assert {argument["name"] for argument in named} <= options
    assert {variable["name"] for variable in package["environmentVariables"]} <= settings
    assert named[0]["choices"] == list(FACES)


def test_every_python_that_is_promised_is_tried_by_make_test() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))["jobs"]
    named = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["classifiers"]
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(named))

    assert jobs["test"]["strategy"]["matrix"]["python"] == promised == ["3.11", "3.12", "3.13", "3.14"]
    assert jobs["test"]["steps"][-1]["run"].endswith(" make test")
