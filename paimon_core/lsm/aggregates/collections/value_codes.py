"""Value codes: converts elements of any type to integers.

Two integers are equal when Java considers the elements equal (format 9.7). Java compares in two ways. ``same_object``
is the equality of objects, as hash tables use it: NaN equals NaN, -0.0 does not equal 0.0. ``same_row`` is the equality
of the code that Java generates for rows and their contents: -0.0 equals 0.0, and a value with a NaN, or with a null
inside a list or a map, equals nothing, not even itself. In both ways, null equals null, and the order of the entries of
a map does not matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.lsm.gather import Flags, offsets_of
from paimon_core.lsm.order_codes import Codes, Ints, order_codes, pack, parts

Numbers = npt.NDArray[np.int64]
"""One integer per element; the integers count from 0 and are small, so that each can be combined with a group
number.
"""


def dense(codes: Codes) -> Numbers:
    """Return the codes as integers counted from 0 without gaps, in the same order."""
    numbers: Numbers = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    return numbers


def within_groups(group_of: Numbers, numbers: Numbers) -> Numbers:
    """Return one integer per pair of group and number."""
    return group_of * (int(numbers.max(initial=0)) + 1) + numbers


def same_object(array: pa.Array) -> Numbers:
    """Return numbers that are equal where the elements are equal as objects."""
    return _numbers(array, None)


def same_row(array: pa.Array) -> Numbers:
    """Return numbers that are equal where the elements are equal as rows; an element that equals nothing is unique."""
    never = np.zeros(len(array), np.bool_)
    numbers = _numbers(array, never)
    never &= is_valid(array)
    numbers[never] = np.arange(len(array), len(array) + int(never.sum()))
    return numbers


def is_valid(array: pa.Array) -> Flags:
    """Return whether each element is not null."""
    flags: Flags = pc.is_valid(array).to_numpy(zero_copy_only=False)
    return flags


def _numbers(array: pa.Array, never: Flags | None) -> Numbers:
    """Return numbers that are equal for elements that are equal as objects or, with ``never``, as rows.

    ``never`` is an output array: the function sets it to true for elements that equal nothing.
    """
    if len(array) == 0:
        return np.zeros(0, np.int64)
    kind = array.type
    if pa.types.is_struct(kind):
        return _of_rows(array, never)
    if pa.types.is_map(kind):
        return _of_maps(array, never)
    if pa.types.is_list(kind):
        return _of_lists(array, never)
    if never is not None and pa.types.is_floating(kind):
        never |= pc.fill_null(pc.is_nan(array), False).to_numpy(zero_copy_only=False)
        array = pc.add(array, pa.scalar(0.0, kind))
    return dense(order_codes([array])) if pa.types.is_floating(kind) else _hashed(array)


def _of_rows(array: pa.Array, never: Flags | None) -> Numbers:
    children: list[Ints] = [is_valid(array).astype(np.uint8)]
    for child in array.flatten():
        if pa.types.is_nested(child.type) or never is not None:
            children.append(_numbers(child, never))
        else:
            children.extend(parts(child))
    return _distinct(pack(children, len(array)))


def _of_lists(array: pa.Array, never: Flags | None) -> Numbers:
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy()
    elements = array.flatten()
    unequal = None if never is None else np.zeros(len(elements), np.bool_)
    numbers = _numbers(elements, unequal)
    if never is not None and unequal is not None:
        _spread(never, unequal | ~is_valid(elements), lengths)
    return _of_sequences(is_valid(array), lengths, [numbers])


def _of_maps(array: pa.Array, never: Flags | None) -> Numbers:
    entries = array.cast(pa.list_(pa.struct([("key", array.type.key_type), ("value", array.type.item_type)])))
    lengths = pc.fill_null(pc.list_value_length(entries), 0).to_numpy()
    key, value = entries.flatten().flatten()
    unequal = None if never is None else np.zeros(len(value), np.bool_)
    keys, values = _numbers(key, None), _numbers(value, unequal)
    if never is not None and unequal is not None:
        _spread(never, unequal | ~is_valid(value), lengths)
    order = np.lexsort((keys, np.repeat(np.arange(len(array)), lengths)))
    return _of_sequences(is_valid(array), lengths, [keys[order], values[order]])


def _spread(never: Flags, unequal: Flags, lengths: npt.NDArray[Any]) -> None:
    """Set ``never`` to true for each list that has an element that equals nothing."""
    never[np.repeat(np.arange(len(lengths)), lengths)[unequal]] = True


def _of_sequences(valid: Flags, lengths: npt.NDArray[Any], columns: list[Numbers]) -> Numbers:
    """Return one number per sequence of integers.

    The sequences have different lengths and are compared as byte strings.
    """
    words = np.stack(columns, axis=1).astype(np.uint32)
    ends = offsets_of(lengths) * words.itemsize * words.shape[1]
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(words))]
    images = pa.Array.from_buffers(pa.large_binary(), len(lengths), buffers).cast(pa.binary())
    return _distinct(pack([valid.astype(np.uint8), *parts(images)], len(lengths)))


def _distinct(codes: Codes) -> Numbers:
    """Return one number per code; equal codes have equal numbers, which have no order.

    Codes that are not bytes are hashed, which is faster than a sort.
    """
    return dense(codes) if codes.dtype.kind == "S" else _hashed(pa.array(codes))


def _hashed(array: pa.Array) -> Numbers:
    """Return one number per value, in order of first occurrence; null gets the number after all others.

    The values must not be floats.
    """
    encoded = array.dictionary_encode()
    indices = pc.fill_null(encoded.indices, len(encoded.dictionary))
    numbers: Numbers = indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers
