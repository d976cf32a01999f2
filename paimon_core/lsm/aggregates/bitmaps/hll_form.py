"""HyperLogLog form: checks a serialized sketch, because the sketch library does not check its input (format 9.6).

A sketch starts with eight bytes: length of the preamble in ints, version, family, log2 of the number of registers, log2
of the table size, flags, a count, and one byte with mode and type. Then, depending on the mode, it has a list or a set
of coupons (value and slot), or registers of 4, 6 or 8 bits each. If a 4-bit register is 15, its value is in a table of
exceptions.
"""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt

_LIST, _SET, _REGISTERS = range(3)
_PREAMBLE_INTS = {_LIST: 2, _SET: 3, _REGISTERS: 10}
_FAMILY, _VERSION = 7, 1
_IS_COMPACT = 0x08
_LIST_LOG, _SET_LOGS = 3, range(5, 22)
_REGISTER_LOGS = range(4, 22)
_MOST_VALUE = 63
_EXCEPTION = 15


def check_hll(data: bytes) -> None:
    """Raise ValueError or struct.error for bytes that are not a complete, valid sketch of one of the three modes."""
    preamble, version, family, log_k, log_table, flags, count, mode_byte = struct.unpack_from("<8B", data)
    mode, register_type = mode_byte & 3, mode_byte >> 2
    if (version, family) != (_VERSION, _FAMILY) or preamble != _PREAMBLE_INTS.get(mode) or register_type > 2:
        raise ValueError("it is not a HyperLogLog sketch of version 1")
    if log_k not in _REGISTER_LOGS:
        raise ValueError(f"it has 2^{log_k} registers")
    compact = bool(flags & _IS_COMPACT)
    if mode == _REGISTERS:
        _check_registers(data, log_k, log_table, register_type, low=count, compact=compact)
        return
    if mode == _SET:
        (count,) = struct.unpack_from("<I", data, 8)
    fits = log_table in _SET_LOGS if mode == _SET else log_table == _LIST_LOG
    if not fits or count > (3 << log_table >> 2 if mode == _SET else 1 << log_table):
        raise ValueError(f"it has {count} coupons in a table of 2^{log_table}")
    slots = count if compact else 1 << log_table
    _check_size(data, 4 * preamble + 4 * slots)
    coupons = np.frombuffer(data, "<u4", slots, 4 * preamble)
    if np.count_nonzero(np.unique(coupons)) != count or np.count_nonzero(coupons) != count:
        raise ValueError(f"its table does not contain the {count} coupons that its header states")


def _check_registers(data: bytes, log_k: int, log_table: int, kind: int, *, low: int, compact: bool) -> None:
    registers = 1 << log_k
    width = (registers // 2, registers * 3 // 4 + 1, registers)[kind]
    (exceptions,) = struct.unpack_from("<I", data, 36)
    slots = 0 if kind else exceptions if compact else 1 << log_table if exceptions else 0
    if (kind and exceptions) or exceptions > registers or log_table > log_k:
        raise ValueError(f"it has {exceptions} exceptions in a table of 2^{log_table}")
    _check_size(data, 40 + width + 4 * slots)
    body = np.frombuffer(data, np.uint8, width, 40)
    if kind == 0:
        _check_exceptions(body, np.frombuffer(data, "<u4", slots, 40 + width), low)
    elif kind == 2 and body.max() > _MOST_VALUE:
        raise ValueError(f"it has a register of {body.max()}")


def _check_exceptions(body: npt.NDArray[np.uint8], table: npt.NDArray[np.uint32], low: int) -> None:
    """Check that every 4-bit register of 15 has one exception, and no other register has one."""
    registers = np.column_stack([body & _EXCEPTION, body >> 4]).ravel()
    entries = table[table != 0]
    slots = np.sort(entries & (len(registers) - 1))
    if not np.array_equal(slots, np.flatnonzero(registers == _EXCEPTION)) or low > _MOST_VALUE - _EXCEPTION:
        raise ValueError("its table of exceptions does not match its registers")


def _check_size(data: bytes, size: int) -> None:
    if len(data) < size:
        raise ValueError(f"it has {len(data)} of {size} bytes")
