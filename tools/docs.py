"""Writes docs/reference/ and the skill of the plugin from the code: `python tools/docs.py`.

With `--check` nothing is written: the stale files are named, and the exit status is 1 if there are any. What
is written depends on the code alone: no date, no folder of this machine, no width of a terminal.
"""

import argparse
import inspect
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click
import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from handrail.app.faces import FACES
from handrail.app.user_files import MAX_FILE_BYTES
from handrail.cli.main import cli
from handrail.clients.integrations import render_skill
from handrail.engine.facts import Kind
from handrail.workflows.nodes import DEFAULT_LIMITS
from tools import docs_answers, docs_pages, docs_plans, docs_served
from tools.docs_examples import ARGUMENTS, example
from tools.docs_pages import SAMPLE, SOURCE, page, table

ROOT: Final = Path(__file__).resolve().parent.parent
REFERENCE: Final = ROOT / "docs" / "reference"
PLUGIN: Final = ROOT / "plugin" / "skills" / "handrail"
WORDS: Final = {
    "array": "list",
    "boolean": "`true` or `false`",
    "integer": "whole number",
    "name": "name",
    "null": "nothing",
    "number": "number",
    "object": "mapping",
    "string": "text",
    "text_or_texts": "text, or list of texts",
    "type": "[type](#types)",
    "variables": "names, each with a [variable](#variable)",
}


class Meanings(msgspec.Struct, frozen=True):
    """What is said of names whose meaning does not stand in the code; see docs/meanings.yaml."""

    exit: dict[str, str]
    environment: dict[str, str]
    json: dict[str, dict[str, str]]
    types: dict[str, str]
    tables: dict[str, str]


MEANINGS: Final = msgspec.yaml.decode((REFERENCE.parent / "meanings.yaml").read_bytes(), type=Meanings)


def cli_page() -> str:
    """The command line: what holds for all commands, then each of them."""
    variables = {name: f"The same as `{option}`." for name, option in sorted(_settings(cli))}
    return page(
        "The command line",
        "Data goes to stdout, messages go to stderr. On a terminal lists have heads and colour; in a pipe",
        "they are lines with tabs.",
        "\n## Exit status\n",
        table(("status", "meaning"), [(f"`{code}`", meaning) for code, meaning in MEANINGS.exit.items()]),
        "\n## Environment\n",
        table(
            ("variable", "meaning"), [(f"`{n}`", m) for n, m in {**variables, **MEANINGS.environment}.items()]
        ),
        "\n## Where workflows are found\n",
        "In this order: `.handrail/workflows/` of the project, `handrail/workflows/` in your settings",
        "folder, and those that come with Handrail. In each, `NAME.yaml` is the workflow NAME, and so is",
        "`NAME/workflow.yaml`. A workflow hides those of the same name that come later.",
        "\nPersonas are Markdown files, `NAME.md` in `agents/` beside `workflows/`, and guardrails in",
        "`guardrails/`; the same order holds. Their front matter may say `about`, and that of a guardrail in",
        "which `workflows` and `steps` an agent is told of it:\n",
        "```text\n---\nabout: No history is rewritten\nworkflows: [release]\n---\nNever force a push.\n```\n",
        "A file of a project that hides one of yours, or one that comes with Handrail, and says something",
        "else, is used only after [`handrail trust`](#handrail-trust). Until then its workflow does not",
        "start, and the persona or guardrail that it hides is used. A new name needs no trust. In a project",
        f"no link is followed. A file of more than {MAX_FILE_BYTES} bytes is passed over.",
        *_failure(),
        *_command(cli, "handrail", None),
    )


def _settings(command: click.Command) -> Iterator[tuple[str, str]]:
    """The variables that a command and those below it read, each with the option it stands for."""
    for parameter in command.params:
        if isinstance(parameter.envvar, str):
            yield parameter.envvar, parameter.opts[-1]
    for _, inner in below(command):
        yield from _settings(inner)


