"""The command that prints the last changes of a table (resembles issue 29)."""

import json

import pyarrow as pa
import pytest

from paimon_core.cli.rows.tails import last_rows


def test_tail_prints_the_last_changes(orders, command):
    code, out = command("tail", "shop.orders", "-n", 2, "--columns", "day,id", "--json")
    assert code == 0
    assert [(row["rowkind"], row["day"], row["id"]) for row in json.loads(out)] == [("+U", "mon", 2), ("+I", "tue", 9)]


@pytest.mark.parametrize("count", [0, 1, 4, 5, 9, 100])
def test_the_last_rows_of_batches(count):
    schema = pa.schema({"n": pa.int64()})
    batches = [pa.record_batch({"n": pa.array(part, pa.int64())}) for part in ([0, 1, 2], [], [3, 4, 5, 6], [7, 8])]
    assert last_rows(iter(batches), schema, count)["n"].to_pylist() == list(range(9))[max(0, 9 - count) :]


def test_tail_takes_rows_of_several_snapshots(orders, command):
    code, out = command("tail", "shop.orders", "-n", "4", "--columns", "id", "--json")
    assert (code, [row["_SNAPSHOT_ID"] for row in json.loads(out)]) == (0, [1, 2, 2, 2])
