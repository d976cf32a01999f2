"""LSN: a position in the log of a PostgreSQL server, as a number of bytes and as PostgreSQL's text."""

from __future__ import annotations

import re

_FORM = re.compile(r"([0-9A-F]{1,8})/([0-9A-F]{1,8})")


def lsn_text(lsn: int) -> str:
    """Return an LSN as PostgreSQL writes it, such as ``0/16B3748``."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def lsn_of(text: str) -> int:
    """Return the LSN of a text of PostgreSQL; raises ValueError for another text."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r:.40} is no LSN")
    return (int(found[1], 16) << 32) + int(found[2], 16)
