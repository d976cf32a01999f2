"""The partitions that a predicate selects."""

import pytest

from paimon_core.errors import InvalidRequest
from paimon_core.metadata.context import TableContext
from paimon_core.plan.partitions import matching_partitions
from paimon_core.predicate import col
from paimon_core.storage.fsspec_storage import FsspecStorage
from tests.support.fake_tables import fake_table, partition
from tests.support.manifest_tables import fields_of, schema_of


def test_partitions_match_by_their_values():
    matches = matching_partitions(fake_table(), col("p") == "a")
    assert [matches(partition(p)) for p in ("a", "b", None)] == [True, False, False]


def test_a_column_that_is_no_partition_column_is_refused_with_the_names_of_those():
    with pytest.raises(InvalidRequest, match=r"uses 'v', which is not a partition column \(partition columns: p\)"):
        matching_partitions(fake_table(), (col("p") == "a") & (col("v") == 1))
    unpartitioned = TableContext.of("t", FsspecStorage("memory"), "/t", schema_of(fields_of(a="INT")))
    with pytest.raises(InvalidRequest, match=r"uses 'a', but it selects partitions, and table t is not partitioned"):
        matching_partitions(unpartitioned, col("a") == 1)
