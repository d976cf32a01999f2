"""Sketch functions: hll_sketch, theta_sketch, rbm32 and rbm64 (format 9.5, 9.6).

Each value is a serialized sketch or bitmap, and the result is the serialized union of the values. The libraries that
read sketches are in the extra ``sketches``; a library is imported when two values are united for the first time.
"""

from __future__ import annotations

import importlib
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.lsm.aggregates.aggregate import Factory, Retracts
from paimon_core.lsm.aggregates.bitmaps.bitmap64 import from_portable, to_portable
from paimon_core.lsm.aggregates.bitmaps.bitmap64_tree import read_tree, write_tree
from paimon_core.lsm.aggregates.bitmaps.hll_form import check_hll
from paimon_core.lsm.aggregates.column_rules import check_options, check_type
from paimon_core.lsm.gather import take
from paimon_core.lsm.key_groups import Groups
from paimon_core.options import FieldOptions
from paimon_core.schema import DataField
from paimon_core.types import TypeRoot

_REFUSALS = (ValueError, IndexError, OverflowError, RuntimeError, MemoryError, struct.error)
"""The errors that the libraries raise for bytes that are not a valid sketch."""
_SAMPLING_RATE, _SINGLE_ITEM, _NO_SEED = struct.pack("<f", 1.0), 0x20, bytes(2)
"""Bytes of a theta sketch that Java and the C++ library write differently; each library reads both forms."""
_COMPRESSED = b"\x04"
"""The version byte of compressed theta sketches."""


@dataclass(frozen=True, slots=True)
class Union:
    """Returns the union of a group's non-null values: null without a value, and a single value unchanged."""

    column: str
    function: str
    module: str
    unite: Callable[[Any, Sequence[bytes]], bytes]
    can_retract: bool = False

    def __call__(self, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> pa.ChunkedArray:
        """Return one union per group. Loops over the groups of two or more values.

        Raises InvalidRequest, which names the column, for bytes that are not a valid sketch or bitmap, and
        UnsupportedFeature when the library is missing.
        """
        present = groups.where(column.is_valid().to_numpy())
        places = np.full(len(present), len(column))
        single, several = present.lengths == 1, present.lengths > 1
        places[single] = present.order[present.starts[single]]
        places[several] = len(column) + 1 + np.arange(np.count_nonzero(several))
        united = self._unions(column, present.keep(several).compact())
        return take(pa.chunked_array([*column.chunks, pa.nulls(1, column.type), *united]), places)

    def _unions(self, column: pa.ChunkedArray, groups: Groups) -> list[pa.Array]:
        if not len(groups):
            return []
        library = self._library()
        values = take(column, groups.order)
        out = []
        for start, end in zip(groups.starts, groups.ends, strict=True):
            try:
                out.append(self.unite(library, values.slice(start, end - start).to_pylist()))
            except _REFUSALS as error:
                raise InvalidRequest(
                    f"column {self.column!r} holds bytes that its aggregate function {self.function} cannot unite: "
                    f"{error}",
                    column=self.column,
                ) from error
        united = pa.array(out, column.type)
        return list(united.chunks) if isinstance(united, pa.ChunkedArray) else [united]

    def _library(self) -> Any:
        try:
            return importlib.import_module(self.module)
        except ImportError:
            raise UnsupportedFeature(
                f"column {self.column!r}: aggregate function {self.function} needs the library {self.module}: "
                "install paimon-core[sketches]",
                column=self.column,
            ) from None


def _hll(library: Any, values: Sequence[bytes]) -> bytes:
    """Return the compact HyperLogLog union.

    Values are united in order, because the order slightly affects the estimate.
    """
    for value in values:
        check_hll(value)
    first, *others = map(library.hll_sketch.deserialize, values)
    for sketch in others:
        union = library.hll_union(sketch.lg_config_k)
        union.update(sketch)
        union.update(first)
        first = union.get_result(library.tgt_hll_type.HLL_4)
    return bytes(first.serialize_compact())


def _theta(library: Any, values: Sequence[bytes]) -> bytes:
    """Return the union, a sketch of at most 4096 entries, of theta sketches of any size that have the default seed."""
    union = library.theta_union()
    for value in values:
        _check_theta(value)
        union.update(library.compact_theta_sketch.deserialize(value))
    result = union.get_result()
    made = bytearray(result.serialize())
    if result.is_empty():
        made[6:8] = _NO_SEED
    elif result.num_retained == 1 and not result.is_estimation_mode():
        made[5] |= _SINGLE_ITEM
    else:
        made[12:16] = _SAMPLING_RATE
    return bytes(made)


def _check_theta(data: bytes) -> None:
    """Raise ValueError for a compressed sketch that states more entries than its bytes can contain."""
    if data[1:2] != _COMPRESSED:
        return
    preamble, _, _, entry_bits, count_bytes = struct.unpack_from("<5B", data)
    count = int.from_bytes(data[8 * preamble : 8 * preamble + count_bytes], "little")
    if not entry_bits or count_bytes > 4 or count * entry_bits > 8 * len(data):
        raise ValueError(f"it has {len(data)} bytes for {count} entries of {entry_bits} bits")


def _bitmap32(library: Any, values: Sequence[bytes]) -> bytes:
    bitmap = library.BitMap.union(*map(library.BitMap.deserialize, values))
    bitmap.run_optimize()
    return bytes(bitmap.serialize())


def _bitmap64(library: Any, values: Sequence[bytes]) -> bytes:
    bitmap = library.BitMap64.union(*(library.BitMap64.deserialize(to_portable(read_tree(v))) for v in values))
    bitmap.run_optimize()
    return write_tree(from_portable(bytes(bitmap.serialize())))


def _factory(function: str, module: str, unite: Callable[[Any, Sequence[bytes]], bytes]) -> Factory:
    def make(field: DataField, options: FieldOptions) -> Union:
        check_type(function, field, field.type.root is TypeRoot.VARBINARY, "VARBINARY or BYTES")
        check_options(function, field, options)
        return Union(field.name, function, module, unite)

    return make


FUNCTIONS: Mapping[str, Factory] = {
    "hll_sketch": _factory("hll_sketch", "datasketches", _hll),
    "theta_sketch": _factory("theta_sketch", "datasketches", _theta),
    "rbm32": _factory("rbm32", "pyroaring", _bitmap32),
    "rbm64": _factory("rbm64", "pyroaring", _bitmap64),
}
