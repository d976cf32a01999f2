import random

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.errors import InvalidRequest, SchemaMismatch

SCHEMA = pa.schema([("k", pa.int64()), ("a", pa.int64()), ("b", pa.string()), ("s", pa.int64())])
KINDS = {
    "deduplicate": {},
    "sequence field": {"sequence.field": "s"},
    "first-row": {"merge-engine": "first-row"},
    "partial-update": {"merge-engine": "partial-update", "fields.s.sequence-group": "b", "ignore-delete": "true"},
    "aggregation": {"merge-engine": "aggregation", "fields.a.aggregate-function": "sum", "ignore-delete": "true"},
    "deletion vectors": {"deletion-vectors.enabled": "true"},
    "lookup": {"changelog-producer": "lookup"},
}


def made(tmp_path, options, **more):
    catalog = paimon.open_catalog(f"memory://{tmp_path}")
    catalog.create_database("db", ignore_if_exists=True)
    options = {"bucket": "2", "write-only": "true", **options}
    return catalog.create_table("db.t", SCHEMA, primary_key=["k"], options=options, **more)


def rows(*values):
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in values], SCHEMA)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_the_versions_give_the_row_that_a_read_returns(tmp_path, kind, seed):
    chance = random.Random(seed)
    table = made(tmp_path, KINDS[kind])
    for _ in range(6):
        table.write(
            rows(
                *(
                    (k, chance.choice([None, k]), chance.choice([None, "x"]), chance.randint(0, 9))
                    for k in range(5)
                    if chance.random() < 0.7
                )
            )
        )
        if chance.random() < 0.4:
            table.compact(full=chance.random() < 0.5)
        if "ignore-delete" not in KINDS[kind] and kind != "first-row" and chance.random() < 0.3:
            table.delete(paimon.col("k") == chance.randrange(5))
    read = {row["k"]: row for row in table.scan().to_arrow().to_pylist()}
    for k in range(6):
        found = table.explain_row(k)
        assert found.row == read.get(k)
        assert found.to_arrow().num_rows == len(found.versions)


def test_each_version_tells_where_it_comes_from_and_each_column_who_decided_it(tmp_path):
    table = made(tmp_path, KINDS["partial-update"])
    table.write(rows((1, 5, "old", 3)), user="first")
    table.write(rows((1, None, "late", 2)), user="second")
    found = table.explain_row({"k": 1})
    assert [(v.number, v.kind, v.level, v.snapshot_id, v.commit_user) for v in found.versions] == [
        (1, "+I", 0, 1, "first"),
        (2, "+I", 0, 2, "second"),
    ]
    assert found.versions[1].after == {"k": 1, "a": 5, "b": "old", "s": 3}
    assert {f.column: (f.rule, f.versions) for f in found.fields} == {
        "k": ("key", (1, 2)),
        "a": ("partial-update: the last value that is not null", (1,)),
        "b": ("partial-update: sequence group s", (1,)),
        "s": ("partial-update: sequence group s", (1,)),
    }
    text = str(found)
    assert "snapshot 2 by second" in text
    assert "b = 'old': partial-update: sequence group s; from version 1" in text


def test_a_deleted_row_and_an_unknown_key_have_no_row(tmp_path):
    table = made(tmp_path, {})
    table.write(rows((1, 5, "x", 3)))
    table.delete(paimon.col("k") == 1)
    found = table.explain_row(1)
    assert [v.kind for v in found.versions] == ["+I", "-D"]
    assert found.row is None
    assert "a read returns no row" in str(found)
    assert table.explain_row(9).versions == ()
    assert table.at(snapshot=1).explain_row(1).row == {"k": 1, "a": 5, "b": "x", "s": 3}


def test_wrong_keys_are_refused(tmp_path):
    table = made(tmp_path, {})
    for wrong in ({"a": 1}, {"k": 1, "a": 1}, None, {"k": None}):
        with pytest.raises(InvalidRequest, match="key"):
            table.explain_row(wrong)
    with pytest.raises(SchemaMismatch, match="'k'"):
        table.explain_row("one")
    log = paimon.open_catalog(f"memory://{tmp_path}").create_table("db.log", SCHEMA)
    with pytest.raises(InvalidRequest, match="needs a primary key"):
        log.explain_row(1)
