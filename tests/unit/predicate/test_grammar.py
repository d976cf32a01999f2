"""The text of filters; tests/property/test_predicate.py reads the text of random predicates back."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from paimon_core.errors import InvalidRequest, SchemaMismatch
from paimon_core.predicate import col, parse_where
from paimon_core.schema import DataField
from paimon_core.types import parse_type

TYPES = {
    "price": "DECIMAL(9, 2)", "note": "STRING", "id": "INT", "dt": "DATE", "ok": "BOOLEAN", "f": "DOUBLE", "b": "BYTES",
    "address": "ROW<city STRING, geo ROW<lat DOUBLE>>", "m": "MAP<STRING, INT>", "n": "MAP<INT, INT>", "a.b": "INT",
}  # fmt: skip
FIELDS = [DataField(at, name, parse_type(text)) for at, (name, text) in enumerate(TYPES.items())]
price, note, id_, ok = col("price"), col("note"), col("id"), col("ok")


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("price > 5 and note like 'n%'", (price > 5) & note.like("n%")),
        ("id = 1 OR id == 2 And NOT ok", (id_ == 1) | ((id_ == 2) & (ok != True))),  # noqa: E712
        ("not (id <> 1 and (ok or f >= -1.5e3))", (id_ == 1) | (~(ok == True) & (col("f") < -1500.0))),  # noqa: E712
        ("not not id != +7", id_ != 7),
        ("5 < id and true = ok", (id_ > 5) & (ok == True)),  # noqa: E712
        ("id in (1, -2) or id not in ()", id_.is_in([1, -2]) | ~id_.is_in([])),
        ("id between 1 and 5 and note is not null", id_.between(1, 5) & note.is_not_null()),
        ("id not between 1 and 5 or note is null", ~id_.between(1, 5) | note.is_null()),
        ("note = 'it''s' and note not like 'a!%' escape '!'", (note == "it's") & ~note.like(r"a\%")),
        ("contains(note, 'x') or STARTSWITH(note, 'x') or not endswith(b, X'00ff')",
         note.contains("x") | note.startswith("x") | ~col("b").endswith(b"\x00\xff")),
        ("dt >= '2026-05-01' and dt < date '2026-06-01'",
         (col("dt") >= "2026-05-01") & (col("dt") < dt.date(2026, 6, 1))),
        ("price = 1.50 and price < 123456789012345678901234567890.5",
         (price == Decimal("1.50")) & (price < Decimal("123456789012345678901234567890.5"))),
        ("address.city = 'x' and address.geo.lat < 1.5", (col("address", "city") == "x")
         & (col("address")["geo"]["lat"] < Decimal("1.5"))),
        ("m['k'] = 3 and m.k > n[-5]", (col("m", "k") == 3) & (col("m", "k") > col("n", -5))),
        ("`a.b` = 1 and \"a.b\" < id", (col("a.b") == 1) & (col("a.b") < id_)),
        ("id = `we``ird` or id = date", (id_ == col("we`ird")) | (id_ == col("date"))),
        ('```x``` = 1 or """q""" < `````` or id = ````',
         (col("`x`") == 1) | (col('"q"') < col("``")) | (id_ == col("`"))),
        ("((((id=1))))", id_ == 1),
    ],
)  # fmt: skip
def test_texts(text, where):
    assert repr(parse_where(text)) == repr(where)
    assert repr(parse_where(str(where))) == repr(where)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "needs a value, not 'the end of the text', at line 1, column 1"),
        ("price >", r"not 'the end of the text', at line 1, column 8: price >\^"),
        ("price > and 5", r"put the name and in backquotes, at line 1, column 9: price > \^and 5"),
        ("id = 1\n or\n  ", "line 3, column 3"),
        ("((id = 1)", r"has 1 \( without a \)"),
        ("id = 1)", r"has a \) without its \("),
        ("id = null", "use is null"),
        ("id in (1, null)", "use is null"),
        ("1 = 1", "one side must be a column"),
        ("5", "needs a comparison after 5"),
        ("id == 5abc", "number that ends in other characters"),
        ("note = 'abc", "' that does not end"),
        ("id = 1; drop table t", "cannot contain ';'"),
        ("id not = 5", "in, between or like after not"),
        ("id id", "needs a comparison after id"),
        ("id = 1 id = 2", "needs and, or, or its end"),
        ("upper(note) = 'X'", "no function upper, only contains"),
        ("note like 5", "like needs a text"),
        ("note like 'a' escape 'xx'", "one character"),
        ("note like 'a!b' escape '!'", "must be followed by"),
        ("b = X'0'", "invalid value"),
        ("dt = date 'soon'", "'soon' is not a date"),
        ("dt = timestamp '2026-05-01 00:00:00.0000001'", "at most 6 digits"),
        ("f = 1e999", "outside the range"),
        ("id = " + "9" * 5000, "invalid value"),
        ("m[true] = 1", "key of a map"),
    ],
)
def test_text_that_is_no_filter_is_refused_with_its_position(text, says):
    with pytest.raises(InvalidRequest, match=says) as error:
        parse_where(text)
    assert "at line" in str(error.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ok and id > 'x'", r"'id' is INT and does not accept the str 'x', at line 1, column 8: ok and \^id"),
        ("ID = 1", "'ID'; the columns are"),
        ("a.b = 1", "`a.b` needs backquotes"),
        ('note = "x"', r"'x'.*text is in single quotes"),
        ("id = 1e3", "float 1000.0"),
        ("note = 5", "'note' is STRING"),
        ("id < note", "'note' is STRING"),
        ("address.street = 'x'", "no field 'street', only city, geo"),
        ("address = 'x'", "'address' is ROW"),
        ("id.x = 1", "only a ROW has fields"),
        ("n['x'] = 1", "does not accept the str 'x'"),
        ("address like 'x'", "only text columns support like"),
        ("contains(id, 'x')", "only text and binary columns"),
        ("id = 99999999999", "is not from"),
    ],
)
def test_a_test_that_does_not_fit_its_column_is_refused_with_its_position(text, says):
    with pytest.raises(SchemaMismatch, match=says) as error:
        parse_where(text, FIELDS)
    assert "at line" in str(error.value)


def test_many_parts_work_or_are_refused():
    assert str(parse_where("(" * 20_000 + "id = 1" + ")" * 20_000)) == "id = 1"
    assert str(parse_where("not " * 20_001 + "(id = 1)")) == "id != 1"
    assert parse_where(" or ".join(f"id > {n}" for n in range(16_384))).comparisons == 16_384
    with pytest.raises(InvalidRequest, match="the limit is 16384"):
        parse_where(" or ".join(f"id > {n}" for n in range(20_000)))
    with pytest.raises(InvalidRequest, match="the limit is 32"):
        parse_where("id = 1 and not (id = 2 and not (" * 5000 + "ok" + "))" * 5000)


def test_nested_fields_and_map_keys_are_tested():
    rows = pa.table(
        {
            "id": pa.array([1, 2, 3, 4], pa.int32()),
            "address": pa.array(
                [
                    {"city": "x", "geo": {"lat": 1.0}},
                    {"city": None, "geo": None},
                    None,
                    {"city": "y", "geo": {"lat": 2}},
                ],
                pa.struct([("city", pa.string()), ("geo", pa.struct([("lat", pa.float64())]))]),
            ),
            "m": pa.array([{"k": 1}, {"j": 1}, None, {"k": None}], pa.map_(pa.string(), pa.int32())),
            "n": pa.array([{5: 1}, {5: 2}, {}, None], pa.map_(pa.int32(), pa.int32())),
        }
    )

    def selected(text: str) -> list[int]:
        bound = parse_where(text, FIELDS).bind(FIELDS)
        assert rows.filter(bound.to_arrow()) == rows.filter(bound.mask(rows))
        return rows.filter(bound.mask(rows))["id"].to_pylist()

    assert selected("address.city = 'x'") == [1]
    assert selected("not address.city = 'x'") == [4]
    assert selected("address.geo.lat is null") == [2, 3]
    assert selected("address.geo.lat < 1.5 or m.k = 1") == [1]
    assert selected("m['k'] is null") == [2, 3, 4]
    assert selected("n[5] = id") == [1, 2]
    assert col("address.city").like("x").bind(FIELDS).columns == {"address"}
