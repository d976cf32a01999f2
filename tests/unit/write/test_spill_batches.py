import datetime
import random

import pyarrow as pa
import pytest

from paimon_core.write import spill_batches
from paimon_core.write.spill_batches import BatchWriter, read_batch

ROWS = 10_000
RANDOM = random.Random(7)
ZSTD = pa.Codec("zstd", compression_level=1)
NOISE = [RANDOM.getrandbits(63) for _ in range(ROWS)]


def stored(path, batches, codec=ZSTD):
    """Write the batches, check that they are read as they were, and return what is known of them."""
    with pa.OSFile(str(path), "wb") as sink:
        writer = BatchWriter(sink, codec)
        found = [writer.write(batch) for batch in batches]
    with pa.OSFile(str(path)) as source:
        for known, batch in reversed([*zip(found, batches, strict=True)]):  # in any order
            again = read_batch(source, batch.schema, known)
            again.validate(full=True)
            assert again.equals(batch)
            assert again.schema.equals(batch.schema, check_metadata=True)
    return found


def batch_of(**columns):
    return pa.record_batch(columns)


@pytest.mark.parametrize("codec", [ZSTD, pa.Codec("lz4"), None])
def test_values_of_all_types_come_back(tmp_path, codec):
    day = datetime.datetime(2024, 2, 29, 1)
    values = {
        "n": pa.array([1, None, -5], pa.int64()),
        "far": pa.array([-(2**63), 2**63 - 1, None], pa.int64()),
        "near": pa.array([2**63 - 1, 2**63 - 200, None], pa.int64()),
        "i": pa.array([2**31 - 1, -(2**31), 0], pa.int32()),
        "small": pa.array([None, -7, 100], pa.int32()),
        "short": pa.array([1, 2, None], pa.int16()),
        "u": pa.array([1, 2**64 - 1, None], pa.uint64()),
        "ts": pa.array([day, None, day], pa.timestamp("us")),
        "zone": pa.array([day, None, day], pa.timestamp("ns", "UTC")),
        "date": pa.array([day.date(), None, datetime.date(1, 1, 1)], pa.date32()),
        "time": pa.array([datetime.time(1), None, datetime.time(2)], pa.time32("ms")),
        "f": pa.array([float("inf"), None, -0.0]),
        "none": pa.nulls(3, pa.int64()),
        "flag": pa.array([True, None, False]),
        "decimal": pa.array([1, None, 2], pa.decimal128(20, 3)),
        "text": pa.array(["a", None, ""]),
        "bytes": pa.array([b"\0", None, b""]),
        "list": pa.array([[1, None], None, []], pa.list_(pa.int64())),
        "row": pa.array([{"a": 1}, None, {"a": None}], pa.struct([("a", pa.int64())])),
        "map": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())),
        "dictionary": pa.array(["x", None, "x"]).dictionary_encode(),
    }
    whole = pa.record_batch(values).replace_schema_metadata({"k": "v"})
    stored(tmp_path / "run", [whole, whole.slice(1), whole.slice(1, 1), whole.slice(3)], codec)


def test_random_integers_of_any_range_come_back(tmp_path):
    for bits in range(1, 64):
        low = RANDOM.randrange(-(2**63), 2**63 - 2**bits + 1)
        values = [RANDOM.choice([None, low, low + 2**bits - 1, low + RANDOM.getrandbits(bits)]) for _ in range(50)]
        batches = [batch_of(n=pa.array(values, pa.int64())), batch_of(n=pa.array(values[::-1], pa.int64()))]
        stored(tmp_path / "run", batches)


@pytest.mark.parametrize(("span", "width"), [(0, 1), (255, 1), (256, 2), (65_536, 4), (2**32 - 1, 4), (2**32, 8)])
def test_integers_take_the_bytes_of_their_range(tmp_path, span, width, monkeypatch):
    monkeypatch.setattr(spill_batches, "_SHRINKS", 1000)  # nothing is compressed
    path = tmp_path / "run"
    values = [5, *(5 + noise % (span + 1) for noise in NOISE), 5 + span]
    stored(path, [batch_of(n=pa.array(values))])
    assert 0 <= path.stat().st_size - width * len(values) < 1000


def test_what_compression_does_not_halve_is_not_compressed(tmp_path):
    path = tmp_path / "run"
    noise = pa.array([float(n) for n in NOISE])
    (found,) = stored(path, [batch_of(noise=noise, text=pa.array(["same text"] * ROWS))])
    assert [column.part for column in found.columns] == [0, 1]
    assert path.stat().st_size < noise.nbytes + 4 * ROWS
    (found,) = stored(path, [batch_of(noise=noise, text=pa.array(["same text"] * ROWS))], None)
    assert [column.part for column in found.columns] == [0, 0]
    assert path.stat().st_size > noise.nbytes + 9 * ROWS


def test_small_batches_are_compressed_without_a_sample(tmp_path, monkeypatch):
    monkeypatch.setattr(spill_batches, "_body_bytes", None)
    (found,) = stored(tmp_path / "run", [batch_of(noise=pa.array(NOISE[:4000]))])
    assert [column.part for column in found.columns] == [1]


def test_the_first_batch_decides_for_the_run(tmp_path):
    same, noise = (pa.array([float(n) for n in numbers]) for numbers in ([1] * ROWS, NOISE))
    for batches, part in (([same, noise], 1), ([noise, same], 0)):
        found = stored(tmp_path / "run", [batch_of(n=values) for values in batches])
        assert [known.columns[0].part for known in found] == [part, part]


def test_a_column_that_is_the_same_memory_is_stored_once(tmp_path):
    key, text = pa.array(NOISE), pa.array([f"{n}" for n in NOISE])
    (once,) = stored(tmp_path / "once", [batch_of(k=key, t=text)])
    twice, apart = stored(
        tmp_path / "twice", [batch_of(a=key, b=text, k=key, t=text), batch_of(a=key, b=text, k=key.slice(0), t=text)]
    )
    assert twice.columns == apart.columns == (*once.columns, *once.columns)
    other = pa.array(NOISE)
    (found,) = stored(tmp_path / "other", [batch_of(a=key, k=other)])
    assert found.columns[0] != found.columns[1]
    with pa.OSFile(str(tmp_path / "twice")) as source:
        again = read_batch(source, batch_of(a=key, b=text, k=key, t=text).schema, twice)
    assert again["a"].buffers()[1].address == again["k"].buffers()[1].address


def test_slices_of_one_array_are_not_the_same_column(tmp_path):
    values = pa.array(range(10))
    (found,) = stored(tmp_path / "run", [batch_of(a=values.slice(0, 5), b=values.slice(5))])
    assert found.columns[0] != found.columns[1]


def test_a_file_that_ends_too_early_is_an_error_of_arrow(tmp_path):
    path, batch = tmp_path / "run", batch_of(n=pa.array(NOISE))
    (known,) = stored(path, [batch])
    for size in (0, 8, 200, path.stat().st_size - ROWS):
        path.write_bytes(path.read_bytes()[:size])
        with pa.OSFile(str(path)) as source, pytest.raises((OSError, pa.ArrowException)):
            read_batch(source, batch.schema, known)
