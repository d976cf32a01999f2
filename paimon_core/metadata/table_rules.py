"""The rules between keys, columns and options that a new table must keep; the merge engine checks its own."""

from __future__ import annotations

from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.engine_rules import check_engine_options
from paimon_core.metadata.producer_rules import check_producer_options
from paimon_core.metadata.time_field import check_record_expiry
from paimon_core.types import BINARY_ROOTS, STRING_ROOTS


def check_table(context: TableContext) -> None:
    """The rules between keys and options for a new table; raises InvalidRequest naming the option."""
    buckets, keys = context.options["bucket"], context.options["bucket-key"]
    if context.is_keyed and buckets == -1:
        raise InvalidRequest(
            f"table {context.name} has a primary key and needs the option bucket = N (N >= 1): "
            "dynamic buckets (bucket = -1) are not supported",
            option="bucket",
        )
    if not context.is_keyed and buckets > 0 and not keys:
        raise InvalidRequest(
            f"table {context.name} has bucket = {buckets} and needs the option bucket-key", option="bucket-key"
        )
    if keys and buckets < 1:
        raise InvalidRequest(f"option bucket-key needs bucket = N with N >= 1, not {buckets}", option="bucket-key")
    _check_columns(context)
    check_engine_options(context)
    check_producer_options(context)
    check_record_expiry(context)
    _check_compaction(context)


def _check_compaction(context: TableContext) -> None:
    """Options of compaction that cannot hold together, or that nothing would obey."""
    options = context.options
    if options["full-compaction.delta-commits"] is not None:
        if options["changelog-producer"] == "lookup":
            raise InvalidRequest(
                "option full-compaction.delta-commits does not go with changelog-producer = lookup: "
                "full-compaction is the producer that writes a changelog at intervals",
                option="full-compaction.delta-commits",
            )
        if not context.is_keyed and options["bucket"] == -1:
            raise InvalidRequest(
                "option full-compaction.delta-commits needs a primary key or bucket = N",
                option="full-compaction.delta-commits",
            )
    hours = ("compaction.offpeak.start.hour", "compaction.offpeak.end.hour")
    unset = [hour for hour in hours if options[hour] == -1]
    if unset and (options["compaction.offpeak-ratio"] or len(unset) == 1):
        raise InvalidRequest(
            f"the off-peak hours need the option {unset[0]} = 0 to 23 beside the others", option=unset[0]
        )
    if "lookup-compact.max-interval" in options.values and options["lookup-compact"] != "gentle":
        raise InvalidRequest(
            "option lookup-compact.max-interval needs lookup-compact = gentle", option="lookup-compact.max-interval"
        )


def _check_pairs(context: TableContext) -> None:
    """Options that only mean something beside others."""
    values, options = context.options.values, context.options
    sequence = options["sequence.field"] or ()
    if len(set(sequence)) < len(sequence):
        raise InvalidRequest(f"option sequence.field = {','.join(sequence)!r} names a column twice")
    if "sequence.field.sort-order" in values and not sequence:
        raise InvalidRequest("option sequence.field.sort-order needs the option sequence.field")
    keyed_only = [k for k in values if k.startswith("changelog-file.") or k.endswith(".per.level")]
    for option in ("ignore-delete", *keyed_only):
        if option in values and not context.is_keyed:
            raise InvalidRequest(f"option {option} needs a table with a primary key", option=option)
    if options["commit.min-retry-wait"] > options["commit.max-retry-wait"]:
        raise InvalidRequest("option commit.min-retry-wait is more than commit.max-retry-wait")
    missing = [k for k in context.schema.partition_keys if context.is_keyed and k not in context.schema.primary_keys]
    if missing:
        raise InvalidRequest(
            f"table {context.name}: the primary key must hold the partition key {missing[0]!r}, "
            "or one key could lie in two partitions",
            column=missing[0],
        )


def _check_columns(context: TableContext) -> None:
    schema = context.schema
    for field in schema.partition_fields:
        if field.type.root in BINARY_ROOTS and context.options["partition.legacy-name"]:
            raise UnsupportedFeature(
                f"partition key {field.name!r} is {field.type}, which has no directory name "
                "under partition.legacy-name = true",
                column=field.name,
            )
    keys = context.options["bucket-key"] or ()
    for key in keys:
        if key not in schema.by_name:
            raise InvalidRequest(f"option bucket-key names {key!r}, which is no column", option="bucket-key")
        if key in schema.partition_keys or (schema.primary_keys and key not in schema.primary_keys):
            raise InvalidRequest(
                f"option bucket-key names {key!r}, which must be a primary key column and no partition key",
                option="bucket-key",
            )
    if len(set(keys)) < len(keys):
        raise InvalidRequest(f"option bucket-key = {','.join(keys)!r} names a column twice", option="bucket-key")
    least, most = context.options["snapshot.num-retained.min"], context.options["snapshot.num-retained.max"]
    if least > most and "snapshot.num-retained.min" in context.options.values:
        raise InvalidRequest(
            f"option snapshot.num-retained.min = {least} is more than snapshot.num-retained.max = {most}",
            option="snapshot.num-retained.min",
        )
    kind = schema.by_name.get(context.options["rowkind.field"] or "")
    if kind is not None and kind.type.root not in STRING_ROOTS:
        raise InvalidRequest(
            f"option rowkind.field names {kind.name!r}, which is {kind.type} and not text", option="rowkind.field"
        )
    _check_pairs(context)
    for option in ("sequence.field", "rowkind.field"):
        value = context.options[option]
        for column in (value,) if isinstance(value, str) else value or ():
            if not context.is_keyed:
                raise InvalidRequest(f"option {option} needs a table with a primary key", option=option)
            if column not in schema.by_name:
                raise InvalidRequest(f"option {option} names {column!r}, which is no column", option=option)
    for column in context.options.fields:
        if column and column not in schema.by_name:
            raise InvalidRequest(f"an option fields.{column}.* names {column!r}, which is no column")
