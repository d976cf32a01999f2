import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.alter import AddColumn, UpdateType
from paimon_core.alter import alter_table as module
from paimon_core.alter.merge_schema import merged_changes
from paimon_core.errors import SchemaMismatch
from paimon_core.schema import DataField, new_schema
from paimon_core.types import from_arrow, parse_type

TABLE = new_schema(
    pa.schema(
        [
            ("id", pa.int64()),
            ("v", pa.int32()),
            ("r", pa.struct([("a", pa.int32())])),
            ("l", pa.list_(pa.struct([("a", pa.int32())]))),
            ("m", pa.map_(pa.string(), pa.int32())),
        ]
    )
)


def changes(widen=False, explicit=False, **columns):
    data = [DataField(-1, name, from_arrow(kind)) for name, kind in columns.items()]
    return merged_changes(TABLE, data, widen=widen, explicit=explicit)


def test_new_columns_and_fields_are_added():
    row = pa.struct([pa.field("b", pa.string(), nullable=False)])
    assert changes(id=pa.int64(), x=pa.date32(), r=row, l=pa.list_(row)) == [
        AddColumn("x", parse_type("DATE")),
        AddColumn(("r", "b"), parse_type("STRING")),
        AddColumn(("l", "element", "b"), parse_type("STRING")),
    ]


def test_types_stay_unless_they_may_widen():
    assert changes(v=pa.int64()) == []
    assert changes(v=pa.int64(), m=pa.map_(pa.string(), pa.float64()), widen=True) == [
        UpdateType("v", parse_type("BIGINT")),
        UpdateType(("m", "value"), parse_type("DOUBLE")),
    ]


def test_data_that_the_type_holds_changes_nothing():
    assert changes(id=pa.int32(), v=pa.int8(), widen=True) == []


def test_types_that_cannot_be_merged_are_refused():
    with pytest.raises(SchemaMismatch, match="column 'v' is INT and the data has STRING"):
        changes(v=pa.string(), widen=True)
    assert changes(v=pa.string(), widen=True, explicit=True) == [UpdateType("v", parse_type("STRING"), lossy=True)]
    with pytest.raises(SchemaMismatch, match="there is no cast"):
        changes(v=pa.date32(), widen=True, explicit=True)
    schema = new_schema(pa.schema([("c", pa.time32("ms"))]), types={"c": "TIME(0)"})
    with pytest.raises(SchemaMismatch, match="there is no cast"):
        merged_changes(schema, [DataField(-1, "c", parse_type("TIME(3)"))], widen=True)


@pytest.mark.parametrize(
    ("held", "found", "merged"),
    [
        ("DECIMAL(5, 2)", "DECIMAL(9, 2)", "DECIMAL(9, 2)"),
        ("DECIMAL(9, 2)", "DECIMAL(5, 2)", None),
        ("DECIMAL(9, 2)", "DECIMAL(5, 1)", None),
        ("VARCHAR(3)", "STRING", "STRING"),
        ("STRING", "VARCHAR(3)", None),
        ("TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(6)"),
        ("TIMESTAMP(9)", "TIMESTAMP(6)", None),
        ("FLOAT", "DOUBLE", "DOUBLE"),
        ("DOUBLE", "FLOAT", None),
        ("BIGINT", "DOUBLE", "DOUBLE"),
    ],
)
def test_widening(held, found, merged):
    schema = new_schema(pa.schema([("c", parse_type(held).to_arrow())]), types={"c": held})
    expected = [] if merged is None else [UpdateType("c", parse_type(merged))]
    assert merged_changes(schema, [DataField(-1, "c", parse_type(found))], widen=True) == expected


# -- writes


@pytest.fixture
def table(tmp_path):
    catalog = paimon.open_catalog(tmp_path)
    catalog.create_database("db")
    return catalog.create_table("db.t", pa.schema([("id", pa.int64()), ("v", pa.int32())]))


def test_a_write_adds_the_columns_of_its_data(table):
    table.write([{"id": 1, "v": 2}])
    snapshot = table.write([{"id": 2, "v": 3, "note": "n"}], merge_schema=True)
    assert snapshot.schema_id == 1
    assert table.refresh().scan().to_arrow().to_pylist() == [
        {"id": 1, "v": 2, "note": None},
        {"id": 2, "v": 3, "note": "n"},
    ]
    table.write([{"id": 3, "note": "again"}], merge_schema=True)
    assert table.refresh().schema.id == 1
    with pytest.raises(SchemaMismatch, match="no column 'other'"):
        table.write([{"id": 3, "other": 1}])


def test_a_write_may_widen_types(table):
    table.write([{"id": 1, "v": 2}])
    table.write([{"id": 2, "v": 2**40}], merge_schema="widen")
    widened = table.refresh()
    assert widened.schema.by_name["v"].type.sql == "BIGINT"
    assert widened.scan().to_arrow()["v"].to_pylist() == [2, 2**40]
    with pytest.raises(SchemaMismatch, match="column 'v' is BIGINT and the data has STRING"):
        table.write([{"id": 2, "v": "x"}], merge_schema="widen")


def test_the_options_of_the_table_decide_for_writes_that_say_nothing(table):
    table = table.alter("SET ('write.merge-schema' = 'true', 'write.merge-schema.type-widening' = 'true')")
    table.write([{"id": 1, "v": 2.5, "note": "n"}])
    assert [f.type.sql for f in table.refresh().schema.fields] == ["BIGINT", "DOUBLE", "STRING"]
    with pytest.raises(SchemaMismatch, match="no column 'other'"):
        table.write([{"id": 3, "other": 1}], merge_schema=False)


def test_an_overwrite_merges_too(table):
    table.write([{"id": 1, "v": 2}])
    table.overwrite(pa.table({"id": [5], "note": ["n"]}), merge_schema=True)
    assert table.refresh().scan().to_arrow().to_pylist() == [{"id": 5, "v": None, "note": "n"}]


def test_two_writes_that_add_the_same_column_both_succeed(table, monkeypatch):
    real, once = module.evolve, [1]

    def evolve(*given, **named):
        if once:
            once.pop()
            table.write([{"id": 1, "note": "first"}], merge_schema=True)
        return real(*given, **named)

    monkeypatch.setattr(module, "evolve", evolve)
    table.write([{"id": 2, "note": "second"}], merge_schema=True)
    found = table.refresh()
    assert sorted(found.scan().to_arrow()["note"].to_pylist()) == ["first", "second"]
    assert found.schema.names == ["id", "v", "note"]


def test_a_column_of_row_kinds_is_not_added(tmp_path):
    catalog = paimon.open_catalog(tmp_path)
    catalog.create_database("db")
    options = {"bucket": "1"}
    table = catalog.create_table("db.k", pa.schema([("id", pa.int64())]), primary_key=["id"], options=options)
    table.write(pa.table({"id": [1], "op": ["+I"], "n": [1]}), kinds="op", merge_schema=True)
    assert table.refresh().schema.names == ["id", "n"]


def test_a_wrong_argument_is_refused(table):
    with pytest.raises(paimon.InvalidRequest, match="True, False or 'widen'"):
        table.write([{"id": 1}], merge_schema="wide")
