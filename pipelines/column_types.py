"""Column types as configs/tables writes them: Paimon's type texts, nested ones as SQL does.

``ARRAY<INT>``, ``MAP<STRING, DATE>``, ``ROW<x INT NOT NULL, y ARRAY<STRING>>``, each with or without ``NOT NULL``.
"""

from __future__ import annotations

import re
from typing import Any

from pipelines.settings import SettingsError

_NESTED = re.compile(r"(ARRAY|MAP|ROW)\s*<(.*)>\s*(NOT\s+NULL|)", re.IGNORECASE | re.DOTALL)
_MEMBER = re.compile(r"(?:`([^`]+)`|(\w+))\s+(.+)", re.DOTALL)


def type_object(text: str) -> Any:
    """A type text in the form of a schema file: nested types are objects (format 2.2).

    Raises SettingsError for a nested type that cannot be read; other texts are passed on as they are.
    """
    found = _NESTED.fullmatch(text.strip())
    if found is None:
        return text
    kind, inner, required = found[1].upper(), _split(found[2]), " NOT NULL" if found[3] else ""
    if kind == "ARRAY" and len(inner) == 1:
        return {"type": kind + required, "element": type_object(inner[0])}
    if kind == "MAP" and len(inner) == 2:
        return {"type": kind + required, "key": type_object(inner[0]), "value": type_object(inner[1])}
    members = [_MEMBER.fullmatch(part) for part in inner]
    if kind != "ROW" or not all(members):
        raise SettingsError(f"{text!r} is no type: {kind} takes {_TAKES[kind]}")
    fields = [(m[1] or m[2], type_object(m[3])) for m in members if m]
    return {"type": kind + required, "fields": [{"id": n, "name": k, "type": t} for n, (k, t) in enumerate(fields)]}


_TAKES = {"ARRAY": "one type", "MAP": "two types", "ROW": "names with their types"}


def _split(text: str) -> list[str]:
    """The parts between the commas that stand in no brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]
