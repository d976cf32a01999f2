"""A name in place of a table, no session, and texts in place of flags are refused by every function by name."""

import pytest

import paimon_core as paimon
from paimon_core import spark as functions
from paimon_core.errors import InvalidRequest

CALLS = {
    "read_spark": (),
    "changes_spark": (),
    "update_spark": ({"v": 1}, "k = 1"),
    "delete_spark": ("k = 1",),
    "merge_spark": (None, ["k"]),
    "compact_spark": (),
    "sort_compact_spark": (["k"],),
    "rescale_spark": (2,),
    "rewrite_file_index_spark": (),
    "plan_orphan_removal_spark": (),
    "apply_spark": (None,),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_name_is_no_table_and_none_is_no_session(spark, name):
    function = getattr(functions, name)
    with pytest.raises(InvalidRequest, match=r"the argument table is an open table, .* not 'db\.t'"):
        function(spark, "db.t", *CALLS[name])
    with pytest.raises(InvalidRequest, match="the argument spark is a SparkSession, not None"):
        function(None, "db.t", *CALLS[name])


def test_flags_are_true_or_false(spark, warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    table = catalog.create_table("db.t", {"k": "INT"})
    for call in (
        lambda: functions.compact_spark(spark, table, full="no"),
        lambda: functions.rewrite_file_index_spark(spark, table, every=0),
        lambda: functions.compact_database_spark(spark, catalog, full="minor"),
    ):
        with pytest.raises(InvalidRequest, match=r"(full|every) must be True or False, not ('no'|0|'minor')"):
            call()
