"""Subqueries: the tables that the subqueries of a condition read, as temporary views of one snapshot each.

The views have unique names, which replace the names of the tables in the text of the condition. They exist while the
statement runs, because Spark analyses the condition several times.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import SparkSession
from sqlglot import exp

from paimon_core.spark.columns import quoted
from paimon_core.spark.row_changes.conditions import TARGET
from paimon_core.spark.sql.grammar.statements import Query
from paimon_core.spark.sql.names import Names
from paimon_core.spark.sql.queries import rows_of
from paimon_core.spark.sql.references import parse_tree, references_of, relations, renamed


@dataclass(frozen=True)
class Edit:
    """A part of the text of a condition, and what replaces it; positions count from the start of the condition."""

    start: int
    end: int
    text: str
    hides: bool = False
    """Whether the table has a column ``target``, which hides the qualifier ``target`` of the changed table."""


@contextmanager
def subqueries(spark: SparkSession, names: Names, condition: Query | None) -> Iterator[tuple[Edit, ...]]:
    """Yield the replacements of the tables that the subqueries of a condition name; the views exist in the block.

    A table is read at the snapshot that is the latest at the time of the call. Raises NotFound for unknown tables and
    the errors of reads, with their position.
    """
    tree = None if condition is None else parse_tree(condition, condition.written, condition.start)
    if condition is None or tree is None or tree.find(exp.Query) is None:
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
            if found is not None:
                views.append(f"paimon_{uuid.uuid4().hex}")
                found.createOrReplaceTempView(views[-1])
                alias = f" AS {quoted(reference.alias)}" if reference.alias else ""
                hides = any(name.casefold() == TARGET for name in found.columns)
                edits.append(Edit(reference.start, reference.end, views[-1] + alias, hides))
        yield tuple(edits)
    finally:
        for view in views:
            spark.catalog.dropTempView(view)


def is_inside(node: exp.Expr) -> bool:
    """Whether a part of a condition is inside of a subquery."""
    return node.find_ancestor(exp.Query) is not None


def is_inner(column: exp.Column) -> bool:
    """Whether the qualifier of a column names a relation of a subquery around it."""
    parts = column.parts
    select = column.find_ancestor(exp.Select)
    while select is not None:
        known = {relation.alias_or_name.casefold() for relation in relations(select)}
        if any(part.name.casefold() in known for part in parts[:-1]):
            return True
        select = select.find_ancestor(exp.Select)
    return False


def edited(written: str, edits: Iterable[Edit]) -> str:
    """Return a text with its edits, which do not overlap."""
    found, end = "", 0
    for edit in sorted(edits, key=lambda one: one.start):
        found += written[end : edit.start] + edit.text
        end = edit.end
    return found + written[end:]