def below(command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """The commands of a group by name; none if it is no group."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None:
                yield name, found


def _failure() -> Iterator[str]:
    """What a command that fails prints with `--json`, if it prints anything."""
    _, printed = example("handrail workflows show", "no-such-workflow")
    if printed:
        yield "\n## Failure\n\nWith `--json`, what a command cannot do is told on stdout too:\n"
        yield f"```json\n{printed}\n```"
        yield "\nWhat the world does to a command has the code of a [fault](faults.md). What a run refuses"
        yield "has the code of a [refusal](refusals.md), `why` with its `rule`, `seen` and `needed`, and"
        yield "`next`: what is possible now, each with its `trigger`, `who` may do it, and the `command`"
        yield "that a person types for it, or an empty text."


def _command(command: click.Command, name: str, above: click.Context | None) -> Iterator[str]:
    """The section of a command, and those of the commands below it."""
    width = {"terminal_width": 100, "max_content_width": 100}
    context = command.make_context(name, [], above, resilient_parsing=True, **width)
    path = context.command_path
    usage = command.get_usage(context).removeprefix("Usage: ")
    yield f"\n## `{path}`\n\n```text\n{usage}\n```\n"
    yield inspect.cleandoc(command.help or "").replace("\f", "")
    rows = [_parameter(parameter, context) for parameter in command.get_params(context)]
    yield "\n" + table(("argument or option", "meaning", "default", "environment"), rows)
    if any(parameter.name == "as_json" for parameter in command.params):
        yield from _shape(path)
    for word, inner in below(command):
        yield from _command(inner, word, context)


def _parameter(parameter: click.Parameter, context: click.Context) -> tuple[str, str, str, str]:
    metavar = parameter.make_metavar(context)
    default = parameter.get_default(context)
    shown = f"`{default}`" if isinstance(default, (str, int, Path)) and not isinstance(default, bool) else ""
    environment = f"`{parameter.envvar}`" if isinstance(parameter.envvar, str) else ""
    if not isinstance(parameter, click.Option):
        needed = "Needed." if parameter.required else "May be left out."
        many = ("One or more." if parameter.required else "Any number.") if parameter.nargs == -1 else needed
        return f"`{metavar}`", many, shown, environment
    names = ", ".join(parameter.opts)
    value = "" if parameter.is_flag else f" {metavar}"
    return f"`{names}{value}`", parameter.help or "", shown, environment


def _shape(path: str) -> Iterator[str]:
    """The keys of what a command prints with `--json`, and an example from the built-in workflow."""
    argument, meanings = ARGUMENTS.get(path, ""), MEANINGS.json[path]
    command, printed = example(path, argument)
    found = set(_leaves(json.loads(printed), ""))
    new = {leaf for leaf in found if not any(_stands_below(leaf, key) for key in meanings)}
    gone = {key for key in meanings if not any(_stands_below(leaf, key) for leaf in found)}
    if new or gone:
        raise ValueError(f"{path} --json: described and printed differ in {sorted(new | gone)}")
    yield "\nWith `--json`:\n"
    yield table(("key", "meaning"), [(f"`{key}`", meaning) for key, meaning in meanings.items()])
    misspelt = f" for a copy of {SAMPLE} with a key misspelt" if argument.endswith(".yaml") else ""
    yield f"\n<details><summary>The output of <code>{command}</code>{misspelt}</summary>\n"
    yield f"```json\n{printed}\n```\n\n</details>"


def _stands_below(leaf: str, key: str) -> bool:
    """True if the key is described by this name, or by that of something it is a part of."""
    return leaf == key or leaf.startswith((f"{key}.", f"{key}["))


def _leaves(value: object, path: str) -> Iterator[str]:
    """Where in a JSON value something stands; names of an author's choosing are called NAME."""
    match value:
        case dict() if path in {
            f"workflow.{name}" for name in ("inputs", "vars", "tools", "prompts", "texts")
        }:
            for below in value.values() or [""]:
                yield from _leaves(below, f"{path}.NAME")
        case dict() if value:
            for key, below in value.items():
                yield from _leaves(below, f"{path}.{key}" if path else key)
        case list():
            for below in value or [""]:
                yield from _leaves(below, f"{path}[]")
        case _:
            yield path


def format_page() -> str:
    """Every key of a workflow file, from the schema that editors use."""
    schema = json.loads((SOURCE / "workflows" / "schema.json").read_text("utf-8"))
    shapes = {"workflow": schema, **{name: d for name, d in schema["$defs"].items() if _mapping(d)}}
    return page(
        "The format",
        "A workflow is a YAML file, UTF-8. `src/handrail/workflows/schema.json` describes it for editors;",
        "`handrail workflows check` knows the rest. A key that is not here is an error. A file has `steps`,",
        "or `states` with `transitions`, never both.\n",
        *(_section(name, shape) for name, shape in shapes.items()),
        "## Names\n",
        f"A name matches `{schema['$defs']['name']['pattern']}`.\n",
        "## Types\n",
        table(("type", "values"), [(f"`{kind}`", MEANINGS.types[kind]) for kind in Kind]),
        "\nWith `?` after it (`string?`), null is a value too.\n",
        "## YAML without surprises\n",
        "Only `true`, `false`, `null`, `~`, nothing and plain numbers are more than text: `on`, `no` and",
        "`012` are texts. There are no tags, no merge keys and no second document. A file may hold at most",
        f"{DEFAULT_LIMITS.size} bytes, {DEFAULT_LIMITS.depth} levels, "
        f"{DEFAULT_LIMITS.aliases} aliases and {DEFAULT_LIMITS.nodes}",
        "values.",
    )


def _mapping(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The shape with fixed keys that a definition is, or that is one of those it allows; empty if none."""
    ways = [schema, *schema.get("oneOf", ())]
    return next((way for way in ways if "properties" in way), {})


def _section(name: str, definition: Mapping[str, Any]) -> str:
    schema = _mapping(definition)
    others = [way for way in definition.get("oneOf", ()) if "type" in way or "$ref" in way]
    short = " or ".join(_kind(way) for way in others if way is not schema)
    head = f"In short: {short}. In full:\n\n" if short else ""
    rows = [
        (
            f"`{key}`",
            _kind(value),
            "yes" if key in schema.get("required", ()) else "",
            _meaning(name, key, value),
        )
        for key, value in schema["properties"].items()
    ]
    return f"## {name}\n\n{head}{table(('key', 'value', 'needed', 'meaning'), rows)}\n"


def _meaning(name: str, key: str, schema: Mapping[str, Any]) -> str:
    if "description" not in schema:
        raise ValueError(f"schema.json: {name}.{key} has no description")
    return str(schema["description"])


def _kind(schema: object) -> str:
    """What may stand under a key, in words."""
    match schema:
        case {"$ref": str(reference)}:
            name = reference.rpartition("/")[2]
            return WORDS.get(name) or f"[{name}](#{name})"
        case {"enum": list(ways)} | {"oneOf": list(ways)}:
            return " or ".join(f"`{way}`" if isinstance(way, str) else _kind(way) for way in ways)
        case {"type": "array", "items": items}:
            kind = _kind(items)
            return f"list of {kind}" if kind.startswith("[") else f"list of {kind}s"
        case {"type": "object", "additionalProperties": dict(items)}:
            return f"names, each with {_kind(items)}"
        case {"type": str(kind)}:
            return WORDS[kind]
        case _:
            return "any value"


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "cli.md": cli_page,
    "drafts.md": docs_pages.drafts_page,
    "effects.md": docs_pages.effects_page,
    "facts.md": docs_pages.facts_page,
    "faults.md": docs_answers.faults_page,
    "filters.md": docs_pages.filters_page,
    "format.md": format_page,
    "journal.md": docs_answers.journal_page,
    "lifecycle.md": docs_pages.lifecycle_page,
    "plans.md": docs_plans.plans_page,
    "problems.md": docs_pages.problems_page,
    "refusals.md": docs_answers.refusals_page,
    "schema.md": lambda: docs_served.schema_page(MEANINGS.tables),
    "served.md": docs_served.served_page,
    "workflows.md": docs_pages.workflows_page,
}


def plugin_skill() -> str:
    """The skill that `handrail install` writes, without the line that says so."""
    lines = render_skill(FACES[-1]).splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("<!-- "))


def stale(folder: Path, pages: Mapping[str, str]) -> list[str]:
    """The files of the folder that are missing, that differ, or that no page stands for."""
    there = {path.name: path.read_text("utf-8") for path in folder.iterdir()} if folder.is_dir() else {}
    return sorted(name for name in pages.keys() | there.keys() if pages.get(name) != there.get(name))


def write(folder: Path, pages: Mapping[str, str]) -> None:
    """Makes the folder hold these pages and no others."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in stale(folder, pages):
        if name in pages:
            (folder / name).write_text(pages[name], "utf-8")
        else:
            (folder / name).unlink()


def main(
    arguments: Sequence[str], folder: Path = REFERENCE, builders: Mapping[str, Callable[[], str]] = PAGES
) -> int:
    """Writes the pages, or with `--check` compares; 1 if that names stale ones."""
    parser = argparse.ArgumentParser(description="Write what is made from the code.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file is stale")
    checking = parser.parse_args(arguments).check
    pages = {name: build() for name, build in builders.items()}
    names = stale(folder, pages)
    if not checking:
        write(folder, pages)
    for name in names:
        print(f"{folder.name}/{name} {'is stale: run `make docs`' if checking else 'written'}")
    return 1 if checking and names else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) | main(sys.argv[1:], PLUGIN, {"SKILL.md": plugin_skill}))
