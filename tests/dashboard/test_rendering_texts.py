"""Every text of the pages stands in the catalogue: a language is one file."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest
from jinja2 import nodes

import handrail
from handrail.app.faces import load_message_catalog
from handrail.dashboard import rendering as module
from handrail.dashboard.rendering import build_environment, format_age, format_time
from handrail.dashboard.run_page import TABS
from handrail.engine.model import Lifecycle
from handrail.runtime.entries import EntryKind
from handrail.workflows.templates import MessageCatalog
from tools.sample_store import BEGINS, MINUTE

HERE: Final = Path(module.__file__).parent
TEMPLATES: Final = sorted(path.name for path in (HERE / "templates").iterdir())
SPOKEN: Final = re.compile(r'\b(?:title|alt|aria-label|placeholder|aria-description)="([^"]*)"')
KEPT: Final = re.compile(r"<svg.*?</svg>|<kbd>.*?</kbd>|&\w+;|&#\d+;", re.DOTALL)
ATTRIBUTES: Final = re.compile(r"\{% block live %\}.*?\{% endblock %\}")
"""A block that stands inside of a tag."""

LETTERS: Final = re.compile(r"[^\W\d_]{2,}")


def _text(template: str) -> str:
    """What a template says itself, without its tags and without what is put in."""
    source = (HERE / "templates" / template).read_text("utf-8")
    without = ATTRIBUTES.sub("", source)
    bare = re.sub(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", "", without, flags=re.DOTALL)
    return re.sub(r"<[^>]*>", " ", KEPT.sub(" ", bare), flags=re.DOTALL)


@pytest.mark.parametrize("template", TEMPLATES)
def test_no_template_has_words_of_its_own(template: str) -> None:
    source = (HERE / "templates" / template).read_text("utf-8")
    spoken = [re.sub(r"\{\{.*?\}\}", "", found) for found in SPOKEN.findall(source)]

    assert LETTERS.findall(_text(template)) == []
    assert [text for text in spoken if LETTERS.search(text)] == []


def test_the_check_of_templates_finds_words() -> None:
    assert LETTERS.findall(re.sub(r"<[^>]*>", " ", "<p>Some {{ t('x') }}</p>")) == ["Some"]


def _asked(template: str) -> set[str]:
    """The names of the texts that a template asks for; of those that are put together, how they begin."""
    tree = build_environment().parse((HERE / "templates" / template).read_text("utf-8"))
    found = set()
    for call in tree.find_all(nodes.Call):
        node = call.node
        says = isinstance(node, nodes.Name) and node.name == "t"
        counts = isinstance(node, nodes.Getattr) and node.attr == "count"
        if (says or counts) and call.args:
            first = call.args[0]
            part = first.nodes[0] if isinstance(first, nodes.Concat) else first
            if isinstance(part, nodes.Const):
                end = "" if says and part is first else "*"
                found.add(f"{part.value}{end}")
    return found


def _in_code() -> set[str]:
    """The names of the texts that programs ask for; of those that are put together, how they begin."""
    code = " ".join(path.read_text("utf-8") for path in Path(handrail.__file__).parent.rglob("*.py"))
    found = re.findall(r"""(?:load_message_catalog\(\)|\bt)(\.count)?\(\s*f?["']([a-z_.]+)(\{)?""", code)
    return {f"{name}.*" if counts else f"{name}*" if put else name for counts, name, put in found}


def test_every_text_that_is_asked_for_is_there_and_every_one_that_is_there_is_asked_for() -> None:
    said = set(load_message_catalog().said)
    asked = set().union(*map(_asked, TEMPLATES))
    in_code = _in_code() | {"say.*", "closed.*", "app.*"}

    def fits(name: str) -> bool:
        return any(name == one or (one[-1] == "*" and name.startswith(one[:-1])) for one in asked | in_code)

    assert {one for one in asked | in_code if one[-1] != "*"} - said == set()
    assert {one for one in asked if one[-1] == "*" and not any(x.startswith(one[:-1]) for x in said)} == set()
    assert {name for name in said if not fits(name)} == set()


@pytest.mark.parametrize(
    "names",
    [
        *([f"mark.{one}", f"acted.{one}", f"acted.then.{one}"] for one in Lifecycle),
        *([f"entry.{kind}"] for kind in EntryKind),
        *([f"tab.{tab.name}"] for tab in TABS),
        [f"act.{one}.{part}" for one in ("pause", "complete-step", "fork") for part in ("button", "title")],
    ],
)
def test_what_the_engine_has_names_for_has_a_text(names: list[str]) -> None:
    assert [name for name in names if name not in load_message_catalog()] == []


def test_a_number_is_told_in_its_form() -> None:
    texts: Mapping[str, str] = {"a.one": "1 run", "a.more": "{{n}} runs"}

    assert [MessageCatalog(texts).count("a", number) for number in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]


def test_times_are_told_as_how_long_ago_they_were() -> None:
    assert format_age(BEGINS, BEGINS) == "just now"
    assert format_age(BEGINS + MINUTE, BEGINS) == "just now"
    assert format_age(BEGINS, BEGINS + MINUTE * 0.7) == "42 s ago"
    assert format_age(BEGINS, BEGINS + MINUTE * 59.9) == "59 min ago"
    assert format_age(BEGINS, BEGINS + 90.5 * MINUTE) == "1 h 30 min ago"
    assert format_age(BEGINS, BEGINS + 60 * 50 * MINUTE) == "2 d 2 h ago"
    assert format_time(BEGINS) == "2026-01-31 09:00:00 UTC"
