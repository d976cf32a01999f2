"""Row tracking: the ids and sequence numbers of rows through appends, rewrites, overwrites, rollbacks and branches."""

import dataclasses
import itertools
import random

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import CorruptTable, InvalidOption, InvalidRequest, SchemaMismatch, col
from paimon_core.commit import committer

SCHEMA = pa.schema([("p", pa.string()), ("k", pa.int64()), ("v", pa.string())])
VECTORS = {"deletion-vectors.enabled": "true"}
FORMATS = {"parquet": {}, "orc": {"file.format": "orc"}, "avro": {"file.format": "avro"}}
TRACKED = ["k", "_ROW_ID", "_SEQUENCE_NUMBER"]


def make(warehouse, **options):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db", ignore_if_exists=True)
    tracked = {"row-tracking.enabled": "true", "write-only": "true"}
    return catalog.create_table("db.t", SCHEMA, partition_by=["p"], options=tracked | options)


def rows(*keys, p="a", v="x"):
    return pa.table({"p": [p] * len(keys), "k": list(keys), "v": [f"{v}{k}" for k in keys]}, schema=SCHEMA)


def tracked(table, **scan):
    """The id and sequence number of each key."""
    found = table.scan(columns=TRACKED, **scan).to_arrow()
    return {r["k"]: (r["_ROW_ID"], r["_SEQUENCE_NUMBER"]) for r in found.to_pylist()}


