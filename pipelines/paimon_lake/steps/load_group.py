"""Load group: load the tables of declared groups, and publish each group of which the run loaded all tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from paimon_core.errors import PaimonError
from paimon_lake.declarations import Settings
from paimon_lake.declarations.agreement.selection import ordered
from paimon_lake.declarations.lake.groups import groups_of
from paimon_lake.loads.failures import reason
from paimon_lake.loads.groups.group_versions import Published, publish_group
from paimon_lake.protocol import PipelineError, StepResult
from paimon_lake.session import Spark
from paimon_lake.steps.load_several import NotLoaded, load_several
from paimon_lake.tables import open_lake


@dataclass(frozen=True)
class NotPublished:
    """A group that the run did not publish."""

    group: str
    why: str
    version: int | None
    """The version that readers of the group still see; None before the first publish."""
    is_failure: bool
    """Whether the run loaded all tables of the group, or tried to; False when it was asked for only some of them."""

    def sentence(self) -> str:
        """Return one line of text for people."""
        seen = "it has no version yet" if self.version is None else f"its readers still see version {self.version}"
        return f"group {self.group} is not published, because {self.why}; {seen}"


Loaded = StepResult | NotLoaded | Published | NotPublished


def load_group(
    spark: Spark,
    settings: Settings,
    name: str,
    partitions: Mapping[str, Sequence[str] | None] | None = None,
    *,
    reload: bool = False,
) -> Iterator[Loaded]:
    """Load the tables of a declared group, each after its inputs, and publish them together.

    Yields the result of each table, and at the end ``Published``, or ``NotPublished`` when a table failed.
    ``partitions`` has the partitions of each table that is loaded in part. Raises SettingsError for a group that is not
    declared.
    """
    tables = [one for one in settings.group(name).tables if settings.table(one).has_loads]
    names = ordered(settings.tables, tables)
    run = GroupRun(settings, names)
    for one in load_several(spark, settings, names, partitions or {}, reload=reload):
        run.add(one)
        yield one
    yield from (one for one in run.published() if one.group == name)


class GroupRun:
    """The groups of the tables of one run, which are published when all of their tables were loaded."""

    def __init__(self, settings: Settings, names: Collection[str]) -> None:
        """``names``: the tables that the run loads."""
        self._settings, self._names = settings, set(names)
        self._loaded: dict[str, int | None] = {}
        self._failed: list[str] = []

    def add(self, one: StepResult | NotLoaded) -> None:
        """Note what the run did with a table, and with the tables that were loaded together with it."""
        if isinstance(one, NotLoaded):
            self._failed.append(one.table)
        for committed in one.results if isinstance(one, NotLoaded) else (one,):
            for result in (committed, *committed.others):
                self._loaded[result.table] = result.snapshot_id

    def failed(self, table: str) -> None:
        """Note that a table was not loaded."""
        self._failed.append(table)

    def published(self) -> Iterator[Published | NotPublished]:
        """Publish each group of which all tables were loaded; yield the result of each group with a table of the run.

        An error of a publish is a result too, because the loads before it remain.
        """
        for name in groups_of(self._settings.groups, self._names):
            tables = [one for one in self._settings.group(name).tables if self._settings.table(one).has_loads]
            failed = [one for one in tables if one in self._failed]
            others = [one for one in tables if one not in self._loaded and one not in failed]
            if failed:
                yield self._not(name, f"{', '.join(failed)} was not loaded", is_failure=True)
            elif others:
                why = f"this run did not load {', '.join(others)}; `paimon-lake load group:{name}` loads all its tables"
                yield self._not(name, why, is_failure=False)
            else:
                try:
                    yield publish_group(self._settings, name, self._loaded)
                except (PaimonError, PipelineError) as error:
                    why = reason(error).removeprefix(f"group {name} is not published: ")
                    yield self._not(name, why, is_failure=True)

    def _not(self, name: str, why: str, *, is_failure: bool) -> NotPublished:
        newest = open_lake(self._settings).group(name).latest()
        return NotPublished(name, why, None if newest is None else newest.number, is_failure)
