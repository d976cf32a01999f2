from paimon_core.metadata.microseconds import coarse_schema
from paimon_core.schema import DataField, TableSchema
from paimon_core.types import parse_type

KIND = parse_type("TIMESTAMP(9)")


def test_columns_that_order_rows_keep_their_type():
    names = ["p", "k", "s", "t", "b", "g", "h", "v"]
    fields = tuple(DataField(n, name, KIND) for n, name in enumerate(names))
    options = {"sequence.field": "s, t", "bucket-key": "b", "fields.g,h.sequence-group": "v"}
    found = coarse_schema(TableSchema(0, fields, 7, ("p",), ("p", "k"), options))
    assert {f.name: f.type.sql for f in found.fields} == dict.fromkeys(names, "TIMESTAMP(9)") | {"v": "TIMESTAMP(6)"}


def test_nested_timestamps_are_cut_and_coarser_ones_stay():
    text = "ROW<a MAP<TIMESTAMP(8) NOT NULL, TIMESTAMP(3)>, b ARRAY<TIMESTAMP(7) WITH LOCAL TIME ZONE> NOT NULL>"
    schema = TableSchema(0, (DataField(0, "c", parse_type(text)),), 2)
    assert coarse_schema(schema).fields[0].type.sql == (
        "ROW<a MAP<TIMESTAMP(6) NOT NULL, TIMESTAMP(3)>, b ARRAY<TIMESTAMP(6) WITH LOCAL TIME ZONE> NOT NULL>"
    )
