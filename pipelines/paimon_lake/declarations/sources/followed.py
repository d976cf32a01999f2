"""Followed: the rules for the declaration of a table that follows a source of changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paimon_core.types import parse_type
from paimon_lake.declarations.errors import Mistake, nearest
from paimon_lake.declarations.sources.kafka import KafkaSource
from paimon_lake.declarations.sources.source import CHANGES, PostgresChangesSource, has_changes
from paimon_lake.declarations.tables.checks import LagCheck

if TYPE_CHECKING:
    from paimon_lake.declarations.table import TableSpec

_NOT_FOLLOWED = {
    "merge-engine": "deduplicate",
    "changelog-producer": "none, lookup, full-compaction",
    "deletion-vectors.enabled": "false",
    "ignore-delete": "false",
    "deduplicate.ignore-delete": "false",
    **dict.fromkeys(("sequence.field", "rowkind.field"), ""),
}
"""Maps options to their only allowed values ("": the option must not be set); with any other value, a table would
differ from its source in PostgreSQL.
"""


def check_followed(spec: TableSpec) -> None:
    """Refuse a declaration whose settings would make the table differ from the PostgreSQL table that it follows.

    The settings are keys of the declaration, such as ``mode``, and table options, such as ``sequence.field``.
    """
    if not isinstance(spec.source, PostgresChangesSource):
        return
    if not spec.primary_key:
        raise Mistake("a table with changes of PostgreSQL needs a primary_key, the key of its source", "source")
    for key in ("mode", "kinds", "order_by", "partitions", "mark_done"):
        is_ours = key == "order_by" and spec.is_part  # the column that loads of a part fill
        if key in spec.model_fields_set and getattr(spec, key) and not is_ours:
            raise Mistake("is not allowed here: the log of PostgreSQL says what is done, and in which order", key)
    for option, allowed in _NOT_FOLLOWED.items():
        given = spec.options.get(option)
        if given is not None and given.strip().lower() not in allowed.split(", "):
            must = f"must be {allowed}" if allowed else "must not be set"
            raise Mistake(f"{must}, as the table would differ from its source in PostgreSQL", "options", option)
    if spec.options.get("bucket", "").strip() == "-2":
        raise Mistake("must not be -2: loads read rows that would wait for a compaction", "options", "bucket")
    if spec.source.source_column:
        _check_source_column(spec, spec.source)


def _check_source_column(spec: TableSpec, source: PostgresChangesSource) -> None:
    column, key = source.source_column, ("source", "source_column")
    if spec.columns and column not in spec.columns:
        raise Mistake(f"{column!r:.80} is not a column{nearest(column, list(spec.columns))}", *key)
    if spec.columns and parse_type(spec.columns[column]).with_nullable(True).sql != "STRING":
        raise Mistake(f"{column} is {spec.columns[column]}, and names of tables need STRING", *key)
    if column not in spec.primary_key:
        raise Mistake(
            f"{column!r:.80} is not in the primary_key: rows of two tables with equal keys would replace each other, "
            "and a TRUNCATE of one table could not find its rows",
            *key,
        )
    if len(spec.primary_key) == 1:
        raise Mistake("the primary_key also needs the key of the source tables", *key)
    if source.lookup:
        raise Mistake(
            "is not allowed beside source_column: look up in a table with a source of type sql over this table",
            "source",
            "lookup",
        )


def check_lag(spec: TableSpec) -> None:
    """Refuse lag checks of a source without a lag, and lag checks that block a load.

    The checks of a part are skipped, because they are the checks of its table.
    """
    sources = tuple(part.source for part in spec.parts.values()) or (spec.source,)
    followed = [source for source in sources if has_changes(source)]
    kinds = {"kafka" if isinstance(source, KafkaSource) else "postgres_changes" for source in followed}
    for number, check in enumerate(spec.checks):
        if not isinstance(check, LagCheck) or spec.is_part:
            continue
        if not followed:
            has = "the table has none" if spec.source is None else f"this source is of type {spec.source.type}"
            has = "no part has one" if spec.parts else has
            raise Mistake(f"lag needs a source of type {CHANGES}, and {has}", "checks", number, "type")
        of_kafka = {"max_messages"} & check.model_fields_set
        others = {"max_bytes", "max_seconds", "max_slot_bytes"} & check.model_fields_set
        unfit = sorted(("kafka" not in kinds and of_kafka) or ("postgres_changes" not in kinds and others) or ())
        if unfit:
            raise Mistake(f"is not known for a source of type {kinds.pop()}", "checks", number, unfit[0])
        if check.block:
            raise Mistake(
                "is not allowed in a lag check: only a load reduces the lag, so it must not be blocked",
                "checks",
                number,
                "block",
            )
