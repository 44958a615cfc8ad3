"""Addresses are whatever a client sends: read strictly, decoded once, and never a path."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.documents.text import escape_for_terminal
from handrail.mcp import addresses
from handrail.mcp.addresses import ResourceAddress, build_uri, parse_uri
from helpers.resources import DONE, OPEN, ResourceScene, play_runs

AGENTS = "default, architect, debugger, implementer, reviewer, supervisor, tester, writer"
SEVEN = (
    "there are persona://{agent}, guardrails://active, current_step://{execution_id},"
    " workflow_status://{execution_id}, project_context://{project_id}, available_workflows://all,"
    " workflow_artifacts://{+pattern}"
)


@pytest.fixture
def scene(tmp_path: Path) -> ResourceScene:
    return play_runs(tmp_path)


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("persona://critic", ResourceAddress("persona", "critic")),
        ("PERSONA://critic", ResourceAddress("persona", "critic")),
        ("persona://", ResourceAddress("persona", "")),
        ("current_step://a", ResourceAddress("current_step", "a")),
        ("current-step://a", ResourceAddress("current_step", "a", portable=True)),
        ("workflow_status://a?page=2", ResourceAddress("workflow_status", "a", 2)),
        (
            "workflow-artifacts://final/a?page=999999",
            ResourceAddress("workflow_artifacts", "final/a", 999999, portable=True),
        ),
        ("workflow_artifacts://type%2Fa%20b", ResourceAddress("workflow_artifacts", "type/a b")),
        ("workflow_artifacts://type/über", ResourceAddress("workflow_artifacts", "type/über")),
        ("workflow_artifacts://type/%C3%BCber", ResourceAddress("workflow_artifacts", "type/über")),
        ("persona://a%2570", ResourceAddress("persona", "a%70")),
        ("persona://a+b", ResourceAddress("persona", "a+b")),
        ("persona://%zz%4", ResourceAddress("persona", "%zz%4")),
        ("persona://..//../etc", ResourceAddress("persona", "..//../etc")),
    ],
)
def test_an_address_is_decoded_once_in_either_spelling(given: str, address: ResourceAddress) -> None:
    assert parse_uri(given) == address


@pytest.mark.parametrize(
    "given",
    [
        "",
        "://",
        "persona",
        "persona:critic",
        "persona:/critic",
        " persona://critic",
        "file:///etc/passwd",
        "http://persona://critic",
        "__proto__://x",
        "workflow status://x",
        "current__step://x",
        "persona://critic#part",
        "persona://critic?text=1",
        f"workflow_status://{DONE}?page=0",
        f"workflow_status://{DONE}?page=-1",
        f"workflow_status://{DONE}?page=1000000",
        f"workflow_status://{DONE}?page=٢",
        f"workflow_status://{DONE}?page=2&page=3",
        f"workflow_status://{DONE}?page=2\n",
        "current_step\x00://x",
        "curr\udc80ent://x",
    ],
)
def test_an_unknown_address_is_answered_with_the_seven_forms(given: str, scene: ResourceScene) -> None:
    message = scene.refused(given)

    assert message.endswith(SEVEN)
    assert message.isprintable()


def test_a_portable_address_is_answered_with_portable_forms(scene: ResourceScene) -> None:
    assert "current-step://{execution_id}" in scene.refused("work-flow://x")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("persona://a%00b", "`persona://a%00b` has a NUL in it: leave it out"),
        ("persona://a\0b", "`persona://a\\u{0}b` has a NUL in it: leave it out"),
        (
            "persona://a\ud800",
            "`persona://a\\u{d800}` is not UTF-8: percent-encode the bytes of a UTF-8 text",
        ),
        ("persona://%ff", "`persona://%ff` is not UTF-8: percent-encode the bytes of a UTF-8 text"),
        (
            "persona://%ED%A0%80",
            "`persona://%ED%A0%80` is not UTF-8: percent-encode the bytes of a UTF-8 text",
        ),
        ("persona://x?page=2", "`persona://x?page=2` has no pages: leave out what begins with `?`"),
        (
            "available_workflows://all?page=1",
            "`available_workflows://all?page=1` has no pages: leave out what begins with `?`",
        ),
        (f"persona://{'x' * 503}", "a resource address has at most 512 characters, this one has 513"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_repair(
    given: str, message: str, scene: ResourceScene
) -> None:
    assert scene.refused(given) == message


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "all",
        "final/",
        "type",
        "type/",
        "final/../recent",
        "recent/",
        "RECENT",
        "recent?page=2",
        "type/a?page=2",
    ],
)
def test_an_unknown_pattern_is_answered_with_the_four_or_the_runs(pattern: str, scene: ResourceScene) -> None:
    message = scene.refused(f"workflow_artifacts://{pattern}")

    four = "there are recent, final, final/{execution_id} and type/{type}"
    assert message.endswith(four) or (pattern.startswith("final/") and "handrail runs list" in message)


def test_a_long_name_is_cut_in_a_message_and_can_give_no_orders_to_a_terminal(scene: ResourceScene) -> None:
    message = scene.refused("persona://" + "x" * 90)
    orders = scene.refused("persona://%1b%5B2J%E2%80%AEevil")

    assert message == f"no persona is called `{'x' * 80}…`; there are {AGENTS}"
    assert orders == f"no persona is called `\\u{{1b}}[2J\\u{{202e}}evil`; there are {AGENTS}"


INJECTIONS = (
    "' OR 1=1 --",
    '"; DROP TABLE runs; --',
    f"{OPEN}' OR '1'='1",
    "%25",
    "_" * 36,
    "*",
    "0x01",
    "1 UNION SELECT token FROM steps",
)


@pytest.mark.parametrize("text", INJECTIONS)
def test_a_name_is_a_value_and_never_a_part_of_a_question(text: str, scene: ResourceScene) -> None:
    for scheme in ("current_step", "workflow_status", "project_context", "persona"):
        scene.refused(f"{scheme}://{text}")
    assert scene.read(f"workflow_artifacts://type/{text}") == {"artifacts": []}
    scene.refused(f"workflow_artifacts://final/{text}")


@given(st.text(max_size=600))
def test_no_text_is_more_than_an_address_or_a_sentence(text: str) -> None:
    for sent in (text, f"workflow_artifacts://{text}"):
        found = parse_uri(sent)
        assert isinstance(found, ResourceAddress) or escape_for_terminal(found) == found


@given(
    scheme=st.sampled_from(list(addresses.URI_FORMS)),
    name=st.text(max_size=40).filter(lambda text: "\0" not in text),
    portable=st.booleans(),
)
def test_every_name_has_an_address_that_leads_back_to_it(scheme: str, name: str, *, portable: bool) -> None:
    found = parse_uri(build_uri(scheme, name, portable=portable))

    assert isinstance(found, ResourceAddress)
    assert (found.scheme, found.name, found.page) == (scheme, name, 1)
