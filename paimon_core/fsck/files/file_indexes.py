"""File index checks: the indexes of a data file agree with its rows (I19, deep checks)."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from paimon_core.errors import CorruptTable
from paimon_core.fileindex.builder import IndexBuilder, IndexedField, indexed_fields
from paimon_core.fileindex.container import FileIndex
from paimon_core.fileindex.verify import is_right
from paimon_core.fsck.check_context import CheckRun
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.options.file_index_options import IndexedColumn
from paimon_core.schema import TableSchema


class IndexCheck:
    """Collects the indexed columns of one file and compares them with its indexes."""

    def __init__(self, index: FileIndex, schema: TableSchema) -> None:
        self._index = index
        self._fields = [
            field for name, kinds in index.places.items() for kind in kinds for field in _field_of(name, kind, schema)
        ]
        self._builder = IndexBuilder(self._fields)

    @staticmethod
    def of(run: CheckRun, entry: ManifestEntry, schema: TableSchema) -> IndexCheck | None:
        """Return the check of a file; None when the file has no index. Raises CorruptTable for a damaged index."""
        context, file = run.context, entry.file
        data, source = file.embedded_index, f"in the manifest entry of {file.file_name}"
        if data is None:
            if not file.index_files:
                return None
            source = context.file_path(entry.partition, entry.bucket, file, file.index_files[0])
            try:
                data = context.storage.read(source)
            except FileNotFoundError:
                return None  # the quick check reports the missing file
        return IndexCheck(FileIndex.of_bytes(data, source), schema)

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the next rows of the file."""
        self._builder.add(pa.Table.from_batches([batch]))

    def problems(self) -> Iterator[str]:
        """Yield a message for each index that does not agree with the rows of the file."""
        for field in self._fields:
            name, kind = field.index.name, field.index.kind
            keys = self._builder.keys(name)
            try:
                if keys is not None and not is_right(self._index, name, kind, keys):
                    yield f"the {kind} index of {name} ({self._index.source}) does not match the rows"
            except CorruptTable as error:
                yield str(error)


def _field_of(name: str, kind: str, schema: TableSchema) -> tuple[IndexedField, ...]:
    """Return the indexed field; () for an index of an unknown kind, or of a column that the file's schema lacks."""
    column, bracket, key = name.partition("[")
    mapped = bool(bracket) and key.endswith("]") and name not in schema.by_name
    index = IndexedColumn(column, key[:-1], kind) if mapped else IndexedColumn(name, None, kind)
    try:
        return indexed_fields([index], schema.by_name)
    except ValueError:
        return ()
