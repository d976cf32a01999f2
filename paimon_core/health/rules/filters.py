"""Rules about recorded filters: columns whose filters leave out few files, and indexes that no filter uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from paimon_core.fileindex.keys import supports
from paimon_core.health.facts import Facts
from paimon_core.health.finding import Finding, Severity
from paimon_core.health.places import megabytes
from paimon_core.health.rules.metadata import without_indexes
from paimon_core.plan.recorded_filters import DIRECTORY, RecordedFilters, Use
from paimon_core.predicate.op import Op

_EQUAL = frozenset(map(str, (Op.EQ, Op.IN)))
_BLOOM = "bloom-filter"
_COLUMNS = f"file-index.{_BLOOM}.columns"


def unindexed_filters(facts: Facts) -> Iterator[Finding]:
    """Find columns that many scans compare with values, although statistics leave out few files and no index exists."""
    limits, filters = facts.thresholds, facts.filters
    if filters is None:
        return
    schema, indexed = facts.context.schema, facts.context.options.file_indexes
    known = {one.column for one in indexed} | set(schema.partition_keys) | set(schema.trimmed_primary_keys[:1])
    ill = {
        column: use
        for column, use in sorted(_equalities(filters).items())
        if column in schema.by_name
        and column not in known
        and supports(_BLOOM, schema.by_name[column].type)
        and use.scans >= max(1, limits.filter_scans)
        and use.selected > use.files * limits.filter_read_share
        and use.files >= 2 * use.scans
    }
    if not ill:
        return
    names = ", ".join(ill)
    scans = sum(use.scans for use in ill.values())
    read = sum(use.selected for use in ill.values()) / sum(use.files for use in ill.values())
    columns = ",".join([*(one.name for one in indexed if one.kind == _BLOOM), *ill]).replace("'", "''")
    changes = [f"SET ('{_COLUMNS}' = '{columns}')"]
    size = facts.layout.total_bytes
    yield Finding(
        name="unindexed-filter",
        severity=Severity.WARNING,
        measure=round(read, 2),
        threshold=limits.filter_read_share,
        threshold_from="filter_read_share",
        text=f"{scans:,} recorded scans compared {names} with values, and their plans kept {read:.0%} of the files: "
        "without a file index of these columns, each such scan reads files that may have no matching row",
        commands=(facts.command("alter", *changes), facts.command("rewrite-file-index")),
        mend_cost=f"reads these columns of {megabytes(size)} and writes index files; new files get the indexes, too",
        cost_bytes=int(size * read) // 2,
        arguments={"changes": changes},
    )


def unused_indexes(facts: Facts) -> Iterator[Finding]:
    """Find file indexes of columns that no recorded scan has filtered for long."""
    limits, filters = facts.thresholds, facts.filters
    if filters is None or filters.scans < limits.filter_scans:
        return
    days = facts.days_since(filters.first_millis)
    if days < limits.filter_days:
        return
    last: dict[str, int] = {}
    for (column, _), use in filters.uses.items():
        last[column] = max(last.get(column, 0), use.last_millis)
    if not last or facts.days_since(max(last.values())) >= limits.filter_days:
        return  # nothing was recorded of late, so nothing is known about these days
    indexed = facts.context.options.file_indexes
    ill = sorted({one.column for one in indexed if facts.days_since(last.get(one.column, 0)) >= limits.filter_days})
    if not ill:
        return
    changes = without_indexes(indexed, ill)
    yield Finding(
        name="unused-index",
        severity=Severity.WARNING,
        measure=len(ill),
        threshold=limits.filter_days,
        threshold_from="filter_days",
        text=f"columns {', '.join(ill)} have a file index, but none of the {filters.scans:,} scans that were recorded "
        f"({DIRECTORY}) filtered them in the last {limits.filter_days:,.0f} days: each written file pays for the index",
        commands=(facts.command("alter", *changes),),
        mend_cost="writes a new schema: new files have no such index; existing files keep it until they are rewritten",
        arguments={"changes": changes},
    )


def _equalities(filters: RecordedFilters) -> dict[str, Use]:
    found: dict[str, Use] = {}
    for (column, op), use in filters.uses.items():
        if op in _EQUAL:
            found.setdefault(column, Use()).add(use)
    return found


FILTER_RULES: tuple[Callable[[Facts], Iterator[Finding]], ...] = (unindexed_filters, unused_indexes)
