"""Reject partitions: rejects of a query or a function name their partition, so that a load of it again replaces them.

The column ``file`` of such a reject is the name of the source, and in brackets the partition of the row. Where the row
has no valid value of ``partitions.column``, the partitions of the load are there, at most ``_MOST_KEYS``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from paimon_core.schema import DataField
from paimon_lake.declarations import TableSpec
from paimon_lake.loads.partition_keys import keys_of_values

_MOST_KEYS = 100


def labelled(name: str, keys: Sequence[str] | None) -> str:
    """Return the ``file`` of a reject of the partitions ``keys``; the name alone for no or too many partitions."""
    return f"{name} [{', '.join(keys)}]" if keys and len(keys) <= _MOST_KEYS else name


@dataclass(frozen=True)
class RejectPartitions:
    """Names the partitions of rejected rows: ``field`` is their column, ``keys`` are the partitions of the load."""

    spec: TableSpec
    field: DataField
    keys: tuple[str, ...] | None

    @staticmethod
    def of(spec: TableSpec, fields: Sequence[DataField], keys: tuple[str, ...] | None) -> RejectPartitions | None:
        """Return the partitions of a load; None for a table whose declaration has no column of partitions."""
        column = spec.partitions.column if spec.partitions is not None else ""
        found = [field for field in fields if field.name == column]
        only = TableSpec.model_construct(name=spec.name, partitions=spec.partitions)  # tasks need nothing else
        return RejectPartitions(only, found[0], keys) if found else None

    def files(self, name: str, values: pa.Array) -> list[str]:
        """Return the ``file`` of rejects with these values of the column, null where they are not valid."""
        assert self.spec.partitions is not None
        known: dict[object, str] = {}
        for value in values.unique():
            one = pa.array([value.as_py()], values.type)
            found = keys_of_values(one, self.field.type.root, self.spec, self.spec.partitions, self.keys)
            known[value.as_py()] = labelled(name, sorted(found) or self.keys)
        return [known[value] for value in values.to_pylist()]


@dataclass(frozen=True)
class ReadAgain:
    """The ``file`` of the rejects that a load of partitions replaces; None: of all partitions."""

    name: str
    keys: tuple[str, ...] | None

    def __contains__(self, file: object) -> bool:
        if not isinstance(file, str) or self.keys is None:
            return isinstance(file, str) and (file == self.name or file.startswith(f"{self.name} ["))
        label = file.removeprefix(f"{self.name} [").removesuffix("]")
        if file != f"{self.name} [{label}]":
            return False
        return label in self.keys or set(self.keys).issuperset(label.split(", "))
