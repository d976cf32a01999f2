"""Procedures: the table of ``CALL sys.name(...)``, with the names and arguments that Paimon has.

Each procedure calls a method of ``Table`` or the function of ``paimon_core.spark`` that runs it in tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from paimon_core.options.similar_names import resembled
from paimon_core.spark.sql.grammar.cursor import fail
from paimon_core.spark.sql.grammar.statements import Call, TableName
from paimon_core.spark.sql.names import Names
from paimon_core.spark.sql.procedures import bodies
from paimon_core.spark.sql.procedures.arguments import Arguments
from paimon_core.spark.sql.procedures.bodies import Results
from paimon_core.spark.sql.results import rows


@dataclass(frozen=True)
class Procedure:
    """One procedure: its arguments in Paimon's order, and its function; each text of the result becomes a row."""

    arguments: Mapping[str, type]
    run: Callable[[Arguments], Results]
    required: int = 1
    """How many of the first arguments must be given."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Arguments that Paimon has and that are not supported here, with what to use instead."""


def call(spark: SparkSession, names: Names, statement: Call, text: str) -> DataFrame:
    """Run a procedure and return its result, one row for each object that it lists.

    Raises SqlError for an unknown procedure or argument and for a value of a wrong type, before anything is done, and
    the errors of the method that the procedure calls.
    """
    procedure = PROCEDURES.get(statement.procedure)
    if procedure is None:
        similar = resembled(statement.procedure, list(PROCEDURES))
        hint = f"did you mean {similar}?" if similar else f"there are {', '.join(PROCEDURES)}"
        fail(text, statement.at, f"there is no procedure sys.{statement.procedure}; {hint}")
    values = _values(procedure, statement, text)
    table = None
    if "table" in values:
        name = TableName(tuple(values["table"].replace("`", "").split(".", 1)), statement.at, statement.at)
        table = names.table(name, text)
    found = procedure.run(Arguments(spark, names.catalog, values, table))
    return rows(spark, "result STRING", [(line,) for line in found])


def _values(procedure: Procedure, statement: Call, text: str) -> dict[str, Any]:
    """Return the arguments by name; raises SqlError, which names the argument."""
    known = [name.lower() for name in procedure.arguments]
    by_letters = {name.lower().replace("_", ""): name for name in procedure.arguments}
    found: dict[str, Any] = {}
    given: set[str] = set()
    for key, value in statement.arguments.items():
        if key.isdigit():
            if len(key) > 4 or int(key) >= len(known):
                fail(text, statement.at, f"sys.{statement.procedure} takes {len(known)} arguments: {', '.join(known)}")
            name = list(procedure.arguments)[int(key)]
        elif key in procedure.refused:
            problem = f"argument {key} of sys.{statement.procedure} is not supported: {procedure.refused[key]}"
            fail(text, statement.at, problem, name=key)
        elif key.replace("_", "") in by_letters:
            name = by_letters[key.replace("_", "")]
        else:
            fail(
                text,
                statement.at,
                f"sys.{statement.procedure} has no argument {key!r}, only {', '.join(procedure.arguments)}",
                name=key,
            )
        if name in given:
            fail(text, statement.at, f"argument {name} of sys.{statement.procedure} is given twice", name=name)
        given.add(name)
        kind = procedure.arguments[name]
        if value is None:
            continue  # a null counts as not given
        if kind is str and isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            wanted = {str: "a text in single quotes", int: "a whole number", bool: "true or false"}[kind]
            fail(text, statement.at, f"argument {name} of sys.{statement.procedure} is {wanted}, not {value!r:.60}")
        found[name] = value
    for name in list(procedure.arguments)[: procedure.required]:
        if name not in found:
            fail(text, statement.at, f"sys.{statement.procedure} needs the argument {name}", name=name)
    return found


