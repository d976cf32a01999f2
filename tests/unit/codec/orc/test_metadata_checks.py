import pyarrow as pa
import pytest
from pyarrow import orc

from paimon_core.codec.orc.metadata_checks import check_metadata

STRIPE_FOOTER = bytes.fromhex(
    "0a 06 08 06 10 00 18 09 0a 06 08 06 10 01 18 18 0a 06 08 06 10 02 18 23 0a 06 08 06 10 03 18 11 0a 06 08 06 10 04"
    "18 18 0a 06 08 06 10 05 18 1f 0a 06 08 06 10 06 18 14 0a 06 08 01 10 01 18 04 0a 06 08 02 10 02 18 04 0a 07 08 01"
    "10 02 18 88 0e 0a 06 08 02 10 03 18 04 0a 06 08 01 10 04 18 04 0a 07 08 01 10 05 18 b1 06 0a 06 08 05 10 05 18 04"
    "0a 06 08 01 10 06 18 04 12 04 08 00 10 00 12 04 08 02 10 00 12 04 08 02 10 00 12 04 08 02 10 00 12 04 08 02 10 00"
    "12 04 08 02 10 00 12 04 08 00 10 00 1a 03 47 4d 54"
)
FOOTER = bytes.fromhex(
    "08 03 10 9a 17 1a 0e 08 03 10 a0 01 18 d1 14 20 a9 01 28 ac 02 22 1e 08 0c 12 05 01 02 03 05 06 1a 01 6b 1a 01 73"
    "1a 01 6c 1a 01 64 1a 01 62 20 00 28 00 30 00 22 08 08 04 20 00 28 00 30 00 22 08 08 07 20 00 28 00 30 00 22 0b 08"
    "0a 12 01 04 20 00 28 00 30 00 22 08 08 04 20 00 28 00 30 00 22 08 08 0e 20 00 28 0c 30 02 22 08 08 00 20 00 28 00"
    "30 00 30 ac 02 3a 05 08 ac 02 50 00 3a 10 08 ac 02 12 09 08 00 10 d6 04 18 e4 bc 05 50 00 3a 1a 08 ac 02 22 13 0a"
    "06 74 65 78 74 20 30 12 06 74 65 78 74 20 36 18 90 1c 50 00 3a 09 08 ac 02 50 00 62 02 18 00 3a 10 08 ac 02 12 09"
    "08 00 10 d6 04 18 e4 bc 05 50 00 3a 16 08 ac 02 32 0f 0a 01 30 12 03 32 39 39 1a 05 34 34 38 35 30 50 00 3a 0b 08"
    "ac 02 2a 04 0a 02 96 01 50 00 40 90 4e 48 01 62 05 32 2e 32 2e 32"
)
POST_SCRIPT = bytes.fromhex("08 fa 01 10 00 18 80 80 04 22 02 00 0c 28 79 30 06 82 f4 03 03 4f 52 43")
WHOLE = b"ORC" + bytes(160 + 2641) + STRIPE_FOOTER + bytes(121) + FOOTER + POST_SCRIPT + bytes([len(POST_SCRIPT)])
"""A file of ``ROWS`` without packing, as pyarrow 26 writes it, with zeros in place of data, indexes and statistics."""

ROWS = pa.table(
    {
        "k": list(range(300)),
        "s": [f"text {n % 7}" for n in range(300)],
        "l": [[n] for n in range(300)],
        "d": pa.array(range(300), pa.decimal128(12, 2)),
        "b": [n % 2 == 0 for n in range(300)],
    }
)


def orc_file(codec="uncompressed", rows=ROWS, **settings):
    sink = pa.BufferOutputStream()
    orc.write_table(rows, sink, compression=codec, **settings)
    return sink.getvalue().to_pybytes()


def check(data):
    check_metadata(pa.BufferReader(data))


@pytest.mark.parametrize("codec", ["uncompressed", "zlib", "snappy", "lz4", "zstd"])
def test_whole_files_of_every_codec_pass(codec):
    check(orc_file(codec))
    check(orc_file(codec, ROWS.slice(0, 0)))
    check(orc_file(codec, dictionary_key_size_threshold=1.0, bloom_filter_columns=[0, 1]))


