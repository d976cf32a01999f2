"""Table rules: checks of the keys, columns and options of a new table against each other."""

from __future__ import annotations

from paimon_core.codec.binary_row.bucket_function import function_problem
from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.fileindex.builder import indexed_fields
from paimon_core.limits import FILE_PREFIX_BYTES, check_limit
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.opening_rules import against_cross_partition, against_vectors
from paimon_core.metadata.rules.clustering_rules import check_clustering
from paimon_core.metadata.rules.engine_rules import check_engine_options
from paimon_core.metadata.rules.producer_rules import check_producer_options
from paimon_core.metadata.times.automatic_tag_names import check_tag_options
from paimon_core.metadata.times.partition_time import check_partition_expiry
from paimon_core.metadata.times.time_field import check_record_expiry
from paimon_core.options.scan_position import OTHER_BRANCHES, scan_position
from paimon_core.storage.paths import partition_path
from paimon_core.types import BINARY_ROOTS, NESTED_ROOTS, STRING_ROOTS


def check_table(context: TableContext) -> None:
    """Raise InvalidRequest naming the option, or UnsupportedFeature, for a new table that breaks a rule."""
    _check_buckets(context)
    _check_partitions(context)
    _check_order(context)
    _check_bounds(context)
    _check_file_names(context)
    _check_use(context)
    _check_vectors(context)
    _check_row_tracking(context)
    check_engine_options(context)
    check_producer_options(context)
    check_record_expiry(context)
    check_tag_options(context.options)
    check_partition_expiry(context)
    _check_compaction(context)
    check_clustering(context)
    scan_position(context.options)
    for option in OTHER_BRANCHES:
        if context.schema.options.get(option, "").strip():
            raise UnsupportedFeature(
                f"option {option} cannot be stored: tables with it can only be read. Pass it to Table.with_options",
                option=option,
            )
    indexed_fields(context.options.file_indexes, context.schema.by_name)


def _check_buckets(context: TableContext) -> None:
    """Check the number of buckets and the columns of the bucket key."""
    schema, buckets, keys = context.schema, context.options["bucket"], context.options["bucket-key"] or ()
    if not context.is_keyed and buckets > 0 and not keys:
        raise InvalidRequest(
            f"table {context.name} has bucket = {buckets} and needs the option bucket-key", option="bucket-key"
        )
    if buckets == -2 and not context.is_keyed:
        raise InvalidRequest(f"table {context.name} has bucket = -2 and needs a primary key", option="bucket")
    if keys and buckets < 1:
        raise InvalidRequest(f"option bucket-key needs bucket = N with N >= 1, not {buckets}", option="bucket-key")
    for key in keys:
        if key not in schema.by_name:
            raise InvalidRequest(f"option bucket-key names {key!r}, which is no column", option="bucket-key")
        if schema.by_name[key].type.root in NESTED_ROOTS:
            raise InvalidRequest(
                f"option bucket-key names {key!r}, which is {schema.by_name[key].type}; nested types cannot be keys",
                option="bucket-key",
            )
        if key in schema.partition_keys or (schema.primary_keys and key not in schema.primary_keys):
            raise InvalidRequest(
                f"option bucket-key names {key!r}, which must be a primary key column and no partition key",
                option="bucket-key",
            )
    function = context.options["bucket-function.type"]
    if problem := function_problem(function, [f.type for f in schema.select(context.bucket_keys)]):
        raise InvalidRequest(
            f"table {context.name}: bucket-function.type = {function} {problem}", option="bucket-function.type"
        )
    if len(set(keys)) < len(keys):
        raise InvalidRequest(f"option bucket-key = {','.join(keys)!r} names a column twice", option="bucket-key")


def _check_row_tracking(context: TableContext) -> None:
    """Check that a table with row tracking has neither a primary key nor fixed buckets; refuse data evolution."""
    if context.options["data-evolution.enabled"]:
        raise UnsupportedFeature(
            f"table {context.name}: option data-evolution.enabled = true is supported for reads only",
            option="data-evolution.enabled",
        )
    if not context.options["row-tracking.enabled"]:
        return
    if context.is_keyed:
        raise InvalidRequest(
            f"table {context.name}: option row-tracking.enabled = true is for tables without a primary key",
            option="row-tracking.enabled",
        )
    if context.options["bucket"] != -1:
        raise InvalidRequest(
            f"table {context.name}: option row-tracking.enabled = true needs bucket = -1, not "
            f"{context.options['bucket']}",
            option="row-tracking.enabled",
        )


def _check_partitions(context: TableContext) -> None:
    """Check that partition values have directory names, and that a primary key cannot be in two partitions.

    A primary key without the partition keys needs bucket = -1 (cross-partition upsert), which some options exclude.
    """
    schema = context.schema
    # Raises if no directory name can be built from the partition keys and the name that stands for null.
    partition_path(schema.partition_keys, (context.options["partition.default-name"],) * len(schema.partition_keys))
    for field in schema.partition_fields:
        if field.type.root in BINARY_ROOTS and context.options["partition.legacy-name"]:
            raise UnsupportedFeature(
                f"partition key {field.name!r} is {field.type}, which has no directory name "
                "under partition.legacy-name = true",
                column=field.name,
            )
    missing = [k for k in schema.partition_keys if context.is_keyed and k not in schema.primary_keys]
    if missing and context.options["bucket"] != -1:
        raise InvalidRequest(
            f"table {context.name}: the primary key must contain the partition key {missing[0]!r}, "
            "otherwise one key could occur in two partitions; bucket = -1 (cross-partition upsert) prevents that",
            column=missing[0],
        )
    if missing and (against := against_cross_partition(context.options)):
        option = against[0].partition("=")[0]
        raise InvalidRequest(
            f"table {context.name}: option {option} cannot be used with a primary key without the partition key "
            f"{missing[0]!r} (cross-partition upsert)",
            option=option,
        )


