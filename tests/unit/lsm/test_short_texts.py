import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from paimon_core.lsm import gather, short_texts
from paimon_core.lsm.short_texts import are_scattered, take_scattered

ROWS = 1 << 17
RANDOM = np.random.default_rng(4)
SCATTERED = RANDOM.permutation(ROWS)
TEXTS = pa.array([None if n % 7 == 0 else f"{n % 1000}" if n % 50 else "é" * 20 for n in range(ROWS)])


@pytest.mark.parametrize("kind", [pa.string(), pa.binary()])
@pytest.mark.parametrize("offset", [0, 3, 8])
@pytest.mark.parametrize("has_nulls", [False, True])
def test_the_texts_are_those_that_arrow_takes(kind, offset, has_nulls):
    texts = TEXTS.cast(kind).slice(offset, 3000)
    texts = texts if has_nulls else texts.fill_null("" if kind == pa.string() else b"")
    places = RANDOM.integers(0, 3000, 5000)
    positions = pa.array(places, mask=RANDOM.random(5000) < 0.1) if has_nulls else pa.array(places)
    found = take_scattered(texts, positions)
    found.validate(full=True)
    assert found.type == kind
    assert found.equals(pc.take(texts, positions))


def test_only_many_short_texts_in_scattered_order_are_taken_so():
    assert are_scattered(TEXTS, SCATTERED)
    assert are_scattered(TEXTS, SCATTERED.astype(np.uint32))
    assert are_scattered(TEXTS, pa.array(SCATTERED, mask=SCATTERED % 3 == 0))
    runs = np.concatenate([np.arange(n, ROWS, 64) for n in range(64)])
    merged = np.argsort(runs % (ROWS // 64), kind="stable")
    assert not are_scattered(TEXTS, merged), "64 sorted runs are read one row of each after the other"
    assert not are_scattered(TEXTS, np.arange(ROWS))
    assert not are_scattered(TEXTS, SCATTERED[:1000])
    assert not are_scattered(TEXTS.slice(0, 1000), SCATTERED)
    assert not are_scattered(pc.binary_repeat(TEXTS, 8), SCATTERED), "long texts are not in their views"
    assert not are_scattered(pa.array(np.arange(ROWS)), SCATTERED)
    assert not are_scattered(TEXTS.cast(pa.large_string()), SCATTERED)


def test_a_gather_uses_it(monkeypatch):
    calls = []
    monkeypatch.setattr(gather, "take_scattered", lambda *a: calls.append(a) or short_texts.take_scattered(*a))
    column = pa.chunked_array([TEXTS.slice(0, 1000), TEXTS.slice(1000)])
    found = gather.take(column, SCATTERED)
    assert len(calls) == 1
    assert found.combine_chunks().equals(pc.take(TEXTS, pa.array(SCATTERED)))
