import bz2
import io
import json
import lzma
import zlib

import fastavro
import pyarrow as pa
import pytest

from paimon_core.codec.avro.container import read_avro, write_avro
from paimon_core.errors import CorruptTable, InvalidOption, InvalidRequest, UnsupportedFeature
from paimon_core.limits import AVRO_DEPTH
from tests.support.long_cases import long_cases

SCHEMA = {
    "type": "record",
    "name": "record",
    "namespace": "org.apache.paimon.avro.generated",
    "fields": [
        {"name": "_KIND", "type": "int"},
        {"name": "_PARTITION", "type": "bytes"},
        {
            "name": "_FILE",
            "type": {
                "type": "record",
                "name": "record__FILE",
                "fields": [
                    {"name": "_FILE_NAME", "type": "string"},
                    {
                        "name": "_NULL_COUNTS",
                        "type": ["null", {"type": "array", "items": ["null", "long"]}],
                        "default": None,
                    },
                    {
                        "name": "_CREATION_TIME",
                        "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}],
                        "default": None,
                    },
                ],
            },
        },
    ],
}


def record(number: int) -> dict:
    return {
        "_KIND": number % 2,
        "_PARTITION": bytes(12),
        "_FILE": {"_FILE_NAME": f"data-{number}", "_NULL_COUNTS": [0, None, number], "_CREATION_TIME": 1700000000000},
    }


RECORDS = [record(number) for number in range(5_000)]
SYNC = b"0123456789abcdef"


def long(value: int) -> bytes:
    value, out = (value << 1) ^ (value >> 63), bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def text(value: bytes) -> bytes:
    return long(len(value)) + value


def container(schema: object, *blocks: bytes, codec: bytes = b"null") -> bytes:
    """Build a container file by hand; a block is its count, its length, its bytes and the sync marker."""
    header = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
    meta = text(b"avro.schema") + text(header) + text(b"avro.codec") + text(codec)
    return b"Obj\x01" + long(2) + meta + long(0) + SYNC + b"".join(blocks)


def block(count: int, packed: bytes) -> bytes:
    return long(count) + text(packed) + SYNC


LONGS = {"type": "record", "name": "r", "fields": [{"name": "n", "type": "long"}]}


@pytest.mark.parametrize("codec", ["zstandard", "zstd", "ZSTD", "deflate", "snappy", "bzip2", "xz", "null", "none"])
def test_records_come_back(codec):
    data = write_avro(SCHEMA, iter(RECORDS), codec)
    assert read_avro(data, "m") == RECORDS
    assert read_avro(write_avro(SCHEMA, [], codec), "m") == []


@pytest.mark.parametrize("codec", ["zstandard", "deflate", "null"])
def test_another_reader_reads_it_and_its_metadata(codec):
    reader = fastavro.reader(io.BytesIO(write_avro(SCHEMA, RECORDS, codec)))
    assert set(reader.metadata) == {"avro.schema", "avro.codec", "paimon-core.crc32"}
    assert json.loads(reader.metadata["avro.schema"]) == SCHEMA
    assert reader.metadata["avro.codec"] == {"null": "deflate"}.get(codec, codec)
    assert [r["_FILE"]["_FILE_NAME"] for r in reader] == [f"data-{number}" for number in range(5_000)]


@pytest.mark.parametrize("codec", ["zstandard", "deflate", "null"])
def test_another_writers_file_is_read(codec):
    out = io.BytesIO()
    fastavro.writer(out, SCHEMA, RECORDS, codec=codec)
    assert read_avro(out.getvalue(), "m") == RECORDS


def test_a_timestamp_stays_the_number_it_is():
    assert read_avro(write_avro(SCHEMA, [record(1)]), "m")[0]["_FILE"]["_CREATION_TIME"] == 1700000000000


def test_blocks_stay_small():
    data = write_avro(SCHEMA, RECORDS, "null")
    sizes = [b.size for b in fastavro.block_reader(io.BytesIO(data))]
    assert len(sizes) > 1
    assert max(sizes) < 80_000


def test_a_file_by_hand():
    assert read_avro(container(LONGS, block(2, long(5) + long(-7)), block(1, long(0))), "m") == [
        {"n": 5},
        {"n": -7},
        {"n": 0},
    ]


