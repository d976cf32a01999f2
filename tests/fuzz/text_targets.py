"""Targets: texts of users and servers: types, options, filters, changes of schemas, arguments, answers."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
from collections.abc import Sequence
from decimal import Decimal
from random import Random
from unittest import mock

import requests

from paimon_core.alter.evolve import evolve
from paimon_core.alter.text import parse_changes
from paimon_core.catalog.identifier import Identifier
from paimon_core.catalog.rest import client as rest_client
from paimon_core.catalog.rest.rest_catalog import RestCatalog
from paimon_core.cli.parsing import values
from paimon_core.codec.json_text import parse_json
from paimon_core.errors import InvalidRequest, PaimonError
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.rules.table_rules import check_table
from paimon_core.options import OPTIONS, TableOptions
from paimon_core.predicate import col, from_json, parse_where
from paimon_core.schema import DataField, TableSchema
from paimon_core.storage.fsspec_storage import FsspecStorage
from paimon_core.types import Annotations, parse_columns, parse_type
from paimon_core.types.spark_json import from_spark_json, to_spark_json
from tests.fuzz.mutators import of_json, of_text
from tests.fuzz.target import Target

_TYPES = (
    "INT NOT NULL",
    "DECIMAL(20, 2)",
    "MAP<STRING NOT NULL, ROW<a: STRING, `b c` INT COMMENT 'it''s'>>",
    "ROW(a INT, b ARRAY<TIMESTAMP(9) WITH LOCAL TIME ZONE>)",
    "MULTISET<VARCHAR(7)> NOT NULL",
    "TIMESTAMP_LTZ(3)",
    "STRUCT<a: INT>",
    "INT ARRAY",
    "VARIANT",
    "TIME(3)",
    "CHAR(4)",
    "BYTES",
)
_FIELDS = tuple(
    DataField(n, name, parse_type(text))
    for n, (name, text) in enumerate(
        {
            "id": "BIGINT NOT NULL",
            "s": "STRING",
            "d": "DECIMAL(10, 2)",
            "t": "TIMESTAMP(3)",
            "f": "DOUBLE",
            "r": "ROW<a INT, b ARRAY<ROW<c STRING>>>",
            "y": "BYTES",
            "day": "DATE",
        }.items()
    )
)
_SCHEMA = TableSchema(0, _FIELDS, 40, primary_keys=("id",), options={"bucket": "2"})
_STORAGE = FsspecStorage("memory")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _type_text(data: bytes) -> object:
    kind = parse_type(_text(data))
    assert parse_type(kind.to_json()) == kind
    with contextlib.suppress(PaimonError):
        parse_columns(_text(data))
    return kind.to_arrow()


def _type_json(data: bytes) -> object:
    try:
        value = parse_json(data)
    except ValueError as error:
        raise InvalidRequest(str(error)) from None
    with contextlib.suppress(PaimonError):
        from_spark_json(value)
    return parse_type(value).to_arrow()


def _type_seeds() -> list[bytes]:
    kinds = [parse_type(t) for t in _TYPES]
    columns = [(f.name, Annotations(f.type, f.id)) for f in _FIELDS]
    return [json.dumps(k.to_json()).encode() for k in kinds] + [json.dumps(to_spark_json(columns)).encode()]


def _options(data: bytes) -> object:
    try:
        value = parse_json(data)
    except ValueError as error:
        raise InvalidRequest(str(error)) from None
    if not isinstance(value, dict):
        return None
    options = {str(k): str(v) for k, v in value.items()}
    for creating in (True, False):
        with contextlib.suppress(PaimonError):
            TableOptions.parse(options, creating=creating)
    schema = TableSchema(0, _FIELDS, 40, primary_keys=("id",), options=options)
    context = TableContext.of("db.t", _STORAGE, "/fuzz/db.db/o", schema)
    check_table(context)
    return context.bucket_keys


def _option_seeds() -> list[bytes]:
    every = {key: str(option.default) for key, option in OPTIONS.items() if option.default is not None}
    some = {
        "bucket": "2",
        "merge-engine": "aggregation",
        "fields.s.aggregate-function": "listagg",
        "fields.s.list-agg-delimiter": ";",
        "fields.f.sequence-group": "d,s",
        "snapshot.time-retained": "1 h",
        "target-file-size": "64 mb",
        "file.format.per.level": "0:avro,3:orc",
        "file.compression.per.level": "0:lz4",
        "metadata.stats-mode": "truncate(16)",
        "fields.s.stats-mode": "none",
        "sequence.field": "t,d",
        "partition.timestamp-formatter": "yyyy-MM-dd",
        "scan.timestamp": "2024-01-01 00:00:00",
        "tag.automatic-creation": "process-time",
        "sink.watermark-time-zone": "Europe/Berlin",
        "owner": "me",
    }
    return [json.dumps(some).encode(), *(json.dumps({k: v}).encode() for k, v in {**every, **some}.items())]


def _predicate(data: bytes) -> object:
    try:
        value = parse_json(data)
    except ValueError as error:
        raise InvalidRequest(str(error)) from None
    predicate = from_json(value)
    bound = predicate.bind(_FIELDS)
    with contextlib.suppress(PaimonError):
        bound.to_arrow()
    return str(predicate), predicate.to_json(), (~predicate).columns, bound.equality_values("id")


def _predicates() -> list[bytes]:
    found = [
        (col("id") > 3) & (col("s") == "x") | ~(col("d") <= Decimal("1.5")),
        col("t").between(datetime.datetime(2024, 1, 1), datetime.datetime(2024, 2, 1)),
        col("day").is_in([datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)]) & col("f").is_not_null(),
        col("s").startswith("a") & (col("y") == b"\0\xff") & (col("f") != float("nan")),
    ]
    return [json.dumps(p.to_json()).encode() for p in found]


def _where(data: bytes) -> object:
    text = _text(data)
    where = parse_where(text)
    assert where is not None
    assert str(parse_where(str(where))) == str(where)
    return parse_where(text, _FIELDS)


_WHERES = (
    "id > 3 and s like 'n%' or not (d <= 1.50 and f <> -1e-3)",
    "t between '2024-01-01' and timestamp '2024-02-01 00:00:00' and s is not null",
    "s in ('a', 'it''s') and y = X'00ff' and not contains(s, 'x') or startswith(s, '')",
    "r.a = id and `s` = \"s\" and s not like 'a!%' escape '!' and f = double 'nan' and true",
)
_WHERE_WORDS = (
    "and",
    "or",
    "not",
    "in (",
    ")",
    "(",
    "like",
    "between",
    "is null",
    "'",
    "`",
    "= 1",
    "id",
    "r.a",
    "-",
    "1e9",
)


def _changes(data: bytes) -> object:
    return evolve(_SCHEMA, parse_changes(_text(data)), table="db.t").to_json()


_CHANGES = (
    "ADD COLUMN note STRING DEFAULT 'x' COMMENT 'why' AFTER id",
    "ADD COLUMN r.b.element.e DECIMAL(12, 2) NOT NULL FIRST, DROP COLUMN s",
    "RENAME COLUMN s TO `unit price`",
    "ALTER COLUMN d TYPE DECIMAL(12, 2), ALTER COLUMN f SET NOT NULL",
    "ALTER COLUMN d SET DEFAULT 0, ALTER COLUMN d DROP DEFAULT, ALTER COLUMN d COMMENT 'in euros'",
    "ALTER COLUMN d BEFORE s, COMMENT 'all', DROP COMMENT",
    "SET ('snapshot.num-retained.min' = '5', 'owner' = 'me')",
    "RESET ('bucket')",
)


def _arguments(data: bytes) -> object:
    text = _text(data)
    for parse in (values.duration, values.moment, values.partition):
        with contextlib.suppress(argparse.ArgumentTypeError):
            parse(text)
    return None


def _answer(data: bytes) -> object:
    """The first byte chooses the status; the rest is the answer to each request."""
    reply = requests.Response()
    reply.status_code = (200, 200, 200, 404, 409, 500, 400)[data[0] % 7] if data else 200
    reply._content = data[1:]

    def ask(method: str, url: str, **_: object) -> requests.Response:
        first = requests.Response()
        first.status_code, first._content = 200, b"{}"
        return first if url.endswith("/config") and data[:1] > b"\x80" else reply

    with mock.patch.object(rest_client.requests, "request", ask):
        client = RestCatalog.open("w", "http://localhost:1")
        out: list[object] = []
        for call in (
            client.list_databases,
            lambda: client.list_tables("db"),
            lambda: client.latest_snapshot("db.t"),
            lambda: client.table("db.t"),
            lambda: client.create_database("db"),
            lambda: client.store.borrow(Identifier("db", "t"), "s3://b/t"),
        ):
            with contextlib.suppress(PaimonError):
                out.append(call())
        return out


_ANSWERS = (
    {"defaults": {"a": "b", "table-default.bucket": "2"}, "overrides": {"prefix": "p"}},
    {"databases": ["a", "b"], "nextPageToken": "x"},
    {"tables": ["a", "b"], "nextPageToken": None},
    {"id": "u", "path": "/fuzz/rest/t", "schemaId": 0, "isExternal": False, "schema": {"options": {"type": "table"}}},
    {"token": {"fs.s3.accessKey": "k"}, "expiresAtMillis": 5},
    {"message": "m", "resourceType": "TABLE", "resourceName": "t", "code": 404},
    {
        "snapshot": {
            "snapshot": {
                "version": 3,
                "id": 1,
                "schemaId": 0,
                "baseManifestList": "a",
                "deltaManifestList": "b",
                "commitUser": "u",
                "commitIdentifier": 1,
                "commitKind": "APPEND",
                "timeMillis": 1,
                "totalRecordCount": 1,
                "deltaRecordCount": 1,
            }
        }
    },
)


def _of_answer(data: bytes, chance: Random, pool: Sequence[bytes]) -> bytes:
    return bytes([chance.randrange(256)]) + of_json(data[1:], chance, [p[1:] for p in pool])


_WORDS = (
    *("NOT NULL", "<", ">", "(", ")", ",", ":", "`", "'", "ARRAY<", "MAP<", "ROW<", "DECIMAL(", "INT", "COMMENT"),
    *("ADD", "DROP", "RENAME", "ALTER", "COLUMN", "TO", "TYPE", "SET", "RESET", "DEFAULT", "AFTER", "FIRST", ".", "="),
    *("element", "key", "value", "id", "r.b.element.c", "1 h", " ms", "2024-01-01T00:00:00", "day=1", "Z", "+18:00"),
)
_of_words = of_text(_WORDS)
TARGETS = (
    Target("type-text", _type_text, lambda: [t.encode() for t in _TYPES], _of_words),
    Target("type-json", _type_json, _type_seeds, of_json),
    Target("options", _options, _option_seeds, of_json),
    Target("predicate", _predicate, _predicates, of_json),
    Target("where", _where, lambda: [text.encode() for text in _WHERES], of_text(_WHERE_WORDS)),
    Target("alter", _changes, lambda: [t.encode() for t in _CHANGES], _of_words),
    Target(
        "arguments",
        _arguments,
        lambda: [
            t.encode() for t in ("7 d", "90 min", "2024-01-31T12:00:00+02:00", "1700000000000", "d=2024-01-31,h=7")
        ],
        _of_words,
    ),
    Target("rest-answer", _answer, lambda: [b"\0" + json.dumps(a).encode() for a in _ANSWERS], _of_answer),
)
