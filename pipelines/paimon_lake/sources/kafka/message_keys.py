"""Message keys: the key of a message as a JSON object with the columns of the primary key."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any


def key_members(key: bytes | None, columns: Sequence[str], texts: Collection[str]) -> dict[str, Any] | None:
    """Return the values of ``columns`` in a message's key; None when the key does not have all of them.

    A key is an object with these members, with or without the envelope of Kafka Connect. For a single key column, the
    message key may also be the plain value: as JSON, or as any text when the column is in ``texts``.
    """
    try:
        text = (key or b"").decode()
        found = json.loads(text, parse_float=_Number, parse_int=_Number)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict) and "payload" in found and "payload" not in columns:
        found = found["payload"]
    if isinstance(found, dict):
        values = {name: found.get(name) for name in columns}
        return None if any(value is None for value in values.values()) else values
    if len(columns) != 1 or not key:
        return None
    if columns[0] in texts and type(found) is not str:
        try:
            return {columns[0]: key.decode()}
        except UnicodeDecodeError:
            return None
    return None if found is None or isinstance(found, list) else {columns[0]: found}


def members_text(members: dict[str, Any]) -> str:
    """Return the members as the text of a JSON object; numbers keep the form in which they were written."""
    return "{" + ",".join(f"{json.dumps(name)}:{_text(value)}" for name, value in members.items()) + "}"


class _Number(str):
    """A number that keeps its text, because a conversion to float or int could change it."""


def _text(value: Any) -> str:
    if isinstance(value, _Number):
        return value
    if isinstance(value, dict):
        return members_text(value)
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return json.dumps(value)
