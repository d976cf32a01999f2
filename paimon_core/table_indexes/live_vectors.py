"""Live vectors: finds the deletion vectors of a snapshot in its index manifest, without reading the vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from paimon_core.errors import CorruptTable, UnsupportedFeature
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.manifests.index_manifest import IndexEntry, VectorRange, range_from_plain, range_to_plain

Vectors = Mapping[str, tuple[str, VectorRange]]
"""For data files of one bucket, by name: the index file with the deletion vector, and its position in the index
file."""


def vectors_by_bucket(
    entries: Iterable[IndexEntry], path: str
) -> dict[tuple[bytes, int], dict[str, tuple[str, VectorRange]]]:
    """Return the vectors by (partition, bucket) and data file; ``path`` names the index manifest in errors.

    Raises CorruptTable for a data file with two vectors, UnsupportedFeature for an index file outside of the table.
    """
    found: dict[tuple[bytes, int], dict[str, tuple[str, VectorRange]]] = {}
    for entry in entries:
        if entry.file.vectors is None:
            continue
        if entry.file.external_path is not None:
            raise UnsupportedFeature(
                f"{path}: index file {entry.file.file_name} lies outside of the table: not supported", path=path
            )
        known = found.setdefault((entry.partition, entry.bucket), {})
        for vector in entry.file.vectors:
            if vector.data_file in known:
                raise CorruptTable(
                    f"{path}: data file {vector.data_file} has two deletion vectors, in "
                    f"{known[vector.data_file][0]} and in {entry.file.file_name}",
                    path=path,
                    file=vector.data_file,
                )
            known[vector.data_file] = entry.file.file_name, vector
    return found


def vectors_of(files: Iterable[DataFile], known: Vectors) -> Vectors:
    """Return the ``known`` vectors that belong to the files.

    Raises CorruptTable when the recorded number of deleted rows is greater than the rows of the file.
    """
    out = {}
    for file in files if known else ():
        vector = known.get(file.file_name)
        if vector is None:
            continue
        cardinality = vector[1].cardinality
        if cardinality is not None and cardinality > file.row_count:
            raise CorruptTable(
                f"the deletion vector of {file.file_name} in index file {vector[0]} is recorded to delete "
                f"{cardinality} rows, but the file has {file.row_count}",
                file=file.file_name,
            )
        out[file.file_name] = vector
    return out


def vectors_to_plain(vectors: Vectors) -> list[Any]:
    """Return vectors as JSON values, for splits and tasks."""
    return [[name, *range_to_plain(vector)] for name, vector in vectors.values()]


def vectors_from_plain(value: Any) -> Vectors:
    """Return the vectors that ``vectors_to_plain`` encoded; raises TypeError or ValueError for any other value."""
    found = [(str(name), range_from_plain(rest)) for name, *rest in value]
    return {vector.data_file: (name, vector) for name, vector in found}
