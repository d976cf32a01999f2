"""Recorded bounds: converts the statistics in a manifest to bounds that are true for the values that readers return.

In three cases, the statistics that Java records are not true bounds, and this module changes them:

- ORC files pad a CHAR value with blanks, in the statistics too; readers remove the blanks.
- A maximum that is truncated after U+D7FF is rounded up to a surrogate, which Java encodes as a question mark.
- A null count of -1 means that the file has no statistics.
"""

from __future__ import annotations

import re
from typing import Any

from paimon_core.types import STRING_ROOTS, DataType, TypeRoot

_CONTROL = re.compile("[\x00-\x1f]")
_AFTER_SURROGATES = "\ue000"


def recorded_bounds(low: Any, high: Any, nulls: int | None, dtype: DataType) -> tuple[Any, Any, int | None]:
    """Return correct values of minimum, maximum and null count for a column of type ``dtype``; None: unknown.

    The arguments are the recorded values, as storage values; ``dtype`` is the column's type in the schema of the file.
    """
    if nulls is not None and nulls < 0:
        nulls = None
    if dtype.root not in STRING_ROOTS:
        return low, high, nulls
    if low is not None and dtype.root is TypeRoot.CHAR:
        low = _without_padding(low)
    if high is not None and high.endswith("?"):
        high = high[:-1] + _AFTER_SURROGATES
    return low, high, nulls


def _without_padding(low: str) -> str:
    """Return a lower bound of all texts whose padded form is at least ``low``.

    Removing the blanks is not sufficient, because a control character is smaller than a blank: "a" sorts before "a"
    with a tab, but the padded "a" sorts after it.
    """
    return _CONTROL.split(low, maxsplit=1)[0].rstrip(" ")
