"""Groups: tables of a lake that are published together, so that readers see the loads of all of them or of none."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from paimon_lake.declarations.errors import Mistake, as_written, nearest
from paimon_lake.declarations.model import Model, Names
from paimon_lake.declarations.schedule import Schedule, schedule_of

GROUP = "group:"
"""The beginning of a selector that names a group."""


class TableGroup(Model):
    """Tables that are published together. A short form is the list of the tables."""

    tables: Annotated[Names, Field(min_length=2)]
    """The tables, at least two. A table may be in several groups."""
    keep_versions: Annotated[int, Field(ge=1, le=10_000)] = 20
    """How many versions of the group are kept. The snapshots of kept versions do not expire."""
    schedule: Annotated[Schedule | None, BeforeValidator(schedule_of, json_schema_input_type=str | Schedule | None)] = (
        None
    )
    """When Dagster loads the tables and publishes them: a cron expression, or ``{cron: ..., timezone: ...}``. The
    schedules of single tables publish nothing."""

    @model_validator(mode="after")
    def _by_time(self) -> TableGroup:
        if self.schedule is not None and self.schedule.on is not None:
            raise Mistake("a group is loaded by cron only", "schedule", "on")
        twice = next((name for name in self.tables if self.tables.count(name) > 1), None)
        if twice is not None:
            raise Mistake(f"names {twice} twice", "tables")
        return self


def _group(value: Any) -> Any:
    """Return a mapping with the key ``tables`` for a list; raises ValueError for a value that is no mapping either."""
    if not isinstance(value, list | Mapping | TableGroup):
        raise ValueError(f"must be a list of tables, or a mapping with the key tables, not {as_written(value)}")
    return {"tables": value} if isinstance(value, list) else value


DeclaredGroup = Annotated[TableGroup, BeforeValidator(_group, json_schema_input_type=list[str] | TableGroup)]
"""A group, or the list of its tables."""


def check_group(name: str, databases: Collection[str], *, is_rest: bool) -> None:
    """Raise Mistake for the name of a group, and with a catalog of type ``rest``; ``databases``: the keys below
    ``postgres``.
    """
    at = "groups", name
    if not re.fullmatch("[A-Za-z0-9_]{1,60}", name):
        raise Mistake("the name of a group must be at most 60 letters, digits and _", *at)
    if name in databases:
        raise Mistake(
            f"postgres.{name} has this name, and versions of its own: name the group otherwise", "groups", name
        )
    if is_rest:
        raise Mistake("a catalog of type rest has no groups of tables", *at)


def undeclared_tables(groups: Mapping[str, TableGroup], tables: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield (group, sentence) for each table of a group that is not declared."""
    for name, group in groups.items():
        for one in group.tables:
            if one not in tables:
                yield name, f"groups.{name} names {one}, which is not declared{nearest(one, list(tables))}"


def groups_of(groups: Mapping[str, TableGroup], tables: Collection[str]) -> list[str]:
    """Return the sorted names of the groups that have at least one of the tables."""
    return sorted(name for name, group in groups.items() if set(group.tables) & set(tables))
