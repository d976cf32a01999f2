"""Targets: data files in Parquet, ORC and Avro, Avro containers, and the files that loads read."""

from __future__ import annotations

import contextlib
import gzip
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from paimon_core.codec.avro.block_codecs import zstd
from paimon_core.codec.avro.container import read_avro
from paimon_core.codec.record_file import read_records
from paimon_core.datafile.formats import open_file
from paimon_core.datafile.reading.reader import opened
from paimon_core.datafile.reading.row_groups import row_group_keys
from paimon_core.errors import PaimonError
from paimon_core.predicate import col
from paimon_core.types import parse_type
from paimon_lake.declarations.errors import SettingsError
from paimon_lake.declarations.folder import load_settings
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files import RowRules, file_format, list_files, plan_splits, read_split
from paimon_lake.sources.files.columns import arrow_field
from tests.fuzz.containers import of_avro, of_orc, of_parquet, unsealed
from tests.fuzz.metadata_targets import GOLDEN
from tests.fuzz.mutators import of_bytes, of_json, of_text
from tests.fuzz.target import Target
from tests.support.data_files import STORAGE, Bucket, schema_of
from tests.support.project import CONFIGS

ROWS = 30
_READ_BYTES = 64 << 20
_TYPES = {
    "k": "BIGINT NOT NULL",
    "s": "STRING",
    "d": "DECIMAL(20, 2)",
    "f": "DOUBLE",
    "t": "TIMESTAMP(3)",
    "l": {"type": "ARRAY", "element": "INT"},
    "m": {"type": "MAP", "key": "STRING NOT NULL", "value": "INT"},
    "r": {"type": "ROW", "fields": [{"id": 20, "name": "a", "type": "INT"}, {"id": 21, "name": "b", "type": "STRING"}]},
}
_COLUMNS = {
    "k": range(ROWS),
    "s": [f"city-{n % 9}" if n % 5 else None for n in range(ROWS)],
    "d": list(range(ROWS)),
    "f": [n / 2 for n in range(ROWS)],
    "t": [n * 1000 for n in range(ROWS)],
    "l": [[n] * (n % 3) for n in range(ROWS)],
    "m": [[("a", n)] for n in range(ROWS)],
    "r": [{"a": n, "b": "x"} for n in range(ROWS)],
    "n": [n * 1000 for n in range(ROWS)],
}


@cache
def _bucket(kind: str) -> Bucket:
    return Bucket(
        schema_of(_TYPES | ({"n": "TIMESTAMP(9)"} if kind == "parquet" else {}), options={"file.format": kind})
    )


def _reader(kind: str) -> Callable[[bytes], object]:
    def run(data: bytes) -> object:
        bucket = _bucket(kind)
        file = bucket.put_bytes(data, ROWS, f"f.{kind}")
        with (
            contextlib.suppress(PaimonError, ValueError, pa.ArrowException),
            opened(STORAGE, bucket.path(file)) as held,
        ):
            # The manifest may be as hostile as the file, and state the same number of rows.
            file = replace(file, row_count=open_file(held, bucket.path(file), {}).row_count or ROWS)
        where = (col("k") >= 3).bind(bucket.schema.fields)
        for _ in _some(bucket.batches(file, bucket.schema.fields[:2], where=where, threads=False)):
            pass
        if kind == "parquet":
            row_group_keys(STORAGE, bucket.path(file), bucket.schema.fields[:1])
        return sum(len(batch) for batch in _some(bucket.batches(file, threads=False)))

    return run


