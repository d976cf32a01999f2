"""BoundColumn: a column of a schema or a field inside of a column, with the steps from the column to the field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.errors import SchemaMismatch, listed
from paimon_core.predicate.kernels import cast_to
from paimon_core.predicate.literal import Literal, storage_value
from paimon_core.predicate.reference import Step, path_text
from paimon_core.schema import DataField
from paimon_core.types import NESTED_ROOTS, DataType, TypeRoot


@dataclass(frozen=True, slots=True)
class MapKey:
    """A step in the path to a nested value: from a MAP to the value of ``key``."""

    key: Any
    type: DataType


@dataclass(frozen=True, slots=True)
class BoundColumn:
    """A top-level column; with ``steps``, a field inside of this column."""

    root: str
    """The name of the top-level column."""
    field: DataField
    """The type of the values, and the name that messages show."""
    steps: tuple[str | MapKey, ...] = ()

    def of(self, rows: pa.Table | pa.RecordBatch) -> Any:
        """Return the values in ``rows``; null where a ROW or MAP on the path is null, or a MAP lacks the key."""
        found = rows.column(self.root)
        for step in self.steps:
            found = _entered(found, step)
        return cast_to(found, self.field.type.to_arrow())

    def to_arrow(self) -> pc.Expression:
        """Return the column or the field as an Arrow expression."""
        if all(isinstance(step, str) for step in self.steps):
            return pc.field(self.root, *self.steps) if self.steps else pc.field(self.root)
        found = pc.field(self.root)
        for step in self.steps:
            found = _entered(found, step)
        return found


def _entered(column: Any, step: str | MapKey) -> Any:
    if isinstance(step, str):
        return pc.struct_field(column, [step])  # a list, because Arrow parses a text that starts with a point as a path
    return pc.map_lookup(column, pa.scalar(step.key, step.type.to_arrow()), "first")


def bound_column(name: str, path: tuple[Step, ...], fields: Mapping[str, DataField]) -> BoundColumn:
    """Return the column ``name``, or the field at ``path`` inside of the column; raises SchemaMismatch, which names the
    column.
    """
    field = fields.get(name)
    if field is None:
        dotted = ".".join(map(str, (name, *path)))
        hint = f": the name of column `{dotted}` needs backquotes" if path and dotted in fields else ""
        raise SchemaMismatch(f"the filter names column {name!r}; the columns are {listed(fields)}{hint}", column=name)
    dtype, steps = field.type, list[str | MapKey]()
    for at, step in enumerate(path):
        here = path_text(name, path[:at])
        members = {child.name: child.type for child in dtype.children}
        match dtype.root:
            case TypeRoot.ROW if step in members:
                assert isinstance(step, str)
                steps.append(step)
                dtype = members[step]
            case TypeRoot.ROW:
                raise SchemaMismatch(f"column {here} has no field {step!r}, only {listed(members)}", column=name)
            case TypeRoot.MAP:
                key, value = (child.type for child in dtype.children)
                steps.append(MapKey(_map_key(step, DataField(-1, f"{here} (a key)", key), name), key))
                dtype = value
            case _:
                raise SchemaMismatch(
                    f"column {here} is {dtype}: only a ROW has fields and a MAP has keys, so it has no member {step!r}",
                    column=name,
                )
    return BoundColumn(name, DataField(field.id, path_text(name, path), dtype) if path else field, tuple(steps))


def _map_key(step: Step, field: DataField, column: str) -> Any:
    literal: Literal = step
    value, exact = storage_value(literal, field)
    if not exact or field.type.root in NESTED_ROOTS:
        raise SchemaMismatch(f"column {field.name} is {field.type} and has no key {step!r}", column=column)
    return value
