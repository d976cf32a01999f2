"""JSON members: finds the members of objects, because Arrow returns null both for a missing member and for a null.

Only the lines that contain a name are parsed again, and only when a column has nulls.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from paimon_core.errors import InvalidRequest


def has_member(block: bytes, name: str) -> bool:
    """Whether at least one object of ``block`` has the member ``name``, even with the value null.

    The objects must be valid JSON.
    """
    return any(name in found for found in _objects(block, name, 0))


def check_case(block: bytes, names: Sequence[str]) -> None:
    """Raise InvalidRequest for an object that has one of ``names`` only in another case of letters (ID for id)."""
    lower = block.lower() if names else b""
    for name in names:
        key = _key(name)
        if lower.count(key.lower()) == block.count(key):
            continue
        for found in _objects(block, name, re.IGNORECASE):
            other = next((member for member in found if member.lower() == name.lower()), None)
            if other is not None and name not in found:
                raise InvalidRequest(f"the object has a member {other!r}, but none with the name of column {name!r}")


def _key(name: str) -> bytes:
    return json.dumps(name, ensure_ascii=False).encode()


def _objects(block: bytes, name: str, flags: int) -> Iterator[dict[str, Any]]:
    """Yield the objects of the lines that contain the name as a member, at any depth."""
    pattern = rb"(?<!\\)" + re.escape(_key(name)) + rb"[ \t\r]*:"
    # Characters outside of ASCII may be escaped.
    candidate = re.compile(pattern if name.isascii() else pattern + rb"|\\u", flags)
    at = 0
    while found := candidate.search(block, at):
        start = block.rfind(b"\n", 0, found.start()) + 1
        at = block.find(b"\n", found.end()) + 1 or len(block)
        yield json.loads(block[start:at])
