"""TableOptions: the table options that this library obeys, parsed (format 18).

One table names every option with its parser, default and a line of documentation. An option that is not in it is never
accepted for a new table. A table made elsewhere may carry others: those that only guide writers of another engine leave
it readable but not writable; any option that could change what a read returns refuses the table, by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from paimon_core.errors import InvalidOption, UnsupportedFeature

_UNITS = {
    "": 1,
    "b": 1,
    "k": 1 << 10,
    "kb": 1 << 10,
    "m": 1 << 20,
    "mb": 1 << 20,
    "g": 1 << 30,
    "gb": 1 << 30,
    "t": 1 << 40,
    "tb": 1 << 40,
}
_TIMES = {
    unit: millis
    for units, millis in (
        ("ns", 1e-6),
        ("us", 1e-3),
        ("ms", 1.0),
        ("s sec second seconds", 1e3),
        ("m min minute minutes", 6e4),
        ("h hour hours", 3.6e6),
        ("d day days", 8.64e7),
    )
    for unit in units.split()
} | {"": 1.0}
_AMOUNT = re.compile(r"^\s*(\d+)\s*([a-z]*)\s*$", re.IGNORECASE)


def parse_bytes(text: str) -> int:
    """A memory size in bytes: ``128 mb``, ``64kb``, ``100`` (binary units)."""
    found = _AMOUNT.match(text)
    unit = found.group(2).lower().removesuffix("ytes").removesuffix("yte") if found else "?"
    if found is None or unit not in _UNITS or len(found.group(1)) > 18:
        raise ValueError("a size such as '128 mb'")
    return int(found.group(1)) * _UNITS[unit]


def _size(text: str) -> int:
    if parse_bytes(text) < 1:
        raise ValueError("a size of at least one byte")
    return parse_bytes(text)


def _positive_millis(text: str) -> int:
    if parse_millis(text) < 1:
        raise ValueError("a duration of at least one millisecond")
    return parse_millis(text)


def _plain_name(text: str) -> str:
    if not re.fullmatch(r"[^/\\\x00-\x1f]+", text) or not text.strip() or text in (".", ".."):
        raise ValueError("a directory name")
    return text


def parse_millis(text: str) -> int:
    """A duration in milliseconds: ``1 h``, ``10 ms``, ``2 d``."""
    found = _AMOUNT.match(text)
    if found is None or found.group(2).lower() not in _TIMES or len(found.group(1)) > 15:
        raise ValueError("a duration such as '1 h'")
    return int(int(found.group(1)) * _TIMES[found.group(2).lower()])


def _bool(text: str) -> bool:
    if text.strip().lower() not in ("true", "false"):
        raise ValueError("true or false")
    return text.strip().lower() == "true"


def _int(low: int, high: int = 2**31 - 1) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not re.fullmatch(r"\s*-?\d+\s*", text) or not low <= int(text) <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return int(text)

    return parse


def _fraction(text: str) -> float:
    if not re.fullmatch(r"\s*(0|1|0?\.\d+|0\.\d+|1\.0+)\s*", text):
        raise ValueError("a number from 0 to 1")
    return float(text)


def _one_of(*allowed: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.strip().lower() not in allowed:
            raise ValueError(" or ".join(map(repr, allowed)))
        return text.strip().lower()

    return parse


def _names(text: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in text.split(","))
    if not all(names):
        raise ValueError("a comma list of column names")
    return names


def _stats_mode(text: str) -> str:
    if not re.fullmatch(r"none|counts|full|truncate\([1-9]\d*\)", text.strip().lower()):
        raise ValueError("none, counts, full or truncate(n)")
    return text.strip().lower()


@dataclass(frozen=True, slots=True)
class Option:
    """One option: how its text is read, what holds when it is absent, one line on what it does."""

    key: str
    parse: Callable[[str], Any]
    default: Any
    doc: str


def _bucket(text: str) -> int:
    value = _int(-2)(text)
    if value == -2:
        raise UnsupportedFeature("option bucket = -2 (postpone bucket) is not supported", option="bucket", value=text)
    if value == 0:
        raise ValueError("-1 or a positive number")
    return value


_COMPRESSIONS = ("zstd", "snappy", "gzip", "lz4", "none")
SUPPORTED: dict[str, Option] = {
    o.key: o
    for o in (
        Option("bucket", _bucket, -1, "buckets of a partition; -1 for append tables without buckets"),
        Option("bucket-key", _names, None, "columns that are hashed to a bucket; default the primary key"),
        Option("bucket-function.type", _one_of("default"), "default", "the hash of the bucket key"),
        Option("file.format", _one_of("parquet"), "parquet", "the format of data files"),
        Option("file.compression", _one_of(*_COMPRESSIONS), "zstd", "the compression of data files"),
        Option("file.compression.zstd-level", _int(1, 22), 1, "the level of zstd in data files"),
        Option("target-file-size", _size, None, "when a data file rolls; 128 mb with a key, 256 mb without"),
        Option("write-only", _bool, False, "writers leave compaction and expiry to other jobs"),
        Option("write-buffer-size", _size, 256 << 20, "bytes of rows that a writer holds before it flushes"),
        Option("merge-engine", _one_of("deduplicate"), "deduplicate", "how rows of one key become one"),
        Option("ignore-delete", _bool, False, "drop -U and -D rows on write"),
        Option("changelog-producer", _one_of("none"), "none", "whether changelog files are written"),
        Option("sequence.field", _names, None, "columns that order rows of one key before their arrival does"),
        Option("sequence.field.sort-order", _one_of("ascending", "descending"), "ascending", "their direction"),
        Option("rowkind.field", str.strip, None, "the column that holds the row kind"),
        Option("num-sorted-run.compaction-trigger", _int(1), 5, "sorted runs that trigger a compaction"),
        Option(
            "num-sorted-run.stop-trigger", _int(1), None, "runs at which writers wait for compaction: they always do"
        ),
        Option("num-levels", _int(2, 100), None, "levels of the LSM tree; default the trigger + 1"),
        Option("compaction.max-size-amplification-percent", _int(0), 200, "when all runs are merged"),
        Option("compaction.size-ratio", _int(0), 1, "percent by which the next run may be larger and still be taken"),
        Option("compaction.min.file-num", _int(2), 5, "small files that make an append table compact"),
        Option("compaction.small-file-ratio", _fraction, 0.7, "share of the target size below which a file is small"),
        Option("compaction.force-rewrite-all-files", _bool, False, "full compaction rewrites every file"),
        Option(
            "partition.default-name", _plain_name, "__DEFAULT_PARTITION__", "the directory of null and blank values"
        ),
        Option("partition.legacy-name", _bool, True, "dates in paths as day numbers"),
        Option("dynamic-partition-overwrite", _bool, True, "overwrite replaces the partitions that the data touches"),
        Option("manifest.target-file-size", _size, 8 << 20, "when a manifest rolls"),
        Option("manifest.merge-min-count", _int(2), 30, "small manifests that are merged into one"),
        Option("manifest.full-compaction-threshold-size", parse_bytes, 16 << 20, "when manifests are all rewritten"),
        Option("manifest.compression", _one_of("zstd", "snappy", "none", "deflate"), "zstd", "the codec of manifests"),
        Option("metadata.stats-mode", _stats_mode, "truncate(16)", "the statistics of value columns"),
        Option("source.split.target-size", _size, 128 << 20, "bytes of a read split"),
        Option("source.split.open-file-cost", parse_bytes, 4 << 20, "bytes that opening a file counts for"),
        Option("snapshot.num-retained.min", _int(1), 10, "snapshots that expiry keeps at least"),
        Option("snapshot.num-retained.max", _int(1), 2**31 - 1, "snapshots that expiry keeps at most"),
        Option("snapshot.time-retained", parse_millis, 3_600_000, "the age at which snapshots may expire"),
        Option("snapshot.expire.limit", _int(1), 50, "snapshots that one expiry removes at most"),
        Option("commit.max-retries", _int(0), 10, "lost races after which a commit gives up"),
        Option("commit.timeout", parse_millis, None, "time after which a commit gives up"),
        Option("commit.min-retry-wait", parse_millis, 10, "the first wait between tries"),
        Option("commit.max-retry-wait", parse_millis, 10_000, "the longest wait between tries"),
        Option("commit.user-prefix", str.strip, None, "put before the random commit user of batch writes"),
        Option("tag.default-time-retained", _positive_millis, None, "how long a tag lives unless it says itself"),
    )
}
_MOVED = ("primary-key", "partition", "path", "type", "owner")
_READ_SAFE = re.compile(
    r"(sink|scan\.parallelism|write-buffer|write-manifest|sort-|local-sort|lookup|cache|compaction|full-compaction|"
    r"commit|tag|consumer|manifest|metadata\.stats|changelog|snapshot|num-|parquet|orc|page-size|spill|local-merge|"
    r"file-index|file\.block-size|partition\.(expiration|timestamp|mark|idle)|record-level|async|delete|end-input|"
    r"metastore|precommit|target-file-row|write-max|streaming|continuous|dynamic-bucket|zorder|auto-create|"
    r"fields\.[^.]+\.stats-mode|data-file\.prefix|metadata\.iceberg|nextid|owner|type$)"
)
_STATS_OF_FIELD = re.compile(r"fields\.([^.]+)\.stats-mode")


@dataclass(frozen=True)
class TableOptions:
    """The parsed options of one table; ``options["bucket"]`` gives the value or the default."""

    values: Mapping[str, Any]
    stats_modes: Mapping[str, str]
    """Column name to its own statistics mode."""
    foreign: tuple[str, ...] = ()
    """Options that we do not obey but may read past; a write refuses them by name."""

    def __getitem__(self, key: str) -> Any:
        return self.values[key] if key in self.values else SUPPORTED[key].default

    def target_file_bytes(self, *, keyed: bool) -> int:
        """Option target-file-size, whose default is larger for tables without a primary key (format 7.6)."""
        return int(self["target-file-size"] or ((128 << 20) if keyed else (256 << 20)))

    def check_writable(self, table: str) -> None:
        """Raises UnsupportedFeature when the table carries an option that a writer must obey and we do not."""
        if self.foreign:
            raise UnsupportedFeature(
                f"table {table} can be read but not written here: option {self.foreign[0]!r} is not supported",
                table=table,
                option=self.foreign[0],
            )

    @staticmethod
    def parse(options: Mapping[str, str], *, table: str = "", creating: bool = False) -> TableOptions:
        """Read the options of a schema file, or (``creating``) those of a new table, strictly.

        Raises InvalidOption for a value outside its rule and for unknown names of a new table, UnsupportedFeature
        for an option of an existing table that could change what a read returns.
        """
        values: dict[str, Any] = {}
        stats: dict[str, str] = {}
        foreign = []
        for key, text in options.items():
            field = _STATS_OF_FIELD.fullmatch(key)
            if field is not None:
                stats[field.group(1)] = _parse(Option(key, _stats_mode, None, ""), text)
            elif key in SUPPORTED:
                try:
                    values[key] = _parse(SUPPORTED[key], text)
                except InvalidOption as error:
                    if creating or not _READ_SAFE.match(key):
                        raise (
                            UnsupportedFeature(str(error), option=key, value=text) if not creating else error
                        ) from None
                    foreign.append(key)
            elif creating:
                raise InvalidOption(f"option {key!r} is not supported", option=key, value=text)
            elif key in _MOVED:
                continue
            elif _READ_SAFE.match(key):
                foreign.append(key)
            else:
                raise UnsupportedFeature(f"table {table}: option {key!r} = {text!r} is not supported", option=key)
        return TableOptions(values, stats, tuple(foreign))


def _parse(option: Option, text: str) -> Any:
    try:
        return option.parse(text)
    except UnsupportedFeature:
        raise
    except ValueError as error:
        raise InvalidOption(
            f"option {option.key} = {text!r} is not supported: it must be {error}", option=option.key, value=text
        ) from None
