"""Repeated texts of the source of a merge stay dictionaries, with the values and errors of decoded ones."""

import pyarrow as pa
import pytest

from paimon_core.arrow import conform
from paimon_core.arrow.byte_budget import decoded_bytes
from paimon_core.errors import SchemaMismatch
from paimon_core.schema import DataField
from paimon_core.table.rows import encoded_texts
from paimon_core.table.rows.encoded_texts import conform_encoded, joined_encoded
from paimon_core.types import parse_type

FIELDS = [DataField(0, "k", parse_type("INT")), DataField(1, "s", parse_type("VARCHAR(5000)"))]
LONG = "x" * 2000


INDEX = pa.int32()


def encoded(numbers, texts, kind=INDEX):
    return pa.DictionaryArray.from_arrays(pa.array(numbers, kind), texts)


def source(texts):
    return pa.table({"k": pa.array(range(len(texts)), pa.int32()), "s": texts})


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint32(), pa.int64()])
@pytest.mark.parametrize("texts", [pa.string(), pa.large_string()])
def test_a_dictionary_stays_one(kind, texts):
    rows = source(encoded([0, 2, None, 2], pa.array([LONG, "unused" * 1000, "a"], texts), kind))
    found = conform_encoded(rows, FIELDS, {"k"})
    assert found["s"].type == pa.dictionary(pa.int32(), pa.string())
    assert found["s"].to_pylist() == [LONG, "a", None, "a"]
    assert conform_encoded(rows, FIELDS, {"k", "s"})["s"].type == pa.string()


def test_long_texts_become_a_dictionary_when_they_repeat():
    repeated, distinct = source([LONG] * 50), source([f"{n}{LONG}" for n in range(50)])
    found = conform_encoded(repeated, FIELDS, {"k"})
    assert found["s"].to_pylist() == [LONG] * 50
    assert found.nbytes < 10_000 < decoded_bytes(found)
    assert conform_encoded(distinct, FIELDS, {"k"}) == conform(distinct, FIELDS)


def test_errors_name_the_row():
    rows = source(encoded([0, 1, 0], pa.array(["a", "b" * 6000])))
    with pytest.raises(SchemaMismatch, match="the first such row is 11"):
        conform_encoded(rows, FIELDS, {"k"}, first_row=10)
    with pytest.raises(SchemaMismatch, match="appears twice"):
        conform_encoded(rows.append_column("s", rows["s"]), FIELDS, {"k"})


@pytest.mark.parametrize("most", [1 << 30, 100])
def test_tables_are_joined_in_one_form(monkeypatch, most):
    monkeypatch.setattr(encoded_texts, "_MOST_BYTES", most)
    tables = [source(["a"]), source(encoded([0], pa.array([LONG]))), pa.table({"k": pa.array([1], pa.int32())})]
    found = joined_encoded(tables)
    assert pa.types.is_dictionary(found["s"].type) == (most > 100)
    assert found["s"].to_pylist() == ["a", LONG, None]
