"""Compaction task: the files of one bucket to rewrite, as a value that can be sent to another process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paimon_core.compact.sort_order import SortOrder
from paimon_core.lsm.compaction.universal import CompactionUnit
from paimon_core.metadata.data_file import DataFile, bytes_from_plain, bytes_to_plain, from_plain, to_plain
from paimon_core.metadata.manifests.index_manifest import IndexFile, index_from_plain, index_to_plain
from paimon_core.metadata.member_types import checked
from paimon_core.metadata.versioned_json import pack, unpacked

TASK_VERSION = 5


@dataclass(frozen=True, slots=True)
class AppendUnit:
    """Groups of files of an append bucket; the rows of each group are written to one sequence of new files."""

    groups: tuple[tuple[DataFile, ...], ...]
    sort: SortOrder | None = None
    """The order in which the rows of a group are written; None: rows are written in the order of the files, and of the
    rows in each file.
    """
    output_level: int = 0
    """The level of the new files, above 0 for incremental clustering."""

    @property
    def files(self) -> tuple[DataFile, ...]:
        """All input files."""
        return tuple(f for group in self.groups for f in group)


@dataclass(frozen=True, slots=True)
class CompactionTask:
    """The compaction of one bucket, picked on the driver and run in any process."""

    partition: bytes
    bucket: int
    total_buckets: int
    unit: CompactionUnit | AppendUnit
    of_full_table: bool = False
    """Whether the task is part of a full compaction of all buckets (format 8.4)."""
    higher: tuple[DataFile, ...] = ()
    """The bucket's files above the output level, if the compaction looks up keys in these files (format 10.6)."""
    indexes: tuple[IndexFile, ...] = ()
    """The index files of the bucket with its deletion vectors (format 12)."""

    @property
    def input_bytes(self) -> int:
        """The total size of the input files in bytes."""
        return sum(f.file_size for f in self.unit.files)

    def to_bytes(self) -> bytes:
        """Return the task as versioned JSON."""
        out: dict[str, Any] = {
            "partition": bytes_to_plain(self.partition),
            "bucket": self.bucket,
            "total_buckets": self.total_buckets,
            "of_full_table": self.of_full_table,
            "indexes": [index_to_plain(f) for f in self.indexes],
        }
        if isinstance(self.unit, AppendUnit):
            out["groups"] = [[to_plain(f) for f in group] for group in self.unit.groups]
            sort = self.unit.sort
            out["sort"] = None if sort is None else [sort.strategy, *sort.columns]
            out["output_level"] = self.unit.output_level
        else:
            out["unit"] = {
                "output_level": self.unit.output_level,
                "files": [to_plain(f) for f in self.unit.files],
                "drop_delete": self.unit.drop_delete,
                "each_alone": self.unit.each_alone,
                "runs_left": self.unit.runs_left,
            }
            out["higher"] = [to_plain(f) for f in self.higher]
        return pack(TASK_VERSION, out)

    @staticmethod
    def from_bytes(data: bytes) -> CompactionTask:
        """Return the task that ``to_bytes`` encoded.

        Raises InvalidRequest for other bytes, UnsupportedFeature for another version.
        """
        with unpacked(data, "compaction task", TASK_VERSION) as value:
            place = (bytes_from_plain(value["partition"]), int(value["bucket"]), int(value["total_buckets"]))
            indexes = tuple(map(index_from_plain, value["indexes"]))
            if "groups" in value:
                groups = tuple(tuple(map(from_plain, group)) for group in value["groups"])
                sort = value["sort"]
                order = None if sort is None else checked(SortOrder(tuple(sort[1:]), sort[0]))
                append = checked(AppendUnit(groups, order, value["output_level"]))
                return checked(CompactionTask(*place, append, value["of_full_table"], indexes=indexes))
            unit = value["unit"]
            files = tuple(map(from_plain, unit.pop("files")))
            higher = tuple(map(from_plain, value["higher"]))
            merged = checked(CompactionUnit(files=files, **unit))
            return checked(CompactionTask(*place, merged, value["of_full_table"], higher, indexes))
