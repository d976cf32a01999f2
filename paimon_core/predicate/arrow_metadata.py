"""Metadata of an Arrow schema as a list of pairs; a key may occur several times.

``pa.Schema.metadata`` is a dict, so it contains each key only once. The Arrow C data interface, a stable binary
interface, defines the layout of the metadata: the number of pairs as an int32, then for each pair the length of the
key, the key, the length of the value and the value.
"""

from __future__ import annotations

import ctypes

import pyarrow as pa


class _Schema(ctypes.Structure):
    """The first members of struct ArrowSchema."""

    _fields_ = (("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p))


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def metadata_pairs(schema: pa.Schema) -> list[tuple[str, str]]:
    """Return the metadata as (key, value) pairs in their order; [] for a schema without metadata."""
    capsule = schema.__arrow_c_schema__()  # this object owns the memory until it is deleted
    at = _Schema.from_address(_pointer(capsule, b"arrow_schema")).metadata
    if at is None:
        return []
    count, at = _int32(at)
    texts = []
    for _ in range(2 * count):
        size, at = _int32(at)
        texts.append(ctypes.string_at(at, size).decode())
        at += size
    del capsule
    return list(zip(texts[::2], texts[1::2], strict=True))


def _int32(at: int) -> tuple[int, int]:
    """Return the number at an address, and the address after it."""
    return ctypes.c_int32.from_address(at).value, at + 4