def _some(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches of _READ_BYTES bytes: a short file may have rows without end, which are read in bounded batches."""
    size = 0
    with contextlib.closing(batches):  # type: ignore[type-var]
        for batch in batches:
            yield batch
            size += batch.nbytes
            if size > _READ_BYTES:
                return


def _repeating(kind: str, table: pa.Table) -> pa.Table:
    """Return the table with rows that repeat one text of 60 KB; they are packed in a few bytes."""
    long = pa.DictionaryArray.from_arrays(pa.array([0] * ROWS, pa.int32()), ["x" * 60_000])
    return table.set_column(1, "s", long if kind == "parquet" else long.cast(pa.string()))


def _data_files(kind: str) -> list[bytes]:
    bucket = _bucket(kind)
    table = bucket.table({name: _COLUMNS[name] for name in bucket.schema.names})
    (file,) = bucket.write(table)
    found = [STORAGE.read(bucket.path(file))]
    found += [STORAGE.read(bucket.path(f)) for f in bucket.write(_repeating("", table))]
    if kind == "parquet":
        bucket.put(
            table.drop_columns(["n"]), "x.parquet", row_group_size=15, write_page_index=True, compression="snappy"
        )
        found.append(STORAGE.read(bucket.paths.data_file("", 0, "x.parquet")))
        encodings = {"k": "DELTA_BINARY_PACKED", "s": "DELTA_BYTE_ARRAY", "f": "BYTE_STREAM_SPLIT"}
        for settings in (
            {"use_dictionary": True, "data_page_version": "2.0", "compression": "zstd"},
            {"use_dictionary": False, "column_encoding": encodings, "compression": "lz4"},
        ):
            repeating = _repeating("parquet" if settings["use_dictionary"] else "", table)
            bucket.put(repeating, "x.parquet", **settings)
            found.append(STORAGE.read(bucket.paths.data_file("", 0, "x.parquet")))
    if kind == "orc":
        found.append(unsealed(found[0]))
        for codec in ("uncompressed", "zlib"):
            sink = pa.BufferOutputStream()
            orc.write_table(table, sink, compression=codec)
            found.append(sink.getvalue().to_pybytes())
    return found


def _golden(pattern: str) -> list[bytes]:
    return [p.read_bytes() for p in sorted(GOLDEN.glob(pattern))]


# -- the declarations and the files of loads ---------------------------------------------------------------------------


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    shutil.copytree(CONFIGS, folder / "lake")
    for path in (folder / "lake" / "tables").iterdir():
        path.unlink()
    return folder


def _declaration(data: bytes) -> object:
    (_folder() / "lake" / "tables" / "ods.t.yaml").write_bytes(data)
    return load_settings("local", configs=_folder() / "lake")


def _declarations() -> list[bytes]:
    folders = (CONFIGS / "tables", CONFIGS.parent / "pipelines" / "paimon_lake" / "template" / "tables")
    return [p.read_bytes() for folder in folders for p in sorted(folder.glob("*.yaml"))]


_LOADED = {"id": "BIGINT", "s": "STRING", "d": "DECIMAL(10, 2)", "t": "TIMESTAMP(3)", "f": "DOUBLE", "b": "BOOLEAN"}
_JSON = (
    b'{"id": 1, "s": "x", "d": 1.5, "t": "2024-01-01T00:00:00", "f": 1e3, "b": true, "l": [1, null], "m": {"a": 1}}\n'
)
_CSV = b'id,s,d,t,f,b\n1,"a ""b""",1.50,2024-01-01 00:00:00,1e3,true\n2,,-3,2024-01-01T00:00:00.123Z,,false\n'


_of_csv = of_text((",", '"', "\n", "\r\n", "id,s", "1e3"))


@cache
def _long_text(codec: str, one_line: int) -> bytes:
    """Return a line of 100 MB, or many empty lines, in a few bytes."""
    text = b"x" * (100 << 20) if one_line else b"\n" * (4 << 20)
    return gzip.compress(text) if codec == "gzip" else zstd.compress(text)


def _of_gzip(data: bytes, chance: Random, pool: Sequence[bytes]) -> bytes:
    if chance.randrange(3) == 0:
        return of_bytes(data, chance, pool)
    if chance.randrange(50) == 0:
        return _long_text("gzip", chance.randrange(2))
    return gzip.compress(_of_csv(_CSV * chance.choice((1, 9)), chance, []))


def _of_zstd(data: bytes, chance: Random, pool: Sequence[bytes]) -> bytes:
    if chance.randrange(3) == 0:
        return of_bytes(data, chance, pool)
    if chance.randrange(50) == 0:
        return _long_text("zstd", chance.randrange(2))
    return zstd.compress(_any_json(_JSON * chance.choice((1, 9)), chance, []))


def _loader(kind: str, suffix: str = "") -> Callable[[bytes], object]:
    types = _LOADED | (
        {"l": "ARRAY<INT>"} | ({"m": "MAP<STRING, INT>"} if "json" in kind else {}) if kind != "csv" else {}
    )
    allow_missing = kind in ("csv", "avro")
    schema = pa.schema([arrow_field(n, parse_type(t)) for n, t in types.items()])
    options = {"ignore_extra_columns": True} | ({"allow_missing_columns": True} if allow_missing else {})

    def run(data: bytes) -> object:
        path = _folder() / f"input.{kind}{suffix}"
        path.write_bytes(data)
        form = file_format(kind, options)
        count = size = 0
        for split in plan_splits(list_files(str(path), {}), form, 1 << 20):
            for parsed in read_split(split, form, schema, RowRules(()), {}, block_bytes=1 << 16):
                parsed.rows.validate(full=True)
                count += parsed.read
                size += parsed.rows.nbytes
                if size > _READ_BYTES:
                    return count
        return count

    return run


def _any_json(data: bytes, chance: Random, pool: object) -> bytes:
    lines = data.splitlines(keepends=True) or [b""]
    at = chance.randrange(len(lines))
    lines[at] = of_json(lines[at], chance, lines) + b"\n" * chance.randrange(2)
    return b"".join(lines)


def _columnar_files(kind: str) -> list[bytes]:
    types = {name: arrow_field(name, parse_type(t)).type for name, t in _LOADED.items()}
    columns = {"id": range(ROWS), "s": ["x" * 9_000] * ROWS, "d": [1] * ROWS, "t": [0] * ROWS}
    columns |= {"f": [0.5] * ROWS, "b": [True] * ROWS, "l": [[1, None]] * ROWS}
    table = pa.table([pa.array(v, types.get(n, pa.list_(pa.int32()))) for n, v in columns.items()], list(columns))
    if kind == "avro":
        return _data_files("avro")
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd") if kind == "parquet" else orc.write_table(
        table, sink, compression="zstd"
    )
    return [sink.getvalue().to_pybytes()]


