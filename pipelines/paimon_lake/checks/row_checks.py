"""Row checks: unique, not_null, accepted_values and range, evaluated on whole columns.

All except unique read only the rows that violate the rule: the filter of the scan is the opposite of the rule. So files
whose statistics exclude a violation are not read, and only one batch and the examples are in memory. ``unique`` keeps
the checked columns in memory: of one partition at a time if they contain the partition columns, otherwise of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_, or_

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core import col
from paimon_core.plan.split import Split
from paimon_core.predicate import Predicate
from paimon_core.schema import DataField
from paimon_core.table.view import TableView
from paimon_core.types import TypeRoot
from paimon_lake.checks.literals import accepted, bound
from paimon_lake.checks.text import EXAMPLES, a, keys_of, listed, of_rows, shown, texts
from paimon_lake.declarations.tables.checks import AcceptedValuesCheck, NotNullCheck, RangeCheck, UniqueCheck
from paimon_lake.protocol import PipelineError

Result = tuple[int, str]
"""The number of problems, and the sentence of the ``CheckResult``."""
_DISTINCT = 10_000
"""At most this many different wrong values are counted; their counts are exact."""
_COUNT = "count_all"


@dataclass(frozen=True)
class Rows:
    """The rows that are checked: all rows of one snapshot, or the partitions of a load."""

    table: TableView
    key: tuple[str, ...]
    where: Predicate | None = None

    @cached_property
    def count(self) -> int:
        """The number of checked rows, counted once for all checks."""
        return self.table.scan(where=self.where).count()

    @cached_property
    def total(self) -> int:
        """The number of rows of the whole table."""
        return self.count if self.where is None else self.table.scan().count()

    @property
    def place(self) -> str:
        """A text that says which rows are checked; "" for all rows."""
        return " in the loaded partitions" if self.where is not None else ""

    def field(self, column: str) -> DataField:
        """Return a column of the table; raises SchemaMismatch when no column has this name."""
        return self.table.schema.select([column])[0]

    def violations(self, rule: Predicate, columns: Sequence[str]) -> pa.RecordBatchReader:
        """Return key and ``columns`` of the checked rows for which ``rule``, the opposite of the check, is true."""
        known = self.table.schema.by_name
        names = list(dict.fromkeys([*(k for k in self.key if k in known), *columns]))
        parts = [rule] if self.where is None else [self.where, rule]
        return self.table.scan(names, reduce(and_, parts)).to_batches()


def not_null(check: NotNullCheck, rows: Rows) -> Result:
    """Count the rows with a null in one of the columns."""
    rule = reduce(or_, (col(name).is_null() for name in check.columns))
    wrong, nulls = 0, dict.fromkeys(check.columns, 0)
    examples: dict[str, list[str]] = {name: [] for name in nulls}
    for batch in rows.violations(rule, check.columns):
        wrong += batch.num_rows
        for name in nulls:
            is_null = pc.is_null(batch.column(name))
            nulls[name] += pc.sum(is_null).as_py() or 0
            if len(examples[name]) < EXAMPLES:
                examples[name] += _keys(batch.filter(is_null), rows)
    if not wrong:
        return 0, f"{rows.count:,} rows{rows.place}, none with a null in {', '.join(nulls)}"
    found = [
        f"{of_rows(n, rows.count, rows.place)} {a(name)} that is null{_after('keys', examples[name])}"
        for name, n in nulls.items()
        if n
    ]
    more = [f"{len(found) - EXAMPLES} more columns have nulls"] if len(found) > EXAMPLES else []
    return wrong, "; ".join([*found[:EXAMPLES], *more])


def accepted_values(check: AcceptedValuesCheck, rows: Rows) -> Result:
    """Count the rows with a value that is not listed; at most 10,000 different wrong values are kept in memory."""
    name, field = check.column, rows.field(check.column)
    rule = ~col(name).is_in([accepted(value, field) for value in check.values])
    wrong, counts = 0, _no_counts(field.type.to_arrow())
    for batch in rows.violations(rule, [name]):
        wrong += batch.num_rows
        counts = _add_counts(counts, batch.column(name))
    if not wrong:
        return 0, f"{rows.count:,} rows{rows.place}, none with {a(name)} other than {listed(check.values)}"
    top = _most_frequent(counts)
    found = [f"{text} ({n:,})" for text, n in zip(texts(top["value"]), top[_COUNT].to_pylist(), strict=True)]
    return wrong, (
        f"{of_rows(wrong, rows.count, rows.place)} {a(name)} other than {listed(check.values)}{_after('values', found)}"
    )


def range_(check: RangeCheck, rows: Rows) -> Result:
    """Count the rows with a value outside of the bounds; NaN is outside of every range."""
    name, field = check.column, rows.field(check.column)
    is_float = field.type.root in (TypeRoot.FLOAT, TypeRoot.DOUBLE)
    parts = []
    if check.min is not None:
        parts.append(col(name) < bound(check.min, field))
    if check.max is not None:
        parts.append(col(name) > bound(check.max, field))
    elif is_float:
        parts.append(col(name) > float("inf"))  # only NaN is greater
    wrong = 0
    examples: list[str] = []
    for batch in rows.violations(reduce(or_, parts), [name]):
        wrong += batch.num_rows
        if len(examples) < EXAMPLES:
            keys, values = _keys(batch, rows), texts(_head(batch)[name])
            examples += [f"{v} (key {k})" for v, k in zip(values, keys, strict=True)] if keys else values
    rule = _range_text(check, is_float)
    if not wrong:
        return 0, f"{rows.count:,} rows{rows.place}, none with {a(name)} {rule}"
    return wrong, f"{of_rows(wrong, rows.count, rows.place)} {a(name)} {rule}{_after('values', examples)}"


def unique(check: UniqueCheck, rows: Rows) -> Result:
    """Count the rows that repeat the values of another row; nulls are equal, and rows of only nulls are not compared.

    Only the partitions of a load are read if the checked columns contain the partition columns. Otherwise all rows are
    read, because a row of the load may repeat a row of another partition.
    """
    names = list(check.columns or rows.key)
    if not names:
        raise PipelineError("unique needs columns, because the table has no primary_key and no natural_key")
    where = rows.where if rows.where is not None and rows.where.columns <= set(names) else None
    scan = rows.table.scan(names, where)
    alone = set(rows.table.schema.partition_keys) <= set(names)
    groups: dict[bytes, list[Split]] = {}
    for split in scan.splits():
        groups.setdefault(split.partition if alone else b"", []).append(split)
    total, wrong = 0, 0
    found: list[tuple[int, str]] = []
    for splits in groups.values():
        part = pa.Table.from_batches([batch for split in splits for batch in scan.read(split)], scan.schema)
        total += part.num_rows
        if all(part[name].null_count for name in names):
            part = part.filter(reduce(pc.or_, [pc.is_valid(part[name]) for name in names]))
        counts = counted(part, names)
        wrong += part.num_rows - counts.num_rows
        top = _most_frequent(counts.filter(pc.greater(counts[_COUNT], 1)))
        found += zip(top[_COUNT].to_pylist(), keys_of(top, names), strict=True)
        found = sorted(found, key=lambda one: -one[0])[:EXAMPLES]
    place = rows.place if where is not None else ""
    if not wrong:
        return 0, f"{total:,} rows{place}, no two with the same {', '.join(names)}"
    examples = [f"{key} ({n:,} times)" for n, key in found]
    verb = "repeats" if wrong == 1 else "repeat"
    return wrong, f"{wrong:,} of {total:,} rows{place} {verb} the {', '.join(names)} of another{_after('', examples)}"


def counted(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return the distinct values of the columns ``names`` with their counts, in the order of their first rows."""
    return rows.group_by(list(names), use_threads=False).aggregate([([], _COUNT)])


