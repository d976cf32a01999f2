import threading
from dataclasses import replace

import pytest

import paimon_core as paimon
from paimon_core.errors import InvalidRequest
from paimon_core.plan.repack import evenly

OPTIONS = {"bucket": 1, "write-only": "true", "source.split.open-file-cost": "1 b"}


@pytest.fixture
def table(warehouse, request):
    """A bucket with six files; of a keyed table, four that overlap in pairs."""
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    if request.param == "append":
        table = catalog.create_table("db.t", {"id": "INT NOT NULL"}, options={**OPTIONS, "bucket": -1})
        for n in range(6):
            table.write([{"id": n}])
    else:
        table = catalog.create_table("db.t", {"id": "INT NOT NULL"}, primary_key=["id"], options=OPTIONS)
        for ids in ([0, 1], [1, 2], [5], [10, 11], [11, 12], [20]):
            table.write([{"id": n} for n in ids])
    return table


def ids(scan, splits):
    return [n for split in splits for n in scan.read(split).read_all()["id"].to_pylist()]


@pytest.mark.parametrize(("table", "least", "most"), [("append", 6, 1), ("keyed", 4, 2)], indirect=["table"])
def test_splits_of_a_target_size_contain_the_same_rows_in_the_same_order(table, least, most):
    expected = table.scan().to_arrow()["id"].to_pylist()
    for planned in (table, table.with_options({"source.split.target-size": "1 b"})):
        scan = planned.scan()
        for target, count in ((1, least), (10**9, most)):
            splits = scan.splits(target_bytes=target)
            assert len(splits) == count
            assert ids(scan, splits) == expected
            assert [type(s).from_bytes(s.to_bytes()) for s in splits] == splits


@pytest.mark.parametrize("table", ["append"], indirect=True)
def test_a_large_split_is_divided_for_several_threads_and_small_ones_are_not(table):
    (split,) = table.scan().splits()
    huge = replace(split, files=tuple(replace(f, file_size=10 << 20) for f in split.files))
    parts = evenly([split, huge], 2)
    assert parts[0] == split
    assert [len(p.files) for p in parts[1:]] == [1] * 6
    assert evenly([split], 2) == [split]


@pytest.mark.parametrize("table", ["append"], indirect=True)
@pytest.mark.parametrize("call", [lambda s: s.splits(target_bytes=0), lambda s: s.to_batches(threads=0)])
def test_numbers_below_1_are_refused(table, call):
    with pytest.raises(InvalidRequest, match="whole number from 1"):
        call(table.scan())


@pytest.mark.parametrize("table", ["append", "keyed"], indirect=True)
def test_a_parallel_read_returns_the_rows_of_a_serial_one(table):
    scan = table.with_options({"source.split.target-size": "1 b"}).scan()
    serial = scan.to_batches(threads=1).read_all()["id"].to_pylist()
    assert scan.to_batches(threads=3, held_bytes=1).read_all()["id"].to_pylist() == serial
    assert sorted(scan.to_batches(ordered=False, threads=3).read_all()["id"].to_pylist()) == sorted(serial)
    limited = replace(scan, limit=3)
    assert limited.to_batches(threads=3).read_all()["id"].to_pylist() == serial[:3]
    stopped = scan.to_batches(threads=3, held_bytes=1)
    stopped.read_next_batch()
    del stopped
    assert not [t for t in threading.enumerate() if t.name == "paimon-read"]
