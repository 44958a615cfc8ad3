"""What stands in the files of deploy/: each as data, and the command lines of Handrail in them."""

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
import yaml

from handrail.cli.main import cli

ROOT: Final = Path(__file__).resolve().parent.parent.parent
FOLDER: Final = ROOT / "deploy"
PROGRAM: Final = "handrail"


def read_deploy_file(name: str) -> str:
    return (FOLDER / name).read_text("utf-8")


def read_document(name: str) -> dict[str, Any]:
    """The only YAML document of a file."""
    found = yaml.safe_load(read_deploy_file(name))
    assert isinstance(found, dict)
    return found


def read_documents(name: str) -> dict[str, dict[str, Any]]:
    """The YAML documents of a file by their kinds."""
    return {str(one["kind"]): one for one in yaml.safe_load_all(read_deploy_file(name))}


def find_command_error(words: Sequence[str]) -> str:
    """What is wrong with a command line of Handrail, without the program; nothing if it would be taken."""
    command: click.Command = cli
    above: click.Context | None = None
    rest = list(words)
    while isinstance(command, click.Group):
        word = rest.pop(0) if rest else ""
        above = click.Context(command, above, PROGRAM, **command.context_settings)
        found = command.get_command(above, word)
        if found is None:
            return f"No such command: {word}"
        command = found
    try:
        command.make_context(PROGRAM, rest, above)
    except click.UsageError as error:
        return error.format_message()
    return ""


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction of a Dockerfile, and what it says."""

    word: str
    said: str

    @property
    def words(self) -> list[str]:
        """What it says as a list of words, in the form that no shell reads."""
        found = json.loads(self.said[self.said.index("[") :])
        assert isinstance(found, list)
        return found


def read_stages(dockerfile: str) -> list[list[Instruction]]:
    """The instructions of each stage, each of which begins with FROM."""
    joined = re.sub(r"\\\n", "", re.sub(r"^#.*\n", "", dockerfile, flags=re.MULTILINE))
    steps = [Instruction(*line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]
    begins = [at for at, step in enumerate(steps) if step.word == "FROM"]
    return [steps[at:until] for at, until in zip(begins, [*begins[1:], len(steps)], strict=True)]


def find_last_instruction(word: str) -> Instruction:
    """The last instruction of this kind in the stage that is the image."""
    return [step for step in read_stages(read_deploy_file("Dockerfile"))[-1] if step.word == word][-1]


def read_unit(name: str) -> list[tuple[str, str]]:
    """The settings of a unit in their order; a key may be there more than once."""
    lines = [line for line in read_deploy_file(name).splitlines() if line and not line.startswith(("#", "["))]
    return [(key, value) for key, _, value in (line.partition("=") for line in lines)]


def read_unit_settings(name: str) -> dict[str, str]:
    """The settings of a unit; of a key that is there more than once, the last."""
    return dict(read_unit(name))


def list_command_lines() -> Iterator[tuple[str, list[str]]]:
    """Every command line of Handrail in a file of deploy/, without the program, and where it stands."""
    entry = find_last_instruction("ENTRYPOINT").words
    yield "Dockerfile CMD", [*entry, *find_last_instruction("CMD").words][1:]
    yield "Dockerfile HEALTHCHECK", find_last_instruction("HEALTHCHECK").words[1:]
    for name, service in read_document("compose.yaml")["services"].items():
        if service["image"] == PROGRAM:
            yield f"compose.yaml {name}", [*entry, *service["command"]][1:]
    (pod,) = read_documents("kubernetes.yaml")["Deployment"]["spec"]["template"]["spec"]["containers"]
    yield "kubernetes.yaml", [*entry, *pod["args"]][1:]
    for key, value in read_unit("handrail.service"):
        if key.startswith("Exec"):
            yield f"handrail.service {key}", shlex.split(value)[1:]
    for line in re.findall(r"as-handrail handrail (.*)", read_deploy_file("as-handrail")):
        yield "as-handrail", shlex.split(line)


def list_variables() -> Iterator[tuple[str, str, str]]:
    """Every variable that a file gives to Handrail: where it stands, its name, its value."""
    for name, service in read_document("compose.yaml")["services"].items():
        for variable, value in service.get("environment", {}).items():
            yield f"compose.yaml {name}", variable, str(value)
    (pod,) = read_documents("kubernetes.yaml")["Deployment"]["spec"]["template"]["spec"]["containers"]
    for one in pod["env"]:
        yield "kubernetes.yaml", str(one["name"]), str(one.get("value", ""))
    for variable, value in re.findall(
        r"^(?:# )?([A-Z_]+)=(.*)$", read_deploy_file("handrail.env"), re.MULTILINE
    ):
        yield "handrail.env", variable, value
