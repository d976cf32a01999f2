"""Added columns: how a load treats columns of change events that its table lacks, or has with a narrower type.

Tasks note these columns while they read. The driver alters the table before anything is committed, and the load is
repeated with the altered table. Events that were written before their source had a column have null in this column.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from paimon_core.schema import DataField
from paimon_core.types import DataType
from paimon_lake.declarations.part_spec import PartSpec
from paimon_lake.declarations.sources.kafka import KafkaSource
from paimon_lake.declarations.sources.source import FilesSource
from paimon_lake.loads.shapes.schema_changes import hold, hold_in_part
from paimon_lake.loads.step import LoadStep
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files.events.new_columns import column_types

MOST_COLUMNS = 500
"""The largest number of columns that one load adds; a limit is needed because a damaged source may contain any
names.
"""


def left_out_columns(
    step: LoadStep, source: FilesSource | KafkaSource, noted: Iterable[Mapping[str, Collection[str]]], where: str
) -> list[str]:
    """Return the columns of the source that the load leaves out; with ``schema_changes: apply``, add new columns to the
    table.

    ``noted``: the columns that each task noted, with the types that it saw; ``where`` names the source in errors.
    Raises TableAltered after an alteration. Raises PipelineError for more than ``MOST_COLUMNS`` new columns, for a new
    column that a lookup fills, and for the errors of ``hold`` and ``column_types``.
    """
    seen: dict[str, set[str]] = {}
    for one in noted:
        for name, texts in one.items():
            seen.setdefault(name, set()).update(texts)
    named = {name: source.rename.get(name, name) for name in seen}
    if source.schema_changes != "apply":
        return sorted(seen)
    check_not_looked_up(step, named.values(), where)
    types, unknown = column_types(seen, where)
    if (count := len({named[name] for name in types} - set(step.table.schema.names))) > MOST_COLUMNS:
        raise PipelineError(
            f"{where} has {count:,} new columns, and a load adds at most {MOST_COLUMNS:,}: declare those "
            "that are right and run `paimon-lake apply`, or set source.schema_changes: ignore"
        )
    hold(step.table, {named[name]: kind for name, kind in types.items()}, "the source")
    return [name for name in unknown if name not in step.table.schema.names]


def hold_columns(step: LoadStep, columns: Mapping[str, DataType], where: str) -> None:
    """Let the table of a load hold columns of these types, as ``hold`` does; new columns that the load of a part adds
    belong to the part.

    ``where`` names the source in errors. Raises TableAltered after an alteration. Raises PipelineError for a change
    that the table cannot follow, and for a column that a lookup or another part fills.
    """
    check_not_looked_up(step, columns, where)
    if isinstance(step.spec, PartSpec):
        hold_in_part(step.table, columns, where, step.spec.part, step.settings.table(step.spec.name).parts)
    else:
        hold(step.table, columns, where)


def check_not_looked_up(step: LoadStep, columns: Iterable[str], where: str) -> None:
    """Refuse new columns of a source that a lookup fills: their values would be left out silently."""
    targets = step.lookups.targets if step.lookups is not None else frozenset()
    if taken := sorted(targets.intersection(columns)):
        raise PipelineError(
            f"{where} has the column {taken[0]!r}, which a lookup fills: give the looked-up column another name, or "
            "set source.schema_changes: ignore"
        )


def alterations(before: Iterable[DataField], after: Iterable[DataField]) -> list[str]:
    """Return one sentence for each column that a load added to its table, or widened."""
    held, told = {field.id: field.type for field in before}, []
    for field in after:
        text = field.type.with_nullable(True)
        if field.id not in held:
            told.append(f"the new column {field.name} of the source is {text} in the table")
        elif held[field.id] != field.type:
            told.append(f"the column {field.name} of the source has a wider type and is {text} in the table")
    return told
