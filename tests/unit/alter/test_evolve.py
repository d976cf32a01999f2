from dataclasses import replace

import pyarrow as pa
import pytest

from paimon_core.alter import (
    AddColumn,
    DropColumn,
    RemoveOption,
    RenameColumn,
    SetOption,
    UpdateColumnComment,
    UpdateComment,
    UpdateDefault,
    UpdateNullability,
    UpdatePosition,
    UpdateType,
)
from paimon_core.alter.evolve import evolve
from paimon_core.errors import InvalidOption, InvalidRequest, UnsupportedFeature
from paimon_core.schema import new_schema
from paimon_core.types import parse_type

ARROW = pa.schema(
    [
        ("id", pa.int64()),
        ("price", pa.int32()),
        ("address", pa.struct([("city", pa.string()), ("zip", pa.int32())])),
        ("lines", pa.list_(pa.struct([("n", pa.int32())]))),
        ("prices", pa.map_(pa.string(), pa.int32())),
        ("day", pa.string()),
    ]
)
TABLE = new_schema(ARROW, primary_key=["id", "day"], partition_by=["day"], options={"bucket": "2"})


def names(*changes, schema=TABLE, **options):
    return evolve(replace(schema, options={**schema.options, **options}), changes).names


def refused(*changes, schema=TABLE, error=InvalidRequest, **options):
    with pytest.raises(error) as found:
        evolve(replace(schema, options={**schema.options, **options}), changes, table="db.t")
    assert str(found.value).startswith("table db.t: ")
    assert found.value.facts["table"] == "db.t"
    return str(found.value)


def test_the_ids_of_the_table():
    assert [f.id for f in TABLE.fields] == [0, 1, 2, 5, 7, 8]
    assert TABLE.highest_field_id == 8


def test_a_new_column_gets_the_next_ids_also_inside_of_it():
    row = parse_type({"type": "ROW", "fields": [{"id": 0, "name": "a", "type": "INT"}]})
    new = evolve(TABLE, [AddColumn("note", "STRING", comment="c"), AddColumn("r", row)])
    assert (new.id, new.highest_field_id) == (1, 11)
    assert new.by_name["note"].id == 9
    assert new.by_name["note"].description == "c"
    assert new.by_name["r"].id == 10
    assert new.by_name["r"].type.children[0].id == 11


def test_a_column_that_is_added_again_gets_a_new_id():
    dropped = evolve(TABLE, [DropColumn("price"), DropColumn(["address", "zip"])])
    again = evolve(dropped, [AddColumn("price", "INT"), AddColumn(["address", "zip"], "INT")])
    assert again.by_name["price"].id == 9
    assert [(c.name, c.id) for c in again.by_name["address"].type.children] == [("city", 3), ("zip", 10)]
    assert dropped.highest_field_id == 8


def test_a_highest_id_that_is_too_low_is_not_believed():
    assert evolve(replace(TABLE, highest_field_id=2), [AddColumn("x", "INT")]).by_name["x"].id == 9


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ({}, [*TABLE.names, "x"]),
        ({"last": True}, [*TABLE.names, "x"]),
        ({"first": True}, ["x", *TABLE.names]),
        ({"after": "id"}, ["id", "x", *TABLE.names[1:]]),
        ({"before": "id"}, ["x", *TABLE.names]),
    ],
)
def test_positions_of_new_columns(place, expected):
    assert names(AddColumn("x", "INT", **place)) == expected


def test_new_columns_may_go_before_the_partition_keys():
    option = {"add-column-before-partition": "true"}
    assert names(AddColumn("x", "INT"), **option) == [*TABLE.names[:-1], "x", "day"]
    assert names(AddColumn("x", "INT", last=True), **option)[-1] == "x"


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ({"first": True}, "address id price"),
        ({"last": True}, "id price address"),
        ({"after": "id"}, "id address price"),
        ({"before": "price"}, "id address price"),
    ],
)
def test_columns_move(place, expected):
    schema = new_schema(ARROW.empty_table().select(["id", "price", "address"]).schema)
    assert " ".join(names(UpdatePosition("address", **place), schema=schema)) == expected


def test_a_default_is_kept_as_text():
    new = evolve(TABLE, [AddColumn("n", "INT", default="7"), UpdateDefault("price", "'3'")])
    assert (new.by_name["n"].default, new.by_name["price"].default) == ("7", "'3'")
    assert evolve(new, [UpdateDefault("n", None)]).by_name["n"].default is None


def test_comments():
    new = evolve(
        TABLE, [UpdateComment("t"), UpdateColumnComment("id", "c"), UpdateColumnComment(["address", "city"], "town")]
    )
    assert (new.comment, new.by_name["id"].description) == ("t", "c")
    assert new.by_name["address"].type.children[0].description == "town"
    assert evolve(new, [UpdateComment(None)]).comment is None


