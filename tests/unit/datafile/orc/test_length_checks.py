"""How many rows of an ORC file are decoded at a time: by the lengths of its texts and lists, before memory is taken."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pyarrow.orc as orc
import pytest

from paimon_core.codec.orc.length_checks import rows_within
from paimon_core.codec.orc.metadata_checks import check_metadata, unpacked
from paimon_core.codec.orc.run_lengths import lengths
from paimon_core.errors import CorruptTable, InvalidRequest
from tests.support.data_files import STORAGE, Bucket, schema_of

TEXT = Bucket(schema_of({"s": "STRING"}, options={"file.format": "orc"}))
LIST = Bucket(schema_of({"s": {"type": "ARRAY", "element": "BIGINT"}}, options={"file.format": "orc"}))


def written(table, **settings):
    sink = pa.BufferOutputStream()
    orc.write_table(table, sink, **settings)
    return sink.getvalue().to_pybytes()


def batch_sizes(bucket, data, rows, most=3):
    file = bucket.put_bytes(data, rows, "f.orc")
    return [len(batch) for batch, _ in zip(bucket.batches(file), range(most), strict=False)]


@pytest.mark.parametrize("codec", ["zstd", "snappy", "zlib", "lz4", "uncompressed"])
def test_texts_that_a_dictionary_repeats_are_decoded_in_small_batches(codec):
    table = pa.table({"s": pa.array(["x" * 50_000] * 3000)})
    data = written(table, compression=codec, dictionary_key_size_threshold=1.0)
    assert len(data) < 400_000
    assert batch_sizes(TEXT, data, 3000) == [41, 41, 41]


def test_texts_without_a_dictionary_and_lists_are_decoded_in_small_batches():
    table = pa.table({"s": pa.array(["x" * 50_000] * 3000)})
    assert batch_sizes(TEXT, written(table, compression="zstd"), 3000) == [41, 41, 41]
    lists = pa.table({"s": [[7] * 100_000] * 50})
    assert batch_sizes(LIST, written(lists, compression="zstd"), 50) == [1, 1, 1]
    assert batch_sizes(TEXT, written(pa.table({"s": ["ab"] * 9000})), 9000) == [9000]


def test_a_list_of_very_many_values_in_a_few_bytes_is_refused_when_read_and_when_written():
    lists = pa.table({"s": pa.array([[7] * 9_000_000], pa.list_(pa.int64()))})
    with pytest.raises(CorruptTable, match="has a list of 9000000 values"):
        batch_sizes(LIST, written(lists, compression="zstd"), 1)
    with pytest.raises(InvalidRequest, match="a value of column 's' has 9000000 members"):
        LIST.write(lists)


def test_lengths_that_the_stream_of_texts_cannot_hold_are_refused():
    texts = ["x" * 1000] * 3 + ["y" * 1000] * 3
    data = written(pa.table({"s": texts}), compression="uncompressed")
    source = pa.BufferReader(data)
    (stripe,) = check_metadata(source).stripes
    at, length = stripe.streams[1, 2]
    # A run of six equal numbers, 1000 in two bytes.
    assert data[at : at + length] == bytes([0x0B, 0x03, 0xE8])
    wrong = data[:at] + bytes([0x0B, 0xFF, 0xFF]) + data[at + 3 :]
    with pytest.raises(
        CorruptTable,
        match="have 393210 bytes by their lengths, and the stream with them has 6000",
    ):
        batch_sizes(TEXT, wrong, 6)


CHANCE = random.Random(1)
NUMBERS = [
    [5] * 700,
    list(range(1000)),
    list(range(2000, 0, -3)),
    [CHANCE.randrange(50) for _ in range(1500)],
    [CHANCE.randrange(50) if n % 40 else 100_000 for n in range(1500)],
    sorted(CHANCE.randrange(3000) for _ in range(1200)),
    [0, 0, 1, 7, 7, 7, 7, 300, 2, 65_000],
]


@pytest.mark.parametrize("numbers", NUMBERS, ids=range(len(NUMBERS)))
@pytest.mark.parametrize("version", ["0.11", "0.12"])
def test_the_sum_of_lengths_is_that_of_the_texts(numbers, version):
    texts = pa.array(["x" * n for n in numbers])
    source = pa.BufferReader(written(pa.table({"s": texts}), compression="zlib", file_version=version))
    metadata = check_metadata(source)
    (stripe,) = metadata.stripes
    stream = stripe.streams[1, 2]
    data = unpacked(source.read_at(stream.length, stream.start), metadata.codec, metadata.block)
    found = lengths(data, len(numbers), version=1 if version == "0.11" else 2)
    assert (found.number, found.total) == (len(numbers), sum(numbers))
    assert max(numbers) <= found.longest <= 2 * max(numbers) + 1
    assert rows_within(source, metadata, ["s"], 1 << 30) == 1 << 30


@pytest.mark.parametrize("data", ["", "0b", "0bff", "5f", "8e09", "c0", "ff", "c60980"])
@pytest.mark.parametrize("version", [1, 2])
def test_lengths_that_end_early_are_refused(data, version):
    raw = bytes.fromhex(data)
    if not raw:
        assert lengths(raw, 5, version=version) == (0, 0, 0)
        return
    with pytest.raises((ValueError, IndexError)):
        lengths(raw, 5, version=version)


@pytest.mark.parametrize(("data", "version"), [("c01d0101", 2), ("c2020103c0", 2), ("02ff00", 1)])
def test_negative_lengths_are_refused(data, version):
    """Arrow takes their sum for the bytes of the texts, and writes beyond its memory."""
    with pytest.raises(ValueError, match="a stream of lengths contains the negative length -"):
        lengths(bytes.fromhex(data), 30, version=version)


def test_a_dictionary_with_more_texts_than_lengths_is_refused():
    data = written(pa.table({"s": ["ab", "cd"] * 50}), compression="uncompressed", dictionary_key_size_threshold=1.0)
    source = pa.BufferReader(data)
    metadata = check_metadata(source)
    (stripe,) = metadata.stripes
    wrong = stripe._replace(encodings=[e._replace(size=2**31) if e.size else e for e in stripe.encodings])
    with pytest.raises(ValueError, match="a dictionary of 2147483648 texts has 2 lengths"):
        rows_within(source, metadata._replace(stripes=[wrong]), ["s"], 1 << 20)


def test_what_the_writer_writes_is_readable():
    rows = 2_000_000
    lists = pa.ListArray.from_arrays(np.arange(0, 10 * rows + 1, 10, dtype=np.int32), np.zeros(10 * rows, np.int64))
    (file,) = LIST.write(pa.table({"s": lists}))
    assert STORAGE.open_input(LIST.path(file)).size() < 1 << 20
    assert sum(len(batch) for batch in LIST.batches(file)) == rows
