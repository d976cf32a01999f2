"""Data files for tests of the LSM tree: keys are small whole numbers, stored as one byte."""

from __future__ import annotations

from paimon_core.lsm.key_order import SortKey
from paimon_core.lsm.levels import Levels
from paimon_core.metadata.data_file import DataFile


def data_file(
    name: str,
    *,
    size: int = 1,
    level: int = 0,
    keys: tuple[int, int] = (0, 0),
    sequences: tuple[int, int] = (0, 0),
    deletes: int | None = 0,
    created: int | None = 0,
) -> DataFile:
    return DataFile(
        name,
        size,
        1,
        0,
        level=level,
        min_key=bytes([keys[0]]),
        max_key=bytes([keys[1]]),
        min_sequence_number=sequences[0],
        max_sequence_number=sequences[1],
        delete_row_count=deletes,
        creation_time_millis=created,
    )


def bucket(*runs: tuple[int, int], num_levels: int = 6) -> Levels:
    """Return runs of (level, size), newest first; their files are named f0, f1, ..."""
    return Levels.of(
        [data_file(f"f{n}", level=level, size=size, sequences=(0, 100 - n)) for n, (level, size) in enumerate(runs)],
        num_levels,
    )


def byte_order(key: bytes) -> SortKey:
    """Return the key order of the files of ``lsm_files``."""
    return ((1, key[0]),)


def is_clean(file: DataFile) -> bool:
    """Return whether the record of a file says that it contains no delete."""
    return file.delete_row_count == 0