def test_types_keep_their_nullability_and_ids():
    new = evolve(
        TABLE,
        [
            UpdateType("price", "BIGINT"),
            UpdateType(["address", "zip"], "STRING"),
            UpdateType(["lines", "element", "n"], "DOUBLE"),
            UpdateType(["prices", "value"], "DECIMAL(12, 2)"),
            RenameColumn(["address", "city"], "town"),
            AddColumn(["lines", "element", "m"], "INT", first=True),
        ],
    )
    assert [f.type.sql for f in new.fields] == [
        "BIGINT NOT NULL",
        "BIGINT",
        "ROW<town STRING, zip STRING>",
        "ARRAY<ROW<m INT, n DOUBLE>>",
        "MAP<STRING NOT NULL, DECIMAL(12, 2)>",
        "STRING NOT NULL",
    ]
    assert [c.id for c in new.by_name["lines"].type.children[0].type.children] == [9, 6]


def test_nullability():
    allowed = {"alter-column-null-to-not-null.disabled": "false"}
    schema = replace(TABLE, options={**TABLE.options, **allowed})
    new = evolve(schema, [UpdateNullability("price", False), UpdateNullability(["prices", "value"], False)])
    assert new.by_name["price"].type.sql == "INT NOT NULL"
    assert new.by_name["prices"].type.sql == "MAP<STRING NOT NULL, INT NOT NULL>"
    assert evolve(new, [UpdateNullability("price", True)]).by_name["price"].type.nullable


def test_a_renamed_column_is_renamed_in_keys_and_options():
    options = {
        "bucket-key": "id",
        "sequence.field": "price,id",
        "fields.price.aggregate-function": "sum",
        "fields.price,id.sequence-group": "address, price",
        "fields.lines.nested-key": "price",
        "file-index.bloom-filter.columns": "day, price,price[x]",
        "file-index.bloom-filter.price.fpp": "0.01",
        "owner": "price",
    }
    new = evolve(replace(TABLE, options=options), [RenameColumn("price", "cost"), RenameColumn("id", "key")])
    assert new.primary_keys == ("key", "day")
    assert new.options == {
        "bucket-key": "key",
        "sequence.field": "cost,key",
        "fields.cost.aggregate-function": "sum",
        "fields.cost,key.sequence-group": "address,cost",
        "fields.lines.nested-key": "price",
        "file-index.bloom-filter.columns": "day,cost,cost[x]",
        "file-index.bloom-filter.cost.fpp": "0.01",
        "owner": "price",
    }


def test_options_are_set_and_removed():
    new = evolve(TABLE, [SetOption("write-only", "true"), SetOption("bucket", "5")])
    assert new.options == {"bucket": "5", "write-only": "true"}
    assert evolve(new, [RemoveOption("write-only")]).options == {"bucket": "5"}


def test_changes_without_effect_are_no_new_schema():
    assert evolve(TABLE, []) is TABLE
    assert evolve(TABLE, [UpdateType("price", "INT"), SetOption("bucket", "2"), RemoveOption("write-only")]) is TABLE
    assert evolve(TABLE, [AddColumn("x", "INT"), DropColumn("x")]) is TABLE


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (AddColumn("price", "INT"), "column 'price' already exists"),
        (AddColumn(["address", "zip"], "INT"), r"column 'address.zip' already exists"),
        (AddColumn("x", "INT NOT NULL"), "new column must be nullable, but 'x' is INT NOT NULL"),
        (AddColumn("x", "INTT"), "column 'x': 'INTT' is not a data type"),
        (AddColumn("x", "INT", after="y"), "no column 'y'"),
        (AddColumn("rowkind", "INT"), "'rowkind' is reserved"),
        (AddColumn("_KEY_x", "INT"), "'_KEY_x' is reserved"),
        (AddColumn(" ", "INT"), "blank"),
        (AddColumn(["price", "x"], "INT"), "'price' is INT, which has no fields"),
        (AddColumn(["lines", "x"], "INT"), "whose members are called 'element'"),
        (AddColumn(["lines", "element"], "INT"), "has no fields of its own"),
        (AddColumn("x", "INT", default="one"), "default 'one' is no value of type INT"),
        (AddColumn(["address", "x"], "INT", default="1"), "only columns of the table have defaults"),
        (DropColumn("id"), "primary key column 'id' cannot be dropped"),
        (DropColumn("day"), "partition key 'day' cannot be dropped"),
        (DropColumn("nope"), "no column 'nope'; there are id, price"),
        (RenameColumn("day", "d"), "partition key 'day' cannot be renamed"),
        (RenameColumn("price", "id"), "'id' already exists"),
        (RenameColumn(["address", "zip"], "city"), "'city' already exists"),
        (RenameColumn(["prices", "key"], "k"), "key of a MAP cannot be changed"),
        (UpdateType("id", "STRING"), "primary key column 'id' cannot be given another type"),
        (UpdateType("day", "INT"), "partition key 'day' cannot be given another type"),
        (UpdateType("price", "DATE"), "cannot change from INT to DATE"),
        (UpdateType("price", "BIGINT NOT NULL"), "UpdateNullability"),
        (UpdateType("address", {"type": "ROW", "fields": [{"id": 3, "name": "city", "type": "INT"}]}), "one by one"),
        (UpdateType(["prices", "key"], "INT"), "key of a MAP cannot be changed"),
        (UpdateNullability("price", False), "alter-column-null-to-not-null.disabled = false"),
        (UpdateNullability("id", True), "primary key column 'id' cannot become nullable"),
        (UpdateColumnComment(["lines", "element"], "c"), "has no comment"),
        (UpdatePosition("price"), "needs one of first, last"),
        (UpdatePosition("price", after="price"), "next to itself"),
        (UpdatePosition("nope", first=True), "no column 'nope'"),
        (UpdateDefault("price", "x"), "default 'x' is no value of type INT"),
        (UpdateDefault("price", 3), "given as text"),
        (DropColumn(3), "a column is a name or a list of names, not 3"),
        ("price", "is not a schema change"),
    ],
)
def test_changes_that_are_refused(change, message):
    with pytest.raises(InvalidRequest, match=message):
        evolve(TABLE, [change], table="db.t")


