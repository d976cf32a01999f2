"""Forcing value: the first value because of which a column of texts is STRING although most of its texts fit a type."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.types import parse_type
from paimon_lake.sources.files.rejects import shown
from paimon_lake.sources.files.text.text_values import TextRules, convert_text

NUMBERS = ("BIGINT", "DOUBLE")
CODE = r"^\s*[+-]?0[0-9]"
"""Matches numbers with zeros at the left, such as postal codes, which stay texts."""
BOOLEANS = "^(?i:true|false)$"


@dataclass(frozen=True)
class ForcingValue:
    """The first value that keeps a column from a type."""

    value: str
    row: int
    """The number of the row in the file, from 1, without the header and without rows that cannot be read."""
    kind: str
    """The type of most other values."""
    is_code: bool = False
    """Whether the value is a number with zeros at the left, which a number type would lose."""
    file: str = ""
    """The file, as the ledger names it."""

    def in_file(self, file: str) -> ForcingValue:
        """Return the value with the name of its file."""
        return replace(self, file=file)

    def sentence(self, column: str) -> str:
        """Return the reason for the type of a column, and what the user can declare instead."""
        place = f"{shown(self.value)} in {self.file}, row {self.row:,}"
        if self.is_code:
            return f"{column} is STRING because of {place}: {self.kind} would lose the zeros at its left"
        return (
            f"{column} is STRING because of {place}; most other values are {self.kind}: declare {self.kind} to reject "
            "rows with such values, or name the value in source.options.null_value"
        )


def forcing_value(texts: pa.Array, candidates: Iterable[str], rules: TextRules) -> ForcingValue | None:
    """Return the first text that does not fit the type which most of the texts fit.

    Returns None when no candidate type fits at least half of the texts that are not null, as in a column of names.
    """
    is_null = pc.is_in(texts, value_set=pa.array([*rules.null_values, None], pa.string()))
    rows = np.flatnonzero(~is_null.to_numpy(zero_copy_only=False))
    texts = texts.take(pa.array(rows))
    is_code = pc.match_substring_regex(texts, CODE).to_numpy(zero_copy_only=False)
    best: tuple[int, int, str] | None = None
    for kind in candidates:
        if kind == "BOOLEAN":
            bad = ~pc.match_substring_regex(texts, BOOLEANS).to_numpy(zero_copy_only=False)
        else:
            _, flags = convert_text(texts, parse_type(kind), rules)
            bad = np.zeros(len(texts), bool) if flags is None else np.asarray(flags)
        bad = bad | is_code if kind in NUMBERS else bad
        count = int(bad.sum())
        if count and 2 * count <= len(texts) and (best is None or count < best[0]):
            best = count, int(np.argmax(bad)), kind
    if best is None:
        return _first_code(texts, rows, is_code)
    _, at, kind = best
    return ForcingValue(texts[at].as_py(), int(rows[at]) + 1, kind, is_code=bool(is_code[at]) and kind in NUMBERS)


def _first_code(texts: pa.Array, rows: np.ndarray, is_code: np.ndarray) -> ForcingValue | None:
    """Return the first number with zeros at the left when all texts are whole numbers; None otherwise."""
    if not is_code.any() or convert_text(texts, parse_type("BIGINT"), TextRules())[1] is not None:
        return None
    at = int(np.argmax(is_code))
    return ForcingValue(texts[at].as_py(), int(rows[at]) + 1, "BIGINT", is_code=True)
