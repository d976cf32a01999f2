"""Loads of DataFrames: a SELECT over tables of the lake, or a function of the user.

The snapshot of a load records the versions of its inputs. A load does nothing when a load of the same partitions, with
the same query and the same versions, was committed before. A compaction of an input changes its version only if it
makes rows visible (see ``content_version``).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import DataFrame

from paimon_core.metadata.commit_message import position_of
from paimon_core.spark import read_spark
from paimon_core.spark.writes.routing import check_columns_of, with_routing_columns
from paimon_core.spark.writes.task_rows import task_rows
from paimon_core.table.view import TableView
from paimon_lake.declarations import SettingsError, TableSpec
from paimon_lake.declarations.lake.functions import function_of
from paimon_lake.declarations.sources.source import PythonSource, SqlSource
from paimon_lake.loads.inputs.changes import changed_rows
from paimon_lake.loads.inputs.content_version import content_version
from paimon_lake.loads.inputs.input_loads import STALE
from paimon_lake.loads.inputs.stale import by_partition, stale_partitions
from paimon_lake.loads.inputs.stale_text import by_reason
from paimon_lake.loads.ledger.load_properties import key_digest
from paimon_lake.loads.ledger.load_snapshot import INPUTS, KEY
from paimon_lake.loads.ledger.restore import lost_inputs
from paimon_lake.loads.partitions.partition_keys import rows_of
from paimon_lake.loads.rejected.reject_partitions import ReadAgain, RejectPartitions
from paimon_lake.loads.shapes.frame_shape import FrameShape
from paimon_lake.loads.shapes.row_shape import check_filled, emptied_columns, row_fields
from paimon_lake.loads.step import LoadStep, NothingToLoad, PlannedLoad
from paimon_lake.loads.write_tasks import WriteResult, write_frame
from paimon_lake.protocol import KIND, PipelineError
from paimon_lake.query_text import query_place, query_text
from paimon_lake.sources.column_lineage import InputView, column_lineage
from paimon_lake.sources.user_step import UserStep
from paimon_lake.sources.views import QueryResult, query_result
from paimon_lake.tables import open_table


class SqlLoads:
    """The loads of a table from a SELECT."""

    def __init__(self, source: SqlSource) -> None:
        self._source = source

    def plan(self, step: LoadStep) -> PlannedLoad | NothingToLoad:
        """Return the load; NothingToLoad when a load of the same versions of the inputs was committed before."""
        inputs = pinned_inputs(step, self._source.inputs)
        query = query_text(step.settings, step.spec)
        return _plan(step, inputs, query, lambda: self._write(step, inputs, query))

    def _write(self, step: LoadStep, inputs: Mapping[str, TableView], query: str) -> WriteResult:
        result = self._result(step, inputs, query)
        views = {
            view: InputView(name, frozenset(inputs[name].arrow_schema.names)) for view, name in result.views.items()
        }
        return replace(_write(step, result.frame), lineage=column_lineage(result.frame, views))

    def _result(self, step: LoadStep, inputs: Mapping[str, TableView], query: str) -> QueryResult:
        """Return the result of the query; raises PipelineError, which names the table and the place of the query, if it
        is wrong.
        """
        try:
            return self._analysed(step, inputs, query)
        except PipelineError as error:
            raise PipelineError(f"{step.spec.load_name}: {query_place(step.settings, step.spec)}: {error}") from None

    def _analysed(self, step: LoadStep, inputs: Mapping[str, TableView], query: str) -> QueryResult:
        if self._source.read == "changes":
            seen, deletes = step.ledger.inputs if not step.reload else {}, step.spec.kinds is not None
            return query_result(
                step.spark(),
                query,
                {
                    name: changed_rows(step.spark(), table, seen.get(name), deletes=deletes)
                    for name, table in inputs.items()
                },
            )
        by_partition = step.partitions is not None and self._source.read != "whole"
        return query_result(
            step.spark(), query, {name: _rows(step, table, by_partition) for name, table in inputs.items()}
        )


class PythonLoads:
    """The loads of a table from a function of the user."""

    def __init__(self, source: PythonSource) -> None:
        self._source = source

    def plan(self, step: LoadStep) -> PlannedLoad | NothingToLoad:
        """Return the load; NothingToLoad when a load with this run key and these versions of inputs was committed."""
        inputs = pinned_inputs(step, self._source.inputs)
        function = self._function(step)
        by_partition = step.partitions is not None
        frames = {name: partial(_rows, step, table, by_partition) for name, table in inputs.items()}
        user_step = UserStep(step.spec.name, step.partitions, step.settings.folder, frames)

        def frame() -> DataFrame:
            made = function(step.spark(), user_step)
            if not isinstance(made, DataFrame):
                raise PipelineError(
                    f"{step.spec.name}: {self._source.function} returned a {type(made).__name__}, not a DataFrame"
                )
            return made

        return _plan(step, inputs, f"{self._source.function} {step.run_key}", lambda: _write(step, frame()))

    def _function(self, step: LoadStep) -> Callable[..., Any]:
        """Return the function; Spark tasks receive its module by value, because they cannot import it."""
        try:
            function = function_of(self._source.function, step.settings.folder)
        except SettingsError as error:
            raise PipelineError(f"{step.spec.name}: {error}") from None
        module = sys.modules.get(function.__module__)
        if module is not None and Path(module.__file__ or "/").is_relative_to(step.settings.folder):
            cloudpickle.register_pickle_by_value(module)
        return function


def pinned_inputs(step: LoadStep, names: Sequence[str]) -> dict[str, TableView]:
    """Return the inputs by name, each pinned to its latest snapshot.

    Raises PipelineError for an input without a snapshot.
    """
    pinned = {}
    for name in names:
        table = open_table(step.settings, name)
        latest = table.latest_snapshot()
        if latest is None:
            raise PipelineError(f"{step.spec.name}: its input {name} is empty: load it first")
        pinned[name] = table.at(snapshot=latest.id)
    return pinned


def _rows(step: LoadStep, table: TableView, by_partition: bool) -> DataFrame:
    spec = step.settings.table(table.name)
    if not by_partition or spec.partitions is None:
        return read_spark(step.spark(), table)
    assert step.partitions is not None
    assert step.spec.partitions is not None
    return read_spark(step.spark(), table, where=rows_of(spec, table, step.partitions, step.spec.partitions))


def _plan(
    step: LoadStep, inputs: Mapping[str, TableView], what: str, write: Callable[[], WriteResult]
) -> PlannedLoad | NothingToLoad:
    versions = {name: content_version(table) for name, table in inputs.items()}
    content, part = key_digest([what, versions]), key_digest(step.partitions)
    key = f"{content}:{part}"
    knows_repeats = bool(inputs) or bool(step.run_key)
    if step.reload and inputs and key in step.meanwhile.keys:
        return NothingToLoad([f"loaded by another load since this one began, in snapshot {step.meanwhile.keys[key]}"])
    stale = stale_partitions(step.settings, step.spec, step.ledger.input_loads, inputs)
    asked = step.partitions if by_partition(step.spec) else None
    left = {} if asked is None else {name: why for name, why in stale.items() if name not in asked}
    is_fresh = len(left) == len(stale)
    if knows_repeats and is_fresh and not step.reload and _is_loaded(step, key, content):
        return NothingToLoad([f"loaded before, in snapshot {step.ledger.keys[key]}"])
    positions = {name: position_of(table.latest_snapshot()) for name, table in inputs.items()}
    return PlannedLoad(
        write,
        {KEY: key, INPUTS: json.dumps(positions), STALE: json.dumps(by_reason(left))},
        {f"input_{name}": f"snapshot {number}" for name, (number, _) in positions.items()},
        step.replacement(step.partitions),
        inputs,
        left_out=lost_inputs(step.settings, inputs),
        rejects_of=_rejects_of(step),
        stale=left,
    )


def _rejects_of(step: LoadStep) -> ReadAgain | tuple[()]:
    """Return the rejects that the load replaces, because the load reads the rejected rows again; () when it reads only
    new rows.
    """
    source = step.spec.source
    is_query = isinstance(source, SqlSource)
    only_changes = isinstance(source, SqlSource) and source.read == "changes"
    again = step.reload or (not only_changes and (is_query or step.partitions is not None))
    return ReadAgain(_source_name(step.spec), step.partitions) if again else ()


def _is_loaded(step: LoadStep, key: str, content: str) -> bool:
    """Whether the table still has the rows that a load with this key wrote.

    When loads replace rows, a later load of other content may have replaced these rows.
    """
    at = step.ledger.keys.get(key)
    if at is None or not step.replaces:
        return at is not None
    return all(later.startswith(f"{content}:") for later, snapshot in step.ledger.keys.items() if snapshot > at)


def _source_name(spec: TableSpec) -> str:
    """Return the value of the column ``file`` of rejects: the function, the file of a query, or a name of the query."""
    source = spec.source
    assert isinstance(source, SqlSource | PythonSource)
    return source.function if isinstance(source, PythonSource) else source.file or f"query of {spec.name}"


def _write(step: LoadStep, frame: DataFrame) -> WriteResult:
    """Write the rows of a DataFrame that fit, and write the other rows as rejects."""
    spec = step.spec
    kinds = None if spec.kinds is None else spec.kinds.column
    if kinds is not None and kinds not in frame.columns:
        raise PipelineError(f"{spec.name}: kinds.column {kinds!r} is not a column of the rows")
    fields = row_fields(spec, step.table)
    check_filled(spec, frame.columns)
    partitions = RejectPartitions.of(spec, fields, step.partitions)
    shape = FrameShape(_source_name(spec), fields, spec.kinds, partitions, emptied_columns(spec))
    check_columns_of(frame, step.table, kinds, spec.order_by)  # the next step adds columns of the key that are missing
    frame = with_routing_columns(frame, step.table.context)
    with task_rows(frame, step.table, kinds=kinds, order_by=spec.order_by) as (rows, received):
        return write_frame(
            rows,
            received,
            shape.parsed,
            step.table,
            step.rejects,
            step.stamp,
            kinds=kinds and KIND,
            overwrites=step.replaces,
        )
