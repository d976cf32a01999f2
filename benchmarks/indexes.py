"""Processor time of reads and deletes that indexes make cheaper, beside the same work without them.

point query   one key of an append table of many files whose ranges all cover it: without an index, with a bloom filter
              beside each data file, and with one in the manifest; Java reads the same tables
delete        one row in a hundred of an append table: with deletion vectors, by rewriting files, and the lower limit:
              pyarrow decodes the column of the condition

``python -m benchmarks.indexes --files 100 --file-rows 20000 --rows 10000000``
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import paimon_core
from benchmarks.java_side import JavaSide
from paimon_core import col

FILE_ROWS = 1_000_000
ONE_IN = 100
REPEATS = 15
BLOOM = {"file-index.bloom-filter.columns": "k", "file-index.bloom-filter.k.items": "20000"}
POINT_TABLES: dict[str, dict[str, str]] = {
    "without an index": {},
    "bloom filter beside the file": {**BLOOM, "file-index.in-manifest-threshold": "1 b"},
    "bloom filter in the manifest": {**BLOOM, "file-index.in-manifest-threshold": "1 mb"},
}
DELETE_TABLES = {"deletion vectors": {"deletion-vectors.enabled": "true"}, "rewriting files": {}}
SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int64()), ("w", pa.string())])


def spent(work: Callable[[], object]) -> float:
    """Return the processor seconds of ``work``, over all threads."""
    before = time.process_time()
    work()
    return time.process_time() - before


def rows(keys: np.ndarray) -> pa.Table:
    texts = pa.DictionaryArray.from_arrays(
        keys % 1000, pa.array([f"text-{n}" for n in range(1000)])
    ).dictionary_decode()
    return pa.table([pa.array(keys), pa.array(keys % ONE_IN), texts], schema=SCHEMA)


def filled(catalog: paimon_core.Catalog, name: str, batches: Sequence[pa.Table], options: dict[str, str]) -> None:
    table = catalog.create_table(name, SCHEMA, options={**options, "write-only": "true"})
    for batch in batches:
        table.write(batch)


def point_queries(folder: str, files: int, file_rows: int, java: JavaSide | None) -> None:
    """Measure reads of one key."""
    random = np.random.default_rng(0)
    batches = [rows(random.integers(0, 2**62, file_rows)) for _ in range(files)]
    key = batches[files // 2]["k"][0].as_py()
    print(f"point query, {files} files of {file_rows:,} rows: processor seconds, of Java, data files that a plan keeps")
    for number, (name, options) in enumerate(POINT_TABLES.items()):
        filled(paimon_core.open_catalog(folder), f"db.p{number}", batches, options)

        catalog = paimon_core.open_catalog(folder)

        def query(catalog: paimon_core.Catalog = catalog, name: str = f"db.p{number}") -> pa.Table:
            return catalog.table(name).scan(where=col("k") == key).to_arrow()

        assert len(query()) == 1
        ours = median(spent(query) for _ in range(REPEATS))
        theirs = (
            ""
            if java is None
            else f"{median(java.seconds('point', folder, f'p{number}', key, 2 * REPEATS)[REPEATS:]):9.4f}"
        )
        splits = catalog.table(f"db.p{number}").scan(where=col("k") == key).splits()
        print(f"  {name:30}{ours:9.4f}{theirs}{sum(len(split.files) for split in splits):6}", flush=True)


def deletes(folder: str, count: int) -> None:
    """Measure deletes of one row in a hundred."""
    keys = [np.arange(first, min(first + FILE_ROWS, count)) for first in range(0, count, FILE_ROWS)]
    print(f"delete of 1 in {ONE_IN} of {count:,} rows, processor seconds")
    for number, (name, options) in enumerate(DELETE_TABLES.items()):
        catalog = paimon_core.open_catalog(folder)
        filled(catalog, f"db.d{number}", [rows(part) for part in keys], options)
        table = catalog.table(f"db.d{number}")
        files = sorted(Path(folder, "db.db", f"d{number}").rglob("data-*.parquet"))
        limit = spent(lambda files=files: [pq.read_table(file, columns=["v"]) for file in files])
        seconds = spent(lambda table=table: table.delete(col("v") == 7))
        left = table.scan().count()
        assert left == count - count // ONE_IN, f"{left} rows are left"
        print(f"  {name:30}{seconds:9.2f}    decoding {limit:.2f}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--file-rows", type=int, default=20_000)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--skip-java", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, nullcontext() if args.skip_java else closing(JavaSide()) as java:
        paimon_core.open_catalog(folder).create_database("db")
        point_queries(folder, args.files, args.file_rows, java)
        deletes(folder, args.rows)


if __name__ == "__main__":
    main()
