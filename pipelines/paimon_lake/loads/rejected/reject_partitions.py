"""Reject partitions: rejects of a query or a function name their partition, whose next load replaces the rejects.

The column ``file`` of such a reject is the name of the source, and in brackets the partition of the row. When the row
has no valid value of ``partitions.column``, the brackets have the partitions of the load, at most ``_MOST_KEYS``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from paimon_core.schema import DataField
from paimon_lake.declarations import TableSpec
from paimon_lake.loads.partitions.partition_keys import keys_of_values

_MOST_KEYS = 100


def labelled(name: str, keys: Sequence[str] | None) -> str:
    """Return the column ``file`` of a reject: ``name [keys]``, or only the name for no keys or too many keys."""
    return f"{name} [{', '.join(keys)}]" if keys and len(keys) <= _MOST_KEYS else name


@dataclass(frozen=True)
class RejectPartitions:
    """Names the partitions of rejected rows: ``field`` is their column, ``keys`` are the partitions of the load."""

    spec: TableSpec
    field: DataField
    keys: tuple[str, ...] | None

    @staticmethod
    def of(spec: TableSpec, fields: Sequence[DataField], keys: tuple[str, ...] | None) -> RejectPartitions | None:
        """Return the names for a load of ``keys``; None for a table whose declaration has no ``partitions.column``."""
        column = spec.partitions.column if spec.partitions is not None else ""
        found = [field for field in fields if field.name == column]
        only = TableSpec.model_construct(name=spec.name, partitions=spec.partitions)  # the only fields that tasks need
        return RejectPartitions(only, found[0], keys) if found else None

    def files(self, name: str, values: pa.Array) -> list[str]:
        """Return the column ``file`` of rejects whose partition column has these values; null is an invalid value."""
        assert self.spec.partitions is not None
        known: dict[object, str] = {}
        for value in values.unique():
            one = pa.array([value.as_py()], values.type)
            found = keys_of_values(one, self.field.type.root, self.spec, self.spec.partitions, self.keys)
            known[value.as_py()] = labelled(name, sorted(found) or self.keys)
        return [known[value] for value in values.to_pylist()]


@dataclass(frozen=True)
class ReadAgain:
    """Contains the values of ``file`` whose rejects a load replaces: for the partitions ``keys`` (None: all)."""

    name: str
    keys: tuple[str, ...] | None

    def __contains__(self, file: object) -> bool:
        if not isinstance(file, str) or self.keys is None:
            return isinstance(file, str) and (file == self.name or file.startswith(f"{self.name} ["))
        label = file.removeprefix(f"{self.name} [").removesuffix("]")
        if file != f"{self.name} [{label}]":
            return False
        return label in self.keys or set(self.keys).issuperset(label.split(", "))
