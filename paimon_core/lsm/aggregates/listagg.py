"""listagg: texts joined by a delimiter, first to last (format 9.7).

A text of white space only, or none, does not count. With ``distinct`` the first text stays as it is, and of the others
those parts between delimiters are added that are not blank and not there yet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.lsm.aggregates.aggregate import Aggregate, Retracts
from paimon_core.lsm.aggregates.column_rules import check_options, check_type
from paimon_core.lsm.aggregates.value_codes import same_object, within_groups
from paimon_core.lsm.gather import Flags, Positions, contiguous, in_pieces, offsets_of, take
from paimon_core.lsm.key_groups import Groups, group
from paimon_core.options import FieldOptions
from paimon_core.schema import DataField
from paimon_core.types import STRING

_BLANKS = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \u1680\u2000\u2001\u2002\u2003\u2004\u2005"
    "\u2006\u2008\u2009\u200a\u2028\u2029\u205f\u3000"
)
"""White space as Java counts it: no-break spaces are none."""


@dataclass(frozen=True, slots=True)
class ListAgg:
    """``delimiter`` stands between the texts; ``distinct``: each part once."""

    delimiter: str = ","
    distinct: bool = False
    can_retract: bool = False

    def __call__(self, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> pa.ChunkedArray:
        """The joined text of each group; null where no text counts."""
        groups = groups.where(counting_texts(contiguous(column)))
        texts = contiguous(take(column, groups.order)).cast(pa.large_string())
        lists = _lists(texts, groups.lengths)
        if self.distinct:
            if _separable(self.delimiter):
                lists = self._distinct(texts, groups)
            else:
                lists = self._distinct_by_steps(lists)
        joined = pc.binary_join(lists, pa.scalar(self.delimiter, pa.large_string()))
        nothing = pa.scalar(None, pa.large_string())
        return in_pieces(pc.if_else(pa.array(groups.lengths > 0), joined, nothing), column.type)

    def _distinct(self, texts: pa.Array, groups: Groups) -> pa.Array:
        """The parts that stay, a list for each group: all of the first text, of the others what is new."""
        split = pc.split_pattern(texts, self.delimiter)
        parts = split.flatten()
        text_of = np.repeat(np.arange(len(texts)), np.diff(split.offsets.to_numpy()))
        group_of = groups.numbers[text_of]
        same = group(within_groups(group_of, same_object(parts)), None)
        stays = np.zeros(len(parts), np.bool_)
        stays[same.first] = True
        stays &= counting_texts(parts)
        stays |= text_of == groups.starts[group_of]
        kept = np.flatnonzero(stays)
        return _lists(pc.take(parts, pa.array(kept)), np.bincount(group_of[kept], minlength=len(groups)))

    def _distinct_by_steps(self, lists: pa.Array) -> pa.Array:
        """The same, group by group, for a delimiter that may be found across the seam of two texts.

        A loop over the texts: what is there already is known only by splitting what was joined so far. All but the end
        of it stays split as it is, whatever follows, so only the end is looked at again. Only delimiters that begin as
        they end, such as ``||``, and the empty one need it.
        """
        out = []
        for texts in lists.to_pylist():
            joined = texts[:1]
            *done, end = _split(texts[0], self.delimiter) if texts else [""]
            there = set(done)
            for text in texts[1:]:
                new = dict.fromkeys(
                    part
                    for part in _split(text, self.delimiter)
                    if part.strip(_BLANKS) and part != end and part not in there
                )
                joined += new
                *done, end = _split(self.delimiter.join([end, *new]), self.delimiter)
                there.update(done)
            out.append([self.delimiter.join(joined)] if texts else [])
        return pa.array(out, lists.type)


def _split(text: str, delimiter: str) -> list[str]:
    """The parts of a text; without a delimiter Java splits at spaces."""
    return text.split(delimiter or " ")


def _separable(delimiter: str) -> bool:
    """Whether joined texts split into just their own parts: no end of the delimiter is a beginning of it."""
    return bool(delimiter) and not any(delimiter.startswith(delimiter[i:]) for i in range(1, len(delimiter)))


def counting_texts(texts: pa.Array) -> Flags:
    """Whether a text is there and not blank."""
    trimmed = pc.binary_length(pc.utf8_ltrim(texts, characters=_BLANKS))
    counts: Flags = pc.fill_null(pc.greater(trimmed, 0), False).to_numpy(zero_copy_only=False)
    return counts


def _lists(values: pa.Array, lengths: Positions) -> pa.Array:
    """One list of texts for each group."""
    return pa.LargeListArray.from_arrays(pa.array(offsets_of(lengths)), values)


def listagg(field: DataField, options: FieldOptions) -> Aggregate:
    """listagg of a column of type STRING; VARCHAR(n) and CHAR(n) could not hold the result.

    Raises InvalidOption naming the column and what does not fit.
    """
    check_type("listagg", field, field.type.with_nullable(True) == STRING, "STRING")
    check_options("listagg", field, options, ("distinct", "list_agg_delimiter"))
    delimiter = "," if options.list_agg_delimiter is None else options.list_agg_delimiter
    return ListAgg(delimiter, options.distinct)
