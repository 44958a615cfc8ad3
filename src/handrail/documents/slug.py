"""Names for files and folders, made from what people write."""

import re
import unicodedata
from typing import Final

LONGEST: Final = 64
"""How many characters a slug has at most."""

UNTITLED: Final = "untitled"
"""The slug of what has no letter or digit to make one from."""

_OTHERS: Final = re.compile(r"[^a-z0-9]+")


def slug(text: str) -> str:
    """Small letters without accents, digits and single hyphens, and no hyphen at either end."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return _OTHERS.sub("-", plain.casefold()).strip("-")[:LONGEST].rstrip("-") or UNTITLED
