import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.errors import InvalidRequest

SCHEMA = pa.schema([("p", pa.string()), ("k", pa.int64()), ("l", pa.list_(pa.int64()))])
ON = {"clustering.incremental": "true", "clustering.columns": "k"}
BUCKETS = {"bucket": "2", "bucket-key": "k"}


@pytest.mark.parametrize(
    ("options", "keys", "rule"),
    [
        ({"bucket": "1"}, ["p", "k"], r"option clustering\.incremental cannot be used with a primary key"),
        (BUCKETS, [], r"option bucket-append-ordered must be false"),
        (
            BUCKETS | {"bucket-append-ordered": "false", "deletion-vectors.enabled": "true"},
            [],
            r"option deletion-vectors\.enabled cannot be used with clustering\.incremental and bucket = N",
        ),
        ({"clustering.columns": " "}, [], r"clustering\.columns must name a column"),
        ({"clustering.columns": "k,x"}, [], "names 'x', which is no column"),
        ({"clustering.columns": "p"}, [], "names 'p', which is a partition column"),
        ({"clustering.columns": "l"}, [], "names 'l', which is ARRAY<BIGINT>, by which rows cannot be sorted"),
        ({"clustering.columns": "k,k"}, [], "names 'k', which occurs twice"),
        ({"clustering.strategy": "hilbert"}, [], "needs at least two columns"),
        ({"clustering.strategy": "spiral"}, [], "'spiral'"),
    ],
)
def test_tables_that_cannot_be_clustered_are_refused(warehouse, options, keys, rule):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    with pytest.raises(InvalidRequest, match=rule):
        catalog.create_table("db.t", SCHEMA, partition_by=["p"], primary_key=keys, options=ON | options)
