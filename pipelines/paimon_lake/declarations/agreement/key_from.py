"""Key agreement: the rules for a part with ``key_from`` and for the two tables that the part follows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from paimon_core.errors import PaimonError
from paimon_core.types import DataType, parse_type
from paimon_lake.declarations.agreement.lookups import INEXACT, type_mismatch
from paimon_lake.declarations.errors import nearest
from paimon_lake.declarations.part_spec import PartSpec, load_specs
from paimon_lake.declarations.sources.lake_table import LakeTableSource
from paimon_lake.declarations.table import TableSpec


def key_from_disagreements(tables: Mapping[str, TableSpec]) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield (table, key of its declaration, sentence) for each part that does not fit the two tables that it
    follows.
    """
    for name, spec in sorted(tables.items()):
        for one in load_specs(spec):
            if isinstance(one, PartSpec) and isinstance(one.source, LakeTableSource):
                for key, text in _mistakes(one, one.source, tables):
                    whole = (*one.source_key, *key)
                    yield name, whole, f"{'.'.join(whole)}: {text}"


def _mistakes(
    spec: PartSpec, source: LakeTableSource, tables: Mapping[str, TableSpec]
) -> Iterator[tuple[tuple[str, ...], str]]:
    at_mapping = ("key_from", "table")
    unknown = False
    for key, name in ((("table",), source.table), (at_mapping, source.key_from.table)):
        if why := _why_not_followed(name, spec, tables):
            unknown = True
            yield key, why
    if unknown:
        return
    rows, mapping = tables[source.table], tables[source.key_from.table]
    on, columns = source.key_from.on, source.key_from.columns
    if sorted(on) != sorted(rows.primary_key):
        yield (
            ("key_from", "on"),
            f"gives {', '.join(on)} of {rows.name}, and it must give each column of its primary key: "
            f"{', '.join(rows.primary_key)}",
        )
    if sorted(columns.values()) != sorted(mapping.primary_key):
        yield (
            ("key_from", "columns"),
            f"gives {', '.join(columns.values())} of {mapping.name}, and it must give each column of its primary key "
            f"once: {', '.join(mapping.primary_key)}; else a row of this table could have several rows there",
        )
    values = source.columns_of([column for column in spec.filled if column not in spec.order_by])
    pairs = (
        ("on", rows, list(on), mapping, list(on.values())),
        ("columns", spec, list(columns), mapping, list(columns.values())),
        ("", spec, list(values), rows, list(values.values())),
    )
    for what, one, mine, other, theirs in pairs:
        key = ("key_from", what) if what else ("rename",)
        for left, right in zip(mine, theirs, strict=True):
            if why := _unfit(one, left, other, right, is_key=bool(what)):
                yield key, why


def _why_not_followed(name: str, spec: PartSpec, tables: Mapping[str, TableSpec]) -> str:
    found = tables.get(name)
    if found is None:
        return f"{name} is not declared{nearest(name, list(tables))}"
    if name == spec.name:
        return "is this table itself: name a smaller table that has the keys, so that the wide table is not read"
    if not found.primary_key:
        return f"{name} has no primary_key, by which its rows are found"
    if not set(found.partition_by) <= set(found.primary_key):
        return f"{name} has partition_by with columns outside of its primary_key: its changes have no order then"
    return ""


def _unfit(one: TableSpec, mine: str, other: TableSpec, theirs: str, *, is_key: bool) -> str:
    """Return why the values of a column cannot be values of another column; "" when they can, or types are unknown."""
    for spec, column in ((one, mine), (other, theirs)):
        if spec.columns and column not in spec.columns:
            return f"{column!r:.80} is not a column of {spec.name}{nearest(column, list(spec.columns))}"
    kinds = [_type(one, mine), _type(other, theirs)]
    if kinds[0] is None or kinds[1] is None:
        return ""
    if why := type_mismatch(kinds[0], kinds[1]):
        return f"{mine} of {one.name} is {kinds[0]}, and {theirs} of {other.name} is {kinds[1]}: {why}"
    if is_key and kinds[1].root in INEXACT:
        return f"{theirs} of {other.name} is {kinds[1]}: rows are not found by numbers that are not exact"
    return ""


def _type(spec: TableSpec, column: str) -> DataType | None:
    try:
        return parse_type(spec.columns[column]) if column in spec.columns else None
    except PaimonError:  # the check of the columns reports the type
        return None
