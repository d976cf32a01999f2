"""Success files: two times in a file tell other tools that a partition is done, or a tag made (format 15.1, 16.8)."""

from __future__ import annotations

import json

from paimon_core.storage.storage import Storage

_CREATED, _MODIFIED = "creationTime", "modificationTime"


def write_success_file(storage: Storage, path: str, now_millis: int) -> None:
    """Note the time (epoch milliseconds); a file that is there keeps its first one, if it says any."""
    created = _first_time(storage, path)
    text = f'{{\n  "{_CREATED}" : {now_millis if created is None else created},\n  "{_MODIFIED}" : {now_millis}\n}}'
    storage.overwrite(path, text.encode())


def _first_time(storage: Storage, path: str) -> int | None:
    try:
        value = json.loads(storage.read(path))[_CREATED]
    except (FileNotFoundError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return value if type(value) is int else None
