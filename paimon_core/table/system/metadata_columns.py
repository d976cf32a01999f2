"""The columns of the system tables about versions, references and options."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from typing import Any

from paimon_core.errors import SnapshotNotFound
from paimon_core.metadata.manifests.entries import ManifestFile
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.statistics import Statistics
from paimon_core.metadata.table_identity import check_same_table, same_table
from paimon_core.table.refs.branches import Branches
from paimon_core.table.system.columns import Makers, from_attributes, from_rows
from paimon_core.table.system.source import Source, local_time
from paimon_core.table.system.texts import row_texts

SNAPSHOTS = (
    "snapshot_id BIGINT NOT NULL, schema_id BIGINT NOT NULL, commit_user STRING NOT NULL, "
    "commit_identifier BIGINT NOT NULL, commit_kind STRING NOT NULL, commit_time TIMESTAMP(3) NOT NULL, "
    "base_manifest_list STRING NOT NULL, delta_manifest_list STRING NOT NULL, changelog_manifest_list STRING, "
    "total_record_count BIGINT, delta_record_count BIGINT, changelog_record_count BIGINT, watermark BIGINT, "
    "next_row_id BIGINT, operation STRING, writer_version STRING"
)
OWN_SNAPSHOTS = "commit_time_utc TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL, properties MAP<STRING NOT NULL, STRING>"
SCHEMAS = (
    "schema_id BIGINT NOT NULL, fields STRING NOT NULL, partition_keys STRING NOT NULL, primary_keys STRING NOT NULL, "
    "options STRING NOT NULL, comment STRING, update_time TIMESTAMP(3) NOT NULL"
)
OPTIONS = "key STRING NOT NULL, value STRING NOT NULL"
OWN_OPTIONS = "use STRING"
MANIFESTS = (
    "file_name STRING NOT NULL, file_size BIGINT NOT NULL, num_added_files BIGINT NOT NULL, "
    "num_deleted_files BIGINT NOT NULL, schema_id BIGINT NOT NULL, min_partition_stats STRING, "
    "max_partition_stats STRING, min_row_id BIGINT, max_row_id BIGINT"
)
OWN_MANIFESTS = "list STRING NOT NULL"
TAGS = (
    "tag_name STRING NOT NULL, snapshot_id BIGINT NOT NULL, schema_id BIGINT NOT NULL, "
    "commit_time TIMESTAMP(3) NOT NULL, record_count BIGINT, create_time TIMESTAMP(3), time_retained STRING"
)
BRANCHES = "branch_name STRING NOT NULL, create_time TIMESTAMP(3) NOT NULL"
CONSUMERS = "consumer_id STRING NOT NULL, next_snapshot_id BIGINT NOT NULL"
STATISTICS = (
    "snapshot_id BIGINT NOT NULL, schema_id BIGINT NOT NULL, mergedRecordCount BIGINT, mergedRecordSize BIGINT, "
    "colstat STRING"
)
AGGREGATION_FIELDS = (
    "field_name STRING NOT NULL, field_type STRING NOT NULL, function STRING, function_options STRING, comment STRING"
)


_SAME = (
    "schema_id commit_user commit_identifier base_manifest_list delta_manifest_list changelog_manifest_list "
    "total_record_count delta_record_count changelog_record_count watermark next_row_id operation writer_version"
)
_SAME_OF_MANIFESTS = "file_name file_size num_added_files num_deleted_files schema_id min_row_id max_row_id"


def snapshots(source: Source) -> Makers:
    """Return one row per snapshot that has not expired, oldest first."""
    context = source.context
    found = []
    for snapshot_id in context.snapshots.ids():
        with contextlib.suppress(SnapshotNotFound):  # it has expired
            found.append(context.snapshots.read(snapshot_id))
    check_same_table(context)
    return {
        **from_attributes(found, {name: name for name in _SAME.split()}),
        "snapshot_id": lambda: [s.id for s in found],
        "commit_kind": lambda: [str(s.commit_kind) for s in found],
        "commit_time": lambda: [local_time(s.time_millis) for s in found],
        "commit_time_utc": lambda: [s.time_millis for s in found],
        "properties": lambda: [list(s.properties.items()) for s in found],
    }


def schemas(source: Source) -> Makers:
    """Return one row per schema, oldest first; fields, keys and options are JSON texts."""
    return from_rows(
        "schema_id fields partition_keys primary_keys options comment update_time",
        (
            (
                s.id,
                _json([f.to_json() for f in s.fields]),
                _json(s.partition_keys),
                _json(s.primary_keys),
                _json(dict(s.options)),
                s.comment,
                local_time(s.time_millis),
            )
            for s in same_table(source.context).schemas.all()
        ),
    )


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def options(source: Source) -> Makers:
    """Return one row per option of the schema, with its effect in this library: see ``paimon_core.options.Use``."""
    context = source.context
    uses = context.options.uses
    return from_rows("key value use", ((k, v, uses.get(k)) for k, v in sorted(context.schema.options.items())))


def manifests(source: Source) -> Makers:
    """Return one row per manifest of the base, delta and changelog list; a missing changelog list gives no rows."""
    found = source.of_snapshot(lambda s: [] if s is None else _manifests(source, s))
    types = [f.type for f in source.context.schema.partition_fields]
    each = [m for _, m in found]
    return {
        **from_attributes(each, {name: name for name in _SAME_OF_MANIFESTS.split()}),
        "min_partition_stats": lambda: row_texts([m.partition_stats.min_values for m in each], types),
        "max_partition_stats": lambda: row_texts([m.partition_stats.max_values for m in each], types),
        "list": lambda: [which for which, _ in found],
    }


def _manifests(source: Source, snapshot: Snapshot) -> list[tuple[str, ManifestFile]]:
    """Return the manifests of each manifest list that exists, each with "base", "delta" or "changelog"."""
    context = source.context
    lists = [("base", snapshot.base_manifest_list), ("delta", snapshot.delta_manifest_list)]
    changelog = snapshot.changelog_manifest_list
    if changelog is not None and context.storage.exists(context.paths.manifest(changelog)):
        lists.append(("changelog", changelog))
    return [(which, m) for which, name in lists for m in context.manifests.read_list(name)]


def tags(source: Source) -> Makers:
    """Return one row per tag, sorted by name; the retention time is an ISO duration such as ``PT24H``."""
    return from_rows(
        "tag_name snapshot_id schema_id commit_time record_count create_time time_retained",
        (
            (
                t.name,
                t.snapshot.id,
                t.snapshot.schema_id,
                local_time(t.snapshot.time_millis),
                t.snapshot.total_record_count,
                local_time(t.create_time_millis),
                None if t.retained_millis is None else iso_duration(t.retained_millis),
            )
            for t in same_table(source.context).tags.list()
        ),
    )


def iso_duration(millis: int) -> str:
    """Return a duration as Java writes it: hours, minutes and seconds that are not 0, such as ``PT1H0.5S``."""
    if not millis:
        return "PT0S"
    sign, rest = ("-", -millis) if millis < 0 else ("", millis)
    hours, rest = divmod(rest, 3_600_000)
    minutes, rest = divmod(rest, 60_000)
    seconds = f"{rest // 1000}.{rest % 1000:03}".rstrip("0").rstrip(".")
    parts = ((str(hours), "H"), (str(minutes), "M"), (seconds, "S"))
    return "PT" + "".join(f"{sign}{text}{unit}" for text, unit in parts if text != "0")


def branches(source: Source) -> Makers:
    """Return one row per branch except main, sorted by name, with the time when its directory was last changed."""
    context = source.context
    names = Branches(context).list()
    times = context.branches.times()
    return from_rows("branch_name create_time", ((name, local_time(times.get(name, 0))) for name in names))


def consumers(source: Source) -> Makers:
    """Return one row per consumer, sorted by name."""
    found = same_table(source.context).consumers.list()
    return from_rows("consumer_id next_snapshot_id", ((c.name, c.next_snapshot) for c in found))


def statistics(source: Source) -> Makers:
    """Return the statistics of the last ANALYZE in the snapshot: one row; no row without statistics."""
    context = source.context

    def read(snapshot: Snapshot | None) -> list[Statistics]:
        name = None if snapshot is None else snapshot.statistics
        return [] if name is None else [Statistics.read(context.storage, context.paths.statistics(name))]

    return from_rows(
        "snapshot_id schema_id mergedRecordCount mergedRecordSize colstat",
        (
            (s.snapshot_id, s.schema_id, s.row_count, s.size_bytes, _column_statistics(s))
            for s in source.of_snapshot(read)
        ),
    )


def _column_statistics(found: Statistics) -> str:
    """Return the statistics of the columns as JSON, indented as Java does."""
    members = found.column_members()
    return json.dumps(members, indent=2, separators=(",", " : "), ensure_ascii=False) if members else "{ }"


def aggregation_fields(source: Source) -> Makers:
    """Return one row per column, with the options ``fields.<column>.*`` and their values."""
    schema = same_table(source.context).schema.untracked
    keys: dict[str, list[str]] = {}
    for key in schema.options:
        parts = key.split(".")
        if len(parts) > 2 and parts[0] == "fields":
            keys.setdefault(parts[1], []).append(key)
    return from_rows(
        "field_name field_type function function_options comment",
        (
            (f.name, f.type.sql, _listed(schema.options[k] for k in found), _listed(found), f.description)
            for f in schema.fields
            for found in [keys.get(f.name, [])]
        ),
    )


def _listed(texts: Iterable[str]) -> str:
    return f"[{', '.join(texts)}]"
