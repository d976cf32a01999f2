"""PaimonDataset: a scan as a pyarrow Dataset; polars and DuckDB pass their filters and columns to the dataset.

``scanner`` reads only the columns that are requested and that the filter needs; Arrow applies the filter to each batch
(``arrow_filter``). The methods of a Dataset that call ``scanner`` also read only these columns: ``to_table``,
``to_batches``, ``head``, ``take``, ``count_rows``, ``filter``.

Functions of Arrow that do not call ``scanner``, such as ``join``, ``sort_by`` and ``Scanner.from_dataset``, use a
dataset of one Arrow file in memory: all rows are read into this file when it is opened. Such functions return the same
rows, but read all columns and rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs as pafs

from paimon_core.errors import InvalidRequest
from paimon_core.frames.arrow_filter import pushed
from paimon_core.frames.source import Source
from paimon_core.frames.unfinished import until_exit

_FILE = "rows.arrow"


class PaimonDataset(ds.FileSystemDataset):  # type: ignore[misc]
    """A dataset of the rows of a scan; each call reads the rows again, from the same snapshot."""

    def __init__(self, source: Source, keep: pc.Expression | None = None) -> None:
        self._source = source
        self._keep = keep
        """The filter that ``filter`` has added; None: all rows are in the dataset."""
        files = pafs.PyFileSystem(_OneFile(lambda: self.scanner().to_reader()))
        format = ds.IpcFileFormat()
        super().__init__([format.make_fragment(_FILE, filesystem=files)], source.schema, format, files)

    def scanner(
        self,
        columns: Sequence[str] | dict[str, pc.Expression] | None = None,
        filter: pc.Expression | None = None,
        **settings: Any,
    ) -> ds.Scanner:
        """Return a scanner of the ``columns`` (names or expressions) of the rows for which ``filter`` is true.

        ``settings`` are options of Arrow's scanner that do not change the result. Raises TypeError for other settings.
        """
        keep = filter if self._keep is None else self._keep if filter is None else self._keep & filter
        schema = self._source.schema
        names, where = pushed(columns, keep, schema)
        rows = self._source.narrowed(names, where)
        if isinstance(columns, tuple):
            columns = list(columns)
        return ds.Scanner.from_batches(until_exit(rows.to_batches()), columns=columns, filter=keep, **settings)

    def filter(self, expression: pc.Expression) -> PaimonDataset:
        """Return the dataset with only the rows for which ``expression`` is true."""
        return PaimonDataset(self._source, expression if self._keep is None else self._keep & expression)

    def replace_schema(self, schema: pa.Schema) -> NoReturn:
        """Raise InvalidRequest: choose other columns with a scan."""
        raise InvalidRequest("the dataset of a scan has the columns of the scan: use scan(columns=...)")

    def __reduce__(self) -> Any:
        return PaimonDataset, (self._source, self._keep)


class _OneFile(pafs.FileSystemHandler):  # type: ignore[misc]
    """A file system with one Arrow file that contains the rows of a dataset."""

    def __init__(self, rows: Callable[[], pa.RecordBatchReader]) -> None:
        self._rows = rows

    def get_type_name(self) -> str:
        return "paimon"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: Sequence[str]) -> list[pafs.FileInfo]:
        kinds = {_FILE: pafs.FileType.File}
        return [pafs.FileInfo(path, kinds.get(path, pafs.FileType.NotFound)) for path in paths]

    def get_file_info_selector(self, selector: pafs.FileSelector) -> list[pafs.FileInfo]:
        return self.get_file_info([_FILE])

    def open_input_file(self, path: str) -> pa.NativeFile:
        rows = self._rows()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, rows.schema) as writer:
            for batch in rows:
                writer.write_batch(batch)
        return pa.BufferReader(sink.getvalue())

    open_input_stream = open_input_file

    def _refuse(self, *_: Any) -> NoReturn:
        raise InvalidRequest("the dataset of a scan cannot be changed: write with Table.write")

    create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = delete_file = _refuse
    move = copy_file = open_output_stream = open_append_stream = _refuse
