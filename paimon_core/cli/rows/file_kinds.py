"""File kinds: the format of a file by its name."""

from __future__ import annotations

import os

from paimon_core.errors import InvalidRequest
from paimon_core.files.file_format import COMPRESSIONS

_KINDS = {".parquet": "parquet", ".pq": "parquet", ".orc": "orc", ".csv": "csv", ".json": "json", ".jsonl": "json"}


def kind_of(path: str) -> str:
    """Return the format of a file by the ending of its name; raises InvalidRequest for an unknown ending."""
    name = path.lower()
    for ending in COMPRESSIONS:
        name = name.removesuffix(ending)
    kind = _KINDS.get(os.path.splitext(name)[1])
    if kind is None:
        known = ", ".join(sorted(_KINDS))
        raise InvalidRequest(f"the name {path} does not tell the format ({known}): add --format")
    return kind
