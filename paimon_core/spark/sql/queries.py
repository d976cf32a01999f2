"""Queries: runs the queries of a statement in Spark, on views of the tables that they name.

Each table of the catalog is read by ``read_spark`` from one snapshot, with the columns and conditions that the query
needs of it. While Spark plans the query, temporary views with unique names replace the names in the text. The views are
dropped before the DataFrame is returned, because the DataFrame does not need them any more.
"""

from __future__ import annotations

import datetime
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.errors import AnalysisException, QueryContextType
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from paimon_core.catalog.identifier import Identifier
from paimon_core.errors import InvalidRequest, PaimonError
from paimon_core.spark.columns import quoted
from paimon_core.spark.reads.reader import read_spark
from paimon_core.spark.sql.grammar.cursor import fail
from paimon_core.spark.sql.grammar.parts import refuse_doubled
from paimon_core.spark.sql.grammar.statements import Query, TableName, Value
from paimon_core.spark.sql.hidden_columns import hidden_columns, hidden_problem
from paimon_core.spark.sql.names import Names, View, located, similar
from paimon_core.spark.sql.parameters import arguments
from paimon_core.spark.sql.pushdown import pushed
from paimon_core.spark.sql.references import ParsedQuery, Reference, parse_query
from paimon_core.spark.sql.system_frame import KIND, system_frame
from paimon_core.spark.sql.times import moment
from paimon_core.spark.tasks import spark_context
from paimon_core.table.view import TableView

_FILE_FORMATS = ("parquet", "orc", "csv", "json", "text", "avro", "binaryfile")
_POSITION = re.compile(r"SQLSTATE: \w+.*", re.DOTALL)
_LAST_SECOND = 253_402_300_799
"""The last second of the year 9999."""
_CONNECT_VIEW = f"_pyspark_connect_temp_view_{'0' * 32}"
"""A name as long as those that a client of Spark Connect gives DataFrames; Spark counts positions in a text with them.
"""
_PLACE = re.compile(r"line (\d+),? pos (\d+)")


def frame(spark: SparkSession, names: Names, query: Query, *, explain: str = "", relation: bool = False) -> DataFrame:
    """Return the rows of a query, or with ``explain`` (such as ``EXPLAIN``) its plan.

    ``relation``: the text is not a query but a text that may follow FROM. A table without a version is read at the
    snapshot that is the latest at the time of the call. Raises SqlError with the position for a wrong query, NotFound
    for unknown tables, and the errors of reads.
    """
    parsed = parse_query(query, relation=relation)
    edits: list[_Edit] = [_Edit(start, end, quoted(alias)) for start, end, alias in parsed.renames]
    for reference in parsed.references:
        found = rows_of(spark, names, query, reference)
        if found is not None:
            alias = f" AS {quoted(reference.alias)}" if reference.alias else ""
            columns = names.columns(_behind_view(spark, names, reference, query.text).name, query.text)
            edits.append(_Edit(reference.start, reference.end, alias, found, columns or found.columns))
    return _run(spark, query, parsed, sorted(edits, key=lambda e: e.start), explain)


@dataclass(frozen=True)
class _Edit:
    """A part of the parsed text, and its replacement: the name of a view of ``frame`` if it is set, then ``text``."""

    start: int
    end: int
    text: str
    frame: DataFrame | None = None
    columns: Sequence[str] = ()
    """The names of all columns of the table that the DataFrame reads."""


