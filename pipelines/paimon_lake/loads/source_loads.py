"""Source loads: the object that plans the loads of each kind of source."""

from __future__ import annotations

from paimon_lake.declarations import TableSpec
from paimon_lake.declarations.sources.kafka import KafkaSource
from paimon_lake.declarations.sources.lake_table import LakeTableSource
from paimon_lake.declarations.sources.lookup import lookups_of
from paimon_lake.declarations.sources.source import (
    DatabaseSource,
    FilesSource,
    PostgresChangesSource,
    PythonSource,
    Source,
    SqlSource,
)
from paimon_lake.loads.database import DatabaseLoads
from paimon_lake.loads.files.file_load import FileLoads
from paimon_lake.loads.frames import PythonLoads, SqlLoads
from paimon_lake.loads.kafka.kafka_loads import KafkaLoads
from paimon_lake.loads.keyed.keyed_loads import KeyedLoads
from paimon_lake.loads.lookup.lookup_loads import LookupLoads
from paimon_lake.loads.postgres.part_changes import PartChangesLoads
from paimon_lake.loads.postgres.several_tables import changes_loads
from paimon_lake.loads.step import TableSource
from paimon_lake.protocol import PipelineError


def source_of(spec: TableSpec) -> TableSource:
    """Return the object that plans the loads of a table; raises PipelineError for a table without a source."""
    return with_lookups(spec.source, _plain_source_of(spec))


def with_lookups(declared: Source | None, source: TableSource) -> TableSource:
    """Return the loads of a source with the lookups that its declaration has."""
    return LookupLoads(source) if lookups_of(declared) else source


def _plain_source_of(spec: TableSpec) -> TableSource:
    match spec.source:
        case FilesSource():
            return FileLoads(spec.source)
        case SqlSource():
            return SqlLoads(spec.source)
        case PythonSource():
            return PythonLoads(spec.source)
        case DatabaseSource():
            return DatabaseLoads(spec.source)
        case PostgresChangesSource():
            return PartChangesLoads(spec.source) if spec.is_part else changes_loads(spec.source)
        case KafkaSource():
            return KafkaLoads(spec.source)
        case LakeTableSource():
            return KeyedLoads(spec.source)
        case _:
            raise PipelineError(f"{spec.name}: its declaration has no source, so it cannot be loaded")
