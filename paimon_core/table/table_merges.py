"""TableMerges: the method of a table handle that merges a source into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paimon_core.errors import InvalidRequest
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.rules.engine_rules import check_deletes
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.plan.plan_scan import ScanPlan
from paimon_core.predicate import Predicate
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.rows.merge_clauses import Clauses, Delete, Insert, Update, clauses_of
from paimon_core.table.rows.merge_rows import Merge, merged_by_key, merged_rows
from paimon_core.table.rows.merge_source import MergeSource
from paimon_core.table.table_writes import TableWrites

Changing = Update | Delete
_UPDATE, _INSERT = Update(), Insert()


@dataclass(frozen=True, repr=False)
class TableMerges(TableWrites):
    """A table that a source can be merged into."""

    def merge(
        self,
        source: Any,
        on: Sequence[str],
        *,
        when_matched: Changing | Sequence[Changing] | None = _UPDATE,
        when_not_matched: Insert | Sequence[Insert] | None = _INSERT,
        when_not_matched_by_source: Changing | Sequence[Changing] | None = None,
        user: str | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> Snapshot | None:
        """Update, delete and insert rows by those of ``source``, in one commit; None when there is nothing to change.

        A row of the table matches a row of the source when all columns ``on`` are equal; nulls match nothing. By
        default matching rows get the values of the source, and other rows of the source are inserted:

        >>> orders.merge(changes, on=["id"])  # doctest: +SKIP
        >>> orders.merge(
        ...     changes,
        ...     on=["id"],
        ...     when_matched=[Delete(source_where=col("op") == "D"), Update({"price": col("price"), "note": "new"})],
        ...     when_not_matched=Insert(source_where=col("op") != "D"),
        ... )  # doctest: +SKIP

        ``source`` has a form that ``write`` takes and is held in memory. Its columns are converted to the types of the
        table; each must be a column of the table or be named by a clause. For each row the first clause of its list
        applies whose conditions are true: ``where`` on the row of the table, ``source_where`` on that of the source.
        When several rows of the source change one row, InvalidRequest names its key, unless all of them delete it.
        ``when_not_matched_by_source`` changes rows of the table without a row of the source, and reads all files; else
        only files are read that may have a key of the source.

        In append tables, old rows are deleted as by ``delete`` and new rows are added. With a primary key, the merge
        writes rows by key: inserts need ``on`` to be the primary key, updates merge-engine deduplicate, and with
        ``sequence.field`` an old row with a higher value stays, as after ``write``.

        The result is that of the snapshot before this commit. When a concurrent commit changes partitions that may
        contain keys of the source between the read and the commit, or compacts files that change, the merge is
        retried, up to ``commit.max-retries`` times. Raises CommitConflict when that happened every time, SchemaMismatch
        for columns and values that do not fit, InvalidRequest. Nothing is changed then.
        """
        self._check_latest("merge into it")
        request = CommitRequest.of(self.context, user, None, properties)
        clauses = clauses_of(self.context, when_matched, when_not_matched, when_not_matched_by_source)
        rows = MergeSource.read(self.context, source, on, clauses)
        if self.context.is_keyed:
            _check_by_key(self.context, clauses, rows.on)
        clauses.check(self.context, rows.rows.column_names, rows.fields, rows.on)
        where = None if clauses.not_matched_by_source else rows.may_match(self.context)

        def change(context: TableContext, plan: ScanPlan, where: Predicate | None) -> list[CommitMessage]:
            fitting = rows
            if context is not self.context:  # the table was altered since
                fitting = MergeSource.read(context, rows.rows, on, clauses)
                clauses.check(context, fitting.rows.column_names, fitting.fields, fitting.on)
            merge = Merge(context, fitting, clauses)
            return (merged_by_key if context.is_keyed else merged_rows)(merge, plan, where)

        return self._change_rows(request, where, change)


def _check_by_key(context: TableContext, clauses: Clauses, on: Sequence[str]) -> None:
    """Raise InvalidRequest for clauses that would not take effect in this table with a primary key."""
    keys, engine = context.schema.primary_keys, context.options["merge-engine"]
    if clauses.not_matched and set(on) != set(keys):
        raise InvalidRequest(
            f"table {context.name}: rows are inserted by primary key, so that on must be {list(keys)}, not {list(on)}: "
            "match on these columns, or pass when_not_matched=None",
            table=context.name,
        )
    if engine != "deduplicate" and any(isinstance(c, Update) for c in clauses.changes):
        raise InvalidRequest(
            f"table {context.name} has merge-engine = {engine}: an update would not replace its rows: pass "
            "when_matched=None, or write the rows",
            table=context.name,
        )
    if any(isinstance(c, Delete) for c in clauses.changes):
        if context.options["ignore-delete"]:
            raise InvalidRequest(f"table {context.name} has ignore-delete = true: rows cannot be deleted")
        check_deletes(context)
