"""Decoded sizes: computes from the statistics of an ORC file how many bytes a row takes in memory.

The size in the file may be much smaller than the size in memory, because a dictionary stores a repeated text once. The
statistics state the bytes of all texts of a column in each stripe and in the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from paimon_core.codec.orc.metadata_checks import read_tail
from paimon_core.codec.orc.protobuf import BYTES, NUMBER, one, parse

# The field types of the messages in orc_proto.proto, by field number.
_COLUMN_STATISTICS = {1: NUMBER, 4: {3: NUMBER}, 8: {1: NUMBER}}
_STRIPES = {1: {1: BYTES}}
_VALUE_BYTES = 8


def row_bytes(source: pa.NativeFile) -> dict[str, float]:
    """Return the mean bytes of a value of each column, from the stripe with the largest mean.

    The dict is empty when the file does not state the bytes of texts. Raises ValueError for metadata that does not
    decode.
    """
    metadata = read_tail(source)
    if metadata is None or not metadata.footer.get(4):
        return {}
    footer = metadata.footer
    members = _members(footer[4])
    stripes = parse(metadata.unpacked(metadata.statistics), _STRIPES).get(1, [])
    counted = [one(stripe, 5, 0) for stripe in footer.get(3, [])]
    parts = [(stripe.get(1, []), rows) for stripe, rows in zip(stripes, counted, strict=False)]
    found: dict[str, float] = {}
    for statistics, rows in parts or [(footer.get(7, []), one(footer, 6, 0))]:
        if len(statistics) != len(footer[4]):
            return {}
        for name, numbers in members.items():
            size = sum(_bytes_of(parse(statistics[number], _COLUMN_STATISTICS)) for number in numbers)
            found[name] = max(found.get(name, 0), size / max(1, rows))
    return found


def _members(types: Sequence[Mapping[int, list[Any]]]) -> dict[str, range]:
    """Return the type numbers of each column: the number of the column and, for a nested column, of its members."""
    starts = [*types[0].get(2, []), len(types)]
    names = [name.decode() for name in types[0].get(3, [])]
    return {name: range(start, end) for name, start, end in zip(names, starts[:-1], starts[1:], strict=True)}


def _bytes_of(statistics: Mapping[int, list[Any]]) -> int:
    texts = [one(part, number, 0) for field, number in ((4, 3), (8, 1)) for part in statistics.get(field, [])]
    # The sums are stored as zigzag numbers, which are twice their value.
    return int(_VALUE_BYTES * one(statistics, 1, 0) + sum(total >> 1 for total in texts))
