"""Heads: reads the operations and the tables of events as columns."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.types import STRING
from paimon_lake.protocol import PipelineError, some
from paimon_lake.sources.files.events.dialects import OTHER_TABLE, SCHEMA_CHANGE, Dialect
from paimon_lake.sources.files.formats import FileFormat
from paimon_lake.sources.files.rejects import shown
from paimon_lake.sources.files.text.json_values import Object, Unfit, value_of, word_of


@dataclass(frozen=True)
class Heads:
    """The operations and tables of some events; all arrays have one value for each event."""

    kinds: pa.Array
    """The kind of the rows that an event changes; null for an event that changes no row."""
    skipped: pa.Array
    """The kind of a skipped event, such as ``OTHER_TABLE``; null for an event that is not skipped."""
    truncates: np.ndarray
    """Whether an event empties the table."""
    reasons: Mapping[int, Unfit]
    """Why events are rejected, by the position of the event."""
    names: pa.Array
    """The table of each event, with its database; null for an event that names no table."""
    sources: frozenset[str]
    """The tables whose rows are changed, with their databases."""


def head_of(event: Object, dialect: Dialect) -> dict[str, object]:
    """Return the members of an event that ``Dialect.head`` names; raises Unfit for a value of another type."""
    return {name: _head_value(event.member(name), kind, name) for name, kind in dialect.head.items()}


def _head_value(value: object, kind: pa.DataType, name: str) -> object:
    if value is None:
        return None
    if pa.types.is_struct(kind) and isinstance(value, Object):
        return {inner.name: _head_value(value.member(inner.name), inner.type, f"{name}.{inner.name}") for inner in kind}
    if pa.types.is_string(kind) and isinstance(value, str):
        return value_of(value, STRING, (name,), False)
    if pa.types.is_boolean(kind) and isinstance(value, bool):
        return value
    raise Unfit(name, f"{shown(value) if isinstance(value, str) else word_of(value)} instead of {_WORDS[kind.id]}")


_WORDS = {pa.string().id: "a text", pa.bool_().id: "a boolean", pa.struct([]).id: "an object"}


def heads_of(table: pa.Table, dialect: Dialect, form: FileFormat) -> Heads:
    """Return the heads of events; the columns of ``table`` are the members that ``Dialect.head`` names."""
    ops = table[dialect.op].combine_chunks()
    databases, schemas, names = _places(table)
    full = pc.if_else(
        pc.fill_null(pc.not_equal(schemas, ""), False), pc.binary_join_element_wise(schemas, names, "."), names
    )
    is_other = _others(databases, names, full, form)
    is_ddl = _ddl(table, ops, dialect)
    skipped = pc.if_else(is_ddl, pa.scalar(SCHEMA_CHANGE), _looked_up(ops, dialect.skipped))
    is_own = pc.invert(is_other)
    skipped = pc.if_else(is_other, pa.scalar(OTHER_TABLE), skipped)
    kinds = pc.if_else(skipped.is_null(), _looked_up(ops, dialect.kinds), pa.scalar(None, pa.string()))
    truncates = pc.and_(is_own, pc.is_in(ops, pa.array(sorted(dialect.truncates))))
    reasons: dict[int, Unfit] = {}
    unknown = pc.and_(pc.and_(kinds.is_null(), skipped.is_null()), pc.invert(truncates))
    for at in np.flatnonzero(unknown.to_numpy(zero_copy_only=False)).tolist():
        reasons[at] = _unknown(ops[at].as_py(), dialect)
    for wanted, values, what in ((form.database, databases, "database"), (form.table, names, "table")):
        unnamed = pc.and_(kinds.is_valid(), values.is_null()) if wanted else pa.repeat(pa.scalar(False), len(ops))
        for at in np.flatnonzero(unnamed.to_numpy(zero_copy_only=False)).tolist():
            reasons[at] = Unfit(None, f"the event names no {what}, and the option {what} chooses events by it")
    rejected = np.isin(np.arange(len(ops)), list(reasons))
    kinds = pc.if_else(pa.array(rejected), pa.scalar(None, pa.string()), kinds)
    own = pc.and_(kinds.is_valid(), full.is_valid())
    places = pc.binary_join_element_wise(pc.fill_null(databases, ""), full, ".")
    places = pc.replace_substring_regex(places, pattern=r"^\.", replacement="")
    sources = frozenset(places.filter(own).unique().to_pylist())
    return Heads(kinds, skipped, np.asarray(truncates.to_numpy(zero_copy_only=False)), reasons, places, sources)


def _places(table: pa.Table) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Return the names of databases, schemas and tables."""
    if "source" in table.column_names:
        databases, schemas, names, *_ = table["source"].combine_chunks().flatten()
        return databases, schemas, names
    names = table["table"].combine_chunks()
    return table["database"].combine_chunks(), pa.nulls(len(names), pa.string()), names


def _others(databases: pa.Array, names: pa.Array, full: pa.Array, form: FileFormat) -> pa.Array:
    """Return flags for events that name another database or table than the options; false for events without names."""
    others = pa.repeat(pa.scalar(False), len(names))
    if form.database:
        others = pc.or_(others, pc.fill_null(_differ(databases, form.database), False))
    if form.table:
        differ = pc.and_(_differ(names, form.table), _differ(full, form.table))
        named = pc.fill_null(pc.not_equal(names, ""), False)
        others = pc.or_(others, pc.and_(named, pc.fill_null(differ, False)))
    return others


def _differ(names: pa.Array, wanted: str) -> pa.Array:
    """Return flags for the names that do not match ``wanted``; in ``wanted``, ``*`` stands for any text."""
    if "*" not in wanted:
        return pc.not_equal(names, wanted)
    return pc.invert(pc.match_substring_regex(names, "^" + ".*".join(map(re.escape, wanted.split("*"))) + "$"))


def _ddl(table: pa.Table, ops: pa.Array, dialect: Dialect) -> pa.Array:
    if "ddl" in dialect.head:
        return pc.and_(ops.is_null(), table["ddl"].combine_chunks().is_valid())
    if "isDdl" in dialect.head:
        is_truncate = pc.is_in(ops, pa.array(sorted(dialect.truncates)))
        return pc.and_(pc.fill_null(table["isDdl"].combine_chunks(), False), pc.invert(is_truncate))
    return pa.repeat(pa.scalar(False), len(ops))


def _looked_up(ops: pa.Array, meanings: Mapping[str, str]) -> pa.Array:
    known, what = pa.array(list(meanings), pa.string()), pa.array(list(meanings.values()), pa.string())
    return what.take(pc.index_in(ops, known))


def _unknown(op: str | None, dialect: Dialect) -> Unfit:
    known = ", ".join((*dialect.kinds, *dialect.truncates, *dialect.skipped))
    if op is None:
        return Unfit(dialect.op, f"the event has no {dialect.op}, which says what it does: one of {known}")
    return Unfit(dialect.op, f"{shown(op)} is not one of {known}")


def check_one_source(sources: Collection[str], where: str) -> None:
    """Raise PipelineError when ``sources`` names several tables; the error begins with ``where``."""
    if len(sources) > 1:
        names = some(sorted(sources))
        raise PipelineError(
            f"{where} has events of several tables, {names}: choose the events of one with the options table and "
            "database of the source, or, for files, of several by a pattern such as orders_*"
        )
