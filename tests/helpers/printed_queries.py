"""The queries of printed_queries.sql, by name."""

import re
from pathlib import Path
from typing import Final

_TEXT: Final = Path(__file__).with_name("printed_queries.sql").read_text("utf-8")
_PARTS: Final = re.split(r"^-- name: (\w+)$", _TEXT, flags=re.MULTILINE)
PRINTED: Final = {name: text.strip() for name, text in zip(_PARTS[1::2], _PARTS[2::2], strict=True)}
