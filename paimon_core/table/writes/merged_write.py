"""Merged write: alters the table so that it can take the data of a write (option write.merge-schema).

A merging writer alters the table before it writes the rows that need it, so before the commit. Rows that it received
before are in files of the schema before. The alteration stays when the commit fails or never happens.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import pyarrow as pa

from paimon_core.alter.alter_table import alter_table
from paimon_core.alter.changes import SchemaChange
from paimon_core.alter.merge_schema import merged_changes
from paimon_core.arrow import Convert, merged_table
from paimon_core.errors import InvalidRequest, SchemaMismatch, UnsupportedFeature
from paimon_core.metadata.abort import abort
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.options import TableOptions
from paimon_core.read.live_keys import live_keys
from paimon_core.schema import DataField, TableSchema
from paimon_core.types import BINARY_ROOTS, VARIANT, Child, DataType, TypeRoot, multiset_of, read_annotations
from paimon_core.write.table_writer import TableWriter

MergeSchema = bool | Literal["widen"] | None
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")
_UNSIGNED = {
    pa.uint8(): TypeRoot.SMALLINT,
    pa.uint16(): TypeRoot.INT,
    pa.uint32(): TypeRoot.BIGINT,
    pa.uint64(): TypeRoot.BIGINT,
}
"""The types that hold the values of unsigned columns, of uint64 those below 2^63."""


@dataclass(frozen=True)
class MergeRules:
    """How a write may change the schema: add columns, and with ``widen`` and ``explicit`` also change types."""

    widen: bool
    explicit: bool

    @staticmethod
    def of(options: TableOptions, merge_schema: MergeSchema, explicit: bool | None = None) -> MergeRules | None:
        """Return the rules of an argument ``merge_schema``; None when the table must not be altered.

        What the arguments leave open (None), the options ``write.merge-schema*`` decide. Raises InvalidRequest.
        """
        if merge_schema not in (True, False, None, "widen"):
            raise InvalidRequest(f"merge_schema must be True, False or 'widen', not {merge_schema!r:.60}")
        if not (options["write.merge-schema"] if merge_schema is None else merge_schema):
            return None
        widen = merge_schema == "widen" or options["write.merge-schema.type-widening"]
        return MergeRules(widen, options["write.merge-schema.explicit-cast"] if explicit is None else explicit)

    def merged(self, context: TableContext, columns: Sequence[DataField]) -> TableContext:
        """Return the table after it was altered so that it can take ``columns``; ``context`` when it can already.

        A concurrent writer may add the same columns: then nothing is left to change. Raises SchemaMismatch for types
        that cannot be merged, and the errors of ``alter_table``.
        """
        try:
            if not self._changes(context.schema, columns=columns):
                return context
        except SchemaMismatch:
            pass  # the latest schema may have wider types
        return alter_table(context, partial(self._changes, columns=columns))

    def _changes(self, schema: TableSchema, *, columns: Sequence[DataField]) -> list[SchemaChange]:
        return merged_changes(schema, columns, widen=self.widen, explicit=self.explicit)


def open_writer(
    context: TableContext, merge_schema: MergeSchema = None, *, ignore_existing: bool = False
) -> TableWriter:
    """Return a writer that merges schemas if ``merge_schema``, or else the table's options, say so."""
    rules = MergeRules.of(context.options, merge_schema)
    if rules is None:
        return TableWriter(context, ignore_existing=ignore_existing, live_keys=live_keys)
    return MergingWriter(context, rules, ignore_existing=ignore_existing)


class MergingWriter(TableWriter):
    """A writer that first alters the table when the data has columns, or types, that the table lacks.

    Several writers may merge at the same time, in one or several processes: each change is applied once, and a change
    that contradicts one that was first raises SchemaMismatch. Files of the schema before stay valid.
    """

    def __init__(self, context: TableContext, rules: MergeRules, *, ignore_existing: bool = False) -> None:
        """Create a writer; the arguments have the same meaning as in ``TableWriter``."""
        super().__init__(context, ignore_existing=ignore_existing, live_keys=live_keys)
        self._rules = rules
        self._held: list[CommitMessage] = []
        self._last_data: pa.Schema | None = None

    def write(self, data: Any, kinds: Any = None) -> None:
        """Add rows, as ``TableWriter.write`` does, after the table was altered so that it can take them."""
        if isinstance(data, pa.Table | pa.RecordBatch | pa.RecordBatchReader):  # the data may have no row
            self._check_usable()
            self._merge(data.schema, {kinds} if isinstance(kinds, str) else set())
        super().write(data, kinds)

    def _dict_conversion(self) -> Sequence[DataField] | Convert:
        return self._converted

    def _converted(self, rows: Sequence[Mapping[str, Any]], first_row: int) -> pa.Table:
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
        """Finish all files, as ``TableWriter.flush`` does; the messages may be of files of several schemas."""
        found = super().flush()
        messages, self._held = [*self._held, *found], []
        return messages

    def abort(self) -> None:
        """Delete every written file that ``flush`` has not returned. The table stays altered."""
        held, self._held = self._held, []
        abort(held, self._context)
        super().abort()


def data_columns(data: pa.Schema, schema: TableSchema, skipped: Collection[str]) -> list[DataField]:
    """Return the columns of the data that may be columns of the table.

    Left out are ``skipped`` columns, row labels of pandas, and columns without a type. Raises UnsupportedFeature, which
    names the column.
    """
    return [
        DataField(-1, column.name, _type(column, schema))
        for column in data
        if column.name not in skipped and not _PANDAS_INDEX.fullmatch(column.name) and not pa.types.is_null(column.type)
    ]


def recognised(found: DataType, held: DataField | Child | None) -> DataType:
    """Return the type of data as the type of a column of the same form: a map as MULTISET, two binaries as VARIANT."""
    if held is None:
        return found
    kind = held.type
    if kind.root is TypeRoot.VARIANT and found.root is TypeRoot.ROW:
        binaries = {c.name for c in found.children if c.type.root in BINARY_ROOTS}
        return VARIANT if binaries == {"value", "metadata"} and len(found.children) == len(binaries) else found
    if kind.root is TypeRoot.MULTISET and found.root is TypeRoot.MAP:
        return multiset_of(recognised(found.children[0].type, kind.children[0]))
    if kind.root is not found.root:
        return found
    known = {child.name: child for child in kind.children}
    return replace(
        found, children=tuple(replace(c, type=recognised(c.type, known.get(c.name))) for c in found.children)
    )


def _type(column: pa.Field, schema: TableSchema) -> DataType:
    if column.name in schema.by_name and column.type in _UNSIGNED:
        return DataType(_UNSIGNED[column.type])
    try:
        return recognised(read_annotations(column).type, schema.by_name.get(column.name))
    except UnsupportedFeature as error:
        raise UnsupportedFeature(f"column {column.name!r}: {error.message}", column=column.name) from None