def rows_of(spark: SparkSession, names: Names, query: Query, reference: Reference) -> DataFrame | None:
    """Return the rows of a reference; None if the session itself has a temporary view or a table with this name."""
    reference = _behind_view(spark, names, reference, query.text)
    try:
        if reference.name is None:
            return _changes(spark, names, query, reference)
        name = reference.name
        cte = names.ctes.get(name.parts[0].casefold()) if len(name.parts) == 1 else None
        if cte is not None:
            if reference.version is not None or reference.time is not None:
                fail(query.text, name.start, f"{name} is a query of WITH, which has no versions")
            with names.without_ctes():
                return frame(spark, names, cte)
        if _is_file(names, name):
            return None
        if is_view(spark, name) and names.may_be_view(name, query.text):
            names.refer(name)
            if reference.version is not None or reference.time is not None:
                fail(query.text, name.start, f"{name} is a temporary view, which has no versions")
            return _view(spark, names, name, query.text)
        if names.exists(name, query.text):
            return _table(spark, names, query, reference, name)
    except PaimonError as error:
        if "line" in error.facts:
            raise
        located(error, query.text, reference.at)
    if _is_known(spark, ".".join(map(quoted, name.parts))):
        return None
    views = [row["viewName"] for row in spark.sql("SHOW VIEWS").collect()]
    return names.unknown(name, query.text, views)


def _is_file(names: Names, name: TableName) -> bool:
    """Whether Spark reads the name as files, such as parquet.`/data/x`."""
    is_format = len(name.parts) == 2 and name.parts[0].lower() in _FILE_FORMATS
    return is_format and not names.catalog.database_exists(name.parts[0])


def _is_known(spark: SparkSession, name: str) -> bool:
    """Whether the session has a table or view of this name; Spark refuses to look for some names."""
    try:
        return bool(spark.catalog.tableExists(name))
    except AnalysisException:
        return False


def _behind_view(spark: SparkSession, names: Names, reference: Reference, text: str) -> Reference:
    """Return a reference to a view of ``SparkLake.views`` as one to its table; any other reference unchanged."""
    name = reference.name
    full = None if name is None or len(name.parts) > 1 else names.views.get(name.parts[0].casefold())
    if name is None or full is None or not is_view(spark, name) or not names.may_be_view(name, text):
        return reference
    names.refer(name)
    return replace(reference, name=TableName(tuple(full.split(".", 1)), name.start, name.end))


def is_view(spark: SparkSession, name: TableName) -> bool:
    """Whether the session has a temporary view of this name."""
    if len(name.parts) > 1:
        return False
    found = quoted(name.parts[0])
    return bool(spark.catalog.tableExists(found) and spark.catalog.getTable(found).isTemporary)


def is_current(spark: SparkSession, view: View) -> bool:
    """Whether the temporary view of the session is still the one that the statement created."""
    return bool(spark.table(quoted(view.name)).semanticHash() == view.registered)


def _view(spark: SparkSession, names: Names, name: TableName, text: str) -> DataFrame | None:
    """Return the rows of a view that a statement created; None for any other temporary view of the session."""
    key = name.parts[0].casefold()
    view = names.definitions.get(key)
    if view is None:
        return None
    if not is_current(spark, view):  # another view of this name was created without SQL of the lake
        del names.definitions[key]
        return None
    try:
        with names.within(view):
            return view_rows(spark, names, view)
    except PaimonError as error:
        located(type(error)(f"view {view.name}: {error.message}", **error.facts), text, name.start)


def view_rows(spark: SparkSession, names: Names, view: View) -> DataFrame:
    """Return the rows of the query of a view, with the names and comments of the view's columns.

    Raises SqlError when the query has another number of columns or two columns of one name.
    """
    found = frame(spark, names, view.query)
    text, at = view.query.text, view.query.start
    if view.columns is not None:
        if len(view.columns) != len(found.columns):
            fail(text, at, f"the view has {len(view.columns)} columns, and its query has {len(found.columns)}")
        given = [
            F.col(quoted(str(number))).alias(name, metadata={"comment": comment} if comment else {})
            for number, (name, comment) in enumerate(view.columns)
        ]
        found = found.toDF(*map(str, range(len(given)))).select(*given)
    refuse_doubled(found.columns, text, at, "the view")
    return found


