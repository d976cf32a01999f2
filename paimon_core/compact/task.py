"""CompactionTask: what one bucket should rewrite, as a value that travels between processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paimon_core.lsm.compaction import CompactionUnit
from paimon_core.metadata.data_file import DataFile, bytes_from_plain, bytes_to_plain, from_plain, to_plain
from paimon_core.metadata.wire import pack, unpacked

TASK_VERSION = 1


@dataclass(frozen=True, slots=True)
class AppendUnit:
    """Groups of small files of an append bucket, each to be rewritten as one run of files in its order."""

    groups: tuple[tuple[DataFile, ...], ...]

    @property
    def files(self) -> tuple[DataFile, ...]:
        """All input files."""
        return tuple(f for group in self.groups for f in group)


@dataclass(frozen=True, slots=True)
class CompactionTask:
    """One bucket's compaction, picked on the driver and run anywhere."""

    partition: bytes
    bucket: int
    total_buckets: int
    unit: CompactionUnit | AppendUnit

    @property
    def input_bytes(self) -> int:
        """The size of the files that go in."""
        return sum(f.file_size for f in self.unit.files)

    def to_bytes(self) -> bytes:
        """Versioned JSON."""
        out: dict[str, Any] = {
            "partition": bytes_to_plain(self.partition),
            "bucket": self.bucket,
            "total_buckets": self.total_buckets,
        }
        if isinstance(self.unit, AppendUnit):
            out["groups"] = [[to_plain(f) for f in group] for group in self.unit.groups]
        else:
            out["unit"] = {
                "output_level": self.unit.output_level,
                "files": [to_plain(f) for f in self.unit.files],
                "drop_delete": self.unit.drop_delete,
                "each_alone": self.unit.each_alone,
            }
        return pack(TASK_VERSION, out)

    @staticmethod
    def from_bytes(data: bytes) -> CompactionTask:
        """The inverse of ``to_bytes``.

        Raises InvalidRequest for other bytes, UnsupportedFeature for a newer version.
        """
        with unpacked(data, "compaction task", TASK_VERSION) as value:
            place = (bytes_from_plain(value["partition"]), int(value["bucket"]), int(value["total_buckets"]))
            if "groups" in value:
                groups = tuple(tuple(map(from_plain, group)) for group in value["groups"])
                return CompactionTask(*place, AppendUnit(groups))
            unit = value["unit"]
            files = tuple(map(from_plain, unit.pop("files")))
            return CompactionTask(*place, CompactionUnit(files=files, **unit))