def _check_order(context: TableContext) -> None:
    """Check the columns of options ``sequence.field`` and ``rowkind.field``."""
    schema, options = context.schema, context.options
    sequence, kind = options["sequence.field"] or (), options["rowkind.field"]
    for option, names in (("sequence.field", sequence), ("rowkind.field", () if kind is None else (kind,))):
        for column in names:
            if not context.is_keyed:
                raise InvalidRequest(f"option {option} needs a table with a primary key", option=option)
            if column not in schema.by_name:
                raise InvalidRequest(f"option {option} names {column!r}, which is no column", option=option)
    if len(set(sequence)) < len(sequence):
        raise InvalidRequest(
            f"option sequence.field = {','.join(sequence)!r} names a column twice", option="sequence.field"
        )
    if "sequence.field.sort-order" in options.values and not sequence:
        raise InvalidRequest(
            "option sequence.field.sort-order needs the option sequence.field", option="sequence.field.sort-order"
        )
    if kind is not None and schema.by_name[kind].type.root not in STRING_ROOTS:
        raise InvalidRequest(
            f"option rowkind.field names {kind!r}, which is {schema.by_name[kind].type} and not text",
            option="rowkind.field",
        )


def _check_file_names(context: TableContext) -> None:
    """Check that the prefixes of file names are short enough, and that the option for tag names has a valid name."""
    options = context.options
    for option in ("data-file.prefix", "changelog-file.prefix"):
        if option in options.values:
            check_limit(f"option {option}", len(options.values[option].encode()), FILE_PREFIX_BYTES, "bytes")
    name = options["tag.batch.customized-name"]
    if name is not None:
        try:
            context.paths.tag(name)
        except InvalidRequest as error:
            raise InvalidRequest(f"option tag.batch.customized-name: {error}", **error.facts) from None


def _check_bounds(context: TableContext) -> None:
    """Check that an option that sets a minimum does not exceed the option that sets the maximum."""
    options = context.options
    least, most = options["snapshot.num-retained.min"], options["snapshot.num-retained.max"]
    if least > most and "snapshot.num-retained.min" in options.values:
        raise InvalidRequest(
            f"option snapshot.num-retained.min = {least} is more than snapshot.num-retained.max = {most}",
            option="snapshot.num-retained.min",
        )
    least, most = options["changelog.num-retained.min"], options["changelog.num-retained.max"]
    if least is not None and most is not None and least > most:
        raise InvalidRequest(
            f"option changelog.num-retained.min = {least} is more than changelog.num-retained.max = {most}",
            option="changelog.num-retained.min",
        )
    if options["commit.min-retry-wait"] > options["commit.max-retry-wait"]:
        raise InvalidRequest(
            "option commit.min-retry-wait is more than commit.max-retry-wait", option="commit.min-retry-wait"
        )


def _check_use(context: TableContext) -> None:
    """Raise InvalidRequest for an option that has no effect for this table."""
    values = context.options.values
    keyed_only = [k for k in values if k.startswith("changelog-file.") or k.endswith(".per.level")]
    for option in ("ignore-delete", "ignore-update-before", *keyed_only):
        if option in values and not context.is_keyed:
            raise InvalidRequest(f"option {option} needs a table with a primary key", option=option)
    for option in values:
        if option.startswith("dynamic-bucket.") and not context.has_dynamic_buckets:
            raise InvalidRequest(f"option {option} needs a primary key and bucket = -1", option=option)
        if option.startswith("postpone.") and not context.is_postponed:
            raise InvalidRequest(f"option {option} needs a primary key and bucket = -2", option=option)
    for column in context.options.fields:
        if column and column not in context.schema.by_name:
            raise InvalidRequest(f"an option fields.{column}.* names {column!r}, which is no column", column=column)


def _check_vectors(context: TableContext) -> None:
    """Check that options of deletion vectors have an effect, and that no other option excludes deletion vectors."""
    values, options = context.options.values, context.options
    if context.is_keyed and options["deletion-vectors.enabled"] and (against := against_vectors(options)):
        raise InvalidRequest(
            f"table {context.name}: option {against[0]} cannot be used with deletion-vectors.enabled = true",
            option=against[0].partition("=")[0],
        )
    others = [k for k in values if k.startswith(("deletion-vectors.", "deletion-vector."))]
    if others and not options["deletion-vectors.enabled"]:
        needing = [k for k in others if k not in ("deletion-vectors.enabled", "deletion-vectors.modifiable")]
        if needing:
            raise InvalidRequest(f"option {needing[0]} needs deletion-vectors.enabled = true", option=needing[0])
    if options["deletion-vectors.merge-on-read"] and not context.is_keyed:
        raise InvalidRequest(
            "option deletion-vectors.merge-on-read needs a table with a primary key",
            option="deletion-vectors.merge-on-read",
        )


def _check_compaction(context: TableContext) -> None:
    """Check that the compaction options fit together and have an effect."""
    options = context.options
    if options["full-compaction.delta-commits"] is not None:
        if options["changelog-producer"] == "lookup":
            raise InvalidRequest(
                "option full-compaction.delta-commits cannot be used with changelog-producer = lookup: "
                "use changelog-producer = full-compaction to write a changelog at intervals",
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
        raise InvalidRequest(f"off-peak compaction needs the option {unset[0]} = 0 to 23 as well", option=unset[0])
    if "lookup-compact.max-interval" in options.values and options["lookup-compact"] != "gentle":
        raise InvalidRequest(
            "option lookup-compact.max-interval needs lookup-compact = gentle", option="lookup-compact.max-interval"
        )
