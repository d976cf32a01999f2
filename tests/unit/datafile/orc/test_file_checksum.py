import io
import zlib

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyarrow import orc

from paimon_core.datafile.orc import file_checksum
from paimon_core.datafile.orc.file_checksum import ChecksumSink, verified
from paimon_core.errors import CorruptTable
from tests.support.data_files import STORAGE, Bucket, schema_of

ROWS = pa.table({"k": list(range(5000)), "s": [f"text {n % 7}" for n in range(5000)]})


def sealed(rows=ROWS, piece=None):
    whole, out = pa.BufferOutputStream(), pa.BufferOutputStream()
    orc.write_table(rows, whole, compression="zstd")
    data = whole.getvalue().to_pybytes()
    gate = ChecksumSink(out)
    for start in range(0, len(data), piece or len(data)):
        gate.write(data[start : start + (piece or len(data))])
    gate.seal()
    return data, out.getvalue().to_pybytes()


@pytest.mark.parametrize("piece", [1, 7, 255, 256, 257, 1000, None])
def test_the_file_is_the_same_but_for_the_checksum_whatever_the_pieces(piece):
    plain, data = sealed(piece=piece)
    assert data.startswith(plain[:-8])
    assert len(data) == len(plain) + 16
    assert data[-8:-1] == plain[-8:-1] == b"\x82\xf4\x03\x03ORC"
    assert data[-1] == plain[-1] + 16
    assert int.from_bytes(data[-12:-8], "little") == zlib.crc32(data[:-12] + data[-8:])
    assert verified(pa.BufferReader(data))[1]
    assert not verified(pa.BufferReader(plain))[1]


def test_other_readers_skip_the_checksum():
    _, data = sealed()
    assert orc.ORCFile(pa.BufferReader(data)).read().equals(ROWS)
    assert ds.OrcFileFormat().make_fragment(pa.BufferReader(data)).to_table().equals(ROWS)
    assert orc.read_table(pa.BufferReader(data), columns=["s"]).equals(ROWS.select(["s"]))


def test_every_bit_counts_but_those_of_the_name():
    _, data = sealed(ROWS.slice(0, 3))
    missed = set()
    for bit in range(8 * len(data)):
        bad = bytearray(data)
        bad[bit // 8] ^= 1 << bit % 8
        try:
            assert not verified(pa.BufferReader(bytes(bad)))[1]
        except ValueError:
            continue
        missed.add(bit // 8)
    assert missed == set(range(len(data) - 20, len(data) - 12))


def test_a_large_file_is_read_in_chunks_and_a_small_one_once(monkeypatch):
    asked = []

    class Counted(io.BytesIO):
        def read(self, size=-1):
            asked.append((self.tell(), size))
            return super().read(size)

    _, data = sealed()
    small, is_sealed = verified(pa.PythonFile(Counted(data), mode="r"))
    assert is_sealed
    assert isinstance(small, pa.BufferReader)
    assert asked == [(0, len(data))]
    monkeypatch.setattr(file_checksum, "HELD_BYTES", 0)
    monkeypatch.setattr(file_checksum, "_CHUNK_BYTES", 128)
    asked.clear()
    large = pa.PythonFile(Counted(data), mode="r")
    assert verified(large) == (large, True)
    assert max(size for _, size in asked) == 128
    assert sum(size for _, size in asked) == len(data) - 12 + 20


def test_a_file_that_is_dropped_writes_no_more():
    out = pa.BufferOutputStream()
    gate = ChecksumSink(out)
    gate.write(bytes(1000))
    before = out.tell()
    gate.drop()
    out.close()
    gate.write(bytes(1000))
    assert before == 744
    assert len(out.getvalue()) == 744


def test_a_post_script_without_room_is_refused():
    gate = ChecksumSink(pa.BufferOutputStream())
    gate.write(b"ORC" + bytes(250) + bytes([250]))
    with pytest.raises(ValueError, match="no room for a checksum"):
        gate.seal()


@pytest.mark.parametrize("held", [0, 1 << 20])
def test_a_file_of_ours_is_verified_before_it_is_opened(monkeypatch, held):
    monkeypatch.setattr(file_checksum, "HELD_BYTES", held)
    bucket = Bucket(schema_of({"k": "BIGINT", "s": "STRING"}, options={"file.format": "orc"}))
    (file,) = bucket.write(ROWS)
    assert bucket.read(file).equals(ROWS)
    data = bytearray(STORAGE.read(bucket.path(file)))
    data[100] ^= 1
    STORAGE.overwrite(bucket.path(file), bytes(data))
    with pytest.raises(CorruptTable, match=r"data-.*\.orc does not decode: it does not match the recorded checksum"):
        bucket.read(file)
    with pytest.raises(CorruptTable, match="it does not match the recorded checksum"):
        bucket.read(file, [])
    (log,) = bucket.write(ROWS, changelog=True)
    assert verified(STORAGE.open_input(bucket.path(log)))[1]
