"""Translator: the names of a lake in Dagster. Subclass it to change keys, groups, tags, pools or automation.

All factories use the names of one translator, so that assets, checks, jobs and sensors agree. In a lake with a name,
the names that must be unique in a code location begin with the lake's name, so that a location may have several lakes.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any, Self

import dagster as dg

from paimon_dagster.metadata import declared
from paimon_dagster.partitions import partitions_def
from paimon_lake.declarations import Settings, SettingsError, TableSpec
from paimon_lake.declarations.part_spec import PartSpec

_PART = re.compile(r"[A-Za-z0-9_]+")


class PaimonTranslator:
    """The names and attributes of a lake and its tables in Dagster; each method may be overridden."""

    name: str = ""
    """The name of the lake in its code location; empty: names have no prefix."""
    key_prefix: tuple[str, ...] = ()
    """The first parts of the asset keys."""

    def of_lake(self, name: str = "", key_prefix: Sequence[str] = ()) -> Self:
        """Return a copy of the translator with this lake name and this prefix of asset keys.

        Raises SettingsError for characters that Dagster does not accept.
        """
        for part in (*([name] if name else []), *key_prefix):
            if not _PART.fullmatch(part):
                raise SettingsError(
                    f"{part!r} is no name: Dagster takes only the letters a to z, digits and underscores"
                )
        made = copy.copy(self)
        made.name, made.key_prefix = name or self.name, tuple(key_prefix) or self.key_prefix
        return made

    def prefixed(self, name: str) -> str:
        """Return the name of a job, step, schedule, sensor, resource or pool: ``shop_nightly`` in the lake ``shop``."""
        return f"{self.name}_{name}" if self.name else name

    def asset_key(self, spec: TableSpec) -> dg.AssetKey:
        """Return the asset key: ``ods/flights`` for ``ods.flights``."""
        return dg.AssetKey([*self.key_prefix, *spec.name.split(".")])

    def source_key(self, spec: TableSpec) -> dg.AssetKey:
        """Return the key of the files, database or topics that the table is loaded from: ``source/ods/flights``.

        For a part of a table, the key ends with the name of the part.
        """
        part = [spec.part] if isinstance(spec, PartSpec) else []
        return dg.AssetKey([*self.key_prefix, "source", *spec.name.split("."), *part])

    def group_name(self, spec: TableSpec) -> str:
        """Return the group of the asset: the database of the table."""
        return spec.name.split(".")[0]

    def tags(self, spec: TableSpec) -> Mapping[str, str]:
        """Return the tags of the asset: the declared tags, without values, and ``paimon/write-mode`` for a table that
        only its compaction job compacts.
        """
        mode = {"paimon/write-mode": "write-only"} if spec.table_options.get("write-only") == "true" else {}
        return {**dict.fromkeys(spec.tags, ""), **mode}

    def pool(self, spec: TableSpec, role: str) -> str:
        """Return the pool for the role ``write``, ``compact`` or ``maintain``; one run at a time holds a pool."""
        return self.prefixed(f"paimon_{role}__{spec.ident}")

    def owners(self, spec: TableSpec) -> list[str]:
        """Return the owners of the asset, as declared."""
        return list(spec.owners)

    def kinds(self, spec: TableSpec) -> set[str]:
        """Return the kinds of the asset, at most three, which Dagster shows as icons."""
        return {"spark", "paimon"}

    def automation_condition(self, spec: TableSpec) -> dg.AutomationCondition[Any] | None:
        """Return the condition for automatic loads; None for a table without ``schedule.on: inputs``.

        With this condition, the table is loaded after one of its inputs was loaded. The condition applies to all
        partitions, not only to the newest: an old month is loaded again when one of its days is loaded. Partitions that
        were missing before the sensor was switched on are not loaded; they need a backfill.
        """
        if spec.schedule is None or spec.schedule.on != "inputs":
            return None
        return dg.AutomationCondition.eager().without(dg.AutomationCondition.in_latest_time_window())

    def partitions_def(self, spec: TableSpec) -> dg.PartitionsDefinition[str] | None:
        """Return the partitions of the table's loads; None without partitions."""
        return partitions_def(spec, self.prefixed(spec.ident))

    def metadata(self, settings: Settings, spec: TableSpec) -> Mapping[str, Any]:
        """Return the columns, keys and location of the table."""
        return declared(settings, spec)

    def asset_spec(self, settings: Settings, spec: TableSpec) -> dg.AssetSpec:
        """Return the asset with the attributes that the other methods return, but without its dependencies."""
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
"""The default translator: no prefixes."""
