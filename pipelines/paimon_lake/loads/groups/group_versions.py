"""Group versions: publish the tables of a declared group together, and say what readers of the group see.

A version names one snapshot of each table (decision 0079). Publishing changes no table: the loads are committed before.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from paimon_core.catalog.catalog import Catalog
from paimon_core.errors import CommitConflict, NotFound, PaimonError, TagNotFound
from paimon_core.group.group import Group
from paimon_core.group.record import GroupVersion, Member
from paimon_lake.declarations import Settings
from paimon_lake.loads.failures import reason
from paimon_lake.loads.ledger.load_snapshot import loads_of
from paimon_lake.protocol import PipelineError
from paimon_lake.tables import open_lake

DECLARED = "paimon-lake.group"
"""The property of a version that loads of a declared group published; its value is the name of the group."""
_TRIES = 5


@dataclass(frozen=True)
class Published:
    """What readers of a group see after its tables were loaded."""

    group: str
    version: int
    snapshots: Mapping[str, int]
    """The snapshot of each table."""
    is_new: bool
    """Whether this run published the version; False when nothing differed from it."""
    not_deleted: str = ""
    """Why the versions that are not kept any more were not deleted after the publish; "" when they were."""

    def sentence(self) -> str:
        """Return one line of text for people."""
        shown = ", ".join(f"{name} (snapshot {at})" for name, at in self.snapshots.items())
        done = f"version {self.version} shows" if self.is_new else f"nothing to do, version {self.version} shows"
        more = f"; published, but {self.problem()}" if self.not_deleted else ""
        return f"publish group {self.group}: {done} {shown}{more}"

    def problem(self) -> str:
        """Return what failed after the publish, as one sentence."""
        return f"its old versions were not deleted: {self.not_deleted}; the next publish of the group tries it again"

    def to_json(self, indent: int | None = 2) -> str:
        """Return one JSON object; in one line when ``indent`` is None."""
        return json.dumps({"step": "publish", **asdict(self)}, indent=indent)


@dataclass(frozen=True)
class Shown:
    """The newest version of a group, and how the tables differ from it."""

    group: str
    version: GroupVersion | None
    """None before the first publish."""
    newer: Mapping[str, int]
    """The newest snapshot of a load of each table whose load the version does not show."""
    unreadable: tuple[str, ...] = ()
    """The tables whose snapshot in the version is gone, after a rollback or because the table was created again."""
    is_pending: bool = False
    """Whether a publish was interrupted; the next publish completes it."""
    problem: str = ""
    """Why the versions or a table of the group cannot be read; "" when they can."""

    def sentence(self) -> str:
        """Return one line of text for people."""
        if self.problem:
            return f"group {self.group}: {self.problems()[0]}"
        advice = f"`paimon-lake load group:{self.group}` loads and publishes its tables"
        if self.version is None:
            return f"group {self.group}: no version yet; {advice}"
        at = datetime.fromtimestamp(self.version.time_millis / 1000, UTC)
        tables = ", ".join(f"{name} (snapshot {one.snapshot})" for name, one in self.version.tables.items())
        text = f"group {self.group}: version {self.version.number} of {at:%Y-%m-%d %H:%M:%S} UTC shows {tables}"
        return "; ".join([text, *self.problems()])

    def problems(self) -> list[str]:
        """Return why the version is not what a publish would show now, one sentence each."""
        if self.problem:
            return [f"whether its version is up to date is not known: {self.problem}"]
        advice = f"`paimon-lake load group:{self.group}`"
        found = []
        if self.is_pending:
            found.append(f"a publish was interrupted: {advice} completes it")
        if self.unreadable:
            found.append(f"the snapshots of {', '.join(self.unreadable)} in it are gone: {advice} publishes again")
        if self.newer and self.version is not None:
            newer = ", ".join(f"{name} (snapshot {at})" for name, at in self.newer.items())
            found.append(f"loaded later and not in it: {newer}; {advice} publishes them")
        return found


def publish_group(settings: Settings, name: str, loaded: Mapping[str, int | None] | None = None) -> Published:
    """Publish the tables of a declared group as a version, unless the newest version shows the same.

    Afterwards old versions are deleted. If the deletion fails, the version is published all the same, and the result
    says why old versions are left (``not_deleted``).

    ``loaded``: the snapshots at which the loads of a run ended; other tables are shown at their latest snapshot. A
    version never shows an earlier snapshot of a table than the version before. Raises SettingsError for a group that is
    not declared, PipelineError for a table without a snapshot, CommitConflict when other runs published first each
    time; then readers of the group see what they saw before, or the version of another run.
    """
    declared, catalog = settings.group(name), open_lake(settings)
    group: Group = catalog.group(name)
    for left in reversed(range(_TRIES)):
        _recover(group)
        newest = group.latest()
        before = {} if newest is None else newest.tables
        wanted = {
            table: _snapshot(catalog, name, table, (loaded or {}).get(table), before.get(table))
            for table in declared.tables
        }
        if newest is not None and _snapshots(newest) == wanted and not _unreadable(catalog, newest):
            return Published(name, newest.number, wanted, is_new=False)
        after = 0 if newest is None else newest.number
        try:
            version = group.publish_snapshots(wanted, properties={DECLARED: name}, after=after)
        except CommitConflict:  # another run has published: its version may show later snapshots
            if not left:
                raise
            continue
        if _snapshots(version) != wanted:
            raise PipelineError(
                f"group {name} is not published: another run abandoned version {version.number}: load it again"
            )
        not_deleted = deleted_old_versions(group, declared.keep_versions)
        return Published(name, version.number, wanted, is_new=True, not_deleted=not_deleted)
    raise AssertionError


def deleted_old_versions(group: Group, keep_last: int) -> str:
    """Delete all versions except the newest ``keep_last``; return why this failed, or "".

    An error is no reason to say that the publish before it failed: readers see the new version.
    """
    try:
        group.expire(keep_last)
    except (PaimonError, OSError) as error:
        return reason(error)
    return ""


def shown_version(settings: Settings, name: str) -> Shown:
    """Return the newest version of a declared group, and how the tables of the group differ from it.

    For a group that cannot be read, the result has a ``problem``: all other groups and tables are still told.
    """
    try:
        return _shown_version(settings, name)
    except (PaimonError, PipelineError) as error:
        return Shown(name, None, {}, problem=str(error))


def _shown_version(settings: Settings, name: str) -> Shown:
    declared, catalog = settings.group(name), open_lake(settings)
    group: Group = catalog.group(name)
    newest = group.latest()
    begun = group.store.numbers("intent")
    is_pending = bool(begun) and (newest is None or begun[-1] > newest.number)
    newer = {}
    for table in declared.tables:
        at = _newest_load(catalog, table)
        shown = None if newest is None else newest.tables.get(table)
        if at is not None and (shown is None or at > shown.snapshot):
            newer[table] = at
    return Shown(name, newest, newer, () if newest is None else _unreadable(catalog, newest), is_pending)


def _recover(group: Group) -> None:
    """Complete a publish whose process ended; abandon it when it can never be completed."""
    try:
        group.recover()
    except NotFound:  # a snapshot expired, or was rolled back, before the version existed
        with contextlib.suppress(NotFound):  # another run has completed or abandoned it meanwhile
            group.abandon()


def _snapshots(version: GroupVersion) -> dict[str, int]:
    return {table: one.snapshot for table, one in version.tables.items()}


def _snapshot(catalog: Catalog, group: str, table: str, ended: int | None, before: Member | None) -> int:
    latest = None if ended is not None or not catalog.table_exists(table) else catalog.table(table).latest_snapshot()
    at = ended if ended is not None else None if latest is None else latest.id
    if at is None:
        raise PipelineError(f"group {group} is not published: {table} has no snapshot yet: load it first")
    is_later = before is not None and before.snapshot > at and _is_readable(catalog, table, before)
    return before.snapshot if before is not None and is_later else at


def _is_readable(catalog: Catalog, table: str, shown: Member) -> bool:
    try:
        return catalog.table(table).tags.read(shown.tag).snapshot.id == shown.snapshot
    except (TagNotFound, NotFound):
        return False


def _unreadable(catalog: Catalog, version: GroupVersion) -> tuple[str, ...]:
    return tuple(name for name, one in version.tables.items() if not _is_readable(catalog, name, one))


def _newest_load(catalog: Catalog, table: str) -> int | None:
    if not catalog.table_exists(table):
        return None
    loads = loads_of(catalog.table(table))
    return loads[-1].id if loads else None
