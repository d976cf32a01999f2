"""The names of the table index files in an index manifest (format 4.4), for callers that need only these names."""

from __future__ import annotations

from paimon_core.codec.record_file import read_records
from paimon_core.errors import CorruptTable, UnsupportedFeature

INDEX_MANIFEST_VERSION = 1
"""The ``_VERSION`` of an index manifest's entries."""


def index_file_names(data: bytes, path: str) -> list[str]:
    """Return the file name of every entry, of any kind; ``path`` names the manifest in errors.

    Raises CorruptTable for bytes that are not an index manifest, UnsupportedFeature for entries of another version.
    """
    names = []
    for record in read_records(data, path):
        version, name = record.get("_VERSION"), record.get("_FILE_NAME")
        if version != INDEX_MANIFEST_VERSION:
            raise UnsupportedFeature(
                f"{path}: index manifest version {version!r} is not {INDEX_MANIFEST_VERSION}", path=path
            )
        if not isinstance(name, str):
            raise CorruptTable(f"{path}: an entry names the file {name!r:.80}", path=path)
        names.append(name)
    return names
