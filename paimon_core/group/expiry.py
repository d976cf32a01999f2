"""Expiry: deletes old versions of a group, and the tags that no kept version uses."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from paimon_core.argument_checks import at_least_one
from paimon_core.errors import InvalidRequest, NotFound, TagNotFound
from paimon_core.group.store import GroupStore
from paimon_core.group.table_commit import number_of
from paimon_core.table.table import Table


def expire_versions(store: GroupStore, open_table: Callable[[str], Table], keep_last: int) -> list[int]:
    """Delete all except the newest ``keep_last`` versions, with their tags; return the deleted version numbers.

    A version that another process deletes meanwhile is no error. Raises InvalidRequest for a wrong ``keep_last``.
    """
    at_least_one("keep_last", keep_last, 0)
    if keep_last is None:
        raise InvalidRequest("keep_last must be a whole number from 1, not None")
    versions = store.versions()
    to_delete, kept = versions[:-keep_last], versions[-keep_last:]
    for version in to_delete:
        store.delete(version.number)
    for name in {name for v in versions for name in v.tables}:
        used = {v.tables[name].tag for v in kept if name in v.tables}
        with contextlib.suppress(NotFound):  # the tags of a dropped table were deleted with the table
            _delete_tags(open_table(name), store.name, used, kept[-1].number)
    return [v.number for v in to_delete]


def _delete_tags(table: Table, group: str, used: set[str], newest: int) -> None:
    """Delete tags of the group up to version ``newest`` that are not in ``used``, even of interrupted calls."""
    for tag in table.tags.list():
        number = number_of(tag.name, group)
        if number is not None and number <= newest and tag.name not in used:
            with contextlib.suppress(TagNotFound):
                table.tags.delete(tag.name)
