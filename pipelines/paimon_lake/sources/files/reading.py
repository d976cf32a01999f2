"""Reading: read one split as rows of a table and rejects.

Every row of the split is either a row or a reject; the sizes of splits and blocks do not change the result. Reading CSV
needs about 15 times ``block_bytes`` of memory, for the bytes, texts and values of one block, for files of any size. The
modules ``json_document`` and ``columnar`` state how much memory the readers of the other kinds of files use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from paimon_lake.sources.files.columnar import read_columnar
from paimon_lake.sources.files.columns import RowRules, required_columns
from paimon_lake.sources.files.events.event_rows import read_events
from paimon_lake.sources.files.formats import FileFormat
from paimon_lake.sources.files.rejects import Parsed
from paimon_lake.sources.files.splits import FileSplit
from paimon_lake.sources.files.text.blocks import BLOCK_BYTES, TextFile
from paimon_lake.sources.files.text.csv_rows import read_csv
from paimon_lake.sources.files.text.json_document import read_json
from paimon_lake.sources.files.text.json_rows import read_jsonl


def read_split(
    split: FileSplit,
    file_format: FileFormat,
    schema: pa.Schema,
    rules: RowRules,
    storage_options: Mapping[str, str],
    *,
    block_bytes: int = BLOCK_BYTES,
) -> Iterator[Parsed]:
    """Yield the rows and rejects of a split, in the order of the file; ``schema`` has the columns of the table.

    Raises PipelineError when the file cannot be read, has columns that the table does not have, or lacks a column that
    must not be null. The rows of change events have their kinds in the column ``KIND``.
    """
    required = required_columns(schema, rules)
    file = TextFile(split, file_format, storage_options, block_bytes)
    match file_format.kind:
        case "csv":
            yield from read_csv(file, schema, required)
        case "jsonl":
            yield from read_jsonl(file, schema, required)
        case "debezium-json" | "canal-json" | "maxwell-json":
            yield from read_events(file, schema, required, rules)
        case "json":
            yield from read_json(file, schema, required)
        case _:
            yield from read_columnar(file, schema, required)
