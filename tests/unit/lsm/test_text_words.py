import numpy as np
import pyarrow as pa
import pytest

from paimon_core.lsm.text_words import WIDEST_TEXT, different, images, is_image, words

WIDE = [b"0123456789abc", b"0123456789abd", b"0123456789abc"]


def test_texts_of_one_width_are_not_copied():
    array = pa.array([b"x", *WIDE]).slice(1)
    (image,) = images(array)
    assert image.tolist() == WIDE
    data = array.buffers()[2]
    assert data.address < image.ctypes.data < data.address + data.size


def test_shorter_texts_are_padded_and_have_lengths():
    image, lengths = images(pa.array([b"0123456789", b"", b"a\0"]))
    assert image.dtype.itemsize == 10
    assert image.tolist() == [b"0123456789", b"", b"a"]  # numpy does not show zero bytes at the end
    assert lengths.tolist() == [10, 0, 2]


@pytest.mark.parametrize("width", [1, 7, 8, 9, 16, 36, WIDEST_TEXT])
def test_words_are_the_big_endian_integers_of_the_bytes(width):
    texts = [bytes(range(at, at + width)) for at in (1, 60, 180)]
    first, *rest = images(pa.array(texts))
    found = list(words(first)) if is_image(first) else [first]
    starts = range(0, width, 8)
    assert [word.tolist() for word in found] == [
        [int.from_bytes(text[at : at + 8], "big") for text in texts] for at in starts
    ]
    assert [array.tolist() for array in rest] == ([] if width >= 8 else [[width] * 3])


def test_no_image_of_long_texts_and_no_array_of_empty_texts():
    assert images(pa.array([b"x" * (WIDEST_TEXT + 1)])) is None
    assert images(pa.array([b"", b""])) == []
    assert images(pa.array([], pa.binary())) == []


def test_pairs_of_rows_with_different_texts():
    (image,) = images(pa.array(WIDE))
    assert different(image, np.array([0, 0, 1, 2]), np.array([1, 2, 2, 2])).tolist() == [True, False, True, False]
