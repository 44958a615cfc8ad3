"""What can be read: every text has enough contrast on what it stands on, light and dark."""

import re
from itertools import product
from pathlib import Path
from typing import Final

import pytest

from handrail.dashboard import rendering
from handrail.dashboard import rendering as looks
from handrail.drawing.style import GRAPH_STYLE, TIMELINE_STYLE

CSS: Final = (Path(looks.__file__).parent / "static" / "board.css").read_text("utf-8")
TABS: Final = rendering.load_static_files()["tabs.css"].decode()
PAIRS: Final = re.compile(r"--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)")
COLOURS: Final = {name: (light, dark) for name, light, dark in PAIRS.findall(CSS)}
TEXTS: Final = ("ink", "soft", "accent")
MARKS: Final = ("green", "red", "amber", "violet")
GROUNDS: Final = ("paper", "panel", "sunk", "accent-wash")
WASHES: Final = (("ink", "red-wash"), ("ink", "green-wash"), ("ink", "amber-wash"), ("soft", "green-wash"))


def _light(colour: str) -> float:
    """The relative luminance of a colour (WCAG 2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """How different two colours are, from 1 to 21."""
    bright, dim = sorted((_light(one), _light(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def test_the_measure_is_that_of_the_guidelines() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_every_text_has_a_contrast_of_four_and_a_half(scheme: int) -> None:
    pairs = [*product(TEXTS, GROUNDS), *product(MARKS, GROUNDS[:3]), *WASHES]
    measured = {
        (text, ground): contrast(COLOURS[text][scheme], COLOURS[ground][scheme]) for text, ground in pairs
    }

    assert len(measured) == 28
    assert {pair: round(found, 2) for pair, found in measured.items() if found < 4.5} == {}


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_what_can_be_used_is_seen_where_it_ends(scheme: int) -> None:
    assert contrast(COLOURS["line-strong"][scheme], COLOURS["panel"][scheme]) >= 3
    assert contrast("#ffffff", COLOURS["accent-fill"][scheme]) >= 4.5


@pytest.mark.parametrize(
    "name", sorted(name for name in rendering.load_static_files() if name.endswith(".css"))
)
def test_nothing_is_loaded_from_elsewhere(name: str) -> None:
    assert re.findall(r"url\(|@import|https?:", rendering.load_static_files()[name].decode()) == []


def test_pictures_are_dressed_by_their_own_style_on_the_ground_that_it_is_made_for() -> None:
    assert rendering.load_static_files()["pictures.css"].decode() == f"{GRAPH_STYLE}\n{TIMELINE_STYLE}\n"
    light, dark = re.findall(r"--sheet:(#[0-9a-f]{6})", GRAPH_STYLE)[:2]
    grounds = re.findall(r"\.(\w+) \{[^}]*background: light-dark\((#\w+), (#\w+)\)", TABS)
    assert grounds == [("canvas", light, dark), ("figure", light, dark)]