def test_the_last_column_and_the_last_field_are_kept():
    one = new_schema(pa.schema([("a", pa.int32()), ("r", pa.struct([("x", pa.int32())]))]))
    assert "last one of the ROW" in refused(DropColumn(["r", "x"]), schema=one)
    assert "last one of the table" in refused(DropColumn("a"), DropColumn("r"), schema=one)


def test_casts_that_lose_information_can_be_forbidden():
    option = {"disable-explicit-type-casting": "true"}
    assert evolve(TABLE, [UpdateType("price", "STRING")]).by_name["price"].type.sql == "STRING"
    assert "disable-explicit-type-casting" in refused(UpdateType("price", "STRING"), **option)
    assert names(UpdateType("price", "BIGINT"), **option) == TABLE.names


def test_a_default_must_fit_the_new_type():
    schema = evolve(TABLE, [UpdateDefault("price", "300")])
    assert "300" in refused(UpdateType("price", "TINYINT"), schema=schema)


def test_a_default_of_a_nested_type():
    assert evolve(TABLE, [UpdateDefault("lines", "[]")]).by_name["lines"].default == "[]"
    assert "does not have the form of type ARRAY" in refused(UpdateDefault("lines", "1"))
    bags = evolve(TABLE, [AddColumn("bag", "MULTISET<INT>")])
    assert "not supported" in refused(UpdateDefault("bag", "{}"), schema=bags, error=UnsupportedFeature)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("merge-engine", "aggregation", "cannot change once the table has a snapshot"),
        ("bucket", "-1", "a table keeps its kind of buckets"),
        ("bucket", "x", "bucket"),
        ("type", "format-table", "never changes"),
        ("primary-key", "price", "never changes"),
        ("path", "/tmp", "path"),
        ("deletion-vectors.enabled", "true", "deletion"),
        ("bukcet", "1", "bukcet"),
        ("write-only", "maybe", "write-only"),
        ("snapshot.time-retained", "5", "unit"),
        ("bucket", None, "None: the value must be text, an int or a bool"),
        ("bucket", 3.0, "a float only where the option is a double"),
        ("snapshot.kept", "5", "did you mean"),
    ],
)
def test_options_that_are_refused(key, value, message):
    assert message in refused(SetOption(key, value), error=InvalidOption)


def test_an_option_of_a_table_without_snapshots_may_change():
    new = evolve(TABLE, [SetOption("merge-engine", "aggregation")], has_snapshots=False)
    assert new.options["merge-engine"] == "aggregation"
    with pytest.raises(InvalidOption, match="never change"):
        evolve(TABLE, [SetOption("partition", "id")], has_snapshots=False)


@pytest.mark.parametrize("key", ["bucket", "merge-engine", "primary-key"])
def test_options_that_cannot_be_removed(key):
    schema = replace(TABLE, options={"bucket": "2", "merge-engine": "first-row", "primary-key": "id"})
    refused(RemoveOption(key), schema=schema, error=InvalidOption)


def test_ignore_delete_only_becomes_true():
    assert evolve(TABLE, [SetOption("ignore-delete", "true")]).options["ignore-delete"] == "true"
    true = {"ignore-delete": "true"}
    assert "ignore-delete" in refused(SetOption("ignore-delete", "false"), error=InvalidOption, **true)
    assert "ignore-delete" in refused(RemoveOption("ignore-delete"), error=InvalidOption, **true)


@pytest.mark.parametrize(("stored", "wanted"), [("TIME(0)", "TIME(3)"), ("TIME(3)", "TIME(0)")])
def test_the_precision_of_a_time_cannot_change(stored, wanted):
    """Java has no cast for it: its readers would fail."""
    schema = new_schema(pa.schema([("t", pa.time32("ms"))]), types={"t": stored})
    with pytest.raises(InvalidRequest, match=rf"'t' cannot change from TIME\({stored[5]}\) to"):
        evolve(schema, [UpdateType("t", wanted)])
    assert evolve(schema, [UpdateType("t", "STRING")]).fields[0].type.sql == "STRING"
