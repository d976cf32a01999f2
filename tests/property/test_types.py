"""Types: every schema survives JSON, text, Arrow and Spark, and every value of it survives a data file."""

import datetime
import itertools
import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.arrow import conform, open_stream
from paimon_core.schema import DataField, TableSchema, new_schema
from paimon_core.types import (
    NESTED_ROOTS,
    STRING_ROOTS,
    Annotations,
    Child,
    DataType,
    TypeRoot,
    array_of,
    map_of,
    multiset_of,
    parse_type,
    row_of,
)
from paimon_core.types.spark_json import from_spark_json, to_spark_json
from tests.support.data_files import Bucket
from tests.support.examples import examples

PLAIN = ["BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "BYTES", "DATE"]
LENGTHS = st.integers(1, 20)
DIGITS = st.integers(0, 9)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
MAYBE = st.none() | TEXTS
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=6).filter(lambda name: name.strip())
"""Names as the rules of columns allow them: no control characters."""


def scalars(digits=DIGITS, variant=True):
    sized = st.builds("{}({})".format, st.sampled_from(["CHAR", "VARCHAR", "BINARY", "VARBINARY"]), LENGTHS)
    decimals = LENGTHS.flatmap(lambda p: st.integers(0, p).map(lambda s: f"DECIMAL({p}, {s})"))
    times = digits.flatmap(
        lambda d: st.sampled_from([f"TIME({min(d, 3)})", f"TIMESTAMP({d})", f"TIMESTAMP({d}) WITH LOCAL TIME ZONE"])
    )
    plain = st.sampled_from([*PLAIN, *(["VARIANT"] if variant else [])])
    return st.builds(DataType.with_nullable, st.one_of(plain, sized, decimals, times).map(parse_type), st.booleans())


@st.composite
def rows_of(draw, inner, names, texts):
    found = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    kinds = [draw(inner) for _ in found]
    return row_of([Child(n, k, -1, draw(texts), draw(texts)) for n, k in zip(found, kinds, strict=True)])


def types(leaves, keys, bags, names=NAMES, texts=MAYBE):
    def nested(inner):
        made = st.one_of(
            inner.map(array_of), st.builds(map_of, keys, inner), bags.map(multiset_of), rows_of(inner, names, texts)
        )
        return st.builds(DataType.with_nullable, made, st.booleans())

    return st.recursive(leaves, nested, max_leaves=5)


ANY = types(scalars(), scalars(), scalars())
COLUMNS = st.lists(
    st.tuples(NAMES, ANY, st.none() | TEXTS, st.none() | TEXTS), min_size=1, max_size=3, unique_by=lambda c: c[0]
)


def numbered(columns):
    ids = itertools.count()
    found = []
    for name, kind, comment, default in columns:
        number = next(ids)
        found.append(DataField(number, f"c{name}", kind.with_ids(ids), comment, default))
    return tuple(found)


@given(COLUMNS)
@settings(deadline=None, max_examples=examples(100))
def test_a_schema_goes_to_each_form_and_back(columns):
    fields = numbered(columns)
    schema = TableSchema(0, fields, 99)
    assert TableSchema.from_json(schema.to_json()) == schema
    arrow = pa.schema([f.annotated for f in fields])
    assert new_schema(pa.ipc.read_schema(arrow.serialize())).fields == fields
    spark = to_spark_json([(f.name, Annotations(f.type, f.id, f.description, f.default)) for f in fields])
    assert new_schema(from_spark_json(json.loads(json.dumps(spark)))).fields == fields
    for _, kind, _, _ in columns:
        assert parse_type(kind.sql) == kind


# -- values ------------------------------------------------------------------------------------------------------------

FORMATS = {
    "parquet": types(scalars(), scalars(variant=False).map(lambda k: k.with_nullable(False)), scalars(variant=False)),
    "orc": types(
        scalars(variant=False), scalars(variant=False), scalars(variant=False), st.sampled_from("abc"), st.none()
    ),
    "avro": types(
        scalars(st.integers(0, 6), variant=False),
        scalars(st.integers(0, 6), variant=False),
        st.just(parse_type("STRING")),
        st.sampled_from("abc"),
        st.none(),
    ),
}
INTEGERS = {TypeRoot.TINYINT: 7, TypeRoot.SMALLINT: 15, TypeRoot.INT: 31, TypeRoot.BIGINT: 63}
FIRST = datetime.datetime(1970, 1, 1)


def instants(kind):
    step = 10 ** max(0, 9 - kind.precision)
    zone = datetime.UTC if kind.root is TypeRoot.TIMESTAMP_LTZ else None

    # Texts, since datetimes have no nanoseconds; ORC files have whole milliseconds before 1970.
    def text(nanos):
        at = FIRST + datetime.timedelta(microseconds=nanos // 1000)
        return f"{at:%Y-%m-%dT%H:%M:%S}.{nanos % 10**9:09d}{'Z' if zone else ''}"

    return st.integers(0, 9 * 10**18 // step).map(lambda n: text(n * step))


def values(kind):
    some = present(kind)
    return st.none() | some if kind.nullable else some


def present(kind):
    root = kind.root
    if root in INTEGERS:
        return st.integers(-(2 ** INTEGERS[root]), 2 ** INTEGERS[root] - 1)
    if root in NESTED_ROOTS and root is not TypeRoot.ARRAY:
        members = [c.type for c in kind.children]
        if root in (TypeRoot.MAP, TypeRoot.MULTISET):
            pairs = st.tuples(present(members[0]), values(members[1]))
            return st.lists(pairs, max_size=3, unique_by=lambda pair: repr(pair[0]))
        return st.tuples(*map(values, members))
    match root:
        case TypeRoot.BOOLEAN:
            return st.booleans()
        case TypeRoot.FLOAT:
            return st.floats(width=32)
        case TypeRoot.DOUBLE:
            return st.floats()
        case TypeRoot.DECIMAL:
            most = 10 ** (kind.precision - kind.scale) - 1
            return st.decimals(-most, most, places=kind.scale)
        case TypeRoot.DATE:
            return st.dates()
        case TypeRoot.TIME:
            step = 10 ** (3 - kind.precision)
            return st.integers(0, (86_400_000 - 1) // step).map(
                lambda n: (FIRST + datetime.timedelta(milliseconds=n * step)).time()
            )
        case TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ:
            return instants(kind)
        case TypeRoot.ARRAY:
            return st.lists(values(kind.children[0].type), max_size=3)
    if root in STRING_ROOTS:
        return TEXTS.map(lambda text: text[: kind.length].rstrip(" "))
    return st.binary(max_size=min(kind.length, 8))


@st.composite
def cases(draw, form):
    kind = draw(FORMATS[form])
    return kind, draw(st.lists(values(kind), min_size=1, max_size=4))


@pytest.mark.parametrize("form", FORMATS)
@given(data=st.data())
@settings(deadline=None, max_examples=examples(40))
def test_values_of_a_type_are_read_back_from_a_file(form, data):
    kind, given_values = data.draw(cases(form))
    field = DataField(0, "c", kind.with_ids(itertools.count(1)))
    bucket = Bucket(TableSchema(0, (field,), 50, options={"file.format": form}))
    rows = conform(open_stream([{"c": v} for v in given_values], [field]).read_all(), [field])
    (file,) = bucket.write(rows)
    found = bucket.read(file)
    assert found.schema.equals(rows.schema)
    assert repr(found["c"].to_pylist()) == repr(rows["c"].to_pylist())
