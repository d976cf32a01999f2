import pyarrow as pa
import pytest

from paimon_core.errors import UnsupportedFeature
from paimon_core.metadata.opening_rules import opened_options
from paimon_core.schema import new_schema

CROSS = "a primary key without the partition keys (cross-partition upsert)"
TTL = "cross-partition-upsert.index-ttl"
VECTORS = {"deletion-vectors.enabled": "true"}
ENABLED = "deletion-vectors.enabled=true"
PRODUCER = "changelog-producer"


def schema(primary_key, **options):
    arrow = pa.schema([pa.field(name, pa.int32(), nullable=False) for name in ("k", "p")])
    return new_schema(arrow, primary_key=primary_key, partition_by=["p"], options=options)


@pytest.mark.parametrize(
    ("primary_key", "options", "unwritable"),
    [
        (["k"], {"bucket": "-1"}, ()),
        (["k"], {TTL: "1 d", "manifest.format": "json"}, (f"{TTL} with {CROSS}", "manifest.format")),
        (["k"], {"sequence.field": "k"}, (f"sequence.field with {CROSS}",)),
        (["k"], {"ignore-delete": "true"}, (f"ignore-delete=true with {CROSS}",)),
        (["k"], {"ignore-delete": "true", "merge-engine": "first-row"}, ()),
        (["k", "p"], {}, ()),
        (["k"], {"bucket": "2"}, ()),
        ([], {"bucket": "-1"}, ()),
        (["k"], {"bucket": "2", **VECTORS}, ()),
        ([], VECTORS, ()),
        (
            ["k", "p"],
            {"clustering.incremental": "true"},
            ("clustering.incremental=true with a primary key",),
        ),
        ([], {"clustering.incremental": "true", "clustering.columns": "k"}, ()),
        (["k"], {"bucket": "2", "merge-engine": "first-row", **VECTORS}, (f"merge-engine=first-row with {ENABLED}",)),
        (
            ["k"],
            {"bucket": "2", PRODUCER: "full-compaction", **VECTORS},
            (f"{PRODUCER}=full-compaction with {ENABLED}",),
        ),
        (["k"], {"bucket": "2", "record-level.expire-time": "1 d", **VECTORS}, ()),
    ],
)
def test_a_table_that_can_be_opened_but_not_written_names_why(primary_key, options, unwritable):
    assert opened_options(schema(primary_key, **options), table="db.t").unwritable == unwritable


def test_the_error_of_an_option_that_stops_reads_names_the_table():
    with pytest.raises(UnsupportedFeature, match=r"db\.t"):
        opened_options(schema([], **{"data-file.path-directory": "../x"}), table="db.t")
