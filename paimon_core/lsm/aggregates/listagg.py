"""listagg: texts joined by a delimiter, first to last (format 9.7).

A text of white space only, or none, does not count. With ``distinct`` the first text stays as it is, and of the others
those parts between delimiters are added that are not blank and not there yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.lsm.aggregates.aggregate import Aggregate, Retracts
from paimon_core.lsm.aggregates.column_rules import check_options, check_type
from paimon_core.lsm.aggregates.entries import group_offsets
from paimon_core.lsm.aggregates.value_codes import same_object
from paimon_core.lsm.gather import Positions, contiguous, take
from paimon_core.lsm.groups import Groups, group
from paimon_core.options import FieldOptions
from paimon_core.schema import DataField
from paimon_core.types import STRING

_BLANKS = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \u1680\u2000\u2001\u2002\u2003\u2004\u2005"
    "\u2006\u2008\u2009\u200a\u2028\u2029\u205f\u3000"
)
"""White space as Java counts it: no-break spaces are none."""
_PIECE_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class ListAgg:
    """``delimiter`` stands between the texts; ``distinct``: each part once."""

    delimiter: str = ","
    distinct: bool = False
    can_retract: bool = False

    def __call__(self, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> pa.ChunkedArray:
        """The joined text of each group; null where no text counts."""
        groups = groups.where(_counts(contiguous(column)))
        texts = contiguous(take(column, groups.order)).cast(pa.large_string())
        lists = _lists(texts, groups.lengths)
        if self.distinct:
            if _separable(self.delimiter):
                lists = self._distinct(texts, groups)
            else:
                lists = self._distinct_by_steps(lists)
        joined = pc.binary_join(lists, pa.scalar(self.delimiter, pa.large_string()))
        nothing = pa.scalar(None, pa.large_string())
        return _pieces(pc.if_else(pa.array(groups.lengths > 0), joined, nothing), column.type)

    def _distinct(self, texts: pa.Array, groups: Groups) -> pa.Array:
        """The parts that stay, a list for each group: all of the first text, of the others what is new."""
        split = pc.split_pattern(texts, self.delimiter)
        parts = split.flatten()
        text_of = np.repeat(np.arange(len(texts)), np.diff(split.offsets.to_numpy()))
        group_of = groups.numbers[text_of]
        numbers = same_object(parts)
        same = group(group_of * (int(numbers.max(initial=0)) + 1) + numbers, None)
        stays = np.zeros(len(parts), np.bool_)
        stays[same.order[same.starts]] = True
        stays &= _counts(parts)
        stays |= text_of == groups.starts[group_of]
        kept = np.flatnonzero(stays)
        return _lists(pc.take(parts, pa.array(kept)), np.bincount(group_of[kept], minlength=len(groups)))

    def _distinct_by_steps(self, lists: pa.Array) -> pa.Array:
        """The same, group by group, for a delimiter that may be found across the seam of two texts.

        A loop over the texts: what is there already is known only by splitting what was joined so far. Only delimiters
        that begin as they end, such as ``||``, and the empty one need it.
        """
        out = []
        for texts in lists.to_pylist():
            joined = texts[:1]
            for text in texts[1:]:
                there = set(_split(joined[0], self.delimiter))
                for part in _split(text, self.delimiter):
                    if part.strip(_BLANKS) and part not in there:
                        there.add(part)
                        joined[0] += self.delimiter + part
            out.append(joined)
        return pa.array(out, lists.type)


def _split(text: str, delimiter: str) -> list[str]:
    """The parts of a text; without a delimiter Java splits at spaces."""
    return text.split(delimiter or " ")


def _separable(delimiter: str) -> bool:
    """Whether joined texts split into just their own parts: no end of the delimiter is a beginning of it."""
    return bool(delimiter) and not any(delimiter.startswith(delimiter[i:]) for i in range(1, len(delimiter)))


def _counts(texts: pa.Array) -> npt.NDArray[np.bool_]:
    """Whether a text is there and not blank."""
    trimmed = pc.binary_length(pc.utf8_ltrim(texts, characters=_BLANKS))
    counts: npt.NDArray[np.bool_] = pc.fill_null(pc.greater(trimmed, 0), False).to_numpy(zero_copy_only=False)
    return counts


def _lists(values: pa.Array, lengths: Positions) -> pa.Array:
    """One list of texts for each group."""
    return pa.LargeListArray.from_arrays(pa.array(group_offsets(lengths)), values)


def _pieces(texts: pa.Array, kind: pa.DataType) -> pa.ChunkedArray:
    """Large text as chunks of the plain type, none of which holds much more than 1 GiB."""
    ends = np.cumsum(pc.fill_null(pc.binary_length(texts), 0).to_numpy())
    pieces = int(ends[-1]) // _PIECE_BYTES + 1 if len(ends) else 1
    cuts = [0, *(int(np.searchsorted(ends, i * _PIECE_BYTES)) for i in range(1, pieces)), len(texts)]
    chunks = [texts.slice(a, b - a).cast(kind) for a, b in pairwise(cuts)]
    return pa.chunked_array(chunks, kind)


def listagg(field: DataField, options: FieldOptions) -> Aggregate:
    """listagg of a column of type STRING; VARCHAR(n) and CHAR(n) could not hold the result.

    Raises InvalidOption naming the column and what does not fit.
    """
    check_type("listagg", field, field.type.with_nullable(True) == STRING, "STRING")
    check_options("listagg", field, options, ("distinct", "list_agg_delimiter"))
    delimiter = "," if options.list_agg_delimiter is None else options.list_agg_delimiter
    return ListAgg(delimiter, options.distinct)
