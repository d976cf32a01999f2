"""A target that crashes, loops or takes memory, to test that the parent process of a worker notices."""

from __future__ import annotations

import ctypes

from tests.fuzz.target import Target


def _run(data: bytes) -> object:
    while data == b"loop":
        pass
    if data.startswith(b"memory "):
        return len(bytearray(b"\1") * (int(data.split()[1]) << 20))
    return ctypes.string_at(0) if data == b"crash" else None


TARGET = Target("self-test", _run, list, lambda data, chance, pool: data)