def _table(spark: SparkSession, names: Names, query: Query, reference: Reference, name: TableName) -> DataFrame:
    full = names.full(name, query.text)
    if not Identifier.is_system(full):
        view = _at(spark, names.reading(name, query.text), reference.version, reference.time)
        return _rows(spark, view, reference)
    table, kind = Identifier.split_system(full)
    if table is None:
        if reference.version is not None or reference.time is not None:
            raise InvalidRequest(f"{full} is a table of the catalog, which has no versions")
        return system_frame(spark, names.catalog.system_table(full))
    base = TableName(tuple(table.split(".", 1)), name.start, name.end)
    view = names.reading(base, query.text)
    return system_frame(spark, _at(spark, view, reference.version, reference.time).system_table(kind))


def _rows(spark: SparkSession, view: TableView, reference: Reference) -> DataFrame:
    fields, words = view.schema.fields, reference.words
    columns = None
    if words is not None:
        columns = [f.name for f in fields if f.name.casefold() in words] + hidden_columns(view, words)
        columns = columns or [fields[0].name]  # such as count(*)
    where = pushed(reference.conditions, fields, reference.qualifier, alone=reference.alone)
    return read_spark(spark, view, columns, where)


def _at(spark: SparkSession, view: TableView, version: Value, time: Value | datetime.datetime) -> TableView:
    """Return the view at a version (an id or a tag) or a time (text in the session's time zone, or epoch seconds)."""
    if isinstance(version, str | int):
        return view.at(version=version)
    if isinstance(time, int):
        if time > _LAST_SECOND:
            raise InvalidRequest(f"TIMESTAMP AS OF takes epoch seconds: {time} is after the year 9999 (milliseconds?)")
        return view.at(time=time * 1000)
    if isinstance(time, datetime.datetime):
        return view.at(time=time.astimezone())
    if isinstance(time, str):
        return view.at(time=moment(spark, time, "TIMESTAMP AS OF"))
    return view


def _changes(spark: SparkSession, names: Names, query: Query, reference: Reference) -> DataFrame:
    """Return the rows that a function such as ``paimon_incremental_query('t', 1, 3)`` selects."""
    function, at = reference.function, reference.at
    wanted = {"paimon_incremental_to_auto_tag": 2}.get(function, 3)
    given = reference.arguments
    if len(given) != wanted or not isinstance(given[0], str) or any(v is None or v is True for v in given):
        fail(
            query.text,
            at,
            f"{function} needs {wanted} arguments: a table, {'start and end' if wanted > 2 else 'a tag'}",
        )
    text = given[0].replace("`", "")
    kind = ""
    if "$" in text and not text.rpartition("$")[2].startswith("branch_"):
        text, _, kind = text.rpartition("$")
        if kind not in ("audit_log", "binlog"):
            fail(query.text, at, f"{function} reads a table, its $audit_log or its $binlog, not ${kind}")
    name = TableName(tuple(text.split(".", 1)), at, at)
    table = names.table(name, query.text)
    option = {
        "paimon_incremental_query": "incremental-between",
        "paimon_incremental_between_timestamp": "incremental-between-timestamp",
        "paimon_incremental_to_auto_tag": "incremental-to-auto-tag",
    }[function]
    bounds = [_bound(spark, value) if option.endswith("timestamp") else str(value) for value in given[1:]]
    changed = table.with_options({option: ",".join(bounds)})
    if kind:
        return system_frame(spark, changed.system_table(kind))
    rows = system_frame(spark, changed.system_table("audit_log"))
    return rows.where(rows[KIND].isin("+I", "+U")).select(*map(quoted, table.schema.names))


def _bound(spark: SparkSession, value: Value) -> str:
    """Return a time as epoch milliseconds; a text without a time zone is in the time zone of the session."""
    if isinstance(value, int) or (isinstance(value, str) and value.isdigit()):
        return str(value)
    return str(int(moment(spark, str(value), "a bound").timestamp() * 1000))


