"""listagg: joins texts by a delimiter, first to last (format 9.7).

Texts that are null, empty or only white space are ignored. With ``distinct``, the first text is unchanged. The other
texts are split at the delimiter, and only parts that are neither blank nor already present are added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.lsm.aggregates.aggregate import Aggregate, Retracts
from paimon_core.lsm.aggregates.collections.value_codes import same_object, within_groups
from paimon_core.lsm.aggregates.column_rules import check_options, check_type
from paimon_core.lsm.gather import Flags, Positions, contiguous, in_pieces, offsets_of, take
from paimon_core.lsm.key_groups import Groups, group
from paimon_core.options import FieldOptions
from paimon_core.schema import DataField
from paimon_core.types import STRING

_BLANKS = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \u1680\u2000\u2001\u2002\u2003\u2004\u2005"
    "\u2006\u2008\u2009\u200a\u2028\u2029\u205f\u3000"
)
"""White space as Java defines it, without no-break spaces."""


@dataclass(frozen=True, slots=True)
class ListAgg:
    """The function listagg: ``delimiter`` is put between the texts. ``distinct``: a part is not added twice."""

    delimiter: str = ","
    distinct: bool = False
    can_retract: bool = False

    def __call__(self, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> pa.ChunkedArray:
        """Return the joined text of each group; null when all its texts are null or blank."""
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
        """Return for each group the parts of its first text, then the new and non-blank parts of its later texts."""
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
        """Return the same as ``_distinct``, group by group, for a delimiter that may occur across the end of a text.

        Loops over the texts, because the present parts are known only after the joined text is split. Only the last
        part of the joined text can still change, so only this part is split again. The loop is necessary only for
        delimiters whose end is equal to their beginning, such as ``||``, and for the empty delimiter.
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
    """Return the parts of a text; if the delimiter is empty, Java splits at spaces."""
    return text.split(delimiter or " ")


def _separable(delimiter: str) -> bool:
    """Whether splitting joined texts gives exactly their parts: no end of the delimiter equals its beginning."""
    return bool(delimiter) and not any(delimiter.startswith(delimiter[i:]) for i in range(1, len(delimiter)))


def counting_texts(texts: pa.Array) -> Flags:
    """Return whether each text is neither null nor blank."""
    trimmed = pc.binary_length(pc.utf8_ltrim(texts, characters=_BLANKS))
    counts: Flags = pc.fill_null(pc.greater(trimmed, 0), False).to_numpy(zero_copy_only=False)
    return counts


def _lists(values: pa.Array, lengths: Positions) -> pa.Array:
    """Return one list of texts for each group."""
    return pa.LargeListArray.from_arrays(pa.array(offsets_of(lengths)), values)


def listagg(field: DataField, options: FieldOptions) -> Aggregate:
    """Return listagg for a column of type STRING.

    Raises InvalidOption, which names the column, for options of other functions and for all other types: VARCHAR(n) and
    CHAR(n) might be too short for the result.
    """
    check_type("listagg", field, field.type.with_nullable(True) == STRING, "STRING")
    check_options("listagg", field, options, ("distinct", "list_agg_delimiter"))
    delimiter = "," if options.list_agg_delimiter is None else options.list_agg_delimiter
    return ListAgg(delimiter, options.distinct)
