"""Translator: how a declared table looks in Dagster. Subclass it to change keys, groups, tags, pools or automation.

All factories take names from one translator, so that assets, checks, jobs and sensors agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg

from paimon_dagster.metadata import declared
from paimon_dagster.partitions import partitions_def
from paimon_lake.declarations import Settings, TableSpec


class PaimonTranslator:
    """The names and attributes of tables in Dagster; each method may be overridden."""

    def asset_key(self, spec: TableSpec) -> dg.AssetKey:
        """Return the asset key: ``ods/flights`` for ``ods.flights``."""
        return dg.AssetKey(spec.name.split("."))

    def source_key(self, spec: TableSpec) -> dg.AssetKey:
        """Return the key of the files or the database that the table is loaded from: ``source/ods/flights``."""
        return dg.AssetKey(["source", *spec.name.split(".")])

    def group_name(self, spec: TableSpec) -> str:
        """Return the group: the database."""
        return spec.name.split(".")[0]

    def tags(self, spec: TableSpec) -> Mapping[str, str]:
        """Return the tags: whether writers leave compaction to its job."""
        return {"paimon/write-mode": "write-only"} if spec.table_options.get("write-only") == "true" else {}

    def pool(self, spec: TableSpec, role: str) -> str:
        """Return the pool of a role, ``write``, ``compact`` or ``maintain``: one run at a time holds it."""
        return f"paimon_{role}__{spec.ident}"

    def owners(self, spec: TableSpec) -> list[str]:
        """Return the owners."""
        return list(spec.owners)

    def kinds(self, spec: TableSpec) -> set[str]:
        """Return the kinds, at most three, which Dagster shows as icons."""
        return {"spark", "paimon"}

    def automation_condition(self, spec: TableSpec) -> dg.AutomationCondition[Any] | None:
        """Return when Dagster loads the table by itself: for ``schedule.on: inputs``, after an input was loaded.

        All partitions are considered, not only the newest: an old month is computed again when a day of it is loaded.
        Partitions that were missing before the sensor was switched on are left to a backfill.
        """
        if spec.schedule is None or spec.schedule.on != "inputs":
            return None
        return dg.AutomationCondition.eager().without(dg.AutomationCondition.in_latest_time_window())

    def partitions_def(self, spec: TableSpec) -> dg.PartitionsDefinition[str] | None:
        """Return the partitions of the table's loads; None without partitions."""
        return partitions_def(spec)

    def metadata(self, settings: Settings, spec: TableSpec) -> Mapping[str, Any]:
        """Return the columns, keys and location of the table."""
        return declared(settings, spec)

    def asset_spec(self, settings: Settings, spec: TableSpec) -> dg.AssetSpec:
        """Return the whole description of the asset, without what it depends on."""
        return dg.AssetSpec(
            self.asset_key(spec),
            description=spec.comment or None,
            group_name=self.group_name(spec),
            kinds=self.kinds(spec),
            owners=self.owners(spec),
            metadata=dict(self.metadata(settings, spec)),
            tags=dict(self.tags(spec)),
            partitions_def=self.partitions_def(spec),
            automation_condition=self.automation_condition(spec),
        )


PLAIN = PaimonTranslator()
"""The translator that changes nothing."""
