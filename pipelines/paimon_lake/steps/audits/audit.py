"""Audits: check that the content of a table is correct, by reading the table and its storage, without Spark."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from datetime import UTC, datetime

from paimon_core.advice import REPAIR, advised, for_table
from paimon_core.errors import CorruptTable, StorageError
from paimon_core.metadata.latest_snapshot import latest_entries
from paimon_lake.checks import CheckContext, CheckResult, load_records, run_check, run_checks
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.declarations.agreement.tables import inputs_of
from paimon_lake.declarations.part_spec import load_specs, part_names
from paimon_lake.declarations.tables.checks import RowCountCheck, UniqueCheck
from paimon_lake.loads.inputs.stale import stale_now
from paimon_lake.loads.inputs.stale_text import stale_text
from paimon_lake.loads.ledger.load_properties import part_of
from paimon_lake.loads.lookup.waiting_table import waiting_text
from paimon_lake.protocol import PipelineError
from paimon_lake.steps.audits.row_account import account_of
from paimon_lake.steps.health.examine import examine
from paimon_lake.steps.upkeep.rejects_upkeep import lost_rejects, tables_beside
from paimon_lake.tables import open_table


def audit_keys(settings: Settings, name: str) -> CheckResult:
    """Count the rows that repeat the key of another row, as the check ``unique`` does.

    If the key contains the partition columns, the keys of one partition are in memory at a time; otherwise all keys.
    """
    table = open_table(settings, name)
    check, context = UniqueCheck(type="unique"), CheckContext(datetime.now(UTC))
    (found,) = run_checks([check], settings.table(name), table, context=context, raises=True)
    return dataclasses.replace(found, audit="keys")


def audit_files(settings: Settings, name: str) -> CheckResult:
    """Check that every data file of the latest snapshot exists with the size that the snapshot records."""
    context = open_table(settings, name).context
    entries = latest_entries(context)
    files = {context.file_path(e.partition, e.bucket, e.file): e.file for e in entries}
    directories = {path.rpartition("/")[0] for path in files}
    sizes = {i.path: i.size for directory in directories for i in context.storage.list(directory)}
    wrong = [file.file_name for path, file in files.items() if sizes.get(path) != file.file_size]
    size = sum(file.file_size for file in files.values())
    missing = f"; missing or of another size: {', '.join(wrong[:3])}; {for_table(REPAIR, name)}" if wrong else ""
    return CheckResult("files", name, len(wrong), f"{len(files)} files, {size:,} bytes{missing}")


def audit_fsck(settings: Settings, name: str) -> CheckResult:
    """Check the invariants of the table and of its tables of rejects and of waiting rows; rows are not read."""
    report = open_table(settings, name).maintenance.check()
    errors = [for_table(finding.sentence(), name) for finding in report.errors]
    declared, beside = tables_beside(settings, name)
    for table in beside:
        found_in = open_table(declared, table).maintenance.check().errors
        errors += [f"{table}: {for_table(finding.sentence(), table)}" for finding in found_in]
    found = "; ".join(errors[:3]) or "no error"
    return CheckResult("fsck", name, len(errors), f"{sum(map(bool, report.checked.values()))} invariants: {found}")


def audit_loads(settings: Settings, name: str) -> CheckResult:
    """Check for every recorded load of a declared table that each row that it read was written or rejected, or waits.

    Also check that the table still has these rows. The sentence of the result says which loads were compared and which
    could not be compared, and reports lost rejects.
    """
    table = open_table(settings, name)
    context = CheckContext(datetime.now(UTC), history=load_records(table))
    found = run_check(RowCountCheck(type="row_count"), settings.table(name), table, context=context)
    try:
        account, lost = account_of(table, part_names(settings.table(name))), lost_rejects(settings, name)
    except PipelineError as error:  # the properties of a load are damaged
        return dataclasses.replace(found, audit="rows", wrong=found.wrong + 1, sentence=f"{error}; {found.sentence}")
    waiting = [_waiting(settings, spec) for spec in load_specs(settings.table(name))]
    sentence = "; ".join(filter(None, (*account.problems, found.sentence, *account.notes, *lost, *waiting)))
    return dataclasses.replace(found, audit="rows", wrong=found.wrong + len(account.problems), sentence=sentence)


def _waiting(settings: Settings, spec: TableSpec) -> str:
    text = waiting_text(settings, spec)
    return f"part {part}: {text}" if text and (part := part_of(spec.load_name)) else text


def audit_stale(settings: Settings, name: str) -> CheckResult:
    """Check that no input changed after the partitions of the table were loaded from it."""
    try:
        stale = stale_now(settings, name)
    except PipelineError as error:  # the properties of a load are damaged
        return CheckResult("stale", name, 1, f"is not known: {error}", severity="warn")
    sentence = f"{stale_text(stale)}; load them again" if stale else "no input changed since the loads"
    return CheckResult("stale", name, len(stale), sentence, severity="warn")


def audit_health(settings: Settings, name: str) -> CheckResult:
    """Tell what the table costs more than it needs to, and the commands that mend it; only metadata is read."""
    examined = examine(settings, name)
    findings, details = examined.health.findings, {"score": examined.health.score, **examined.health.measures}
    pictures = {"picture": examined.pictures["files"]} if "files" in examined.pictures else {}
    return CheckResult("health", name, len(findings), examined.sentence(), examined.severity, details, pictures)


def audits_of(spec: TableSpec) -> tuple[str, ...]:
    """Return the audits that a table has: ``rows`` needs a source, ``keys`` a key, ``stale`` inputs."""
    rows, keys = ["rows"] if spec.has_loads else [], ["keys"] if spec.key else []
    return (*rows, *keys, "files", "fsck", "health", *(["stale"] if inputs_of(spec) else []))


def audit(settings: Settings, name: str, kinds: Collection[str] | None = None) -> list[CheckResult]:
    """Run the audits ``kinds`` of a table (None: all); an audit that cannot read a file returns a failed result."""
    spec = settings.table(name)
    audits: dict[str, Callable[[], CheckResult]] = {
        "rows": lambda: audit_loads(settings, name),
        "keys": lambda: audit_keys(settings, name),
        "files": lambda: audit_files(settings, name),
        "fsck": lambda: audit_fsck(settings, name),
        "health": lambda: audit_health(settings, name),
        "stale": lambda: audit_stale(settings, name),
    }
    found = []
    for kind in (kind for kind in audits_of(spec) if kinds is None or kind in kinds):
        try:
            found.append(audits[kind]())
        except (CorruptTable, StorageError) as error:
            found.append(CheckResult(kind, name, 1, f"cannot be read: {advised(error, name)}"))
    return found