@pytest.mark.parametrize("codec", ["zlib", "snappy", "lz4", "zstd"])
def test_a_footer_that_does_not_unpack(codec):
    data = bytearray(orc_file(codec))
    footer = orc.ORCFile(pa.BufferReader(bytes(data))).file_footer_length
    start = len(data) - 1 - data[-1] - footer
    data[start + 3 : start + footer] = b"\xff" * (footer - 3)
    with pytest.raises(ValueError, match=r"metadata|footer"):
        check(bytes(data))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("08 fa 01 10 00", "08 fa 7f 10 00", r"a footer of 16378 bytes"),
        ("08 fa 01 10 00", "08 fa 01 10 06", r"the codec 6"),
        ("08 fa 01 10 00", "08 fa 01 50 00", r"0 protobuf fields 2"),
        ("18 80 80 04 22", "18 80 80 00 22", r"blocks of 0 bytes"),
        ("82 f4 03 03 4f 52 43", "82 f4 03 03 4f 52 42", r"no magic bytes"),
        ("08 0c 12 05 01 02 03 05 06", "08 0a 12 05 01 02 03 05 06", r"of the kind 10 with 5 members"),
        ("08 0c 12 05 01 02 03 05 06", "08 0c 12 05 01 02 03 05 07", r"a type 6 without a parent"),
        ("08 0c 12 05 01 02 03 05 06", "08 0c 12 05 01 02 02 05 06", r"a type 3 without a parent"),
        ("08 0c 12 05 01 02 03 05 06", "08 0c 12 05 00 02 03 05 06", r"which is not a tree"),
        ("08 0c 12 05 01 02 03 05 06", "08 0c 12 05 02 01 03 05 06", r"which is not a tree"),
        ("08 0a 12 01 04", "08 04 12 01 04", r"of the kind 4 with 1 members"),
        ("08 0a 12 01 04", "08 0b 12 01 04", r"of the kind 11 with 1 members"),
        ("08 0a 12 01 04", "08 0a 12 01 07", r"a type 4 without a parent"),
        ("08 07 20 00 28 00", "08 1b 20 00 28 00", r"of the kind 27"),
        ("08 0e 20 00 28 0c 30 02", "08 0e 20 00 28 27 30 02", r"DECIMAL\(39, 2\)"),
        ("1a 01 6b 1a 01 73", "1a 01 ff 1a 01 73", r"can't decode byte 0xff"),
        ("22 08 08 00 20 00 28 00 30 00", "3a 08 08 00 20 00 28 00 30 00", r"a type 6|6 types"),
        ("3a 05 08 ac 02 50 00", "4a 05 08 ac 02 50 00", r"6 statistics of 7 types"),
        ("08 03 10 a0 01 18 d1 14", "08 02 10 a0 01 18 d1 14", r"a stripe of 2970 bytes at 2"),
        ("08 03 10 a0 01 18 d1 14", "08 04 10 a0 01 18 d1 7f", r"a stripe of \d+ bytes at 4"),
        ("18 d1 14 20 a9 01", "18 d0 14 20 aa 01", r"protobuf|streams of"),
        ("28 ac 02 22", "28 ad 02 22", r"states 300 rows, and its stripes have 301"),
        ("08 05 10 05 18 04", "08 05 10 07 18 04", r"invalid or repeated stream of the kind 5 for column 7"),
        ("08 05 10 05 18 04", "08 0a 10 05 18 04", r"invalid or repeated stream of the kind 10 for column 5"),
        ("08 05 10 05 18 04", "08 01 10 05 18 04", r"invalid or repeated stream of the kind 1 for column 5"),
        ("08 05 10 05 18 04", "08 05 10 05 18 05", r"streams of 2642 bytes and 160 of indexes, not 2641 and 160"),
        ("18 14 0a 06 08 01 10 01", "18 13 0a 06 08 01 10 01", r"streams of 2641 bytes and 159 of indexes"),
        ("12 04 08 00 10 00 12 04 08 02 10 00", "12 04 08 01 10 00 12 04 08 02 10 00", r"the encoding 1 for the kind"),
        ("12 04 08 00 10 00 12 04 08 02 10 00", "12 04 08 00 10 00 12 04 08 00 10 00", r"or encodings of two versions"),
        ("12 04 08 00 10 00 12 04 08 02 10 00", "12 04 08 00 10 00 12 04 08 03 10 00", r"the encoding 3 for the kind"),
        ("12 04 08 00 10 00 1a 03 47", "32 04 08 00 10 00 1a 03 47", r"6 encodings for 7 types"),
        ("1a 03 47 4d 54", "1a 04 47 4d 54", r"truncated"),
    ],
)
def test_a_changed_byte(old, new, message):
    check(WHOLE)
    was = bytes.fromhex(old)
    assert WHOLE.count(was) == 1
    with pytest.raises(ValueError, match=message):
        check(WHOLE.replace(was, bytes.fromhex(new)))


def test_bytes_that_are_no_orc_file():
    for data in (b"", b"O", b"ORC", b"ORC\xff", WHOLE[:-1]):
        with pytest.raises(ValueError, match=r"ORC file|protobuf|metadata"):
            check(data)
