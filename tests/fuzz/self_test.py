"""A target that crashes or loops, to test that the parent process of a worker notices."""

from __future__ import annotations

import ctypes

from tests.fuzz.target import Target


def _run(data: bytes) -> object:
    while data == b"loop":
        pass
    return ctypes.string_at(0) if data == b"crash" else None


TARGET = Target("self-test", _run, list, lambda data, chance, pool: data)
