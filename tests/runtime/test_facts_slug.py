"""Slugs: the names that archives get from the titles of tasks."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.runtime.facts import make_slug


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("implement-sum-function", "implement-sum-function"),
        ("Implement  Sum_Function!", "implement-sum-function"),
        ("../../etc/passwd", "etc-passwd"),
        ("-x-", "x"),
        ("Café №5", "cafe-no5"),
        ("2026", "2026"),
        ("a" * 63 + "-b", "a" * 63),
        ("a" * 70, "a" * 64),
        ("", "untitled"),
        ("…/..", "untitled"),
        ("茶", "untitled"),
        ("\0\n", "untitled"),
    ],
)
def test_a_slug_has_small_letters_digits_and_hyphens(text: str, expected: str) -> None:
    assert make_slug(text) == expected


@given(st.text())
def test_every_slug_is_a_safe_name_and_its_own_slug(text: str) -> None:
    found = make_slug(text)

    assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,63}", found)
    assert make_slug(found) == found
