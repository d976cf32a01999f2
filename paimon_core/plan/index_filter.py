"""IndexFilter: finds the rows of a data file that a filter may match, by the indexes of the file (format 13).

Columns are matched by field id. An index is used only if the column still has the type that it was built for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from paimon_core.codec.arrays import Mask
from paimon_core.errors import CorruptTable
from paimon_core.fileindex.container import FileIndex
from paimon_core.fileindex.evaluate import matching_rows
from paimon_core.metadata.data_file import DataFile
from paimon_core.options import TableOptions
from paimon_core.predicate import BoundPredicate, Predicate
from paimon_core.schema import TableSchema
from paimon_core.storage.storage import Storage
from paimon_core.table_indexes.index_reads import index_read_errors
from paimon_core.types import DataType

_Columns = dict[str, tuple[str, DataType]]


@dataclass(frozen=True)
class IndexFilter:
    """Tests files by their file indexes; one object is used for all files of a scan."""

    where: BoundPredicate
    schema: TableSchema
    schemas: Callable[[int], TableSchema]
    columns: dict[int, _Columns] = field(default_factory=dict)
    """By schema id: for each column of the filter, its name and its type in files of this schema."""

    @staticmethod
    def of(
        where: Predicate | BoundPredicate | None,
        schema: TableSchema,
        options: TableOptions,
        schemas: Callable[[int], TableSchema],
    ) -> IndexFilter | None:
        """Return the filter for ``where``; None without ``where``, or with option file-index.read.enabled = false."""
        if where is None or not options["file-index.read.enabled"]:
            return None
        bound = where if isinstance(where, BoundPredicate) else where.bind(schema.fields)
        return IndexFilter(bound, schema, schemas)

    def may_match(self, file: DataFile) -> bool:
        """Whether a row may match, by the index in the manifest entry; raises CorruptTable for a damaged index."""
        if file.embedded_index is None:
            return True
        rows = self._rows(self._embedded(file, file.embedded_index), file)
        return rows is None or bool(rows.any())

    def rows(self, file: DataFile, storage: Storage, path: Callable[[DataFile, str], str]) -> Mask | None:
        """Return one boolean per row: False if the indexes exclude the row. None when the indexes exclude no row.

        ``path`` returns the path of a file in the directory of a data file. Raises CorruptTable naming the path of an
        index that is missing or does not decode, StorageError when the store fails.
        """
        if file.embedded_index is not None:
            return self._rows(self._embedded(file, file.embedded_index), file)
        if not file.index_files or not self._of_schema(file.schema_id):
            return None
        if len(file.index_files) > 1:
            raise CorruptTable(
                f"data file {file.file_name} has the index files {', '.join(file.index_files)}, but may have only one"
            )
        source = path(file, file.index_files[0])
        with index_read_errors(source), storage.open_input(source) as opened:
            index = FileIndex.parse(lambda at, size: opened.read_at(size, at), opened.size(), source)
            return self._rows(index, file)

    def _embedded(self, file: DataFile, data: bytes) -> FileIndex:
        return FileIndex.of_bytes(data, f"in the manifest entry of {file.file_name}")

    def _rows(self, index: FileIndex, file: DataFile) -> Mask | None:
        return matching_rows(index, self.where, self._of_schema(file.schema_id), file.row_count)

    def _of_schema(self, schema_id: int) -> _Columns:
        found = self.columns.get(schema_id)
        if found is None:
            old = self.schema if schema_id == self.schema.id else self.schemas(schema_id)
            by_id = {f.id: f for f in old.fields}
            wanted = [f for f in self.schema.fields if f.name in self.where.columns and f.id in by_id]
            found = self.columns[schema_id] = {
                f.name: (by_id[f.id].name, f.type)
                for f in wanted
                if f.type.with_nullable(True) == by_id[f.id].type.with_nullable(True)
            }
        return found
