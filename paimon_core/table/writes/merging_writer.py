"""MergingWriter: a writer that alters the table so that it fits the data of a write (option write.merge-schema).

The writer alters the table before it writes the rows that need the alteration, and so before the commit. Rows that the
writer received before the alteration are in files of the old schema. The table stays altered when the commit fails or
never happens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from paimon_core.alter.data_columns import data_columns
from paimon_core.alter.merge_schema import MergeRules, MergeSchema
from paimon_core.arrow import gaps, merged_table
from paimon_core.metadata.abort import abort
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.read.live_keys import live_keys
from paimon_core.write.table_writer import TableWriter


def open_writer(
    context: TableContext, merge_schema: MergeSchema = None, *, ignore_existing: bool = False
) -> TableWriter:
    """Return a writer, which alters the table for its data if ``merge_schema`` (default: the options) allows this."""
    rules = MergeRules.of(context.options, merge_schema)
    if rules is None:
        return TableWriter(context, ignore_existing=ignore_existing, live_keys=live_keys)
    return MergingWriter(context, rules, ignore_existing=ignore_existing)


class MergingWriter(TableWriter):
    """A writer that first alters the table when the data has columns, or types, that the table lacks.

    Several writers may alter the table at the same time, in one or several processes: each change is applied once, and
    a change that contradicts an earlier change raises SchemaMismatch. Files of the old schema stay valid.
    """

    def __init__(self, context: TableContext, rules: MergeRules, *, ignore_existing: bool = False) -> None:
        """Create a writer; ``rules`` state the allowed alterations, ``TableWriter`` describes the other arguments."""
        super().__init__(context, ignore_existing=ignore_existing, live_keys=live_keys)
        self._rules = rules
        self._held: list[CommitMessage] = []
        self._last_data: pa.Schema | None = None

    def write(self, data: Any, kinds: Any = None) -> None:
        """Add rows, as ``TableWriter.write`` does; first alter the table if it cannot store these rows."""
        if isinstance(data, pa.Table | pa.RecordBatch | pa.RecordBatchReader):  # the data may have no row
            self._check_usable()
            self._merge(data.schema, {kinds} if isinstance(kinds, str) else set())
        super().write(data, kinds)

    def _of_dicts(self, rows: Sequence[Mapping[str, Any]], first_row: int) -> pa.Table:
        self._gaps.update(gaps(rows))
        return merged_table(rows, self._context.schema.fields, first_row, widen=self._rules.widen)

    def _write(self, table: pa.Table, codes: pa.Array | None, first_row: int) -> None:
        self._merge(table.schema, set())
        unknown = [c.name for c in table.schema if pa.types.is_null(c.type) and c.name not in self._known]
        super()._write(table.drop_columns(unknown), codes, first_row)

    @property
    def _known(self) -> set[str]:
        return set(self._context.schema.by_name)

    def _merge(self, data: pa.Schema, kinds: set[str]) -> None:
        if self._last_data is not None and data.equals(self._last_data, check_metadata=True):
            return
        skipped = kinds - self._known
        context = self._rules.merged(self._context, data_columns(data, self._context.schema, skipped))
        if context is not self._context:
            self._held += self._flush()
            self._use(context)
        self._last_data = None if skipped else data

    def flush(self) -> list[CommitMessage]:
        """Finish all files, as ``TableWriter.flush`` does; the files of the messages may have several schemas."""
        found = super().flush()
        messages, self._held = [*self._held, *found], []
        return messages

    def abort(self) -> None:
        """Delete every written file that ``flush`` has not returned. The table stays altered."""
        held, self._held = self._held, []
        abort(held, self._context)
        super().abort()
