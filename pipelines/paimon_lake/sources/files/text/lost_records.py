"""Lost records: rejected records of a text file, with their place in the block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_lake.sources.files.formats import FileFormat
from paimon_lake.sources.files.rejects import Reject, reject_batch
from paimon_lake.sources.files.text.blocks import TextFile
from paimon_lake.sources.files.text.records import Records, invalid_utf8, is_valid_utf8, joined, records_of


@dataclass(frozen=True)
class Lost:
    """One rejected record; ``line`` is its line in the block, from 0."""

    line: int
    column: str | None
    reason: str
    raw: bytes
    at: int = 0
    """The position among records with the same line, for the order of rejects."""


def lost_batch(file: TextFile, lost: Sequence[Lost], lines_before: int) -> pa.RecordBatch:
    """Return the rejects of a block in the order of lines; ``lines_before``: the number of lines before the block."""
    lost = sorted(lost, key=lambda record: (record.line, record.at))
    return reject_batch(
        file.path,
        [Reject(0, record.column, record.reason) for record in lost],
        [lines_before + record.line + 1 for record in lost],
        [record.raw.decode("utf-8", "backslashreplace") for record in lost],
    )


def decoded(data: bytes, file_format: FileFormat) -> tuple[Records | None, list[Lost]]:
    """Return the valid records as UTF-8, and rejects for all other records.

    The records are None for a block of a UTF-8 file that is valid as a whole.
    """
    if file_format.is_utf8:
        if is_valid_utf8(data):
            return None, []
        records = records_of(data, file_format)
        bad = invalid_utf8(records)
        good = np.delete(np.arange(len(records)), bad)
        return records.take(good).compact(), [_not_text(records, at, "utf-8") for at in bad]
    records = records_of(data, file_format)
    raws, kept, lost = [], [], list[Lost]()
    try:
        text = data.decode(file_format.encoding).encode()
        return records_of(text, file_format), []
    except UnicodeDecodeError:
        pass
    for at in range(len(records)):
        try:
            raws.append(records.raw(at).decode(file_format.encoding).encode())
            kept.append(at)
        except UnicodeDecodeError:
            lost.append(_not_text(records, at, file_format.encoding))
    return joined(raws, records.lines[np.array(kept, np.int64)]), lost


def _not_text(records: Records, at: int, encoding: str) -> Lost:
    return Lost(int(records.lines[at]), None, f"not valid {encoding}", records.raw(at))