def _head(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch.slice(0, EXAMPLES)])


def _keys(batch: pa.RecordBatch, rows: Rows) -> list[str]:
    """Return the keys of the first rows as texts; [] when the table has no key or lacks a column of the key."""
    if not rows.key or not set(rows.key) <= set(batch.schema.names):
        return []
    return keys_of(_head(batch), rows.key)


def _after(word: str, examples: Sequence[str]) -> str:
    if not examples:
        return ""
    return f"{f'; {word}' if word else ''}: {', '.join(examples[:EXAMPLES])}"


def _range_text(check: RangeCheck, is_float: bool) -> str:
    if check.min is None:
        return f"above {shown(check.max)}"
    if check.max is None:
        return f"below {shown(check.min)}{' or NaN' if is_float else ''}"
    return f"outside of {shown(check.min)} to {shown(check.max)}"


def _no_counts(kind: pa.DataType) -> pa.Table:
    return pa.schema([("value", kind), (_COUNT, pa.int64())]).empty_table()


def _add_counts(known: pa.Table, values: pa.Array) -> pa.Table:
    """Return ``known`` plus the counts of ``values``; once ``_DISTINCT`` values are known, new values are ignored."""
    if known.num_rows >= _DISTINCT:
        values = values.filter(pc.is_in(values, known["value"].combine_chunks()))
    new = counted(pa.table({"value": values}), ["value"])
    both = pa.concat_tables([known, new.select(["value", _COUNT]).cast(known.schema)])
    summed = both.group_by("value", use_threads=False).aggregate([(_COUNT, "sum")])
    return summed.rename_columns(["value", _COUNT])


def _most_frequent(counts: pa.Table) -> pa.Table:
    """Return the rows with the greatest counts; rows with equal counts keep their order."""
    return counts.take(pc.sort_indices(counts, sort_keys=[(_COUNT, "descending")])[:EXAMPLES])
