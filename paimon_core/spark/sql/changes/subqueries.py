"""Subqueries: the tables that the subqueries of an expression read, as temporary views of one snapshot each.

The views have unique names, which replace the names of the tables in the text of the expression. They exist while the
statement runs, because Spark analyses the expression several times.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from sqlglot import exp

from paimon_core.spark.columns import quoted
from paimon_core.spark.row_changes.conditions import TARGET
from paimon_core.spark.row_changes.expressions import SOURCE
from paimon_core.spark.sql.grammar.statements import Query
from paimon_core.spark.sql.names import Names
from paimon_core.spark.sql.queries import rows_of
from paimon_core.spark.sql.references import parse_tree, references_of, renamed


@dataclass(frozen=True)
class Edit:
    """A part of the text of a condition, and what replaces it; positions count from the start of the condition."""

    start: int
    end: int
    text: str
    columns: tuple[str, ...] = ()
    """The columns of the table."""


@contextmanager
def subqueries(spark: SparkSession, names: Names, condition: Query) -> Iterator[tuple[Edit, ...]]:
    """Yield the replacements of the tables that the subqueries of an expression name; the views exist in the block.

    A table is read at the snapshot that is the latest at the time of the call. Raises NotFound for unknown tables and
    the errors of reads, with their position.
    """
    tree = parse_tree(condition, condition.written, condition.start)
    if tree.find(exp.Query) is None:
        yield ()
        return
    edits: list[Edit] = []
    views: list[str] = []
    try:
        references = references_of(condition, tree)
        inner = [column for column in tree.find_all(exp.Column) if is_inner(column)]
        edits += [Edit(start, end, quoted(alias)) for start, end, alias in renamed(inner, references)]
        for reference in references:
            found = rows_of(spark, names, condition, reference)
            written = condition.written[reference.start : reference.end]
            if found is None:  # a table or view of the session
                edits.append(Edit(reference.start, reference.end, written, _columns(spark, written)))
                continue
            views.append(f"paimon_{uuid.uuid4().hex}")
            found.createOrReplaceTempView(views[-1])
            alias = f" AS {quoted(reference.alias)}" if reference.alias else ""
            edits.append(Edit(reference.start, reference.end, views[-1] + alias, tuple(found.columns)))
        yield tuple(edits)
    finally:
        for view in views:
            spark.catalog.dropTempView(view)


def _columns(spark: SparkSession, table: str) -> tuple[str, ...]:
    """Return the columns of a table or view of the session; none if Spark does not read it, which Spark reports."""
    try:
        return tuple(spark.table(table).columns)
    except AnalysisException:
        return ()


def hiding_names(tree: exp.Expr, edits: Iterable[Edit]) -> frozenset[str]:
    """Return the names, in lower case, that Spark may find inside of the subqueries instead of the changed table.

    These are the names of columns, and ``target`` and ``source`` if anything inside of a subquery has this name: Spark
    searches a name there first, so ``t.id`` may be a field of a column ``t``.
    """
    found = {name.casefold() for edit in edits for name in edit.columns}
    for node in tree.find_all(exp.Alias, exp.PivotAlias, exp.TableAlias, exp.Identifier):
        if not is_inside(node) or isinstance(node.parent, exp.Column | exp.Dot):
            continue
        if isinstance(node, exp.TableAlias):
            found |= {column.name.casefold() for column in node.columns}
        elif not isinstance(node, exp.Identifier):
            found.add(node.alias.casefold())
        elif node.name.casefold() in (TARGET, SOURCE):
            found.add(node.name.casefold())
    return frozenset(found)


def is_inside(node: exp.Expr) -> bool:
    """Whether a part of a condition is inside of a subquery."""
    return node.find_ancestor(exp.Query) is not None


def is_inner(column: exp.Column) -> bool:
    """Whether the qualifier of a column names a relation of a subquery around it."""
    select = column.find_ancestor(exp.Select)
    while select is not None:
        known = _relation_names(select)
        if any(part.name.casefold() in known for part in column.parts[:-1]):
            return True
        select = select.find_ancestor(exp.Select)
    return False


def _relation_names(select: exp.Select) -> set[str]:
    """Return the names of the relations that a SELECT reads, also of those in parentheses and of LATERAL VIEW."""
    sources = (select.args.get("from_"), *(select.args.get("joins") or ()), *(select.args.get("laterals") or ()))
    return {
        node.alias_or_name.casefold()
        for source in sources
        if source is not None
        for node in source.walk(prune=lambda part: isinstance(part, exp.Query) and not isinstance(part, exp.Subquery))
        if isinstance(node, exp.Table) or isinstance(node.args.get("alias"), exp.TableAlias)
    }


def edited(written: str, edits: Iterable[Edit]) -> str:
    """Return a text with its edits, which do not overlap."""
    found, end = "", 0
    for edit in sorted(edits, key=lambda one: one.start):
        found += written[end : edit.start] + edit.text
        end = edit.end
    return found + written[end:]
