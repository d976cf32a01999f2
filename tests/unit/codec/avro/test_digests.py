import os
import random

import numpy as np
import pytest

from paimon_core.codec.avro import digests as module
from paimon_core.codec.avro.columns import PADDING
from paimon_core.codec.avro.digests import digests, rows_of


def reference(text):
    """The hash of a text, and whether it is short and ASCII, computed in Python numbers."""
    mask, mix = 2**64 - 1, 0x9E3779B97F4A7C15
    out = len(text) * mix & mask
    for at in range(0, min(len(text), 4096), 8):
        word = int.from_bytes(text[:4096][at : at + 8].ljust(8, b"\0"), "little")
        out = (out ^ word) * mix & mask
        out ^= out >> 29
    return out - (out >> 63 << 64), text.isascii() and len(text) <= 4096


def spans_of(texts):
    """The texts in one buffer, in another order and with bytes between them, and their starts and lengths."""
    data, starts = b"", np.zeros(len(texts), np.int32)
    for at in random.Random(len(texts)).sample(range(len(texts)), len(texts)):
        data += os.urandom(5)
        starts[at] = len(data)
        data += texts[at]
    return data + PADDING, starts, np.array([len(text) for text in texts], np.int32)


@pytest.mark.parametrize("copied", [100, 1 << 20])
@pytest.mark.parametrize("length", [1, 7, 8, 9, 46, 4096, 4097, None])
def test_hashes_of_texts_of_one_length_are_those_of_other_texts(monkeypatch, length, copied):
    monkeypatch.setattr(module, "_COPIED", copied)
    numbers = random.Random(0)
    sizes = [numbers.randrange(60) if length is None else length for _ in range(40)]
    texts = [os.urandom(n) if number % 2 else b"a" * n for number, n in enumerate(sizes)]
    data, starts, lengths = spans_of(texts)
    found, short_ascii = digests(data, starts, lengths)
    assert list(zip(found.tolist(), short_ascii.tolist(), strict=True)) == [reference(text) for text in texts]
    one, _ = digests(data, starts[3:4], lengths[3:4])
    assert one.tolist() == [reference(texts[3])[0]]


def test_no_texts_and_nulls():
    none = np.zeros(0, np.int32)
    assert [len(column) for column in digests(PADDING, none, none)] == [0, 0]
    assert digests(PADDING, np.zeros(2, np.int32), np.full(2, -1))[1].tolist() == [True, True]


def test_rows_are_copied_in_order(monkeypatch):
    monkeypatch.setattr(module, "_COPIED", 30)
    texts = [b"%08d" % n for n in range(11)]
    data, starts, _ = spans_of(texts)
    parts = list(rows_of(data, starts, 8))
    assert [first for first, _ in parts] == [0, 3, 6, 9]
    assert b"".join(rows.tobytes() for _, rows in parts) == b"".join(texts)
