"""Loads of DataFrames: a SELECT over tables of the lake, or a function of the user.

A load names the versions of its inputs. It is left out when a load of the same partitions, with the same query and the
same versions, was committed before. A compaction of an input is no new version.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame

from paimon_core.metadata.commit_message import position_of
from paimon_core.spark import read_spark
from paimon_core.spark.writer import routed_rows
from paimon_core.table.table import Table
from pipelines.lake import SettingsError
from pipelines.lake.functions import function_of
from pipelines.lake.sources import PythonSource, SqlSource
from pipelines.load.changes import changed_rows
from pipelines.load.content_version import content_version
from pipelines.load.frame_shape import FrameShape
from pipelines.load.ledger import INPUTS, KEY
from pipelines.load.partition_keys import rows_of
from pipelines.load.replacement import replacement
from pipelines.load.step import LoadStep, PlannedLoad
from pipelines.load.write_tasks import Written, write_frame
from pipelines.protocol import KIND, PipelineError
from pipelines.sources.column_lineage import InputView, column_lineage
from pipelines.sources.files.rejects import Parsed
from pipelines.sources.user_step import UserStep
from pipelines.sources.views import QueryResult, query_result
from pipelines.tables import open_table


class SqlLoads:
    """The loads of a table from a SELECT."""

    def __init__(self, source: SqlSource) -> None:
        self._source = source

    def plan(self, step: LoadStep) -> PlannedLoad | Sequence[str]:
        """Return the load, unless a load of the same inputs was committed before."""
        inputs = pinned_inputs(step, self._source.inputs)
        query = self._query(step)
        return _plan(step, inputs, query, lambda: self._write(step, inputs, query))

    def _write(self, step: LoadStep, inputs: Mapping[str, Table], query: str) -> Written:
        result = self._result(step, inputs, query)
        views = {
            view: InputView(name, frozenset(inputs[name].arrow_schema.names)) for view, name in result.views.items()
        }
        return replace(_write(step, result.frame), lineage=column_lineage(result.frame, views))

    def _query(self, step: LoadStep) -> str:
        if not self._source.file:
            return self._source.query
        path = step.settings.folder / self._source.file
        try:
            return path.read_text(encoding="utf-8")
        except OSError as error:
            raise PipelineError(f"{step.spec.name}: the query {path} cannot be read: {error.strerror}") from None

    def _result(self, step: LoadStep, inputs: Mapping[str, Table], query: str) -> QueryResult:
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

    def plan(self, step: LoadStep) -> PlannedLoad | Sequence[str]:
        """Return the load; a run is repeated only when it has another key, or inputs that changed."""
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


def pinned_inputs(step: LoadStep, names: Sequence[str]) -> dict[str, Table]:
    """Return the inputs, each at its latest snapshot; raises PipelineError for one that has no snapshot yet."""
    pinned = {}
    for name in names:
        table = open_table(step.settings, name)
        latest = table.latest_snapshot()
        if latest is None:
            raise PipelineError(f"{step.spec.name}: its input {name} is empty: load it first")
        pinned[name] = table.at(snapshot=latest.id)
    return pinned


def _rows(step: LoadStep, table: Table, by_partition: bool) -> DataFrame:
    spec = step.settings.table(table.name)
    if not by_partition or spec.partitions is None:
        return read_spark(step.spark(), table)
    assert step.partitions is not None
    assert step.spec.partitions is not None
    return read_spark(step.spark(), table, where=rows_of(spec, table, step.partitions, step.spec.partitions))


def _plan(
    step: LoadStep, inputs: Mapping[str, Table], what: str, write: Callable[[], Written]
) -> PlannedLoad | Sequence[str]:
    versions = {name: content_version(table) for name, table in inputs.items()}
    content, part = _digest([what, versions]), _digest(step.partitions)
    key = f"{content}:{part}"
    knows_repeats = bool(inputs) or bool(step.run_key)
    if knows_repeats and not step.reload and _is_loaded(step, key, content):
        return [f"loaded before, in snapshot {step.ledger.keys[key]}"]
    positions = {name: position_of(table.latest_snapshot()) for name, table in inputs.items()}
    return PlannedLoad(
        write,
        {KEY: key, INPUTS: json.dumps(positions)},
        {f"input_{name}": f"snapshot {number}" for name, (number, _) in positions.items()},
        replacement(step, step.partitions),
        inputs,
    )


def _is_loaded(step: LoadStep, key: str, content: str) -> bool:
    """Whether the table still has what a load with this key wrote.

    Where loads replace rows, a later load of other content may have replaced them.
    """
    at = step.ledger.keys.get(key)
    if at is None or not step.replaces:
        return at is not None
    return all(later.startswith(f"{content}:") for later, snapshot in step.ledger.keys.items() if snapshot > at)


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def _write(step: LoadStep, frame: DataFrame) -> Written:
    """Write the rows of a DataFrame that fit, and the others as rejects."""
    spec, source = step.spec, step.spec.source
    assert isinstance(source, SqlSource | PythonSource)
    kinds = None if spec.kinds is None else spec.kinds.column
    if kinds is not None and kinds not in frame.columns:
        raise PipelineError(f"{spec.name}: kinds.column {kinds!r} is not a column of the rows")
    name = source.function if isinstance(source, PythonSource) else source.file or f"query of {spec.name}"
    shape = FrameShape(name, tuple(step.table.schema.fields), spec.kinds)
    rows, dropped = routed_rows(frame, step.table, kinds=kinds, order_by=spec.order_by)

    def parse(found: pa.Table) -> Parsed:
        return shape.parsed(found.drop_columns(dropped))

    return write_frame(rows, parse, step.table, step.rejects, kinds=kinds and KIND, overwrites=step.replaces)