def _parquet_manifests() -> list[bytes]:
    tables = [orc.read_table(pa.BufferReader(one)) for one in _golden("java-0.8.2/d.db/manifests_orc/manifest/*")]
    found = []
    for table in tables:
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        found.append(sink.getvalue().to_pybytes())
    return found


_LOADS = (PaimonError, PipelineError)
_YAML_WORDS = (
    "- ",
    ": ",
    "\n",
    "  ",
    "{",
    "}",
    "[",
    "]",
    "&a ",
    "*a",
    "<<: *a",
    "!!python/object",
    "|",
    ">",
    "on",
    "~",
)
TARGETS = (
    Target("parquet-data", _reader("parquet"), lambda: _data_files("parquet"), of_parquet),
    Target("orc-data", _reader("orc"), lambda: _data_files("orc"), of_orc),
    Target("avro-data", _reader("avro"), lambda: _data_files("avro"), of_avro),
    Target(
        "avro-container",
        lambda data: read_avro(data, "a"),
        lambda: _golden("java-0.8.2/**/*.avro") + _golden("java-1.4.2/**/manifest/manifest-*"),
        of_avro,
    ),
    Target(
        "orc-manifest",
        lambda data: read_records(data, "m"),
        lambda: _golden("java-0.8.2/d.db/manifests_orc/manifest/*"),
        of_orc,
    ),
    Target("parquet-manifest", lambda data: read_records(data, "m"), _parquet_manifests, of_parquet),
    Target("declaration", _declaration, _declarations, of_text(_YAML_WORDS), (PaimonError, SettingsError)),
    Target("load-jsonl", _loader("jsonl"), lambda: [_JSON * 3], _any_json, _LOADS),
    Target("load-json", _loader("json"), lambda: [b"[" + _JSON + b"," + _JSON + b"]"], of_json, _LOADS),
    Target("load-csv", _loader("csv"), lambda: [_CSV], _of_csv, _LOADS),
    Target("load-gz", _loader("csv", ".gz"), lambda: [gzip.compress(_CSV * 9)], _of_gzip, _LOADS),
    Target("load-zst", _loader("jsonl", ".zst"), lambda: [zstd.compress(_JSON * 9)], _of_zstd, _LOADS),
    Target("load-parquet", _loader("parquet"), lambda: _columnar_files("parquet"), of_parquet, _LOADS),
    Target("load-orc", _loader("orc"), lambda: _columnar_files("orc"), of_orc, _LOADS),
    Target("load-avro", _loader("avro"), lambda: _columnar_files("avro"), of_avro, _LOADS),
)
