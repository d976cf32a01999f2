"""Dimensions: planes, airlines and airports, overwritten with their source files and published as one version.

Readers of the group see all tables in the same version of the source, never a new airline without its planes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from paimon_core.errors import TagNotFound
from paimon_core.group.group import Group
from paimon_core.group.record import Mode
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.spark.writer import write_messages
from pipelines import source
from pipelines.flights import read_csv
from pipelines.lake import Settings
from pipelines.protocol import PipelineError, StepResult, plain
from pipelines.session import Spark
from pipelines.tables import commits_of, open_lake, open_table, result_of, state_of

DIMENSIONS = {"dim.planes": source.PLANES, "dim.airlines": source.AIRLINES, "dim.airports": source.AIRPORTS}
GROUP = "dimensions"
_VERSIONS_KEPT = 10


def dimension_group(settings: Settings) -> Group:
    """Return the group of the dimension tables; readers use ``dimension_group(settings).table("dim.planes")``."""
    return open_lake(settings).group(GROUP)


def load_dimension(
    spark: Spark, settings: Settings, name: str, *, properties: Mapping[str, str] | None = None
) -> StepResult:
    """Overwrite one dimension table with its source file; raises PipelineError for another table."""
    return load_dimensions(spark, settings, [name], properties=properties)[0]


def load_dimensions(
    spark: Spark,
    settings: Settings,
    names: Sequence[str] = tuple(DIMENSIONS),
    *,
    properties: Mapping[str, str] | None = None,
) -> list[StepResult]:
    """Overwrite the tables whose source file has changed since their last publish, in one new version of the group.

    An interrupted publish of the group is finished first. Raises PipelineError for a table that is not a dimension.
    """
    started = time.monotonic()
    for name in names:
        if name not in DIMENSIONS:
            raise PipelineError(f"{name!r} is not a dimension ({', '.join(DIMENSIONS)})")
    tables = {name: open_table(settings, name, create=True) for name in names}
    before = {name: state_of(table) for name, table in tables.items()}
    group = dimension_group(settings)
    group.recover()
    new = [name for name in names if not _is_published(group, name)]
    if new:
        latest = group.latest()
        number, known = (0, {}) if latest is None else (latest.number, latest.properties)
        loads = {_property(name): source.fingerprint(DIMENSIONS[name]) for name in new}
        token = f"{sorted(loads.items())} after version {number}"
        others = {key: value for key, value in known.items() if key.startswith(_property(""))}
        given = {"pipeline.step": "load-dimension", "pipeline.stage": "rows", **plain(properties), **others, **loads}
        parts = {name: _messages(spark, settings, name) for name in new}
        group.publish(parts, overwrite=dict.fromkeys(new, Mode.OVERWRITE_TABLE), properties=given, token=token)
        group.expire(_VERSIONS_KEPT)
    version = group.latest()
    return [
        result_of(
            "load-dimension",
            table,
            before[name],
            started,
            commits=commits_of(table, group.user, before[name].snapshot_id) if name in new else (),
            skipped=() if name in new else ("rows",),
            details={} if version is None else {"group_version": version.number},
        )
        for name, table in tables.items()
    ]


def _messages(spark: Spark, settings: Settings, name: str) -> list[CommitMessage]:
    table, file = open_table(settings, name), DIMENSIONS[name]
    rows = read_csv(spark, file, [str(source.land(file, settings.landing))]).select(*table.schema.names)
    return write_messages(rows, table, overwrites=True)


def _is_published(group: Group, name: str) -> bool:
    """Whether the newest version of the group has this table with the current source file."""
    version = group.latest()
    if version is None or version.properties.get(_property(name)) != source.fingerprint(DIMENSIONS[name]):
        return False
    return _tag_exists(group, name, version.tables[name].tag)


def _tag_exists(group: Group, name: str, tag: str) -> bool:
    """Whether the tag of the version exists; a rollback of the single table deletes it."""
    try:
        group.catalog.table(name).tags.read(tag)
    except TagNotFound:
        return False
    return True


def _property(name: str) -> str:
    return f"source.{name}"