@pytest.mark.parametrize("union", [["null", LONGS], [LONGS, "null"]], ids=["null first", "null last"])
def test_records_may_lie_in_a_union_with_null(union):
    """As Paimon wrote them up to 1.0 (format 4.1)."""
    branch = long(union.index(LONGS))
    data = container(union, block(2, branch + long(5) + branch + long(-7)))
    assert read_avro(data, "m") == [{"n": 5}, {"n": -7}]
    null = container(union, block(2, branch + long(5) + long(union.index("null"))))
    with pytest.raises(CorruptTable, match=r"manifest-1.*one of its records is null"):
        read_avro(null, "manifest-1")


@pytest.mark.parametrize("root", ["long", ["null", "long"], ["null"], ["null", LONGS, LONGS], ["null", "null"], []])
def test_a_root_without_one_record_is_refused(root):
    with pytest.raises(CorruptTable, match=r"manifest-1.*its schema is not a record"):
        read_avro(container(root, block(1, long(1) + long(5))), "manifest-1")


def test_metadata_may_carry_the_size_of_its_blocks():
    meta = text(b"avro.schema") + text(json.dumps(LONGS).encode())
    data = b"Obj\x01" + long(-1) + long(len(meta)) + meta + long(0) + SYNC + block(1, long(3))
    assert read_avro(data, "m") == [{"n": 3}]


def test_a_type_may_be_named_again():
    fields = [{"name": "a", "type": {**LONGS, "name": "org.x.pair"}}, {"name": "b", "type": "org.x.pair"}]
    schema = {"type": "record", "name": "r", "fields": fields}
    assert read_avro(container(schema, block(1, long(1) + long(2))), "m") == [{"a": {"n": 1}, "b": {"n": 2}}]


@pytest.mark.parametrize(
    ("items", "packed", "value"),
    [
        ("boolean", b"\x01", True),
        (["null", "long"], b"\x00", None),
        ({"type": "array", "items": "long"}, b"\x00", []),
        ({"type": "enum", "name": "e", "symbols": ["s"]}, b"\x00", "s"),
        ({"type": "fixed", "name": "f", "size": 1}, b"x", b"x"),
    ],
    ids=["boolean", "union", "array", "enum", "fixed"],
)
def test_an_array_of_values_of_one_byte_each_is_read(items, packed, value):
    data = container(field({"type": "array", "items": items}), block(1, long(2) + packed * 2 + b"\x00"))
    assert read_avro(data, "m") == [{"n": [value, value]}]


@pytest.mark.parametrize(("codec", "pack"), [("bzip2", bz2.compress), *long_cases([("xz", lzma.compress)])])
def test_damaged_blocks_of_stream_codecs(codec, pack):
    packed = pack(long(7))
    assert read_avro(container(LONGS, block(1, packed), codec=codec.encode()), "m") == [{"n": 7}]
    for damaged in (packed[:-1], packed + b"x", b"x" + packed[1:], pack(bytes(100 << 20))):
        with pytest.raises(CorruptTable, match=r"^m "):
            read_avro(container(LONGS, block(1, damaged), codec=codec.encode()), "m")


def test_codecs_that_are_not_built_are_named():
    with pytest.raises(InvalidOption, match="lzo"):
        write_avro(SCHEMA, [], "lzo")
    with pytest.raises(UnsupportedFeature, match=r"manifest-1.*lz4"):
        read_avro(container(LONGS, codec=b"lz4"), "manifest-1")
    with pytest.raises(CorruptTable, match=r"manifest-1.*zztandard"):
        read_avro(container(LONGS, codec=b"zztandard"), "manifest-1")


