"""Column types: parse the types in configs/tables, which are Paimon's type texts, with nested types as in SQL.

``ARRAY<INT>``, ``MULTISET<STRING>``, ``MAP<STRING, DATE>``, ``ROW<x INT NOT NULL, y ARRAY<STRING>>``, each with or
without ``NOT NULL``.
"""

from __future__ import annotations

import re
from typing import Any

from paimon_core.errors import InvalidRequest

_NESTED = re.compile(r"(ARRAY|MULTISET|MAP|ROW)\s*<(.*)>\s*(NOT\s+NULL|)", re.IGNORECASE | re.DOTALL)
_MEMBER = re.compile(r"(?:`([^`]+)`|(\w+))\s+(.+)", re.DOTALL)


def type_object(text: str) -> Any:
    """Return a type text in the form of a schema file: nested types are objects (format 2.2).

    Raises InvalidRequest for a nested type that cannot be parsed; other texts are returned unchanged.
    """
    found = _NESTED.fullmatch(text.strip())
    if found is None:
        return text
    kind, inner, required = found[1].upper(), _split(found[2]), " NOT NULL" if found[3] else ""
    if kind in ("ARRAY", "MULTISET") and len(inner) == 1:
        return {"type": kind + required, "element": type_object(inner[0])}
    if kind == "MAP" and len(inner) == 2:
        return {"type": kind + required, "key": type_object(inner[0]), "value": type_object(inner[1])}
    members = [_MEMBER.fullmatch(part) for part in inner]
    if kind != "ROW" or not all(members):
        raise InvalidRequest(f"{text!r} is not a valid type: {kind} takes {_TAKES[kind]}")
    fields = [(m[1] or m[2], type_object(m[3])) for m in members if m]
    return {"type": kind + required, "fields": [{"id": n, "name": k, "type": t} for n, (k, t) in enumerate(fields)]}


_TAKES = {"ARRAY": "one type", "MULTISET": "one type", "MAP": "two types", "ROW": "names with their types"}


def _split(text: str) -> list[str]:
    """Split at the commas that are outside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]
