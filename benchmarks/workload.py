"""Workload: the rows of tests/oracle/PaimonBench.java as Arrow tables: batch k of n rows, keys drawn from [0, keys).

With negative ``keys``, a batch of at most ``-keys`` rows has each key of [0, -keys) at most once. This holds where
``-keys`` has no prime factor of 618,033,989, as powers of ten.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("a", pa.int32()),
        ("b", pa.int64()),
        ("c", pa.float64()),
        ("d", pa.float64()),
        ("name", pa.string()),
        ("city", pa.string()),
        ("ts", pa.timestamp("us")),
    ]
)
MANY = pa.schema(
    [pa.field("p", pa.int32(), nullable=False), pa.field("id", pa.int64(), nullable=False), ("v", pa.string())]
)
"""The columns of the tables of many files, with the partition column p and the key p, id."""


def mix(z: np.ndarray) -> np.ndarray:
    """Return the splitmix64 finaliser of uint64 values."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def text(prefix: str, ints: np.ndarray) -> pa.Array:
    return pc.binary_join_element_wise(prefix, pc.cast(pa.array(ints), pa.string()), "")


def batch(k: int, n: int, keys: int, *, holes: bool = False) -> pa.Table:
    """Return batch ``k``; with ``holes``, every fourth row has null in a, c and name, every fourth in b, d and city."""
    h = mix(np.arange(n, dtype=np.uint64) + np.uint64(k * 1_000_003 * n % 2**64))
    if keys > 0:
        key = (h % np.uint64(keys)).astype(np.int64)
    else:
        key = (np.arange(n, dtype=np.int64) * 618_033_989 + 7 * k) % -keys
    city = ((h >> np.uint64(3)) % np.uint64(1000)).astype(np.int64)
    rows = pa.table(
        [
            pa.array(key),
            pa.array((h >> np.uint64(40)).astype(np.int32)),
            pa.array((h >> np.uint64(8)).astype(np.int64)),
            pa.array((h >> np.uint64(12)).astype(np.float64)),
            pa.array(key * 0.5),
            text("name-", key),
            text("city-", city),
            pa.array((1_700_000_000_000 + (h >> np.uint64(44)).astype(np.int64)) * 1000, pa.timestamp("us")),
        ],
        schema=SCHEMA,
    )
    if not holes:
        return rows
    for rest, names in ((1, ("a", "c", "name")), (2, ("b", "d", "city"))):
        missing = pa.array(h & np.uint64(3) == rest)
        for name in names:
            kept = pc.if_else(missing, pa.scalar(None, rows[name].type), rows[name])
            rows = rows.set_column(SCHEMA.get_field_index(name), SCHEMA.field(name), kept)
    return rows


def checksum(rows: pa.Table) -> int:
    """Return the checksum that PaimonBench's `read` prints, as a signed 64-bit integer."""
    return checksum_of(rows.select(SCHEMA.names))


def checksum_of(rows: pa.Table) -> int:
    """Return the checksum that PaimonBench's `query` prints for some of the columns."""
    total = 0
    for column in rows.columns:
        if pa.types.is_floating(column.type):
            total += int(np.trunc(column.fill_null(0).to_numpy()).astype(np.int64).sum())
        elif pa.types.is_timestamp(column.type):
            total += int((column.cast(pa.int64()).to_numpy() // 1000).sum())
        else:
            numbers = column.cast(pa.int64()) if pa.types.is_integer(column.type) else pc.binary_length(column)
            total += int(pc.sum(numbers).as_py() or 0)
    return (total + 2**63) % 2**64 - 2**63
