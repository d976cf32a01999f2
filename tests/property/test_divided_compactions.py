"""Random histories: a compaction in parts gives the table, the changes and the files of levels of an undivided one."""

import datetime
import random
import shutil
from itertools import pairwise

import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.compact.parts import CompactionPart, run_divided, run_part
from paimon_core.datafile.writing import rolling_writer
from paimon_core.lsm.key_order import key_order
from tests.support.long_cases import long_cases

SUM = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
ENGINES = (
    {},
    {"sequence.field": "v"},
    {"merge-engine": "partial-update"},
    {"merge-engine": "partial-update", "changelog-producer": "lookup"},
    {"merge-engine": "partial-update", "force-lookup": "true"},
    SUM,
    SUM | {"changelog-producer": "full-compaction"},
    {"merge-engine": "first-row", "changelog-producer": "lookup"},
    {"deletion-vectors.enabled": "true"},
    {"changelog-producer": "lookup"},
    {"changelog-producer": "full-compaction"},
)
KEYS = ({"a": "INT", "b": "STRING"}, {"b": "STRING", "a": "INT"}, {"a": "SMALLINT", "b": "DATE"})


def row(chance, number, kinds, engine):
    second = f"k{number % 5}" if kinds["b"] == "STRING" else datetime.date(2020, 1, 1 + number % 5)
    value = number % 7 if "sequence.field" in engine else chance.choice([None, number])
    return {"a": number // 5 - 50, "b": second, "v": value, "w": chance.choice([None, "x" * chance.randrange(30)])}


def grown(chance, warehouse):
    """Make a table with a random history of writes, deletes and compactions; return it and its engine."""
    engine, kinds = chance.choice(ENGINES), chance.choice(KEYS)
    options = {
        "bucket": "1",
        "write-only": "true",
        "target-file-size": chance.choice(["1 kb", "3 kb", "20 kb"]),
        "file.format": chance.choice(["parquet", "parquet", "parquet", "orc", "avro"]),
        "num-sorted-run.compaction-trigger": chance.choice(["2", "3", "5"]),
    }
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    columns = {**kinds, "v": "BIGINT", "w": "STRING"}
    table = catalog.create_table("db.t", columns, primary_key=[*kinds], options=options | engine)
    for _ in range(chance.randrange(2, 6)):
        first = chance.randrange(500)
        numbers = range(first, chance.randrange(first + 1, 1200), chance.choice([1, 1, 2, 3]))
        table.write([row(chance, number, kinds, engine) for number in numbers])
        if chance.random() < 0.3 and "merge-engine" not in engine:
            table.delete(col("a") == chance.randrange(-50, 100))
        if chance.random() < 0.4:
            table.compact(chance.random() < 0.5)
    return table, engine


def live(table):
    return [e.file for e in table.context.manifests.entries_of(table.latest_snapshot())]


def content(source):
    return sorted(map(repr, source.to_arrow().to_pylist()))


@pytest.mark.parametrize("seed", [*range(5), *long_cases(range(5, 60))])
def test_parts_give_what_the_whole_gives(warehouse, tmp_path, monkeypatch, seed):
    chance = random.Random(seed)
    monkeypatch.setattr(rolling_writer, "ROW_GROUP_ROWS", chance.choice([20, 50, 200]))
    monkeypatch.setattr(rolling_writer, "LEAST_ROWS", chance.choice([10, 40, 100]))
    table, engine = grown(chance, warehouse)
    shutil.copytree(warehouse, tmp_path / "whole")
    whole = paimon.open_catalog(str(tmp_path / "whole")).table("db.t")
    share = max(1, sum(f.file_size for f in live(table)) // chance.choice([2, 3, 5, 9, 30]))

    def run(context, parts):
        return [run_part(context, CompactionPart.from_bytes(part.to_bytes())) for part in parts]

    full = chance.random() < 0.6
    done = table.compact(full, work=lambda context, tasks: run_divided(context, tasks, share, run))
    expected = whole.compact(full)
    removed = [[[f.file_name for f in m.compact_before] for m in report.messages] for report in (done, expected)]
    assert removed[0] == removed[1]
    assert done.rows_rewritten == expected.rows_rewritten
    assert content(table.scan()) == content(whole.scan())
    if "changelog-producer" in engine:
        assert content(table.changes()) == content(whole.changes())
    order = key_order([f.type for f in table.schema.key_fields])
    for level in {f.level for f in live(table)} - {0}:
        keys = sorted((order(f.min_key), order(f.max_key)) for f in live(table) if f.level == level)
        assert all(one[1] < other[0] for one, other in pairwise(keys))
    assert not table.maintenance.check(deep=True).findings
