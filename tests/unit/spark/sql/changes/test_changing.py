"""MERGE: the columns of the source get the names of the columns that ON compares with them."""

import pytest

from paimon_core.spark.sql.changes.changing import internal_names


@pytest.mark.parametrize(
    ("columns", "pairs", "names"),
    [
        (["id", "v"], {"id": "id"}, ["id", "v"]),
        (["k", "id", "v"], {"id": "k"}, ["id", "__paimon_source_1", "v"]),
        (["K", "ID"], {"id": "K"}, ["id", "__paimon_source_1"]),
        (["b", "a"], {"a": "b", "B": "a"}, ["a", "B"]),
    ],
)
def test_names_of_the_source(columns, pairs, names):
    assert internal_names(columns, pairs) == dict(zip(columns, names, strict=True))
