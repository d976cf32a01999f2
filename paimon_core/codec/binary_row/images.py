"""Row images: combines the cells of columns into BinaryRow bytes without the arity prefix (format 5.1).

Rows of equal length can be hashed without images: ``uniform_words`` returns each word of all rows as one array.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from paimon_core.codec.binary_row.cells import Cells, Counts, Words


def null_bytes(arity: int) -> int:
    """Return the number of bytes of the header and the null bits of a row (format 5.1), a multiple of 8."""
    return (arity + 63 + 8) // 64 * 8


def images_of(cells: Sequence[Cells]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return the bytes of all rows in one array, and n + 1 byte offsets of the rows.

    Without columns there are no rows.
    """
    if not cells:
        return np.zeros(0, np.uint8), np.zeros(1, np.int64)
    uniform = uniform_words(cells)
    rows = len(cells[0].slots)
    if uniform is not None:
        matrix = np.zeros((rows, len(uniform)), np.uint64)
        for at, column in enumerate(uniform):
            if column is not None:
                matrix[:, at] = column
        return matrix.reshape(-1).view(np.uint8), np.arange(rows + 1, dtype=np.int64) * (8 * len(uniform))
    head = _null_words(cells)
    fixed = len(head) + len(cells)
    starts = np.zeros(rows + 1, np.int64)
    np.cumsum(fixed + sum(c.counts for c in cells), out=starts[1:])
    words = np.zeros(int(starts[-1]), np.uint64)
    row = starts[:-1]
    for at, bits in enumerate(head):
        if bits is not None:
            words[row + at] = bits
    cursor: int | Counts = fixed
    for at, cell in enumerate(cells):
        words[row + (len(head) + at)] = _with_offsets(cell, cursor)
        _scatter(words, row + cursor, cell)
        cursor = cursor + cell.counts
    return words.view(np.uint8), starts * 8


def uniform_words(cells: Sequence[Cells]) -> list[Words | None] | None:
    """Return the 8-byte words of the rows, one array for each word; None when the rows have different lengths.

    A None in the list stands for an array of zeros: this word is zero in every row.
    """
    out = _null_words(cells)
    cursor = len(out) + len(cells)
    tail: list[Words | None] = []
    for cell in cells:
        if not isinstance(cell.counts, int):
            return None
        out.append(_with_offsets(cell, cursor))
        tail.extend(cell.words[at :: cell.counts] for at in range(cell.counts))
        cursor += cell.counts
    return out + tail


def _null_words(cells: Sequence[Cells]) -> list[Words | None]:
    """Return the words with the row kind 0 and the null bits (format 5.1); None where a word is zero in every row."""
    out: list[Words | None] = [None] * (null_bytes(len(cells)) // 8)
    for at, cell in enumerate(cells):
        if cell.nulls is not None:
            word, bit = divmod(at + 8, 64)
            bits = cell.nulls.astype(np.uint64) << np.uint64(bit)
            before = out[word]
            out[word] = bits if before is None else before | bits
    return out


def _with_offsets(cell: Cells, cursor: int | Counts) -> Words:
    """Return the slots with the offset of the variable part; this part starts ``cursor`` words after the start of the
    row.
    """
    if isinstance(cell.counts, int) and cell.counts == 0:
        return cell.slots
    offsets = np.asarray(cursor, np.int64) << 35
    if not isinstance(cell.counts, int):
        offsets = np.where(cell.counts > 0, offsets, 0)
    return cell.slots | offsets.astype(np.uint64)


def _scatter(words: Words, at: Counts, cell: Cells) -> None:
    """Copy the variable words of each row to the word position ``at`` of the row."""
    if isinstance(cell.counts, int):
        for step in range(cell.counts):
            words[at + step] = cell.words[step :: cell.counts]
        return
    before = np.cumsum(cell.counts) - cell.counts
    words[np.repeat(at - before, cell.counts) + np.arange(len(cell.words))] = cell.words
