"""How long something took, in words."""

import pytest

from handrail.faces.cli.told import took


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        (None, "-"),
        (0, "0.0 s"),
        (59_900, "59.9 s"),
        (60_000, "1.0 m"),
        (5_400_000, "1.5 h"),
        (86_400_000, "1.0 d"),
    ],
)
def test_how_long_is_told_in_the_largest_unit_that_is_not_below_one(
    milliseconds: int | None, words: str
) -> None:
    assert took(milliseconds) == words
