"""How long something took, in words."""

import pytest

from handrail.drawing.tables import format_milliseconds


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        (None, "-"),
        (0, "0 s"),
        (49, "0 s"),
        (460, "0.5 s"),
        (8_000, "8 s"),
        (59_900, "59.9 s"),
        (59_951, "1 min"),
        (60_000, "1 min"),
        (80_400, "1 min 20 s"),
        (3_599_400, "59 min 59 s"),
        (3_599_600, "1 h"),
        (5_400_000, "1 h 30 min"),
        (86_400_000, "1 d"),
        (97_200_000.5, "1 d 3 h"),
        (8_640_000_000, "100 d"),
    ],
)
def test_how_long_is_told_in_the_two_largest_units(milliseconds: float | None, words: str) -> None:
    assert format_milliseconds(milliseconds) == words
