"""What the suite asks of a server beside the protocol itself: its tools, prompts and resources, as a face.

What a face of ours can say is answered here. The rest (pictures, questions to the client) is only listed
here, and answered by conformance_server.py.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import mcp_types as types

from handrail.app.faces import Answer, CallFailure, Prompt, PromptArgument, RunStatus, Tool, UnknownPrompt
from handrail.runtime.records import Caller

PNG: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
"""One red pixel."""

WAV: Final = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
"""No sound at all."""

PICTURE: Final = types.ImageContent(data=PNG, mime_type="image/png")
SOUND: Final = types.AudioContent(data=WAV, mime_type="audio/wav")
PLAIN: Final = "test_simple_text"
BROKEN: Final = "test_error_handling"
PROMPTS: Final = (
    Prompt("test_simple_prompt", "Says one sentence"),
    Prompt(
        "test_prompt_with_arguments",
        "Says what it is given",
        (
            PromptArgument("arg1", "A town", required=True, choices=("paris", "park", "party")),
            PromptArgument("arg2", "Anything", required=True),
        ),
    ),
    Prompt(
        "test_prompt_with_embedded_resource",
        "Holds a resource",
        (PromptArgument("resourceUri", "Its address", required=True),),
    ),
    Prompt("test_prompt_with_image", "Holds a picture"),
    Prompt("test_input_required_result_prompt", "Asks for something first"),
)
RESOURCES: Final = (
    types.Resource(uri="test://static-text", name="Text", mime_type="text/plain"),
    types.Resource(uri="test://static-binary", name="Picture", mime_type="image/png"),
    types.Resource(uri="test://watched-resource", name="Watched", mime_type="text/plain"),
)
TEMPLATE: Final = types.ResourceTemplate(
    uri_template="test://template/{id}/data", name="Data", mime_type="application/json"
)


class SuiteFace:
    """The face: it lists the tools of these names, and answers two of them."""

    instructions = "A server for the conformance suite."

    def __init__(self, others: Mapping[str, Sequence[str]]) -> None:
        named: Mapping[str, Sequence[str]] = {PLAIN: (), BROKEN: (), **others}
        self.tools: Sequence[Tool] = [_tool(name, needed) for name, needed in named.items()]

    def find_run_status(self, arguments: Mapping[str, Any], answer: Answer) -> RunStatus | None:  # noqa: ARG002 - as any face
        """Nowhere: there are no runs."""
        return None

    def call(self, tool: Tool, arguments: Mapping[str, Any], caller: Caller) -> Answer:
        """Say one sentence, or break."""
        del arguments, caller
        if tool.names[0] == BROKEN:
            raise RuntimeError("This tool intentionally returns an error for testing")
        text = "This is a simple text response for testing."
        return Answer({"said": text}, text, failed=False)

    def answer_failure(self, tool: Tool, arguments: Mapping[str, Any], failed: CallFailure) -> Answer:
        """Say what failed."""
        del tool, arguments
        return Answer({"code": failed.code}, failed.message, failed=True)

    def prompts(self) -> Sequence[Prompt]:
        """The prompts of the suite."""
        return PROMPTS

    def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """What those say that hold nothing but text."""
        match name:
            case "test_simple_prompt":
                return "This is a simple prompt for testing."
            case "test_prompt_with_arguments":
                return f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'"
            case _:
                raise UnknownPrompt(name)


def read_content(uri: str) -> str | bytes | None:
    """What stands in a resource of the suite."""
    if uri == "test://static-binary":
        return base64.b64decode(PNG)
    if uri.startswith("test://template/"):
        name = uri.split("/")[3]
        return json.dumps({"id": name, "templateTest": True, "data": f"Data for ID: {name}"})
    known = [one.name for one in RESOURCES if one.uri == uri]
    return f"This is the content of the resource {known[0]}." if known else None


def get_mime_type(uri: str) -> str:
    """What kind of content that is."""
    return next((str(one.mime_type) for one in RESOURCES if one.uri == uri), "application/json")


def embed_resource(uri: str, text: str, kind: str = "text/plain") -> types.EmbeddedResource:
    """A resource inside of something else."""
    return types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, mime_type=kind, text=text))


def _tool(name: str, needed: Sequence[str]) -> Tool:
    schema = {
        "type": "object",
        "properties": {one: {"type": "string"} for one in needed},
        "required": list(needed),
    }
    return Tool((name,), {"name": name, "description": f"The fixture {name}", "inputSchema": schema})
