import pyarrow as pa

from paimon_core.lsm.engines.deduplicate import Deduplicate
from paimon_core.lsm.order import MergeOrder
from paimon_core.lsm.write_buffer import WriteBuffer


def rows(keys, first):
    return pa.table(
        {
            "_KEY_k": pa.array(keys, pa.int64()),
            "_SEQUENCE_NUMBER": pa.array(range(first, first + len(keys)), pa.int64()),
            "_VALUE_KIND": pa.array([0] * len(keys), pa.int8()),
        }
    )


def test_it_fills_and_drains_to_the_last_row_of_each_key():
    buffer = WriteBuffer(["_KEY_k"], MergeOrder(), Deduplicate(), limit_bytes=68)
    assert buffer.drain() is None
    buffer.add(rows([3, 1], first=0))
    assert (buffer.nbytes, buffer.is_full) == (34, False)
    buffer.add(rows([3, 2], first=2))
    assert (buffer.nbytes, buffer.is_full) == (68, True)
    assert buffer.drain().to_pydict() == {"_KEY_k": [1, 2, 3], "_SEQUENCE_NUMBER": [1, 3, 2], "_VALUE_KIND": [0, 0, 0]}
    assert (buffer.nbytes, buffer.is_full, buffer.drain()) == (0, False, None)


def test_no_rows_add_nothing():
    buffer = WriteBuffer(["_KEY_k"], MergeOrder(), Deduplicate(), limit_bytes=1)
    buffer.add(rows([], first=0))
    assert buffer.drain() is None
