"""Documents that are made to take long: each is read in a time that grows with its length."""

import time

import pytest

from handrail.documents.task_graph import parse_task_graph as read_graph
from handrail.documents.work_items import mark_documented, parse_work_items

pytestmark = pytest.mark.unmeasured
SIZE = 64 * 1024
BOUND = 20.0
"""How many seconds any of them may take: a bound for liveness, not for speed."""


@pytest.mark.parametrize(
    "piece",
    [
        "<!-- ",
        "<!-- --> ",
        "```\n",
        "~~~ a\n",
        "#",
        "# ",
        "### Item 1: A\n",
        "**Type:** ",
        " ",
        "\t\n",
        "- ",
        "`",
        "\r",
    ],
)
def test_a_document_of_one_piece_over_and_over_is_read(piece: str) -> None:
    text = "## Work Items\n### Item 1: A\n**Status:** " + piece * (SIZE // len(piece))
    began = time.monotonic()

    parse_work_items(text)
    mark_documented(text, 1)
    read_graph(text)

    assert time.monotonic() - began < BOUND


@pytest.mark.parametrize("piece", ["- id: a\n", "- [", "{", "? ", "&a ", "'", "- - "])
def test_a_graph_of_one_piece_over_and_over_is_read(piece: str) -> None:
    text = f"```yaml\ntasks:\n{piece * 2_000}\n```\n"
    began = time.monotonic()

    found = read_graph(text)

    assert found is not None
    assert found.problems
    assert time.monotonic() - began < BOUND
