"""Left versions: versions of a group that is not declared any more, and of the group of a database that is not
``consistent`` any more, and their removal.

No load publishes or expires these versions any more, and their tags keep the snapshots of the tables. Only groups whose
versions record a position in the log of PostgreSQL, or the name of a declared group, are reported: all other groups are
not made by loads.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from posixpath import dirname

from paimon_core.errors import InvalidRequest, NotFound, PaimonError, TagNotFound, UnsupportedFeature
from paimon_core.group.group import Group
from paimon_core.group.record import ABANDONED
from paimon_lake.checks.text import many
from paimon_lake.declarations import Settings
from paimon_lake.loads.groups.group_versions import DECLARED
from paimon_lake.loads.postgres.shared_slot import LSN
from paimon_lake.protocol import PipelineError
from paimon_lake.tables import open_lake


def left_versions(settings: Settings) -> Iterator[str]:
    """Yield one sentence for each group with versions that loads made and that is not declared, and for each database
    that is not consistent, or not declared.
    """
    for name in _groups(settings):
        database = settings.postgres.get(name)
        if (database is not None and database.consistent) or name in settings.groups:
            continue
        try:
            versions = _versions(open_lake(settings).group(name))
        except PaimonError as error:
            yield f"group {name}: whether versions are left is not known: {error}"
            continue
        if versions:
            why = "is not consistent any more" if database is not None else "is not declared any more"
            what = "postgres." if LSN in _properties(open_lake(settings).group(name)) else "groups."
            left = "is left" if len(versions) == 1 else "are left"
            yield (
                f"{what}{name} {why}, and {many(len(versions), 'version')} of its group {left}, whose tags keep "
                f"snapshots from expiring: `paimon-lake release --group {name}` deletes them"
            )


def release_versions(settings: Settings, name: str) -> list[str]:
    """Delete the versions of a group that loads made, and their tags; return one sentence.

    Raises PipelineError for a group that is declared, a database that is consistent, and a group that loads did not
    make.
    """
    if name in settings.groups:
        raise PipelineError(f"groups.{name} is declared: its loads publish versions; remove it from base.yaml first")
    database = settings.postgres.get(name)
    if database is not None and database.consistent:
        raise PipelineError(f"postgres.{name} is consistent: its loads publish versions; remove `consistent` first")
    if name not in _groups(settings):
        raise PipelineError(f"there is no group {name!r:.60} in the lake")
    catalog = open_lake(settings)
    group = catalog.group(name)
    versions = _versions(group)
    if not versions:
        raise PipelineError(f"the versions of the group {name} were not published by loads: nothing is deleted")
    shown = group.store.numbers("version")
    tables = {table for number in shown for table in group.store.version(number).tables}
    tables |= {table for number in set(versions) - set(shown) for table in group.store.intent(number).parts}
    tags = 0
    for table in sorted(tables):
        with contextlib.suppress(NotFound):  # the tags of a dropped table were deleted with it
            found = catalog.table(table).tags
            for tag in [one.name for one in found.list() if re.fullmatch(rf"group-{re.escape(name)}-\d+", one.name)]:
                with contextlib.suppress(TagNotFound):
                    found.delete(tag)
                    tags += 1
    for number in versions:  # deleted after the tags, so that an interrupted call can be repeated
        group.store.delete(number)
    return [f"deleted {many(len(versions), 'version')} of the group {name}, and {many(tags, 'tag')} of its tables"]


def _groups(settings: Settings) -> list[str]:
    """Return the names of the groups that have records."""
    catalog = open_lake(settings)
    try:
        store = catalog.group("any").store
    except UnsupportedFeature:  # the catalog has no directory of the lake
        return []
    return sorted(entry.name for entry in store.storage.list(dirname(store.directory)))


def _versions(group: Group) -> list[int]:
    """Return the numbers of the versions of a group, including versions whose publish was interrupted after the tags
    were created.

    Returns [] when the newest version with tables was not published by a load.
    """
    numbers, begun = group.store.numbers("version"), group.store.numbers("intent")
    return sorted({*numbers, *begun}) if _properties(group).keys() & {LSN, DECLARED} else []


def _properties(group: Group) -> Mapping[str, str]:
    """Return the properties of the newest version with tables that was not abandoned, else of the newest publish; {} if
    nothing can be read.
    """
    numbers, begun = group.store.numbers("version"), group.store.numbers("intent")
    try:
        found = (group.store.version(at) for at in reversed(numbers))
        newest = next((one for one in found if one.tables and ABANDONED not in one.properties), None)
        if newest is not None:
            return newest.properties
        return group.store.intent(begun[-1]).properties if begun else {}
    except (InvalidRequest, NotFound):
        return {}
