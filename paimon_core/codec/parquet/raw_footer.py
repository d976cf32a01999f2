"""Raw footers: reads the footer of an open Parquet file and verifies it, before Arrow reads it.

Functions raise ValueError for a footer that does not decode.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from paimon_core.codec.parquet.footer_checks import RowGroup, check_footer
from paimon_core.codec.parquet.footer_checksum import is_sealed
from paimon_core.codec.parquet.footer_columns import FooterColumns
from paimon_core.codec.parquet.known_footers import Form, learn, match_known, match_together
from paimon_core.codec.parquet.thrift import Struct, parse_struct

_MAGIC = b"PAR1"
_LENGTH_BYTES = 4
_END_BYTES = _LENGTH_BYTES + len(_MAGIC)
TAIL_BYTES = 1 << 16
"""Bytes that are read from the end of a file first; they contain most footers completely."""


def read_raw_footer(source: pa.NativeFile) -> tuple[bytes, int]:
    """Return the footer of an open Parquet file, which is not verified yet, and its position in the file."""
    size = source.size()
    start = max(0, size - TAIL_BYTES)
    tail = source.read_at(size - start, start)
    if len(tail) < 2 * _END_BYTES or not tail.endswith(_MAGIC):
        raise ValueError("it does not end with the magic bytes of Parquet")
    length = int.from_bytes(tail[-_END_BYTES : -len(_MAGIC)], "little")
    end = size - _END_BYTES
    if length > end - len(_MAGIC):
        raise ValueError(f"its footer of {length} bytes is longer than the file")
    raw = tail[-_END_BYTES - length : -_END_BYTES] if length <= end - start else source.read_at(length, end - length)
    return bytes(raw), end - length


def check_raw_footer(raw: bytes, start: int, *, statistics: bool = True) -> tuple[Struct, list[RowGroup]]:
    """Return the decoded footer, after the checks, and its row groups; ``start`` is the position of the footer in the
    file. See ``check_footer``.
    """
    is_sealed(raw)  # raises ValueError for a wrong checksum
    footer = parse_struct(raw, whole=True)
    return footer, check_footer(footer, start, statistics=statistics)


def check_known(footers: Sequence[tuple[bytes, int]]) -> list[tuple[FooterColumns, Form] | None]:
    """Return ``check_columns`` of each footer whose form is known; None: the footer must be checked alone.

    ``footers``: each footer and its position in its file.
    """
    found: list[tuple[FooterColumns, Form] | None] = [None] * len(footers)
    sealed = [number for number, (raw, _) in enumerate(footers) if _has_right_seal(raw)]
    for number, columns in zip(sealed, match_together([footers[number] for number in sealed]), strict=True):
        found[number] = columns
    return found


def _has_right_seal(raw: bytes) -> bool:
    """Whether a footer has no checksum or the right one."""
    try:
        is_sealed(raw)
    except ValueError:
        return False
    return True


def check_columns(raw: bytes, start: int) -> tuple[FooterColumns, Form | None]:
    """Return the column chunks of a footer after all checks, and its form: footers of the same form differ only in
    their column chunks. The form is None until two footers with the same schema have been checked.
    """
    is_sealed(raw)  # raises ValueError for a wrong checksum
    found = match_known(raw, start)
    if found is not None:
        return found
    footer, groups = check_raw_footer(raw, start)
    learn(raw, footer, start)
    leaves = groups[0].chunks if groups else ()
    return FooterColumns.of(footer, [chunk.leaf for chunk in leaves], groups), None
