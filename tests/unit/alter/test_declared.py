from dataclasses import replace

import pyarrow as pa
import pytest

from paimon_core.alter import AddColumn, DropColumn, RenameColumn, SetOption, UpdatePosition, UpdateType
from paimon_core.alter.declared import changes_to
from paimon_core.alter.evolve import evolve, is_same_type
from paimon_core.errors import InvalidRequest
from paimon_core.schema import DataField, new_schema

ROW = pa.struct([("a", pa.int32()), ("b", pa.string())])
COLUMNS = {"id": pa.int64(), "v": pa.int32(), "r": ROW, "l": pa.list_(ROW), "m": pa.map_(pa.string(), ROW)}


def schema(columns, **named):
    return new_schema(pa.schema(list(columns.items())), **{"primary_key": ["id"], "options": {"bucket": "1"}, **named})


TABLE = schema(COLUMNS)


def described(schema):
    columns = [(f.name, f.type.sql, f.description, f.default) for f in schema.fields]
    return columns, schema.primary_keys, dict(schema.options), schema.comment


def test_the_same_schema_needs_no_change():
    assert changes_to(TABLE, TABLE) == []
    assert changes_to(TABLE, replace(schema(COLUMNS), time_millis=1, highest_field_id=99)) == []


def test_columns_are_added_dropped_and_moved():
    wanted = schema({"m": COLUMNS["m"], "x": pa.date32(), "id": pa.int64(), "v": pa.int64(), "r": ROW})
    changes = changes_to(TABLE, wanted)
    assert [type(c) for c in changes] == [DropColumn, UpdateType, UpdatePosition, AddColumn]
    assert described(evolve(TABLE, changes)) == described(wanted)


def test_columns_that_are_kept_go_to_the_end():
    found = evolve(TABLE, changes_to(TABLE, schema({"x": pa.int32(), "id": pa.int64()}), drop=False))
    assert found.names == ["x", "id", "v", "r", "l", "m"]


def test_nested_fields_are_changed_one_by_one():
    row = pa.struct([("c", pa.int32()), ("a", pa.int64())])
    wanted = schema({**COLUMNS, "r": row, "l": pa.list_(row), "m": pa.map_(pa.string(), row)})
    found = evolve(TABLE, changes_to(TABLE, wanted))
    assert all(is_same_type(a.type, b.type) for a, b in zip(found.fields, wanted.fields, strict=True))
    assert [c.id for c in found.by_name["r"].type.children] == [11, 3]


def test_comments_defaults_options_and_nullability():
    fields = [DataField(f.id, f.name, f.type, "c", "3" if f.name == "v" else None) for f in TABLE.fields]
    wanted = replace(TABLE, fields=tuple(fields), comment="t", options={"bucket": "2", "write-only": "true"})
    changes = changes_to(TABLE, wanted)
    assert described(evolve(TABLE, changes)) == described(wanted)
    assert described(evolve(wanted, changes_to(wanted, TABLE))) == described(TABLE)
    kept = changes_to(TABLE, wanted, kept_options=["bucket"])
    assert [c for c in kept if isinstance(c, SetOption)] == [SetOption("write-only", "true")]


def test_a_declared_rename_keeps_the_rows():
    wanted = schema({("key" if n == "id" else n): t for n, t in COLUMNS.items()}, primary_key=["key"])
    changes = changes_to(TABLE, wanted, renamed={"id": "key"})
    assert changes == [RenameColumn("id", "key")]
    altered = evolve(TABLE, changes)
    assert altered.by_name["key"].id == 0
    assert changes_to(altered, wanted, renamed={"id": "key"}) == []


def test_keys_cannot_change():
    with pytest.raises(InvalidRequest, match=r"primary key of a table cannot change from \(id\) to \(v\)"):
        changes_to(TABLE, schema(COLUMNS, primary_key=["v"]))
    with pytest.raises(InvalidRequest, match="key of a MAP"):
        changes_to(TABLE, schema({**COLUMNS, "m": pa.map_(pa.int32(), ROW)}))
