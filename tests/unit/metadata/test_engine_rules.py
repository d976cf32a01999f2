import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.errors import InvalidOption

COLUMNS = pa.schema([("k", pa.int32()), ("v", pa.int32()), ("w", pa.int32())])
AGGREGATION = {"merge-engine": "aggregation"}


@pytest.fixture
def create(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    return lambda options, keys=("k",): catalog.create_table(
        "db.t", COLUMNS, primary_key=list(keys), options=options | ({"bucket": "1"} if keys else {})
    )


def test_options_of_the_engine_are_taken(create):
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
def test_an_option_that_the_engine_would_not_read_is_refused(create, options, keys):
    with pytest.raises(InvalidOption, match=f"option {next(iter(options))} "):
        create(options, keys)
