import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.errors import InvalidOption, InvalidRequest

COLUMNS = pa.schema([("k", pa.int32()), ("v", pa.int32()), ("w", pa.int32())])
AGGREGATION = {"merge-engine": "aggregation"}


@pytest.fixture
def create(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    return lambda options, keys=("k",): catalog.create_table(
        "db.t", COLUMNS, primary_key=list(keys), options=options | ({"bucket": "1"} if keys else {})
    )


def test_options_of_the_engine_are_accepted(create):
    functions = {"fields.v.aggregate-function": "sum", "fields.w.aggregate-function": "max"}
    table = create(AGGREGATION | functions | {"fields.v.stats-mode": "none"})
    assert table.context.options.of_field("v").aggregate_function == "sum"


def test_statistics_of_a_column_need_no_engine(create):
    create({"fields.k.stats-mode": "full"})


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        ({"fields.v.aggregate-function": "sum"}, ["k"]),
        ({"fields.v.aggregate-function": "sum"}, []),
        ({"fields.v.ignore-retract": "true", "merge-engine": "first-row"}, ["k"]),
        ({"fields.default-aggregate-function": "sum"}, ["k"]),
        ({"fields.v.sequence-group": "w"}, ["k"]),
        ({"fields.v.sequence-group": "w"} | AGGREGATION, ["k"]),
        ({"aggregation.remove-record-on-delete": "true"}, ["k"]),
        ({"partial-update.remove-record-on-delete": "true"} | AGGREGATION, ["k"]),
        ({"fields.k.aggregate-function": "sum"} | AGGREGATION, ["k"]),
        ({"merge-engine": "deduplicate"}, []),
    ],
)
def test_an_option_of_another_engine_is_refused(create, options, keys):
    with pytest.raises(InvalidOption, match=f"option {next(iter(options))} "):
        create(options, keys)


@pytest.mark.parametrize(
    ("engine", "needed"),
    [
        ("aggregation", "aggregation.remove-record-on-delete"),
        ("partial-update", "partial-update.remove-record-on-delete or "),
        ("first-row", "a delete would not remove its rows$"),
    ],
)
def test_a_delete_that_would_not_remove_rows_is_refused(create, engine, needed):
    table = create({"merge-engine": engine})
    with pytest.raises(InvalidRequest, match=f"merge-engine = {engine}.*{needed}"):
        table.delete(col("v") == 1)


@pytest.mark.parametrize(
    "options",
    [
        {},
        AGGREGATION | {"aggregation.remove-record-on-delete": "true"},
        {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
        {
            "merge-engine": "partial-update",
            "fields.w.sequence-group": "v",
            "partial-update.remove-record-on-sequence-group": "w",
        },
    ],
)
def test_deletes_that_remove_their_rows(create, options):
    table = create(options)
    table.write([{"k": 1, "v": 1, "w": 1}, {"k": 2, "v": 2, "w": 1}])
    table.delete(col("v") == 1)
    assert table.scan(["k"]).to_arrow()["k"].to_pylist() == [2]


def test_ignore_delete_excludes_removal_options(create):
    option = "aggregation.remove-record-on-delete"
    with pytest.raises(InvalidOption, match=f"options {option} and ignore-delete exclude each other"):
        create(AGGREGATION | {option: "true", "ignore-delete": "true"})
    create(AGGREGATION | {option: "false", "ignore-delete": "true"})