@pytest.mark.parametrize("options", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("way", [{}, VECTORS], ids=["rewritten", "vectors"])
def test_rows_keep_their_ids(warehouse, options, way):
    table = make(warehouse, **options, **way)
    table.write(pa.concat_tables([rows(0), rows(1, p="b"), rows(2)]))
    table.write(rows(3, 4))
    assert tracked(table) == {0: (0, 1), 2: (1, 1), 1: (2, 1), 3: (3, 2), 4: (4, 2)}
    table.delete(col("k") == 3)
    table.update(col("k") == 2, {"v": "new", "p": "b"})
    expected = {0: (0, 1), 1: (2, 1), 2: (1, 4), 4: (4, 2)}
    assert tracked(table) == expected
    assert table.latest_snapshot().next_row_id == 5
    table.compact(full=True)
    assert tracked(table) == expected
    table.sort_compact(["k"])
    assert tracked(table) == expected
    assert tracked(table, where=col("_ROW_ID") >= 2) == {1: (2, 1), 4: (4, 2)}
    assert table.scan(columns=["v"], where=col("_SEQUENCE_NUMBER") == 4).to_arrow()["v"].to_pylist() == ["new"]
    table.delete(col("_ROW_ID") == 4)
    table.write(rows(9))
    table.overwrite(rows(7))
    assert tracked(table) == {1: (2, 1), 2: (1, 4), 7: (6, table.latest_snapshot().id)}
    assert table.scan().to_arrow().column_names == ["p", "k", "v"]
    assert table.maintenance.check(deep=True).is_clean, table.maintenance.check(deep=True).text()


@pytest.mark.parametrize(("seed", "options"), [(1, {}), (2, VECTORS)], ids=["rewritten", "vectors"])
def test_random_histories_give_the_ids_of_a_model(warehouse, options, seed):
    chance = random.Random(seed)
    table = make(warehouse, **options)
    expected, keys, next_id = {}, itertools.count(), 0
    for _ in range(25):
        some = set(chance.sample(sorted(expected), min(len(expected), chance.randint(1, 4))))
        step = chance.choice(["write", "write", "write", "update", "delete", "compact", "sort", "overwrite"])
        if step in ("write", "overwrite"):
            new = [next(keys) for _ in range(chance.randint(1, 6))]
            number = (table.write if step == "write" else table.overwrite)(rows(*new)).id
            expected = ({} if step == "overwrite" else expected) | {k: (next_id + n, number) for n, k in enumerate(new)}
            next_id += len(new)
        elif step == "update" and some:
            number = table.update(col("k").is_in(some), {"v": f"new{len(expected)}"}).id
            expected |= {k: (expected[k][0], number) for k in some}
        elif step == "delete" and some:
            table.delete(col("_ROW_ID").is_in([expected.pop(k)[0] for k in some]))
        elif step == "compact":
            table.compact(full=True)
        elif step == "sort":
            table.sort_compact(["v"])
        assert tracked(table) == expected, step
    assert table.latest_snapshot().next_row_id == next_id
    assert table.maintenance.check(deep=True).is_clean


def test_two_writers_at_once_give_different_ids(warehouse, monkeypatch):
    table = make(warehouse)
    publish, others = committer.publish_draft, [rows(1, 2, v="other")]

    def publish_late(*draft):
        if others:
            table.write(others.pop())
        return publish(*draft)

    monkeypatch.setattr(committer, "publish_draft", publish_late)
    table.write(rows(0, 5))
    assert tracked(table) == {1: (0, 1), 2: (1, 1), 0: (2, 2), 5: (3, 2)}
    assert table.latest_snapshot().next_row_id == 4


def test_the_next_id_follows_tags_branches_and_rollbacks(warehouse):
    table = make(warehouse)
    table.write(rows(0, 1))
    table.tags.create("t")
    table.branches.create("b", tag="t")
    table.write(rows(2))
    branch = table.branch("b")
    branch.write(rows(8, 9))
    assert tracked(branch) == {0: (0, 1), 1: (1, 1), 8: (2, 2), 9: (3, 2)}
    table.maintenance.apply(table.maintenance.plan_rollback(tag="t"))
    table.write(rows(7))
    assert tracked(table) == {0: (0, 1), 1: (1, 1), 7: (2, 2)}
    assert [table.at(snapshot=n).latest_snapshot().next_row_id for n in (1, 2)] == [2, 3]
    assert tracked(table.at(tag="t")) == {0: (0, 1), 1: (1, 1)}
    assert table.maintenance.check(deep=True).is_clean


def test_files_of_other_ids_are_left_out(warehouse):
    table = make(warehouse)
    for start in range(0, 50, 10):
        table.write(rows(*range(start, start + 10)))
    assert table.scan(where=col("_ROW_ID").is_in([3, 25])).plan.counts.files_selected == 2
    assert table.scan(where=col("_SEQUENCE_NUMBER") > 4).plan.counts.files_selected == 1
    assert tracked(table, where=col("_ROW_ID").is_in([3, 25])) == {3: (3, 1), 25: (25, 3)}


def test_what_row_tracking_does_not_allow(warehouse):
    table = make(warehouse)
    table.write(rows(0))
    with pytest.raises(SchemaMismatch, match="_ROW_ID"):
        table.update(col("k") == 0, {"_ROW_ID": 7})
    with pytest.raises(SchemaMismatch, match="_ROW_ID"):
        table.changes(columns=["_ROW_ID"])
    with pytest.raises(InvalidOption, match=r"row-tracking\.enabled"):
        table.with_options({"row-tracking.enabled": "false"})
    with pytest.raises(InvalidRequest, match="bucket = -1"):
        paimon.open_catalog(warehouse).create_table(
            "db.b", SCHEMA, options={"row-tracking.enabled": "true", "bucket": "2", "bucket-key": "k"}
        )
    plain = paimon.open_catalog(warehouse).create_table("db.plain", SCHEMA)
    with pytest.raises(SchemaMismatch, match="_ROW_ID"):
        plain.scan(columns=["_ROW_ID"])


def test_rows_without_an_id_are_an_error(warehouse):
    """Java's compaction drops the ids when its caller does not ask for them."""
    table = make(warehouse)
    table.write(rows(0, 1))
    manifests = table.context.manifests
    (entry,) = manifests.entries_of(table.latest_snapshot())
    lost = dataclasses.replace(entry, file=dataclasses.replace(entry.file, first_row_id=None))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(manifests), "read_each", lambda *_, **__: [[lost]])
        assert table.scan(columns=["k"]).to_arrow()["k"].to_pylist() == [0, 1]
        with pytest.raises(CorruptTable, match=r"bucket-0/data-.* has rows without an id"):
            tracked(table)
