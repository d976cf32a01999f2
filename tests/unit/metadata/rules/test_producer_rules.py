import pyarrow as pa
import pytest

from paimon_core.errors import InvalidOption
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.rules.producer_rules import check_producer_options
from paimon_core.schema import new_schema
from paimon_core.storage.fsspec_storage import FsspecStorage

PRODUCER = "changelog-producer"
DEDUPLICATE = "changelog-producer.row-deduplicate"
IGNORED = "changelog-producer.row-deduplicate-ignore-fields"


def check(options, keyed=True):
    schema = new_schema(
        pa.schema([("k", pa.int32()), ("v", pa.int64())]),
        primary_key=["k"] if keyed else [],
        partition_by=[],
        options={"bucket": "1" if keyed else "-1", **options},
    )
    check_producer_options(TableContext.of("db.t", FsspecStorage("memory"), "/t", schema))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {DEDUPLICATE: "false"},
        {"force-lookup": "true"},
        {PRODUCER: "input", "streaming-read-overwrite": "true"},
        {PRODUCER: "lookup", DEDUPLICATE: "true", IGNORED: "v"},
        {PRODUCER: "full-compaction", DEDUPLICATE: "true"},
    ],
)
def test_accepted_options(options):
    check(options)


@pytest.mark.parametrize(
    ("options", "keyed", "message"),
    [
        ({PRODUCER: "lookup"}, False, "changelog-producer needs a table with a primary key"),
        ({"force-lookup": "true"}, False, "force-lookup needs a table with a primary key"),
        ({DEDUPLICATE: "true"}, True, "needs changelog-producer = lookup or full-compaction"),
        ({PRODUCER: "input", DEDUPLICATE: "true"}, True, "needs changelog-producer = lookup or full-compaction"),
        (
            {PRODUCER: "lookup", "streaming-read-overwrite": "true"},
            True,
            "cannot be used with changelog-producer = lookup",
        ),
        ({PRODUCER: "lookup", IGNORED: "v"}, True, "needs changelog-producer.row-deduplicate = true"),
        ({PRODUCER: "lookup", DEDUPLICATE: "true", IGNORED: "v,w"}, True, "names 'w', which is no column"),
    ],
)
def test_refused_options(options, keyed, message):
    with pytest.raises(InvalidOption, match=message):
        check(options, keyed)
