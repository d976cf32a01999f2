"""Unsupported options: options of Paimon for features that this library does not have and that change data.

Only values that leave the feature off are accepted. With another value, a table with an option of ``_READS`` cannot be
opened, and a table with an option of ``_WRITES`` can be read but not written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from paimon_core.options.parsers import one_of, parse_bool


class Stops(Enum):
    """What a value other than the default prevents."""

    READS = "reads"
    """Reads and writes."""
    WRITES = "writes"


@dataclass(frozen=True, slots=True)
class UnsupportedOption:
    """One option: what a value that turns the feature on prevents, and how to recognise other values."""

    key: str
    stops: Stops
    default: str
    """The default in Paimon; "" for none."""
    parse: Callable[[str], Any]
    """Raises ValueError for every value that turns the feature on."""

    def is_idle(self, text: str) -> bool:
        """Whether the value leaves the feature off."""
        try:
            self.parse(text)
        except ValueError:
            return False
        return True


def _off(text: str) -> None:
    if parse_bool(text):
        raise ValueError("false")


def _blank(text: str) -> None:
    if text.strip():
        raise ValueError("absent")


_LATEST = one_of("default", "latest-full", "latest", "full")
"""Scan modes in which a batch read uses the latest snapshot."""
_READS: tuple[tuple[str, str, Callable[[str], Any]], ...] = (
    ("branch", "main", one_of("main")),
    ("chain-table.enabled", "false", _off),
    ("data-file.external-paths", "", _blank),
    ("data-file.path-directory", "", _blank),
    ("index-file-in-data-file-dir", "false", _off),
    ("global-index.external-path", "", _blank),
    ("scan.mode", "default", _LATEST),
    ("scan.timestamp", "", _blank),
    ("scan.timestamp-millis", "", _blank),
    ("scan.watermark", "", _blank),
    ("scan.file-creation-time-millis", "", _blank),
    ("scan.creation-time-millis", "", _blank),
    ("scan.snapshot-id", "", _blank),
    ("scan.tag-name", "", _blank),
    ("scan.version", "", _blank),
    ("scan.bucket", "", _blank),
    ("scan.partitions", "", _blank),
    ("scan.fallback-branch", "", _blank),
    ("scan.primary-branch", "", _blank),
    ("scan.fallback-snapshot-branch", "", _blank),
    ("scan.fallback-delta-branch", "", _blank),
    ("batch-scan-mode", "none", one_of("none")),
    ("incremental-between", "", _blank),
    ("incremental-between-timestamp", "", _blank),
    ("incremental-to-auto-tag", "", _blank),
    ("read.changelog", "false", _off),
    ("query-auth.enabled", "false", _off),
    ("sequence.snapshot-ordering", "false", _off),
    ("primary-key.nullable", "false", _off),
    ("pk-clustering-override", "false", _off),
    ("row-tracking.enabled", "false", _off),
    ("data-evolution.enabled", "false", _off),
    ("blob-field", "", _blank),
    ("blob-descriptor-field", "", _blank),
    ("blob-view-field", "", _blank),
    ("blob-as-descriptor", "false", _off),
    ("vector-field", "", _blank),
    ("vector.file.format", "", _blank),
)
_WRITES: tuple[tuple[str, str, Callable[[str], Any]], ...] = (
    ("manifest.format", "avro", one_of("avro")),
    ("upsert-key", "", _blank),
    ("data-file.prefix", "data-", one_of("data-")),
    ("data-file.thin-mode", "false", _off),
    ("file.suffix.include.compression", "false", _off),
    ("write.sequence-number-init-mode", "scan", one_of("scan")),
    ("delete.force-produce-changelog", "false", _off),
    ("clustering.incremental", "false", _off),
    ("commit.callbacks", "", _blank),
    ("commit.custom-listeners", "", _blank),
    ("tag.callbacks", "", _blank),
    ("metastore.partitioned-table", "false", _off),
    ("metastore.tag-to-partition", "", _blank),
    ("metastore.tag-to-partition.preview", "none", one_of("none")),
    ("metadata.iceberg.storage", "disabled", one_of("disabled")),
    ("pk-vector.index.columns", "", _blank),
    ("pk-btree.index.columns", "", _blank),
    ("pk-bitmap.index.columns", "", _blank),
    ("pk-multivalue.index.columns", "", _blank),
    ("pk-full-text.index.columns", "", _blank),
)
UNSUPPORTED: dict[str, UnsupportedOption] = {
    key: UnsupportedOption(key, stops, default, parse)
    for stops, options in ((Stops.READS, _READS), (Stops.WRITES, _WRITES))
    for key, default, parse in options
}
