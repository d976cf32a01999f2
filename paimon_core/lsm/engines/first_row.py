"""First-row: keeps the first row of a key (format 9.3).

The choice of the rows uses only the key, the sequence number and the kind. Batch reads leave out level 0: a row of
level 0 may have a key that exists in a higher level, and only a compaction looks up the key.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from paimon_core.errors import InvalidRequest
from paimon_core.lsm.engines.singles import ignoring_retracts
from paimon_core.lsm.fold import first, fold
from paimon_core.lsm.key_groups import Groups
from paimon_core.lsm.merge_order import is_add
from paimon_core.options import TableOptions
from paimon_core.schema import VALUE_KIND

_PRODUCERS = ("none", "lookup")


@dataclass(frozen=True, slots=True)
class FirstRow:
    """The engine. ``ignore_delete``: if a key has several rows, its rows of kind -U and -D are ignored."""

    keeps_last: ClassVar[bool] = False
    ignore_delete: bool = False

    @staticmethod
    def of(options: TableOptions) -> FirstRow:
        """Return the engine of a table; raises InvalidRequest for options that first-row does not allow."""
        if options["sequence.field"]:
            raise InvalidRequest(
                "option sequence.field is not allowed with merge-engine = first-row, which uses the order of arrival",
                option="sequence.field",
            )
        producer = options["changelog-producer"]
        if producer not in _PRODUCERS:
            raise InvalidRequest(
                f"option changelog-producer = {producer} is not allowed with merge-engine = first-row, "
                f"only {' and '.join(_PRODUCERS)} are",
                option="changelog-producer",
                value=producer,
            )
        return FirstRow(options["ignore-delete"])

    def last_values(self, rows: pa.Table, columns: Sequence[str]) -> frozenset[str] | None:
        """Return None: the first row of a key is kept."""
        return None

    def inputs(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Return ``columns`` without duplicates, because the engine needs no other column."""
        return tuple(dict.fromkeys(columns))

    def survivors(self, rows: pa.Table, groups: Groups, *, drop_deletes: bool) -> Groups:
        """Return the groups without ignored rows.

        With ``drop_deletes``, leave out groups whose first row is a retract. Unless ``ignore_delete`` is true, raises
        InvalidRequest for a retract in a group of several rows.
        """
        if VALUE_KIND not in rows.column_names:
            return groups
        adds = is_add(rows)
        if self.ignore_delete:
            groups = ignoring_retracts(groups, adds)
        else:
            _check_kinds(rows, groups)
        return groups.keep(adds[groups.first]) if drop_deletes else groups

    def fold(self, rows: pa.Table, groups: Groups, columns: Sequence[str]) -> pa.Table:
        """Return the first row of each group."""
        return fold(rows, groups, dict.fromkeys(columns, first))

    def check_retract(self, kinds: Collection[int]) -> None:
        """Raise InvalidRequest for rows of kind -U and -D, unless option ignore-delete is true."""
        if not self.ignore_delete:
            raise _refused()

    def check_rows(self, rows: pa.Table) -> None:
        """Do nothing: every row is accepted."""


def _check_kinds(rows: pa.Table, groups: Groups) -> None:
    adds = is_add(rows)
    if not adds.all() and not adds[groups.keep(groups.several).compact().order].all():
        raise _refused()


def _refused() -> InvalidRequest:
    return InvalidRequest(
        "merge-engine = first-row accepts no rows of kind -U and -D: set the option ignore-delete = true to drop them",
        option="ignore-delete",
    )
