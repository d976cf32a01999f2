"""Success files: show other tools when a partition was completed or a tag was created (format 15.1, 16.8)."""

from __future__ import annotations

import json

from paimon_core.storage.storage import Storage

_CREATED, _MODIFIED = "creationTime", "modificationTime"


def write_success_file(storage: Storage, path: str, now_millis: int) -> None:
    """Write a success file with the time ``now_millis``; the creation time of an existing file is kept."""
    created = _first_time(storage, path)
    text = f'{{\n  "{_CREATED}" : {now_millis if created is None else created},\n  "{_MODIFIED}" : {now_millis}\n}}'
    storage.overwrite(path, text.encode())


def _first_time(storage: Storage, path: str) -> int | None:
    try:
        value = json.loads(storage.read(path))[_CREATED]
    except (FileNotFoundError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return value if type(value) is int else None
