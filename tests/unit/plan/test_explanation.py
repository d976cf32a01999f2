import json
from dataclasses import replace

import pytest

from paimon_core.plan.explanation import explain_plan
from paimon_core.predicate import col
from tests.support.manifest_tables import MetadataTable, data_file, fields_of, schema_of

LOG = schema_of(fields_of(a="INT", b="STRING"))
KEYED = schema_of(fields_of(k="INT NOT NULL", v="INT"), primary_key=["k"], bucket="4")


def keyed(name, low, high, level=5, v=(0, 9)):
    return replace(data_file(KEYED, name, k=(low, high), v=v), level=level)


def test_explain_is_readable():
    table = MetadataTable(KEYED)
    table.commit(
        table.entry(keyed("a", 0, 9)),
        table.entry(keyed("b", 5, 15, 0)),
        table.entry(keyed("c", 0, 9), bucket=1),
        table.entry(keyed("d", 50, 90), bucket=1),
    )
    found = explain_plan(table.plan(col("k") < 20))
    assert json.loads(json.dumps(found.to_dict()))["skipped"] == {"key range": 1}
    assert str(found) == "\n".join(
        [
            "scan of snapshot 7 (APPEND, 2023-11-14 22:13:20 UTC), schema 0",
            "  where      k < 20",
            "  manifests  1 of 1 read",
            "  files      3 of 4 selected; left out: 1 by key range",
            "  read raw   1 split of 1 file, 10 rows, 10.0 MiB",
            "  merge      1 split of 2 files, 20 rows, 20.0 MiB, up to 2 sorted runs at once",
            "  levels     L0: 1 file, L5: 2 files",
        ]
    )


def test_explain_of_an_append_table_knows_no_merge():
    table = MetadataTable(LOG)
    table.commit(table.entry(data_file(LOG, "a")))
    text = str(explain_plan(table.plan()))
    assert "everything" in text
    assert "merge" not in text
    assert "levels" not in text


@pytest.mark.parametrize(("size", "text"), [(1023, "1,023 bytes"), (1024, "1.0 KiB"), (1 << 20, "1.0 MiB")])
def test_explain_counts_bytes_in_units_of_1024(size, text):
    table = MetadataTable(LOG)
    table.commit(table.entry(replace(data_file(LOG, "a"), file_size=size)))
    assert f"1 split of 1 file, 10 rows, {text}" in str(explain_plan(table.plan()))
