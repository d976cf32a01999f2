"""Targets: data files in Parquet, ORC and Avro, Avro containers, and the files that loads read."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.orc as orc

from paimon_core.codec.avro_file import read_avro
from paimon_core.codec.record_file import read_records
from paimon_core.datafile.row_groups import row_group_keys
from paimon_core.errors import PaimonError
from paimon_core.predicate import col
from paimon_core.types import parse_type
from pipelines.column_types import type_object
from pipelines.lake.errors import SettingsError
from pipelines.lake.folder import CONFIGS, load_settings
from pipelines.protocol import PipelineError
from pipelines.sources.files import RowRules, file_format, list_files, plan_splits, read_split
from pipelines.sources.files.columns import arrow_field
from tests.fuzz.containers import of_avro, of_orc, of_parquet, unsealed
from tests.fuzz.metadata_targets import GOLDEN
from tests.fuzz.mutators import of_json, of_text
from tests.fuzz.target import Target
from tests.support.data_files import STORAGE, Bucket, schema_of

ROWS = 30
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
        bucket.read(file, bucket.schema.fields[:2], where=(col("k") >= 3).bind(bucket.schema.fields), use_threads=False)
        if kind == "parquet":
            row_group_keys(STORAGE, bucket.path(file), bucket.schema.fields[:1])
        return bucket.read(file, use_threads=False)

    return run


def _data_files(kind: str) -> list[bytes]:
    bucket = _bucket(kind)
    table = bucket.table({name: _COLUMNS[name] for name in bucket.schema.names})
    (file,) = bucket.write(table)
    found = [STORAGE.read(bucket.path(file))]
    if kind == "parquet":
        bucket.put(
            table.drop_columns(["n"]), "x.parquet", row_group_size=15, write_page_index=True, compression="snappy"
        )
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
    folders = (CONFIGS / "tables", CONFIGS.parent / "pipelines" / "template" / "tables")
    return [p.read_bytes() for folder in folders for p in sorted(folder.glob("*.yaml"))]


_LOADED = {"id": "BIGINT", "s": "STRING", "d": "DECIMAL(10, 2)", "t": "TIMESTAMP(3)", "f": "DOUBLE", "b": "BOOLEAN"}
_JSON = (
    b'{"id": 1, "s": "x", "d": 1.5, "t": "2024-01-01T00:00:00", "f": 1e3, "b": true, "l": [1, null], "m": {"a": 1}}\n'
)
_CSV = b'id,s,d,t,f,b\n1,"a ""b""",1.50,2024-01-01 00:00:00,1e3,true\n2,,-3,2024-01-01T00:00:00.123Z,,false\n'


def _loader(kind: str) -> Callable[[bytes], object]:
    types = _LOADED | ({"l": "ARRAY<INT>", "m": "MAP<STRING, INT>"} if kind != "csv" else {})
    schema = pa.schema([arrow_field(n, parse_type(type_object(t))) for n, t in types.items()])
    options = {"ignore_extra_columns": True} | ({"allow_missing_columns": True} if kind == "csv" else {})

    def run(data: bytes) -> object:
        path = _folder() / f"input.{kind}"
        path.write_bytes(data)
        form = file_format(kind, options)
        out = []
        for split in plan_splits(list_files(str(path), {}), form, 1 << 20):
            for parsed in read_split(split, form, schema, RowRules(()), {}, block_bytes=1 << 16):
                parsed.rows.validate(full=True)
                out.append(parsed.read)
        return out

    return run


def _any_json(data: bytes, chance: Random, pool: object) -> bytes:
    lines = data.splitlines(keepends=True) or [b""]
    at = chance.randrange(len(lines))
    lines[at] = of_json(lines[at], chance, lines) + b"\n" * chance.randrange(2)
    return b"".join(lines)


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
    Target("declaration", _declaration, _declarations, of_text(_YAML_WORDS), (PaimonError, SettingsError)),
    Target("load-jsonl", _loader("jsonl"), lambda: [_JSON * 3], _any_json, _LOADS),
    Target("load-json", _loader("json"), lambda: [b"[" + _JSON + b"," + _JSON + b"]"], of_json, _LOADS),
    Target("load-csv", _loader("csv"), lambda: [_CSV], of_text((",", '"', "\n", "\r\n", "id,s", "1e3")), _LOADS),
)
