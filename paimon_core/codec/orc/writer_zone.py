"""Writer zone: the time zone of the program that wrote an ORC file, from the stripe footers (``writerTimezone``).

Timestamps without a zone are stored relative to 2015 in this zone.
"""

from __future__ import annotations

import pyarrow as pa

from paimon_core.codec.orc.metadata_checks import read_tail
from paimon_core.codec.orc.protobuf import BYTES, one, parse


def writer_zones(source: pa.NativeFile) -> set[str]:
    """Return the names of the time zones of all stripes; an empty name if a stripe states no zone.

    Reads the end of the file and the footer of each stripe. Raises ValueError for metadata that is invalid, or packed
    with LZO.
    """
    tail = read_tail(source)
    if tail is None:
        raise ValueError("its metadata is packed with LZO")
    zones = set()
    for stripe in tail.footer.get(3, []):
        start, index, data, size = (one(stripe, number, 0) for number in range(1, 5))
        at = start + index + data
        if at + size > tail.body:
            raise ValueError(f"its footer has a stripe footer of {size} bytes at {at}")
        found = parse(tail.unpacked(source.read_at(size, at)), {3: BYTES})
        zones.add(one(found, 3, b"").decode())
    return zones