def _run(spark: SparkSession, query: Query, parsed: ParsedQuery, edits: Sequence[_Edit], explain: str) -> DataFrame:
    """Let Spark plan the query with the edits; raises SqlError for an error of Spark, at the position that Spark names.

    Spark Connect plans a query again whenever the query runs, when temporary views would be gone: with Spark Connect,
    the DataFrames are arguments of the query instead.
    """
    is_connect = spark_context(spark) is None
    args = arguments(query, [(edit.start + parsed.shift, edit.end + parsed.shift) for edit in edits])
    given: dict[str, Any] = {} if args is None else {"args": args}
    names = [f"paimon_{uuid.uuid4().hex}" for _ in edits]
    frames = {name: edit.frame for name, edit in zip(names, edits, strict=True) if edit.frame is not None}
    sent = written = f"{explain} " if explain else ""
    places, at = [], 0
    for edit, name in zip(edits, names, strict=True):
        places += [(len(written), at), (len(written) + edit.start - at, edit.start)]
        before = parsed.text[at : edit.start]
        sent += _escaped(before) + ("" if edit.frame is None else f"{{{name}}}") + _escaped(edit.text)
        written += before + ("" if edit.frame is None else _CONNECT_VIEW if is_connect else name) + edit.text
        at = edit.end
    places += [(len(written), at)]
    written += parsed.text[at:]
    try:
        if is_connect and frames:  # without arguments, the client leaves doubled braces as they are
            return spark.sql(sent + _escaped(parsed.text[at:]), **given, **frames)
        for name, rows in frames.items():
            rows.createOrReplaceTempView(name)
        return spark.sql(written, **given)
    except AnalysisException as error:
        start = _place_of(error, written, places) + parsed.shift
        written_names = {n: parsed.text[e.start : e.end] for n, e in zip(names, edits, strict=True)}
        problem = _message(error, written_names, [c for edit in edits for c in edit.columns])
    finally:
        if not is_connect:
            for name in frames:
                spark.catalog.dropTempView(name)
    return fail(query.text, max(query.start, start), problem)


def _escaped(text: str) -> str:
    """Return the text with doubled braces, because a query with arguments has these in braces."""
    return text.replace("{", "{{").replace("}", "}}")


def _place_of(error: AnalysisException, written: str, places: Sequence[tuple[int, int]]) -> int:
    """Return the position in the parsed text of the place that an error of Spark names; 0 if it names none.

    ``written`` is the text of Spark; ``places`` maps its positions to the same positions in the parsed text.
    """
    contexts = [c for c in error.getQueryContext() if c.contextType() is QueryContextType.SQL]
    found = [context.startIndex() for context in contexts if context.startIndex() >= 0]
    if not found and (stated := _PLACE.search(str(error))):
        lines = written.split("\n")[: int(stated[1]) - 1]
        found = [sum(len(line) + 1 for line in lines) + int(stated[2])]
    start, origin = max((place for place in places if found and place[0] <= found[0]), default=(0, 0))
    return origin + found[0] - start if found else 0


def _message(error: AnalysisException, written: Mapping[str, str], columns: Sequence[str]) -> str:
    """Return the message of an error of Spark, without the plan of the query.

    ``written`` has the text that the user wrote by the name of the view that replaced it. Spark knows only the columns
    that the query names, so similar names are searched in all ``columns``.
    """
    text = shown_error(error)
    name = str((error.getMessageParameters() or {}).get("objectName", "")).replace("`", "")
    if str(error.getCondition()).startswith("UNRESOLVED_COLUMN") and columns:
        last = name.rpartition(".")[2]
        text = hidden_problem(last) or f"there is no column {name}{similar(last, columns, 'columns')}"
    for name, table in written.items():
        text = text.replace(quoted(name), table).replace(name, table)
    return text


def shown_error(error: AnalysisException) -> str:
    """Return the message of an error of Spark, without the plan of the query."""
    if str(error.getCondition()).startswith("INVALID_SQL_ARG"):
        name = (error.getMessageParameters() or {}).get("name", "")
        return (
            f"the value of the parameter {name} is an expression or has values of different types: Spark binds "
            "literals, and lists, create_map and struct of literals"
        )
    return _POSITION.sub("", str(error)).strip() or "Spark refuses the query"