_TAG = {"table": str, "tag": str, "snapshot": int, "time_retained": str}
_MANIFEST_ARGUMENTS = (
    "options",
    "dry_run",
    "manifest_sort_enabled",
    "manifest_sort_partition_field",
    "manifest_sort_max_rewrite_size",
)
_TASKS = "Spark divides the work into tasks"
PROCEDURES: Mapping[str, Procedure] = {
    "compact": Procedure(
        {
            "table": str,
            "partitions": str,
            "compact_strategy": str,
            "order_strategy": str,
            "order_by": str,
            "where": str,
            "options": str,
            "partition_idle_time": str,
        },
        bodies.compact,
        refused={"buckets": "all buckets of a partition are compacted: use partitions or where"},
    ),
    "compact_database": Procedure(
        {
            "including_databases": str,
            "including_tables": str,
            "excluding_tables": str,
            "options": str,
            "partition_idle_time": str,
            "compact_strategy": str,
        },
        bodies.compact_database,
        required=0,
    ),
    "compact_manifest": Procedure(
        {"table": str},
        bodies.compact_manifest,
        refused=dict.fromkeys(_MANIFEST_ARGUMENTS, "the options of the table decide"),
    ),
    "rescale": Procedure(
        {"table": str, "bucket_num": int, "partitions": str, "where": str},
        bodies.rescale,
        refused={"scan_parallelism": _TASKS, "sink_parallelism": _TASKS},
    ),
    "rewrite_file_index": Procedure({"table": str, "where": str}, bodies.rewrite_file_index),
    "expire_snapshots": Procedure(
        {
            "table": str,
            "retain_max": int,
            "retain_min": int,
            "older_than": str,
            "max_deletes": int,
            "options": str,
        },
        bodies.expire_snapshots,
    ),
    "expire_partitions": Procedure(
        {
            "table": str,
            "expiration_time": str,
            "timestamp_formatter": str,
            "timestamp_pattern": str,
            "expire_strategy": str,
            "max_expires": int,
            "options": str,
        },
        bodies.expire_partitions,
    ),
    "remove_orphan_files": Procedure(
        {"table": str, "older_than": str, "dry_run": bool, "mode": str},
        bodies.remove_orphan_files,
        refused={"parallelism": _TASKS},
    ),
    "remove_unexisting_files": Procedure(
        {"table": str, "dry_run": bool},
        bodies.remove_unexisting_files,
        refused={"parallelism": "the driver looks up the files"},
    ),
    "create_tag": Procedure(_TAG, bodies.create_tag, required=2),
    "create_tag_from_timestamp": Procedure(
        {"table": str, "tag": str, "timestamp": int, "time_retained": str}, bodies.create_tag_from_timestamp, required=3
    ),
    "replace_tag": Procedure(_TAG, bodies.replace_tag, required=2),
    "rename_tag": Procedure({"table": str, "tag": str, "target_tag": str}, bodies.rename_tag, required=3),
    "delete_tag": Procedure({"table": str, "tag": str}, bodies.delete_tag, required=2),
    "expire_tags": Procedure({"table": str, "older_than": str}, bodies.expire_tags),
    "trigger_tag_automatic_creation": Procedure({"table": str}, bodies.create_due_tags),
    "rollback": Procedure({"table": str, "version": str, "snapshot": int, "tag": str}, bodies.rollback),
    "rollback_to_timestamp": Procedure({"table": str, "timestamp": int}, bodies.rollback_to_timestamp, required=2),
    "rollback_to_watermark": Procedure({"table": str, "watermark": int}, bodies.rollback_to_watermark, required=2),
    "create_branch": Procedure(
        {"table": str, "branch": str, "tag": str},
        bodies.create_branch,
        required=2,
        refused={"ignoreifexists": "query db.`t$branches` first"},
    ),
    "delete_branch": Procedure({"table": str, "branch": str}, bodies.delete_branch, required=2),
    "rename_branch": Procedure({"table": str, "from_branch": str, "to_branch": str}, bodies.rename_branch, required=3),
    "fast_forward": Procedure({"table": str, "branch": str}, bodies.fast_forward, required=2),
    "reset_consumer": Procedure(
        {"table": str, "consumerId": str, "nextSnapshotId": int}, bodies.reset_consumer, required=2
    ),
    "clear_consumers": Procedure(
        {"table": str, "includingConsumers": str, "excludingConsumers": str}, bodies.clear_consumers
    ),
    "mark_partition_done": Procedure({"table": str, "partitions": str}, bodies.mark_partition_done, required=2),
    "repair_earliest_snapshot": Procedure(
        {"table": str}, bodies.repair_hints, refused={"snapshot_id": "the earliest snapshot is found without it"}
    ),
}
"""The procedures by name."""
