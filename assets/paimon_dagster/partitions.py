"""Partitions: declared partitions as partitions of Dagster, and their mapping to the partitions of inputs."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import dagster as dg

from paimon_lake.declarations import SettingsError, TableSpec
from paimon_lake.declarations.agreement.tables import mismatch
from paimon_lake.declarations.sources.source import SqlSource
from paimon_lake.declarations.tables.partitions import KEY_FORMATS

_BY_TIME = {
    "hour": dg.HourlyPartitionsDefinition,
    "day": dg.DailyPartitionsDefinition,
    "week": dg.WeeklyPartitionsDefinition,
    "month": dg.MonthlyPartitionsDefinition,
}


def partitions_def(spec: TableSpec, dynamic: str = "") -> dg.PartitionsDefinition[str] | None:
    """Return the partitions of a declaration; None without partitions. ``dynamic`` is the name of dynamic partitions.

    A week or month exists when it begins between the first and the last day of the declaration.
    """
    partitions = spec.partitions
    if partitions is None:
        return None
    if partitions.by == "static":
        return dg.StaticPartitionsDefinition(list(partitions.values))
    if partitions.by == "dynamic":
        return dg.DynamicPartitionsDefinition(name=dynamic or spec.ident)
    assert partitions.start is not None
    made: dg.TimeWindowPartitionsDefinition = _BY_TIME[partitions.by](
        start_date=datetime(partitions.start.year, partitions.start.month, partitions.start.day),
        end_date=None if partitions.end is None else _after(partitions.by, partitions.end),
        timezone=partitions.timezone,
        fmt=KEY_FORMATS[partitions.by],
        end_offset=partitions.end_offset,
    )
    return made


def _after(by: str, last: date) -> datetime:
    """Return the end of the last partition that begins on or before the day ``last``."""
    day = datetime(last.year, last.month, last.day)
    if by == "month":
        return (day.replace(day=28) + timedelta(days=4)).replace(day=1)
    return day + timedelta(days=7 - day.isoweekday() % 7 if by == "week" else 1)


def partitions_of_run(context: dg.AssetExecutionContext) -> list[str] | None:
    """Return the keys of the partitions that a run loads; None without partitions, or when it loads the whole asset.

    An asset without partitions may be in a run that loads a partition of other assets.
    """
    is_for_some = context.has_partition_key or context.has_partition_key_range
    return list(context.partition_keys) if is_for_some and context.assets_def.partitions_def is not None else None


def mapping(input_spec: TableSpec, output: TableSpec) -> dg.PartitionMapping | None:
    """Return the mapping from a partition of the output to the partitions of the input; None if the input has none.

    Raises SettingsError for partitions that do not fit each other, such as days and names.
    """
    of, to = input_spec.partitions, output.partitions
    if of is None:
        return None
    if to is None or (isinstance(output.source, SqlSource) and output.source.read in ("whole", "changes")):
        return dg.AllPartitionMapping()
    if why := mismatch(of, to):
        raise SettingsError(
            f"{output.name}: its partitions cannot be mapped to the partitions of its input {input_spec.name}: {why}; "
            "use the same kind of partitions, or none for one of the tables"
        )
    same = (of.by, of.start, of.end, of.end_offset) == (to.by, to.start, to.end, to.end_offset)
    if of.by_time and not same:
        return dg.TimeWindowPartitionMapping(allow_nonexistent_upstream_partitions=True)
    return dg.IdentityPartitionMapping()
