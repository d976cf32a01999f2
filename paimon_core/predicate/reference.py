"""References: texts that name a column, or a column and the path to a field inside of the column."""

from __future__ import annotations

import re
from collections.abc import Sequence

Step = str | int
"""The name of a field of a ROW, or a key of a MAP."""

RESERVED = frozenset({"and", "between", "escape", "false", "in", "is", "like", "not", "null", "or", "true"})
"""Words that the text of a filter cannot use as a name without quotes."""

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def quoted_name(name: str) -> str:
    """Return the name as it must be written in the text of a filter: in backquotes, unless it is a plain word."""
    if _PLAIN.fullmatch(name) and name.lower() not in RESERVED:
        return name
    return "`" + name.replace("`", "``") + "`"


def path_text(name: str, path: Sequence[Step]) -> str:
    """Return a reference as text, such as ``address.city`` or ``m[5]``."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{quoted_name(step)}" for step in path)
    return quoted_name(name) + "".join(steps)
