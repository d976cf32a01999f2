"""Columns of text and collections for tests of aggregate functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa

from paimon_core.lsm.aggregates.aggregate import Aggregate
from paimon_core.lsm.key_groups import group
from paimon_core.schema import DataField
from paimon_core.types import from_arrow, parse_type


def field_of(kind: pa.DataType | str) -> DataField:
    """Return a column ``v`` of an Arrow type or of a type text."""
    return DataField(1, "v", parse_type(kind) if isinstance(kind, str) else from_arrow(kind))


def folded(made: Aggregate, kind: pa.DataType, *groups: Sequence[Any]) -> list[Any]:
    """Return the aggregate of each group's values; a value in ``Back`` comes from a retract."""
    values = [value for rows in groups for value in rows]
    retracts = np.array([isinstance(value, Back) for value in values], np.bool_)
    plain = [value.value if isinstance(value, Back) else value for value in values]
    numbers = np.repeat(np.arange(len(groups)), [len(rows) for rows in groups])
    column = pa.chunked_array([pa.array(plain, kind)], kind)
    result = made(column, group(numbers, None), retracts if retracts.any() else None)
    assert result.type == kind
    result.validate(full=True)
    return cast(list[Any], result.to_pylist())


@dataclass(frozen=True)
class Back:
    """The value of a retract."""

    value: Any
