"""SectionMerge: how the sorted runs of a section are merged, and which columns the merge decodes (format 8.6, 9.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paimon_core.lsm.engines.engine import MergeEngine
from paimon_core.lsm.engines.engine_choice import merge_engine
from paimon_core.lsm.merge_order import MergeOrder
from paimon_core.lsm.sorted_run import SortedRun, in_sequence
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.known_deletes import has_no_deletes
from paimon_core.plan.split import Split
from paimon_core.schema import KIND_FIELD, SEQUENCE_FIELD, DataField

_HIDDEN = (SEQUENCE_FIELD, KIND_FIELD)


@dataclass(frozen=True, slots=True)
class SectionMerge:
    """The merge of sorted runs into one row per key."""

    runs: Sequence[SortedRun]
    """The oldest run first."""
    fields: Sequence[DataField]
    """The columns to decode: the result, the inputs of the merge engine, the key, the sequence number and the
    row kind if there is an ``order``, and the row kind if deletes are dropped."""
    key: Sequence[str]
    order: MergeOrder | None
    """None: each run has higher sequence numbers than the runs before it, so the row of the last run is kept."""
    drop_deletes: bool
    columns: Sequence[str]
    """The columns of the result."""

    @staticmethod
    def of(
        context: TableContext,
        engine: MergeEngine,
        runs: Sequence[SortedRun],
        fields: Sequence[DataField],
        *,
        keep_deletes: bool = False,
    ) -> SectionMerge:
        """Return the merge that decodes the fewest columns for a result of ``fields``.

        ``fields`` are columns of the table, the sequence number or the row kind. A file stores the key columns twice;
        only the copy among the table's columns is decoded, for the merge and for the result.
        """
        schema, order = context.schema, MergeOrder.of(context.options)
        inputs = engine.inputs([f.name for f in fields if f not in _HIDDEN])
        decoded = dict.fromkeys([*schema.key_fields, *schema.select(order.sequence_fields), *schema.select(inputs)])
        decoded.update(dict.fromkeys(f for f in fields if f in _HIDDEN))
        ordered = None if order.sequence_fields else in_sequence(runs)
        drop_deletes = not keep_deletes and not all(
            has_no_deletes(file, context.options) for run in runs for file in run.files
        )
        if ordered is None:
            decoded[SEQUENCE_FIELD] = None
        if ordered is None or drop_deletes:
            decoded[KIND_FIELD] = None
        return SectionMerge(
            ordered or runs,
            tuple(decoded),
            schema.trimmed_primary_keys,
            None if ordered else order,
            drop_deletes,
            [f.name for f in fields],
        )


def merge_fields(context: TableContext, split: Split, fields: Sequence[DataField]) -> tuple[DataField, ...]:
    """Return the columns that a merge of a split decodes for a result of ``fields``."""
    engine = merge_engine(context.schema, context.options)
    wanted = fields or context.schema.key_fields[:1]
    merges = (SectionMerge.of(context, engine, runs, wanted) for runs in split.sections)
    return tuple(dict.fromkeys(f for merge in merges for f in merge.fields))
