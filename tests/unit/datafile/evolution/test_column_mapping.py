from dataclasses import replace

import pyarrow as pa
import pytest

from paimon_core.datafile.evolution.column_mapping import known_columns, match_columns
from paimon_core.errors import CorruptTable, UnsupportedFeature
from paimon_core.schema import DataField
from paimon_core.types import STRING
from paimon_core.types.variant import Variant
from tests.support.data_files import Bucket, retyped, schema_of

TYPES = {"id": "BIGINT NOT NULL", "name": "STRING", "price": "INT"}


@pytest.fixture
def bucket():
    return Bucket(schema_of(TYPES))


@pytest.fixture
def file(bucket):
    (written,) = bucket.write(bucket.table({"id": [1, 2], "name": ["a", None], "price": [10, 20]}))
    return written


def test_columns_are_found_by_id_not_by_name(bucket, file):
    name, price = bucket.schema.by_name["name"], bucket.schema.by_name["price"]
    wanted = [replace(price, name="cost"), replace(name, name="price"), DataField(7, "name", STRING)]
    assert bucket.read(file, wanted).to_pylist() == [
        {"cost": 10, "price": "a", "name": None},
        {"cost": 20, "price": None, "name": None},
    ]


def test_a_changed_type_is_cast(bucket, file):
    assert bucket.read(file, retyped(bucket.schema, price="DOUBLE"))["price"].to_pylist() == [10.0, 20.0]


def test_a_cast_that_is_not_built_is_refused_with_its_types(bucket, file):
    with pytest.raises(UnsupportedFeature, match=r"'price' was written as INT and is now BYTES"):
        bucket.read(file, retyped(bucket.schema, price="BYTES"))
    with pytest.raises(UnsupportedFeature, match=r"'name' does not fit INT: 'a' is not a INT"):
        bucket.read(file, retyped(bucket.schema, name="INT"))


def test_a_value_that_the_new_type_cannot_hold_is_refused():
    bucket = Bucket(schema_of({"t": "TIMESTAMP(3)"}))
    (file,) = bucket.write(bucket.table({"t": pa.array([253_402_300_799_999], pa.timestamp("ms"))}))
    with pytest.raises(UnsupportedFeature, match=r"'t' does not fit TIMESTAMP\(9\)"):
        bucket.read(file, retyped(bucket.schema, t="TIMESTAMP(9)"))


def test_a_nullable_column_that_the_file_lacks_is_null_a_required_one_is_corruption(bucket):
    without = bucket.put(pa.table({"id": pa.array([1]), "price": pa.array([3], pa.int32())}))
    assert bucket.read(without).to_pylist() == [{"id": 1, "name": None, "price": 3}]
    headless = bucket.put(pa.table({"price": pa.array([3], pa.int32())}))
    with pytest.raises(CorruptTable, match=r"foreign\.parquet has no column 'id', which is NOT NULL"):
        bucket.read(headless)


def test_names_with_dots_are_names():
    bucket = Bucket(schema_of({"a": "INT", "a.b": "INT", "c.d": "STRING"}))
    (file,) = bucket.write(bucket.table({"a": [1], "a.b": [2], "c.d": ["x"]}))
    assert bucket.read(file).to_pylist() == [{"a": 1, "a.b": 2, "c.d": "x"}]
    assert bucket.read(file, bucket.schema.select(["a"])).to_pylist() == [{"a": 1}]


@pytest.fixture
def keyed():
    return Bucket(schema_of({"v": "INT", "k": "BIGINT NOT NULL"}, keys=["k"], options={"bucket": "1"}))


def key_value_rows(keyed):
    return keyed.table({"_KEY_k": [4, 5], "_SEQUENCE_NUMBER": [0, 1], "_VALUE_KIND": [0, 3], "v": [1, 2], "k": [4, 5]})


def test_key_value_files_round_trip(keyed):
    rows = key_value_rows(keyed)
    (file,) = keyed.write(rows)
    assert keyed.read(file).to_pylist() == rows.to_pylist()


def test_a_file_without_key_columns_has_its_keys_among_the_values(keyed):
    rows = key_value_rows(keyed)
    thin = keyed.put(rows.drop_columns(["_KEY_k"]))
    assert keyed.read(thin).to_pylist() == rows.to_pylist()


def test_a_key_column_and_its_twin_are_decoded_once(keyed):
    found = pa.schema([f.arrow for f in keyed.schema.file_fields])
    both = match_columns(keyed.schema, keyed.schema.file_fields, found, "f")
    assert [s.column for s in both] == ["_KEY_k", "_SEQUENCE_NUMBER", "_VALUE_KIND", "v", "_KEY_k"]
    values = match_columns(keyed.schema, keyed.schema.fields, found, "f")
    assert [s.column for s in values] == ["v", "k"]


def test_a_key_value_file_without_its_sequence_numbers_is_corrupt(keyed):
    without = keyed.put(key_value_rows(keyed).drop_columns(["_SEQUENCE_NUMBER"]))
    with pytest.raises(CorruptTable, match="no column '_SEQUENCE_NUMBER'"):
        keyed.read(without)


def test_a_column_that_appears_twice_is_corrupt(bucket):
    twice = bucket.put(pa.table([[1], ["a"], ["b"]], names=["id", "name", "name"]))
    with pytest.raises(CorruptTable, match="column 'name' twice"):
        bucket.read(twice)


def test_shredded_variants_are_put_together_or_refused_and_never_read_in_part():
    bucket = Bucket(schema_of({"v": "VARIANT"}))
    shredded = pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", pa.int64())])
    row = {"metadata": b"\x01\x00\x00", "value": None, "typed_value": 5}
    (found,) = bucket.read(bucket.put(pa.table({"v": pa.array([row], shredded)})))["v"].to_pylist()
    assert Variant.read(found).to_python() == 5
    with pytest.raises(CorruptTable, match="column 'v' is not a valid VARIANT: a VARIANT has no metadata"):
        bucket.read(bucket.put(pa.table({"v": pa.array([row | {"metadata": None}], shredded)})))
    nested = Bucket(schema_of({"v": "ARRAY<VARIANT>"}))
    file = nested.put(pa.table({"v": pa.array([[row]], pa.list_(shredded))}))
    with pytest.raises(UnsupportedFeature, match="column 'v': a shredded VARIANT inside of a ARRAY") as caught:
        nested.read(file)
    assert caught.value.facts["path"] == nested.path(file)


def test_the_sources_of_the_same_schemas_are_computed_once():
    keyed = Bucket(schema_of({"k": "INT", "v": "STRING"}))
    found = pa.schema([f.arrow for f in keyed.schema.file_fields])
    first = known_columns(keyed.schema, keyed.schema.fields, found, "f", members=True)
    assert first[0] == match_columns(keyed.schema, keyed.schema.fields, found, "f", members=True)
    assert known_columns(keyed.schema, keyed.schema.fields, found, "g", members=True)[0] is first[0]
    other = pa.schema([f for f in found if f.name != "v"])
    assert known_columns(keyed.schema, keyed.schema.fields, other, "f", members=True)[0][-1].column is None
