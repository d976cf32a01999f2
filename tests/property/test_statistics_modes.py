"""Whatever statistics files have, a filter that prunes by them selects the same rows as on the rows of a full read."""

import itertools

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import paimon_core as paimon
from paimon_core.predicate import col
from tests.support.examples import examples

COLUMNS = {"k": "STRING NOT NULL", "c": "CHAR(3)", "s": "STRING", "b": "BYTES", "x": "DOUBLE", "n": "INT"}
TEXTS = st.text(st.sampled_from("ab \t?\ud7ff\ue000\U0010ffff"), min_size=1, max_size=4)
VALUES = {
    "k": TEXTS,
    "c": st.text(st.sampled_from("ab\t?"), max_size=3),
    "s": TEXTS,
    "b": st.binary(max_size=3),
    "x": st.sampled_from([float("nan"), 0.0, -0.0, 1.5, -1.5, float("inf")]),
    "n": st.integers(-2, 2),
}
ROWS = st.lists(
    st.fixed_dictionaries({name: values if name == "k" else st.none() | values for name, values in VALUES.items()}),
    min_size=1,
    max_size=4,
)
MODES = st.sampled_from(["truncate(1)", "truncate(2)", "full", "counts", "none"])
OPTIONS = st.fixed_dictionaries(
    {"file.format": st.sampled_from(["parquet", "orc", "avro"]), "metadata.stats-mode": MODES},
    optional={
        "fields.s.stats-mode": MODES,
        "fields.c.stats-mode": MODES,
        "metadata.stats-keep-first-n-columns": st.integers(-1, 6).map(str),
        "metadata.stats-dense-store": st.sampled_from(["true", "false"]),
    },
)
TESTS = {
    "==": lambda column, value: column == value,
    "!=": lambda column, value: column != value,
    "<": lambda column, value: column < value,
    ">=": lambda column, value: column >= value,
    "in": lambda column, value: column.is_in([value]),
    "not in": lambda column, value: ~column.is_in([value]),
    "null": lambda column, value: column.is_null(),
    "valid": lambda column, value: column.is_not_null(),
}
# A test, a column, and the number of the row whose value the column is compared with.
FILTERS = st.lists(
    st.tuples(st.sampled_from(sorted(TESTS)), st.sampled_from(sorted(VALUES)), st.integers(0, 11)),
    min_size=10,
    max_size=10,
)
NUMBERS = itertools.count()


@given(st.booleans(), OPTIONS, st.lists(ROWS, min_size=1, max_size=3), FILTERS)
@settings(deadline=None, max_examples=examples(60))
def test_a_pruned_read_equals_a_filtered_full_read(keyed, options, commits, filters):
    catalog = paimon.open_catalog(f"memory://statistics-{next(NUMBERS)}")
    catalog.create_database("db")
    keys, bucket = (["k"], "1") if keyed else ([], "-1")
    table = catalog.create_table("db.t", COLUMNS, primary_key=keys, options={**options, "bucket": bucket})
    types = pa.schema([f.arrow for f in table.schema.fields])
    for rows in commits:
        table.write(pa.Table.from_pylist(rows, types))
    everything = table.scan().to_arrow()
    for test, name, number in filters:
        known = [value for value in everything[name].to_pylist() if value is not None]
        if not known:
            continue
        where = TESTS[test](col(name), known[number % len(known)])
        wanted = everything.filter(where.bind(table.schema.fields).to_arrow())
        assert listed(table.scan(where=where).to_arrow()) == listed(wanted)


def listed(rows):
    """Return the rows as sorted texts; NaN equals NaN there."""
    return sorted(map(repr, rows.to_pylist()))
