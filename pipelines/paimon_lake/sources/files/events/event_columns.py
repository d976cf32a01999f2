"""Event columns: the forms that the values of a column have in events, and their conversion to the type of the column.

The form of a value is how the event writes it: ``text``, ``number``, ``bool``, or ``native`` for an array or object. A
value is read in its form. So one file may write a DATE as texts and as numbers of days.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.types import BINARY_ROOTS, STRING, STRING_ROOTS, TIMESTAMP_ROOTS, DataType, TypeRoot
from paimon_lake.sources.files.events.connect_types import DECIMAL, ConnectType, from_bytes
from paimon_lake.sources.files.events.dialects import Dialect
from paimon_lake.sources.files.events.epochs import from_epoch
from paimon_lake.sources.files.rejects import shown
from paimon_lake.sources.files.text.json_types import convert_json, read_type
from paimon_lake.sources.files.text.json_values import Object, Unfit, value_of, word_of
from paimon_lake.sources.files.text.text_values import TextRules, bad_value, convert_text

Values = Mapping[str, pa.Array]
"""Maps each form to the values of a column in this form; all arrays have one item per row, and a row has a value in at
most one of the arrays.
"""
_INTEGERS = frozenset({TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT, TypeRoot.BIGINT})
_FLOATS = frozenset({TypeRoot.FLOAT, TypeRoot.DOUBLE})
_TIMES = TIMESTAMP_ROOTS | {TypeRoot.DATE, TypeRoot.TIME}


@dataclass(frozen=True)
class EventColumn:
    """One column of the rows in events of one dialect and schema."""

    name: str
    kind: DataType
    forms: Mapping[str, pa.DataType]
    """Maps each form to the Arrow type in which its values are read; the most likely form is the first."""
    connect: ConnectType
    unit: str
    """The unit that a number for a date or time counts; "" when numbers are not valid."""
    rules: TextRules
    needs_unit: bool = False
    """Whether a number would be valid with the option ``timestamp_unit``."""

    @staticmethod
    def of(
        name: str, kind: DataType, dialect: Dialect, connect: ConnectType, timestamp_unit: str, rules: TextRules
    ) -> EventColumn:
        """Return the column for events of a dialect; ``timestamp_unit`` is the option of the file format."""
        unit = connect.unit(kind, timestamp_unit) if dialect.epochs else ""
        needs_unit = dialect.epochs and kind.root in TIMESTAMP_ROOTS and not unit and not connect.name
        return EventColumn(name, kind, _forms(kind, dialect, unit), connect, unit, rules, needs_unit)

    def read(self, value: Any, *, ignore_extra: bool) -> tuple[str, Any]:
        """Return the form of a JSON value that is not null, and the value in the type of this form.

        Raises Unfit for a value that does not fit. Raises ExtraMember for a member that a ROW does not have, unless
        ``ignore_extra``.
        """
        form = form_of(value)
        if form not in self.forms:
            raise Unfit(self.name, self._unfit(value))
        if form == "text" or form == "bool":
            value_of(value, STRING if form == "text" else self.kind, (self.name,), True)
            return form, value
        if form == "native" or self.kind.root in _INTEGERS | _FLOATS | {TypeRoot.DECIMAL}:
            return form, value_of(value, self.kind, (self.name,), ignore_extra)
        if type(value) is not int or not -(2**63) <= value < 2**63:
            raise Unfit(self.name, self._unfit(value))
        return form, value

    def _unfit(self, value: Any) -> str:
        what = shown(value) if isinstance(value, str) else word_of(value)
        advice = ""
        if type(value) is int and self.needs_unit:
            advice = ": set the option timestamp_unit of the source, or send events with their schema"
        return f"{what} is not valid for {self.kind}{advice}"

    def convert(self, values: Values) -> tuple[pa.Array, np.ndarray | None, Callable[[int], str]]:
        """Return the values in the type of the column, flags for values that do not fit, and a function for reasons."""
        parts = {form: self._converted(form, array) for form, array in values.items()}
        arrays = [array for array, _ in parts.values()]
        flags = [bad for _, bad in parts.values() if bad is not None]
        bad = np.logical_or.reduce(flags) if flags else None
        return arrays[0] if len(arrays) == 1 else pc.coalesce(*arrays), bad, lambda row: self._reason(values, row)

    def _converted(self, form: str, values: pa.Array) -> tuple[pa.Array, np.ndarray | None]:
        if form == "text":
            if self.kind.root is TypeRoot.DECIMAL and self.connect.name == DECIMAL:
                return from_bytes(values, self.connect.scale, self.kind)
            return convert_text(values, self.kind, self.rules)
        if form == "number" and self.kind.root in _TIMES:
            return from_epoch(values, self.kind, self.unit)
        if form == "number" and self.kind.root is TypeRoot.BOOLEAN:
            bad = pc.fill_null(pc.invert(pc.is_in(values, pa.array([0, 1], values.type))), False)
            bad = np.asarray(pc.and_(bad, values.is_valid()).to_numpy(zero_copy_only=False))
            return values.cast(pa.bool_()), bad if bad.any() else None
        return convert_json(values, self.kind, self.rules)

    def _reason(self, values: Values, row: int) -> str:
        form, value = next((form, array[row].as_py()) for form, array in values.items() if array[row].is_valid)
        if form == "number":
            return f"the number {value} is not valid for {self.kind}"
        return bad_value(json.dumps(value, default=str) if form == "native" else value, self.kind, self.rules)


def form_of(value: Any) -> str:
    """Return the form of a JSON value that is not null."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool):
        return "bool"
    return "native" if isinstance(value, list | Object) else "number"


def _forms(kind: DataType, dialect: Dialect, unit: str) -> dict[str, pa.DataType]:
    if kind.children:
        return {"native": read_type(kind)}
    numbers: dict[str, pa.DataType] = {}
    if kind.root in _INTEGERS or kind.root is TypeRoot.DECIMAL:
        numbers = {"number": kind.to_arrow()}
    elif kind.root in _FLOATS:
        numbers = {"number": pa.float64()}
    elif kind.root is TypeRoot.BOOLEAN:
        numbers = {"bool": pa.bool_(), "number": pa.int64()}
    elif kind.root in _TIMES and unit:
        numbers = {"number": pa.int64()}
    has_texts = dialect.text_numbers or kind.root in STRING_ROOTS | BINARY_ROOTS | _TIMES | {TypeRoot.DECIMAL}
    texts = {"text": pa.string()} if has_texts else {}
    return {**texts, **numbers} if dialect.text_numbers or not numbers else {**numbers, **texts}
