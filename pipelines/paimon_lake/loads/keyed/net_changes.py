"""Net changes: how the row of each key of a table differs between two of its snapshots.

A key is left out when its row has equal values in both snapshots, in all columns that are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.errors import InvalidRequest, SnapshotNotFound
from paimon_core.lsm.equality import equal_values, same_rows
from paimon_core.metadata.commit_message import Position, position_of
from paimon_core.table.view import TableView
from paimon_lake.loads.lookup.dimension import ROWKIND
from paimon_lake.protocol import PipelineError

Mask = npt.NDArray[np.bool_]
"""One boolean for each changed key."""


@dataclass(frozen=True)
class NetChanges:
    """The changed keys. A removed key also has its old row in ``after``, and a new key also has its new row in
    ``before``.
    """

    before: pa.Table
    """The columns of the key, then the other columns, at the old snapshot."""
    after: pa.Table
    """The same columns at the new snapshot."""
    had: Mask
    """Whether the key had a row at the old snapshot."""
    has: Mask
    """Whether the key has a row at the new snapshot."""


def net_changes(
    view: TableView, after: Position, key: Sequence[str], values: Sequence[str], most_bytes: int
) -> NetChanges:
    """Return the changes of a pinned table after the position ``after``.

    Raises PipelineError when the changes are not known, or have more than ``most_bytes`` bytes.
    """
    until = view.latest_snapshot()
    assert until is not None
    names = list(dict.fromkeys((*key, *values)))
    found, size = [], 0
    try:
        if position_of(view.context.snapshots.read(after[0])) != tuple(after):
            raise InvalidRequest(f"snapshot {after[0]} was rolled back, or the table was re-created")
        changes = view.changes(after[0], until.id, columns=names)
        if not changes.is_typed:
            changes = view.changes(after[0], until.id, columns=names, way="diff")
        for batch in changes.to_batches():
            size += batch.nbytes
            if size > most_bytes:
                raise PipelineError(
                    f"the changes of {view.name} since snapshot {after[0]} need more than {most_bytes:,} bytes: set "
                    "source.cache_bytes of the part, or load it with --reload"
                )
            found.append(batch)
    except (SnapshotNotFound, InvalidRequest) as error:
        raise PipelineError(
            f"the changes of {view.name} since snapshot {after[0]} cannot be read: {error}; load the part with --reload"
        ) from None
    return _net(pa.Table.from_batches(found, changes.schema), key, names)


def _net(changes: pa.Table, key: Sequence[str], names: Sequence[str]) -> NetChanges:
    numbered = changes.select(list(key)).append_column("number", pa.array(np.arange(len(changes))))
    ends = numbered.group_by(list(key)).aggregate([("number", "min"), ("number", "max")])
    first = changes.take(ends["number_min"]).combine_chunks()
    last = changes.take(ends["number_max"]).combine_chunks()
    had, has = _is_one_of(first, "-U", "-D"), _is_one_of(last, "+I", "+U")
    changed = ~(had & has & same_rows(first, last, names, equal_values)) & (had | has)
    kept = pa.array(changed)
    before, after = (one.select(names).filter(kept).combine_chunks() for one in (first, last))
    return NetChanges(before, after, had[changed], has[changed])


def _is_one_of(changes: pa.Table, *kinds: str) -> Mask:
    return np.asarray(pc.is_in(changes[ROWKIND], pa.array(kinds)).to_numpy(), bool)
