"""Keyed loads: plan the loads of a part whose rows get their key from a mapping table.

A load reads the source and the mapping table at one snapshot each, and commits once. The commit records both snapshots,
and the next load reads the changes since then. The order column of the part gets a number that is greater in each later
load, because a row of the wide table may get another source row: even if that source row is older, the new values must
count as newer. The snapshot records the number as well, because a rollback during a load may leave a number that is
greater than all ids of snapshots. A load that does not continue an earlier load reads the greatest number from the wide
table.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from paimon_core.metadata.commit_message import position_of
from paimon_core.schema import DataField
from paimon_core.spark.reference import TableReference
from paimon_core.table.view import TableView
from paimon_lake.declarations.agreement.lookups import type_mismatch
from paimon_lake.declarations.part_spec import PartSpec
from paimon_lake.declarations.sources.lake_table import LakeTableSource
from paimon_lake.loads.frames import pinned_inputs
from paimon_lake.loads.inputs.input_loads import STALE
from paimon_lake.loads.keyed.keyed_rows import KeyedRows
from paimon_lake.loads.ledger.load_properties import key_digest, load_command
from paimon_lake.loads.ledger.load_snapshot import INPUTS, KEY, WATERMARK
from paimon_lake.loads.ledger.restore import lost_inputs
from paimon_lake.loads.lookup.dimension import Dimension
from paimon_lake.loads.shapes.row_shape import row_fields
from paimon_lake.loads.step import LoadStep, NothingToLoad, PlannedLoad
from paimon_lake.loads.write_tasks import WriteResult, write_parts
from paimon_lake.protocol import KIND, PipelineError
from paimon_lake.sources.files.rejects import Parsed

_GREATEST = (1 << 63) - 1


class KeyedLoads:
    """The loads of a part with ``key_from``."""

    def __init__(self, source: LakeTableSource) -> None:
        self._source = source

    def plan(self, step: LoadStep) -> PlannedLoad | NothingToLoad:
        """Return the load of the changes since the newest load; NothingToLoad when neither table has a new snapshot.

        Raises PipelineError when the declaration of the part has changed since earlier loads, or when columns do not
        fit.
        """
        spec, source = step.spec, self._source
        assert isinstance(spec, PartSpec)
        views = pinned_inputs(step, list(dict.fromkeys(source.tables)))
        positions = {name: position_of(view.latest_snapshot()) for name, view in views.items()}
        columns = source.columns_of([name for name in spec.filled if name not in spec.order_by])
        seen = {} if step.reload else step.ledger.inputs
        order = _order(step, spec, begins=not seen)
        rows = self._rows(step, spec, views, columns, order)
        ids = [[one.id for one in table.fields] for table in (rows.source, rows.mapping)]  # re-created: new ids
        named = [dict(sorted(one.items())) for one in (source.key_from.on, source.key_from.columns, columns)]
        declared = key_digest([source.tables, *named, ids])
        if seen and (seen.keys() != positions.keys() or declared not in list(step.ledger.keys)[-1:]):
            raise PipelineError(
                f"{spec.load_name}: its tables or columns were declared in another way when it was loaded, or columns "
                f"of the tables were made again: run `{load_command(spec.load_name)} --reload`"
            )
        if seen and all(tuple(seen[name]) == tuple(at) for name, at in positions.items()):
            return NothingToLoad([f"{' and '.join(views)} did not change since the load before"])
        if seen:
            rows = replace(rows, since=(seen[source.table], seen[source.key_from.table]))
        elif step.table.latest_snapshot() is not None:
            rows = replace(rows, wide=TableReference.of(step.table.context))
        return PlannedLoad(
            lambda: _write(step, rows),
            {KEY: declared, INPUTS: json.dumps(positions), STALE: "{}", WATERMARK: json.dumps(order)},
            {f"input_{name}": f"snapshot {number}" for name, (number, _) in positions.items()},
            inputs=views,
            left_out=lost_inputs(step.settings, views),
            continues=bool(seen),
        )

    def _rows(
        self, step: LoadStep, spec: PartSpec, views: Mapping[str, TableView], columns: Mapping[str, str], order: int
    ) -> KeyedRows:
        source, key_from = self._source, self._source.key_from
        wide, fields = step.table.schema.by_name, views[source.table].schema.by_name
        mapping = views[key_from.table].schema.by_name
        _check(step, source.table, ((name, wide[name], theirs, fields) for name, theirs in columns.items()))
        _check(step, key_from.table, ((mine, wide[mine], one, mapping) for mine, one in key_from.columns.items()))
        _check(step, key_from.table, ((mine, fields.get(mine), one, mapping) for mine, one in key_from.on.items()))
        for name, key in ((source.table, key_from.on), (key_from.table, key_from.columns.values())):
            if sorted(key) != sorted(views[name].schema.primary_keys):
                raise _unfit(step, name, f"its primary key is ({', '.join(views[name].schema.primary_keys)})")
        return KeyedRows(
            _dimension(views[source.table], list(key_from.on), columns.values(), source.cache_bytes),
            _dimension(views[key_from.table], key_from.columns.values(), key_from.on.values(), source.cache_bytes),
            tuple(key_from.on.values()),
            tuple(key_from.columns),
            columns,
            row_fields(spec, step.table),
            (spec.order_by[0], order),
            None,
        )


def _order(step: LoadStep, spec: PartSpec, *, begins: bool) -> int:
    """Return the number that a load writes to the order column: it is greater than the numbers of all rows that the
    part has.

    Raises PipelineError when there is no greater number.
    """
    latest, column = step.table.latest_snapshot(), spec.order_by[0]
    if latest is None:
        return 1
    numbers = [latest.id]
    if begins:  # another source, another part or another program may have filled the column
        greatest = step.table.scan().max(column)
        numbers += [] if greatest is None else [greatest]
    elif isinstance(step.ledger.watermark, int):  # missing after loads that did not record it
        numbers.append(step.ledger.watermark)
    if max(numbers) >= _GREATEST:
        raise PipelineError(f"{spec.load_name}: {column} has the greatest BIGINT: choose another column for order_by")
    return max(numbers) + 1


def _check(
    step: LoadStep, table: str, pairs: Iterator[tuple[str, DataField | None, str, Mapping[str, DataField]]]
) -> None:
    """Raise PipelineError unless the two columns of each pair exist and have types that match."""
    for mine, field, theirs, fields in pairs:
        if field is None or theirs not in fields:
            raise _unfit(step, table, f"there is no column {mine if field is None else theirs!r}")
        if why := type_mismatch(field.type, fields[theirs].type):
            raise _unfit(step, table, f"its {theirs} is {fields[theirs].type}, and {mine} is {field.type}: {why}")


def _unfit(step: LoadStep, table: str, why: str) -> PipelineError:
    return PipelineError(
        f"{step.spec.load_name}: key_from with {table} does not fit: {why}; change the declaration or alter the table"
    )


def _dimension(view: TableView, key: Iterable[str], values: Iterable[str], most_bytes: int) -> Dimension:
    fields = view.schema.by_name
    return Dimension(
        TableReference.of(view.context),
        position_of(view.latest_snapshot()),
        tuple(fields[name] for name in key),
        tuple(fields[name] for name in dict.fromkeys(values)),
        most_bytes,
    )


def _write(step: LoadStep, rows: KeyedRows) -> WriteResult:
    def read(_: bytes) -> Iterator[Parsed]:
        return rows.parsed()

    written = write_parts(
        step.spark(), [b"changes"], read, step.table, step.rejects, step.stamp, kinds=KIND, overwrites=False
    )
    keys = zip(rows.key, rows.mapping.key, strict=True)
    lineage = {mine: ((rows.mapping.name, field.name),) for mine, field in keys}
    lineage |= {mine: ((rows.source.name, theirs),) for mine, theirs in rows.columns.items()}
    return replace(written, lineage=lineage)
