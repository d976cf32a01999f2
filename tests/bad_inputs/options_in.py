"""Bad options: those of new tables, of catalogs and of stores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import paimon_core as paimon
from paimon_core.errors import InvalidOption, InvalidRequest, StorageError, UnsupportedFeature
from tests.bad_inputs.case import SECRET, Case, Cases, case

KEYED = "k INT NOT NULL, v INT, s STRING, a ARRAY<INT>, t TIMESTAMP(3)"


def option(key: str, value: Any, *says: str, error: type[Exception] = InvalidRequest, **others: str) -> Case:
    """A table with a primary key, which must not be created with this option."""
    options = {"bucket": "1", **{k.replace("__", "."): v for k, v in others.items()}, key: value}
    return case(lambda lake: lake.create(KEYED, primary_key=["k"], options=options), error, *says)


ROUND_ROBIN = {"data-file__external-paths__strategy": "round-robin"}


def append_option(key: str, value: str, *says: str, **others: str) -> Case:
    """A table without a key."""
    options = {**{k.replace("__", "."): v for k, v in others.items()}, key: value}
    return case(lambda lake: lake.create("k INT, v INT", options=options), InvalidRequest, *says)


def values(key: str, *bad: str, **others: str) -> dict[str, Case]:
    return {f"{key} = {value!r:.20}": option(key, value, key.replace(".", r"\."), **others) for value in bad}


TABLES: dict[str, Case] = {
    **values("bucket", "0", "-3", "abc", "1e3", "2147483648", "", "1.5", "0x10", " "),
    "a postpone bucket without a key": append_option("bucket", "-2", "bucket = -2", "primary key"),
    "no bucket of a postponed table": option("postpone.default-bucket-num", "0", "default-bucket-num", bucket="-2"),
    "merging of postponed rows": option("postpone.merge-on-read", "true", "merge-on-read", bucket="-2"),
    "dynamic buckets of a table with fixed ones": option("dynamic-bucket.max-buckets", "4", "needs .* bucket = -1"),
    "no dynamic bucket at all": option("dynamic-bucket.max-buckets", "0", "max-buckets", error=InvalidOption),
    "a misspelt option": option("buckett", "1", "buckett", "did you mean 'bucket'", error=InvalidOption),
    "an option with another separator": option(
        "compaction.min-file-num", "9", "did you mean 'compaction.min.file-num'", error=InvalidOption
    ),
    "an option of 1 MB": option("custom." + "x" * (1 << 20), "1", "option", "the limit is 1048576"),
    "an option of another program": option(
        "connector", "paimon", "connector", "begin with 'custom.'", error=InvalidOption
    ),
    "a value of 10 MB": option("commit.user-prefix", "u" * (10 << 20), "commit.user-prefix", "the limit is 1048576"),
    "a bad value of 1 MB": option("bucket", "9" * 1_000_000, "bucket", error=InvalidOption),
    "a value that is a number": option("bucket", 1.5, "bucket", "text", error=InvalidOption),
    "a value of None": option("bucket", None, "bucket", "text", error=InvalidOption),
    "a key that is a number": case(lambda lake: lake.create(KEYED, options={7: "x"}), InvalidOption, "7", "text"),
    "a value with a surrogate": option("commit.user-prefix", "\ud800", "ud800"),
    "the primary key as an option": option("primary-key", "k", "primary-key", "primary_key"),
    "the partition as an option": option("partition", "v", "partition", "partition_by"),
    "a type of table": option("type", "object-table", "object-table", "type", error=UnsupportedFeature),
    "a bucket key that is no column": option("bucket-key", "zz", "'zz'", "no column"),
    "a bucket key that is no key": option("bucket-key", "v", "'v'", "primary key column"),
    "a bucket key twice": option("bucket-key", "k,k", "twice"),
    "a bucket key of nothing": option("bucket-key", "k,,k", "bucket-key"),
    "a bucket key without buckets": append_option("bucket-key", "k", "bucket-key", "bucket = N"),
    "buckets without a bucket key": append_option("bucket", "4", "bucket-key"),
    "a bucket key of a partition": case(
        lambda lake: lake.create("k INT, v INT", partition_by=["k"], options={"bucket": "2", "bucket-key": "k"}),
        InvalidRequest,
        "bucket-key",
        "'k'",
        "partition key",
    ),
    "a merge engine that is unknown": option("merge-engine", "foo", "merge-engine", "foo", "deduplicate"),
    "a merge engine without a key": append_option("merge-engine", "first-row", "merge-engine", "primary key"),
    "a changelog that is unknown": option("changelog-producer", "nosuch", "changelog-producer", "nosuch", "lookup"),
    "a changelog without a key": append_option("changelog-producer", "input", "changelog-producer", "primary key"),
    "a sequence field that is no column": option("sequence.field", "zz", r"sequence\.field", "'zz'"),
    "a sequence field twice": option("sequence.field", "v, v", r"sequence\.field", "twice"),
    "a sequence field of a nested type": option("sequence.field", "a", r"sequence\.field", "'a'", "ARRAY"),
    "a sequence field without a key": append_option("sequence.field", "v", r"sequence\.field", "primary key"),
    "statistics of no column": option("fields.zz.stats-mode", "none", "'zz'"),
    "a sequence order without fields": option("sequence.field.sort-order", "descending", r"sequence\.field"),
    "a row kind field that is a number": option("rowkind.field", "v", r"rowkind\.field", "'v'", "not text"),
    "a row kind field that is no column": option("rowkind.field", "zz", r"rowkind\.field", "'zz'"),
    "a sequence group of a key": case(
        lambda lake: lake.create(
            KEYED,
            primary_key=["k"],
            options={"bucket": "1", "merge-engine": "partial-update", "fields.v.sequence-group": "k"},
        ),
        InvalidRequest,
        "sequence-group",
        "'?k'?",
        "key",
    ),
    "a column in two sequence groups": case(
        lambda lake: lake.create(
            "k INT, g1 INT, g2 INT, x INT",
            primary_key=["k"],
            options={
                "bucket": "1",
                "merge-engine": "partial-update",
                "fields.g1.sequence-group": "x",
                "fields.g2.sequence-group": "x",
            },
        ),
        InvalidRequest,
        "sequence-group|group",
        "'x'",
    ),
    "a sequence group of no column": case(
        lambda lake: lake.create(
            KEYED,
            primary_key=["k"],
            options={"bucket": "1", "merge-engine": "partial-update", "fields.zz.sequence-group": "v"},
        ),
        InvalidRequest,
        "zz",
    ),
    "a sequence group without partial updates": option(
        "fields.v.sequence-group", "s", "sequence-group", "partial-update"
    ),
    **{
        f"a function {function} of a {kind}": case(
            lambda lake, f=function, k=kind: lake.create(
                f"k INT, x {k}",
                primary_key=["k"],
                options={"bucket": "1", "merge-engine": "aggregation", "fields.x.aggregate-function": f},
            ),
            InvalidRequest,
            "'x'|fields.x",
            function,
            kind,
        )
        for function, kind in (
            ("sum", "STRING"),
            ("product", "DATE"),
            ("listagg", "INT"),
            ("bool_and", "INT"),
            ("merge_map", "INT"),
            ("nested_update", "INT"),
            ("collect", "INT"),
            ("rbm32", "INT"),
            ("hll_sketch", "STRING"),
        )
    },
    "a function that is unknown": option("fields.v.aggregate-function", "median", "median", "sum"),
    "a function of no column": option("fields.zz.aggregate-function", "sum", "zz"),
    "a function of the key": case(
        lambda lake: lake.create(
            KEYED,
            primary_key=["k"],
            options={"bucket": "1", "merge-engine": "aggregation", "fields.k.aggregate-function": "sum"},
        ),
        InvalidRequest,
        "'k'",
        "primary key",
    ),
    **values("snapshot.time-retained", "1 fortnight", "-1s", "1", "x", "", "9" * 30 + " d"),
    **values("target-file-size", "12 xb", "0", "-1 mb", "1", "", "9" * 30 + " gb"),
    **values("write-buffer-size", "0 b", "0"),
    **values("write-only", "yes", "1", "", "TRUE!"),
    **values("file.format", "csv", "PARQUET ORC", ""),
    **values("file.compression", "gzip9", ""),
    **values("file.compression.zstd-level", "0", "23", "x"),
    **values("num-levels", "1", "101"),
    **values("snapshot.num-retained.min", "0", "-1", "x"),
    **values("metadata.stats-mode", "most", "truncate(0)", "truncate(x)"),
    **values("changelog-file.prefix", "../x", "a/b", ""),
    **values("data-file.prefix", "../x", "..", "a.b"),
    **values("data-file.path-directory", "/x", "../x", "a/../b", "s3://x", "manifest/x", "bucket-0", "a=b"),
    **values("sink.watermark-time-zone", "Mars/Olympus", ""),
    **values("commit.max-retries", "-1", "x"),
    **values("file.format.per.level", "x", "0:csv", "0:orc,0:avro"),
    "retention of fewer than the minimum": option(
        "snapshot.num-retained.max", "3", "snapshot.num-retained.min = 5", "= 3", **{"snapshot__num-retained__min": "5"}
    ),
    "a retry wait of more than the longest": option(
        "commit.min-retry-wait", "1 h", "commit.min-retry-wait", "commit.max-retry-wait"
    ),
    "an off-peak hour alone": option("compaction.offpeak.start.hour", "3", "off-peak", "end.hour"),
    "an older name beside the current one": option(
        "write-buffer-spill-max-disk-size", "1 gb", ".", error=InvalidOption
    ),
    "a prefix of 300 bytes": option(
        "changelog-file.prefix", "c" * 300, "changelog-file.prefix has 300 bytes, the limit is 128"
    ),
    "a name of tags of 300 bytes": option("tag.batch.customized-name", "t" * 300, "customized-name", "300 bytes, the"),
    "a name of tags with a dollar": option("tag.batch.customized-name", "a$b", "customized-name", r"'\$'"),
    "a path as the name of tags": option("tag.batch.customized-name", "../x", "tag.batch.customized-name"),
    "a record expiry without a field": option("record-level.expire-time", "1 d", "record-level.time-field"),
    "a partition expiry without partitions": option("partition.expiration-time", "1 d", "partition"),
    "deletion vectors that are not enabled": option(
        "deletion-vectors.bitmap64", "true", "deletion-vectors.enabled = true"
    ),
    "data evolution": append_option("data-evolution.enabled", "true", "data-evolution.enabled", "reads only"),
    "row tracking with a key": option("row-tracking.enabled", "true", "row-tracking.enabled", "without a primary key"),
    "row tracking with buckets": append_option(
        "row-tracking.enabled", "true", "row-tracking.enabled", "bucket = -1", bucket="2", **{"bucket-key": "k"}
    ),
    "an external path over http": append_option(
        "data-file.external-paths",
        "http://h/x",
        "data-file.external-paths = http://h/x: the path must be one of allowed_roots",
        **ROUND_ROBIN,
    ),
    "an external path on the disk": append_option(
        "data-file.external-paths", "file:///etc", "file:/etc: the path must be .* allowed_roots", **ROUND_ROBIN
    ),
    "an external path that goes up": append_option("data-file.external-paths", "file:///x/../y", "without '..'"),
    "external paths of no file system": append_option(
        "data-file.external-paths", "file:///x", "specific-fs", **{"data-file__external-paths__strategy": "specific-fs"}
    ),
    "weights that are no numbers": append_option("data-file.external-paths.weights", "1,x", "whole numbers"),
    "a relative external path": append_option("data-file.external-paths", "x/y", "data-file.external-paths"),
    "a secret as an option of a table": append_option(
        "fs.s3.secret.key", SECRET, "fs.s3.secret.key", "stored in the table"
    ),
    "a default partition name that is too long": case(
        lambda lake: lake.create("k INT, p STRING", partition_by=["p"], options={"partition.default-name": "n" * 300}),
        InvalidRequest,
        "partition.default-name|directory name",
    ),
    "a compression that avro has not": append_option("file.compression", "lz4", "avro", **{"file.format": "avro"}),
}


def opened(where: Any, *says: str, error: type[Exception] = InvalidRequest, **arguments: Any) -> Case:
    return case(lambda lake: paimon.open_catalog(where, **arguments), error, *says)


S3 = "s3://bucket/lake"
KEYS: Mapping[str, str] = {"s3.access-key": SECRET, "s3.secret-key": SECRET}
CATALOGS: dict[str, Case] = {
    "no warehouse": opened("", "warehouse"),
    "a blank warehouse": opened("  ", "warehouse"),
    "a warehouse that is a number": opened(7, "warehouse", "7"),
    "a warehouse with NUL": opened("a\0b", "NUL"),
    "the root of the disk": opened("/", "root"),
    "a directory that cannot be made": case(
        lambda lake: paimon.open_catalog("/proc/nosuch").create_database("db"), StorageError, "/proc/nosuch/db.db"
    ),
    "a warehouse in a file": case(
        lambda lake: paimon.open_catalog("/dev/null/x").list_databases(), StorageError, "/dev/null/x"
    ),
    "an unknown scheme": opened("ftp://host/x", "'ftp'", error=UnsupportedFeature),
    "a web address": opened("https://host/x", "'https'", error=UnsupportedFeature),
    "a chain of schemes": opened("zip::file:///x", "zip", error=UnsupportedFeature),
    "a file on a host": opened("file://host/x", "host"),
    "a home that is none": opened("~nosuchuser/x", "~nosuchuser"),
    "a bucket with a password": opened(f"s3://user:{SECRET}@bucket/x", "credentials"),
    "a bucket with ..": opened("s3://bucket/a/../../b", r"'\.\.'"),
    "a bucket with a query": opened("s3://bucket/a?x=1", r"\?"),
    "no bucket": opened("s3:///x", "bucket"),
    "an option of the store that is unknown": opened(
        S3, "s3.secretkey", storage={"s3.secretkey": SECRET}, error=InvalidOption
    ),
    "an access key alone": opened(
        S3, "s3.secret-key", "together", storage={"s3.access-key": SECRET}, error=InvalidOption
    ),
    "an empty secret": opened(S3, "s3.secret-key", storage={"s3.secret-key": ""}, error=InvalidOption),
    "a secret that is a number": opened(S3, "s3.secret-key", storage={"s3.secret-key": 7}, error=InvalidOption),
    "a choice that is none": opened(
        S3,
        "s3.path.style.access",
        "true, false",
        storage={**KEYS, "s3.path.style.access": "maybe"},
        error=InvalidOption,
    ),
    "a time-out that is none": opened(
        S3, "soon", storage={**KEYS, "storage.request-timeout": "soon"}, error=InvalidOption
    ),
    "options of a store for a path": opened(
        "x", "s3.secret-key", storage={"s3.secret-key": SECRET}, error=InvalidOption
    ),
    "options of a store that are text": opened(S3, "storage options", storage="x", error=InvalidOption),
    "options of a catalog that are text": opened("x", "options", options="x", error=InvalidOption),
    "an option of a catalog that is unknown": opened("x", "'nosuch'", options={"nosuch": "1"}, error=InvalidOption),
    "a catalog that is unknown": opened("x", "'hive'", type="hive", error=UnsupportedFeature),
    "a catalog on a server without a URI": opened("x", "rest", "uri", type="rest"),
    "a catalog in a database without a URI": opened("x", "sql", "uri", type="sql"),
    "a catalog of directories with a URI": opened("x", "filesystem", "uri", uri="sqlite:///x"),
    "a token with a line end": opened(
        "x", "token", type="rest", uri="http://h", options={"token": f"{SECRET}\n"}, error=InvalidOption
    ),
    "a header without a name": opened(
        "x", "header", type="rest", uri="http://h", options={"header. ": SECRET}, error=InvalidOption
    ),
    "a server over ftp": opened("x", "http://host", type="rest", uri="ftp://h"),
    "a database that is unknown": opened("memory://x", "nosuch", type="sql", uri=f"nosuch://u:{SECRET}@h/d"),
    "a lock that is unknown": opened(
        "memory://x", "lock.type", type="sql", uri="sqlite://", options={"lock.type": "zookeeper"}, error=InvalidOption
    ),
    "a time-out of a catalog without unit": opened(
        "x", "request-timeout", type="rest", uri="http://h", options={"request-timeout": "x"}, error=InvalidOption
    ),
}
CASES: Cases = {**TABLES, **CATALOGS}
