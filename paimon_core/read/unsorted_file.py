"""Unsorted file: finds the file that breaks the order of a sorted run, so that the error of a merge names the file.

A merge works on rows and does not know the files of the rows. Therefore the keys of the runs are read again, but only
after an error about the order.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from paimon_core.errors import CorruptTable
from paimon_core.lsm.order_codes import order_codes
from paimon_core.lsm.sorted_run import SortedRun
from paimon_core.metadata.data_file import DataFile


@contextlib.contextmanager
def naming_unsorted_file(
    runs: Sequence[SortedRun],
    read_keys: Callable[[DataFile], Iterator[pa.RecordBatch]],
    path: Callable[[DataFile], str],
) -> Iterator[None]:
    """Return a context that adds the path of the file and the row to an error of its body about the order of a run.

    ``read_keys`` yields the key columns of a file, and ``path`` returns the path of a file.
    """
    try:
        yield
    except CorruptTable as error:
        key = error.facts.get("key")
        if key is None or "path" in error.facts:
            raise
        for run in runs:
            if (found := _first_break(run, read_keys, path)) is not None:
                text, at = found
                raise CorruptTable(
                    f"data file {at} is not sorted by {', '.join(key)}: {text}. The keys of a sorted run must ascend "
                    "strictly, so its files cannot be merged",
                    path=at,
                    key=key,
                ) from error
        paths = [path(f) for run in runs for f in run.files]
        raise CorruptTable(f"{error}; it is one of {', '.join(paths)}", path=paths[0], key=key) from error


def _first_break(
    run: SortedRun, read_keys: Callable[[DataFile], Iterator[pa.RecordBatch]], path: Callable[[DataFile], str]
) -> tuple[str, str] | None:
    """Return a text about the first row whose key does not ascend, and the path of its file, or None."""
    last: pa.RecordBatch | None = None
    before: DataFile | None = None
    for file in run.files:
        row = 0
        for keys in read_keys(file):
            joined = keys if last is None else pa.Table.from_batches([last, keys]).combine_chunks()
            codes = order_codes([joined[name] for name in keys.schema.names])
            falls = np.flatnonzero(codes[1:] <= codes[:-1])
            if len(falls):
                at = row + int(falls[0]) + (1 if last is None else 0)
                if at == 0 and before is not None:
                    return f"its first key is not above the last key of {path(before)}, the file before it", path(file)
                return f"the key of row {at + 1} is not above the key of the row before it", path(file)
            row += len(keys)
            last = keys.slice(len(keys) - 1, 1) if len(keys) else last
        before = file
    return None
