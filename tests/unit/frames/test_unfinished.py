"""Streams that end before the interpreter does."""

import threading
import time

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.frames.dataset import PaimonDataset
from paimon_core.frames.unfinished import Unfinished, stop_streams

BATCH = pa.record_batch({"n": [1]})


def test_a_stop_waits_for_the_batch_that_is_read_and_lets_no_other_begin():
    began, events = threading.Event(), []

    def batches():
        began.set()
        time.sleep(0.1)
        events.append("read")
        yield BATCH
        events.append("another batch")
        yield BATCH

    stream = Unfinished(batches())
    found = []
    thread = threading.Thread(target=lambda: found.extend(stream))
    thread.start()
    began.wait()
    assert stream.stop() is True
    assert events == ["read"]
    thread.join()
    assert found == [BATCH]
    assert events == ["read"]
    assert stream.stop() is False


def test_a_stream_that_has_ended_or_failed_has_no_more_batches():
    assert len(list(ended := Unfinished([BATCH]))) == 1

    def failing():
        yield BATCH
        raise ValueError("broken")

    failed = Unfinished(failing())
    with pytest.raises(ValueError, match="broken"):
        list(failed)
    assert (ended.stop(), failed.stop()) == (False, False)


def test_the_readers_of_a_dataset_end_with_the_process(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("d")
    table = catalog.create_table("d.t", {"n": "INT"})
    table.write([{"n": 1}])
    scanner = PaimonDataset(table.scan()).scanner()
    stop_streams()
    assert scanner.to_table().num_rows == 0
