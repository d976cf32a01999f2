"""JSON text: a strict parser for untrusted metadata files, with limits on length and nesting."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, NoReturn

from paimon_core.limits import METADATA_BYTES, METADATA_DEPTH


def parse_json(data: bytes, parse_float: Callable[[str], Any] = float) -> Any:
    """Return the value of a JSON text in UTF-8.

    Raises ValueError for text that is not JSON, is longer than METADATA_BYTES, is nested deeper than METADATA_DEPTH or
    begins with a byte order mark. Also raises ValueError for a member that occurs twice, NaN, an infinity and half of a
    surrogate pair.
    """
    if len(data) > METADATA_BYTES:
        raise ValueError(f"{len(data)} bytes are more than the {METADATA_BYTES} that a metadata file may have")
    if data.startswith(b"\xef\xbb\xbf"):
        raise ValueError("it begins with a byte order mark")
    try:
        text = data.decode()
        value = json.loads(text, object_pairs_hook=_members, parse_constant=_refuse_constant, parse_float=parse_float)
        _check_depth(value)
        if _SURROGATE.search(text):
            _check_unicode(value)
        return value
    except RecursionError:
        raise ValueError(f"it nests deeper than {METADATA_DEPTH}") from None


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""The start of an escaped surrogate; two consecutive surrogates can form a valid character."""


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((name, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the member {name!r:.80} appears twice")
    return found


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")


def _check_depth(value: Any) -> None:
    layer = [value]
    for _ in range(METADATA_DEPTH + 1):
        nested = [part for part in layer if isinstance(part, dict | list)]
        if not nested:
            return
        layer = [inner for part in nested for inner in (part.values() if isinstance(part, dict) else part)]
    raise ValueError(f"it nests deeper than {METADATA_DEPTH}")


def _check_unicode(value: Any) -> None:
    """Raise ValueError for a text that cannot be written as UTF-8."""
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, dict | list):
        for inner in (*value, *value.values()) if isinstance(value, dict) else value:
            _check_unicode(inner)
