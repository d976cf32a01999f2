"""Database compaction: compacts the tables of a catalog one after the other, and tells what happened to each."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from paimon_core.argument_checks import as_millis, flag
from paimon_core.deferred import deferred
from paimon_core.errors import DatabaseNotFound, InvalidRequest, PaimonError, TableNotFound
from paimon_core.options import OptionValue

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog
    from paimon_core.compact.compaction import Work
    from paimon_core.compact.compactor import run_tasks
    from paimon_core.compact.report import CompactReport

    no_report = CompactReport
else:
    run_tasks = deferred("paimon_core.compact.compactor", "run_tasks")
    no_report = deferred("paimon_core.compact.report", "CompactReport")

ALL, NONE = ".*", "(?!)"
_DROPPED = "it was dropped during the call"


@dataclass(frozen=True, slots=True)
class TableOutcome:
    """What a database compaction did with one table."""

    table: str
    report: CompactReport = field(default_factory=no_report)
    skipped: str = ""
    """Why the table was not compacted; empty when it was."""
    error: PaimonError | None = None
    """The error with which its compaction ended."""

    @property
    def sentence(self) -> str:
        """One line about the table."""
        if self.error is not None:
            return f"{self.table}: failed: {self.error}"
        if self.skipped:
            return f"{self.table}: skipped: {self.skipped}"
        done = self.report.snapshot
        left = f", {self.report.conflicts} buckets left after conflicts" if self.report.conflicts else ""
        return f"{self.table}: {'nothing to do' if done is None else f'snapshot {done.id} ({done.commit_kind})'}{left}"


def compact_database(
    catalog: Catalog,
    including_databases: str = ALL,
    including_tables: str = ALL,
    excluding_tables: str = NONE,
    *,
    full: bool = False,
    partition_idle_time: datetime.timedelta | None = None,
    options: Mapping[str, OptionValue] | None = None,
    work: Work = run_tasks,
) -> list[TableOutcome]:
    """Compact tables as ``Catalog.compact_database`` does; ``work`` runs the tasks."""
    databases = _pattern("including_databases", including_databases)
    included = _pattern("including_tables", including_tables)
    excluded = _pattern("excluding_tables", excluding_tables)
    flag("full", full)
    if partition_idle_time is not None:
        as_millis("partition_idle_time", partition_idle_time)
    found: list[TableOutcome] = []
    for database in catalog.list_databases():
        if databases.fullmatch(database) is None:
            continue
        try:
            names = catalog.list_tables(database)
        except DatabaseNotFound:
            found.append(TableOutcome(database, skipped=_DROPPED))
            continue
        for name in names:
            full_name = f"{database}.{name}"
            if included.fullmatch(full_name) is None:
                found.append(TableOutcome(full_name, skipped="including_tables does not match it"))
            elif excluded.fullmatch(full_name) is not None:
                found.append(TableOutcome(full_name, skipped="excluding_tables matches it"))
            else:
                found.append(_compacted(catalog, full_name, full, partition_idle_time, options, work))
    _raise_failures(found)
    return found


def _compacted(
    catalog: Catalog,
    name: str,
    full: bool,
    idle: datetime.timedelta | None,
    options: Mapping[str, OptionValue] | None,
    work: Work,
) -> TableOutcome:
    try:
        table = catalog.table(name)
        table = table.with_options(dict(options)) if options else table
        return TableOutcome(name, table.compact(full, partition_idle_time=idle, work=work))
    except TableNotFound:
        return TableOutcome(name, skipped=_DROPPED)
    except PaimonError as error:
        return TableOutcome(name, error=error)


def _raise_failures(found: list[TableOutcome]) -> None:
    """Raise one error of the kind of the first error, which names all tables that failed."""
    failed = [outcome for outcome in found if outcome.error is not None]
    if not failed:
        return
    first = failed[0].error
    assert first is not None
    done = sum(bool(outcome.report) for outcome in found)
    raise type(first)(
        f"the compaction of {len(failed)} of {len(found)} tables failed ({done} were compacted): "
        + "; ".join(f"{outcome.table}: {outcome.error}" for outcome in failed),
        **first.facts | {"outcomes": tuple(found)},
    ) from first


def _pattern(name: str, text: str) -> re.Pattern[str]:
    if not isinstance(text, str):
        raise InvalidRequest(f"{name} is a regular expression, not {text!r:.60}", name=name)
    try:
        return re.compile(text)
    except re.error as error:
        raise InvalidRequest(f"{name} is no regular expression: {error}: {text!r:.60}", name=name) from None