def deflated(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


def nested(depth: int) -> object:
    schema: object = "long"
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return {"type": "record", "name": "r", "fields": [{"name": "n", "type": schema}]}


def field(schema: object) -> dict:
    return {"type": "record", "name": "r", "fields": [{"name": "n", "type": schema}]}


FIFTY_RECORDS = [
    {"type": "record", "name": f"r{n}", "fields": [{"name": "n", "type": f"r{n - 1}" if n else "long"}]}
    for n in range(100)
]
ZSTD = pa.compress(bytes(3), "zstd", asbytes=True)
TOWER = {
    "type": "record",
    "name": "r",
    "fields": [
        {"name": "n", "type": "long"},
        {"name": "r0", "type": {"type": "record", "name": "r0", "fields": []}},
        *(
            {
                "name": f"r{n}",
                "type": {
                    "type": "record",
                    "name": f"r{n}",
                    "fields": [{"name": "a", "type": f"r{n - 1}"}, {"name": "b", "type": f"r{n - 1}"}],
                },
            }
            for n in range(1, 40)
        ),
    ],
}
GARBAGE = {
    "nothing": b"",
    "another magic": b"XXXX" + container(LONGS)[4:],
    "a header cut short": container(LONGS)[:30],
    "a header without end": b"Obj\x01" + b"\xff" * 40,
    "a negative length": b"Obj\x01" + long(1) + long(-5),
    "a metadata value of a tebibyte": b"Obj\x01" + long(1) + text(b"avro.schema") + long(2**40),
    "a header of 17 MiB": container({**LONGS, "doc": "x" * (17 << 20)}),
    "no schema": b"Obj\x01" + long(1) + text(b"avro.codec") + text(b"null") + long(0) + SYNC,
    "a schema that is not JSON": container(b"{"),
    "a schema of 200 kB of [": container(b"[" * 200_000),
    "a schema that is a number": container(b"5"),
    "a schema without fields": container({"type": "record", "name": "r"}),
    "an unknown type": container(field("nosuch"), block(1, long(1))),
    "a schema nested too deep": container(nested(140), block(1, b"\x00")),
    "a schema that contains itself": container(field(["null", "r"]), block(1, b"\x02" * 1_000_000)),
    "a chain of a hundred types": container(field(FIFTY_RECORDS), block(1, b"\x00\x00")),
    "a schema that is no record": container("long", block(1, long(1))),
    "a tower of empty records": container(TOWER, block(1, long(1))),
    "records of no bytes": container(field("null"), block(2**60, b"")),
    "an array of nulls": container(field({"type": "array", "items": "null"}), block(1, long(2**60) + b"\x00")),
    "an array of fixed values of no bytes": container(
        field({"type": "array", "items": {"type": "fixed", "name": "f", "size": 0}}), block(1, long(2**60) + b"\x00")
    ),
    "a block of 2^60 records": container(LONGS, block(2**60, long(1))),
    "a negative count": container(LONGS, block(-1, long(1))),
    "records without bytes": container(LONGS, block(1, b"")),
    "bytes without records": container(LONGS, block(0, long(1))),
    "fewer records than bytes": container(LONGS, block(1, long(1) + long(2))),
    "more records than it claims": container(LONGS, block(1, long(1) + long(1) + long(1))),
    "more records than bytes": container(LONGS, block(2, b"\x80\x01")),
    "a block cut short": container(LONGS, block(2, long(1) + long(2)))[:-17],
    "no sync marker": container(LONGS, block(1, long(1)))[:-16],
    "another sync marker": container(LONGS, block(1, long(1)))[:-16] + bytes(16),
    "bytes after the last block": container(LONGS, block(1, long(1))) + b"x",
    "a string of a tebibyte": container(field("string"), block(1, long(2**40) + b"abc")),
    "a string of negative length": container(field("string"), block(1, long(-2) + b"abc")),
    "text that is not UTF-8": container(field("string"), block(1, text(b"\xff\xfe"))),
    "a union of an unknown branch": container(field(["null", "long"]), block(1, long(7))),
    "deflate garbage": container(LONGS, block(1, b"\xff\xff\xff"), codec=b"deflate"),
    "deflate cut short": container(LONGS, block(3, deflated(bytes(3))[:-1]), codec=b"deflate"),
    "zstd cut short": container(LONGS, block(3, ZSTD[:-4]), codec=b"zstandard"),
    "zstd and more": container(LONGS, block(3, ZSTD + b"x"), codec=b"zstandard"),
    "zstd garbage": container(LONGS, block(1, b"\xff\xff\xff"), codec=b"zstandard"),
    "snappy garbage": container(LONGS, block(1, b"\x05\xff\xff\xff\xff\xff"), codec=b"snappy"),
    "snappy of three bytes": container(LONGS, block(1, b"\x05\xff"), codec=b"snappy"),
    "a snappy size of 32 GB": container(LONGS, block(1, b"\xff\xff\xff\xff\x7f" + bytes(9)), codec=b"snappy"),
}


@pytest.mark.parametrize("data", GARBAGE.values(), ids=GARBAGE.keys())
def test_garbage_is_refused_and_the_path_named(data):
    with pytest.raises(CorruptTable, match="manifest/m-1") as caught:
        read_avro(data, "manifest/m-1")
    assert caught.value.facts["path"] == "manifest/m-1"


PACKED = deflated(text(bytes(30 << 20)))
BOMBS = {
    "in a block": container(field("bytes"), block(1, deflated(text(bytes(70 << 20)))), codec=b"deflate"),
    "in three blocks": container(field("bytes"), *[block(1, PACKED)] * 3, codec=b"deflate"),
    "in snappy": container(LONGS, block(1, b"\xff\xff\xff\x7f" + bytes(9)), codec=b"snappy"),
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS.keys())
def test_a_file_that_unpacks_to_a_thousand_times_its_size_is_refused(bomb):
    assert len(bomb) < 120_000
    with pytest.raises(CorruptTable, match="unpack to more than"):
        read_avro(bomb, "m")


@pytest.mark.parametrize("codec", ["zstandard", "snappy"])
def test_a_flipped_bit_behind_the_header_is_found(codec):
    data = write_avro(SCHEMA, RECORDS[:20], codec)
    start = len(write_avro(SCHEMA, [], codec))
    for bit in range(8 * start, 8 * len(data)):
        torn = bytearray(data)
        torn[bit // 8] ^= 1 << bit % 8
        try:
            assert read_avro(bytes(torn), "m") == RECORDS[:20]
        except CorruptTable:
            continue


@pytest.mark.parametrize("codec", ["zstandard", "deflate", "snappy", "null"])
def test_a_file_cut_short_is_found_unless_the_cut_is_between_blocks(codec):
    data = write_avro(SCHEMA, RECORDS[:3], codec)
    header = len(write_avro(SCHEMA, [], codec))
    for length in range(len(data)):
        if length != header:
            with pytest.raises(CorruptTable):
                read_avro(data[:length], "m")
    assert read_avro(data[:header], "m") == []


def arrays_in_records(levels: int) -> object:
    """Nest arrays in 50 records."""
    schema: object = "long"
    for _ in range(levels - 50):
        schema = {"type": "array", "items": schema}
    for number in range(50):
        schema = {"type": "record", "name": f"r{number}", "fields": [{"name": "n", "type": schema}]}
    return schema


def unions_in_arrays(levels: int) -> object:
    """Nest a union and its array, two levels at a time, in a record."""
    schema: object = "long"
    for _ in range(levels // 2):
        schema = ["null", {"type": "array", "items": schema}]
    return field(schema)


@pytest.mark.parametrize(
    ("schema", "deeper"),
    [
        (nested(AVRO_DEPTH - 1), nested(AVRO_DEPTH)),
        (arrays_in_records(AVRO_DEPTH), arrays_in_records(AVRO_DEPTH + 1)),
        (unions_in_arrays(AVRO_DEPTH - 2), unions_in_arrays(AVRO_DEPTH + 1)),
    ],
    ids=["arrays", "records", "unions"],
)
def test_a_schema_nests_as_deep_as_the_limit_and_not_deeper(schema, deeper):
    assert read_avro(container(schema), "m") == []
    with pytest.raises(CorruptTable, match="nests deeper than"):
        read_avro(container(deeper), "m")


@pytest.mark.parametrize("codec", ["zstandard", "deflate", "snappy", "null"])
def test_a_flipped_bit_anywhere_is_found_in_every_codec(codec):
    data = write_avro(SCHEMA, RECORDS[:3], codec)
    for at in range(len(data)):
        bad = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        try:
            assert read_avro(bad, "m") == RECORDS[:3]
        except CorruptTable:
            continue


def test_more_records_than_the_size_of_a_file_can_name_are_neither_written_nor_read():
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]}
    with pytest.raises(InvalidRequest, match="an Avro file has 20000 records, the limit is 16384"):
        write_avro(schema, ({"a": 0} for _ in range(20_000)))
    out = io.BytesIO()
    fastavro.writer(out, schema, ({"a": 0} for _ in range(20_000)), codec="deflate")
    with pytest.raises(CorruptTable, match="states more than 16384 records"):
        read_avro(out.getvalue(), "m")


def test_a_row_of_very_many_values_is_neither_written_nor_read():
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": {"type": "array", "items": "int"}}]}
    with pytest.raises(InvalidRequest, match=r"a row for an Avro file is too large: .* more than 524288 values"):
        write_avro(schema, [{"a": [0] * (1 << 20)}])
    out = io.BytesIO()
    fastavro.writer(out, schema, [{"a": [0] * (1 << 20)}], codec="deflate")
    with pytest.raises(CorruptTable, match="more than 524288 values"):
        read_avro(out.getvalue(), "m")


def test_a_block_of_several_megabytes_comes_back():
    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "a", "type": "string"}, {"name": "b", "type": "bytes"}],
    }
    rows = [{"a": "x" * (2 << 20), "b": b"y"}, {"a": "", "b": b"z" * (3 << 20)}]
    assert read_avro(write_avro(schema, rows), "m") == rows
