"""Mutators of Avro, Parquet and ORC files: they change the parts inside, and write checksums that match."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any

from paimon_core.codec.avro.block_codecs import CODECS, zstd
from paimon_core.codec.avro.container import AvroReader
from paimon_core.codec.parquet.footer_checksum import sealed
from paimon_core.codec.parquet.thrift import BINARY, I32, I64, LIST, STRUCT, Struct, parse_struct, serialize_struct
from paimon_core.datafile.orc.file_checksum import ChecksumSink
from paimon_core.datafile.parquet.footer import file_end, footer_of
from tests.fuzz.mutators import MOST_BYTES, of_bytes, of_json

_LONG_BYTES = 32 << 20
"""About the most bytes of a block before it is packed."""
_SYNC = b"0123456789abcdef"
_BOMB_BYTES = {"zstandard": 300 << 20, "deflate": 100 << 20, "snappy": 300 << 20}
_EDGES = (0, 1, -1, 2, 63, 64, 127, 2**31 - 1, -(2**31), 2**31, 2**40, 2**62, 2**63 - 1, -(2**63))


def avro_long(value: int) -> bytes:
    """Encode an Avro long, negative ones too."""
    out = bytearray()
    number = (value << 1) ^ (value >> 63)
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def avro_file(schema: bytes, codec: str, blocks: Sequence[tuple[int, bytes]], *, pack: bool = True) -> bytes:
    """Return a container file of blocks, given as (count, data); ``pack``: the data is packed first."""
    meta = [(b"avro.schema", schema), (b"avro.codec", codec.encode())]
    parts = [b"Obj\x01", avro_long(len(meta))]
    for key, value in meta:
        parts += [avro_long(len(key)), key, avro_long(len(value)), value]
    parts += [avro_long(0), _SYNC]
    for count, block in blocks:
        data = CODECS[codec].pack(block) if pack else block
        parts += [avro_long(count), avro_long(len(data)), data, _SYNC]
    return b"".join(parts)


@cache
def bomb(codec: str, fill: int) -> bytes:
    """Return a short packed block of very many equal bytes."""
    piece = bytes([fill]) * (1 << 20)
    if codec == "snappy":
        size, out = _BOMB_BYTES[codec], bytearray()
        while size > 0x7F:
            out.append(size & 0x7F | 0x80)
            size >>= 7
        return bytes([*out, size]) + b"\0" + bytes([fill]) + b"\xfe\x01\0" * 2000 + bytes(4)
    stream: Any = zlib.compressobj(wbits=-15) if codec == "deflate" else zstd.ZstdCompressor()
    packed = b"".join(stream.compress(piece) for _ in range(_BOMB_BYTES[codec] >> 20))
    return packed + bytes(stream.flush())


def of_avro(data: bytes, chance: Random, pool: Sequence[bytes]) -> bytes:
    """Return the file with changes in its schema, its counts, its records or its codec."""
    if chance.randrange(3) == 0:
        return of_bytes(data, chance, pool)
    try:
        reader = AvroReader(io.BytesIO(data), len(data))
        blocks = []
        while (block := reader.next_block(1 << 24)) is not None:
            blocks.append((block.count, block.data))
    except Exception:
        return of_bytes(data, chance, pool)
    schema, codec = reader.schema, chance.choice(list(CODECS))
    if not blocks:
        return avro_file(of_json(schema, chance, ()), codec, [(1, b"\0\0")])
    at = chance.randrange(len(blocks))
    count, block = blocks[at]
    match chance.randrange(11) if chance.randrange(100) else 11:
        case 0 | 1 | 2:
            schema = of_json(schema, chance, ())
        case 3:
            blocks[at] = (chance.choice((count + 1, count - 1, -count, *_EDGES)), block)
        case 4 | 5 | 6 | 7:
            blocks[at] = (count, of_bytes(block, chance, [b for _, b in blocks]))
        case 8:
            where = chance.randrange(len(block) + 1)
            blocks[at] = (count, block[:where] + avro_long(chance.choice(_EDGES)) + block[where + 1 :])
        case 9:
            times = min(40, max(1, _LONG_BYTES // max(1, len(block))))
            blocks[at] = (count * times, block * times)
        case 10:
            size = chance.choice((1 << 8, 1 << 10, 1 << 12, 1 << 14, 1 << 20, 15 << 20))
            filled = bytes([chance.choice((0, 2, 0x20))]) * size
            blocks[at] = (chance.choice((1, size // 50, size // 2, size)), block + filled)
        case _:
            codec = chance.choice(("zstandard", "deflate", "snappy"))
            return avro_file(schema, codec, [(count, bomb(codec, chance.choice((0, 2))))], pack=False)
    return avro_file(schema, codec, blocks)[:MOST_BYTES]


def of_parquet(data: bytes, chance: Random, pool: Sequence[bytes]) -> bytes:
    """Return the file with changes in its footer, with and without a checksum, or in its pages."""
    if chance.randrange(4) == 0 or not data.endswith(b"PAR1"):
        return of_bytes(data, chance, pool)
    try:
        before, footer = footer_of(data)
        tree = parse_struct(footer)
    except (ValueError, IndexError):
        return of_bytes(data, chance, pool)
    if chance.randrange(3) == 0:
        before = b"PAR1" + of_bytes(before[4:], chance, [p[4:] for p in pool])
    else:
        for _ in range(chance.choice((1, 1, 2, 4))):
            _change_struct(tree, chance)
    tree.pop(32767, None)
    try:
        footer = serialize_struct(tree)
    except (TypeError, ValueError):
        return of_bytes(data, chance, pool)
    return (before + file_end(sealed(footer) if chance.randrange(4) == 0 else footer))[:MOST_BYTES]


def _structs(value: Any, depth: int = 0) -> Any:
    if isinstance(value, dict):
        yield value
        for kind, inner in value.values():
            if kind == STRUCT:
                yield from _structs(inner, depth + 1)
            elif kind == LIST and inner[0] == STRUCT:
                for one in inner[1]:
                    yield from _structs(one, depth + 1)


def _change_struct(tree: Struct, chance: Random) -> None:
    holder = chance.choice(list(_structs(tree)))
    if not holder:
        return
    number = chance.choice(list(holder))
    kind, value = holder[number]
    if chance.randrange(6) == 0:
        del holder[number]
    elif kind in (I32, I64):
        new = value + chance.choice((1, -1)) if chance.randrange(2) else chance.choice((*_EDGES, *range(12)))
        holder[number] = (kind, max(-(2**63), min(2**63 - 1, new)))
    elif kind == BINARY:
        holder[number] = (kind, of_bytes(value, chance, ()))
    elif kind == LIST:
        items = value[1]
        at = chance.randrange(len(items) + 1)
        holder[number] = (
            kind,
            (value[0], items[:at] + items[at : at + 1] * chance.choice((0, 2, 30)) + items[at + 1 :]),
        )


def of_orc(data: bytes, chance: Random, pool: Sequence[bytes]) -> bytes:
    """Return the file with changes anywhere, or at its end; with a new checksum, none or the old one."""
    tail = 1 + data[-1] if data else 0
    if chance.randrange(2):
        cut = max(0, len(data) - chance.choice((tail, 200, 600, 1200)))
        changed = data[:cut] + of_bytes(data[cut:], chance, pool)
    else:
        changed = of_bytes(data, chance, pool)
    return resealed(changed) if chance.randrange(2) else changed


_SEAL = bytes.fromhex("cab5030c9d41c7e35a0b86f2")


def unsealed(data: bytes) -> bytes:
    """Return an ORC file without its checksum."""
    at = data.rfind(_SEAL)
    if at < 0:
        return data
    rest = data[at + len(_SEAL) + 4 : -1]
    return data[:at] + rest + struct.pack("B", (data[-1] - len(_SEAL) - 4) % 256)


def resealed(data: bytes) -> bytes:
    """Return an ORC file with a checksum that matches, unless its end is too damaged."""
    out = io.BytesIO()
    sink = ChecksumSink(out)
    try:
        sink.write(unsealed(data))
        sink.seal()
    except (ValueError, IndexError):
        return data
    return out.getvalue()
