"""Row reader: reads the rows of a split with columns of the table, members of ROW columns, and metadata columns.

The split reader gets a changed schema: a ROW column has only the requested fields. The sequence number and the row
kind, which files contain in addition to the table's columns, are ordinary columns in this schema. Metadata columns that
no file contains are added to the rows that the split reader returns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from paimon_core.codec.binary_row.rows import decode_row
from paimon_core.datafile.evolution.members import chosen, shares_members
from paimon_core.errors import InvalidRequest, PaimonError
from paimon_core.lsm.engines.engine_choice import merge_engine
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.plan.split import Split
from paimon_core.read.columns import PLACED_IDS, filter_fields, result_fields
from paimon_core.read.placed_columns import PlacedColumns, constant_names
from paimon_core.read.request import ReadRequest
from paimon_core.read.split_reader import narrow_column, read_split
from paimon_core.schema import DataField


def read_rows(context: TableContext, split: Split, request: ReadRequest) -> Iterator[pa.Table]:
    """Return the rows of ``split`` that match ``where`` of the request, with the columns of ``result_fields``.

    ``where`` and ``columns`` may name metadata columns. Raises the errors of ``read_split``, and UnsupportedFeature
    when the file path or the row index of merged rows is requested.
    """
    where = request.where
    if context.schema.by_name.keys() >= {*request.columns, *(where.columns if where is not None else ())}:
        return read_split(context, split, request)
    return _with_metadata(context, split, request)


def _with_metadata(context: TableContext, split: Split, request: ReadRequest) -> Iterator[pa.Table]:
    """Yield the rows of ``read_rows`` when the request names members or metadata columns."""
    where = request.where
    result = result_fields(context.schema, request.columns)
    fields = context.schema.fields if where is None else filter_fields(context.schema, where)
    tested = [] if where is None else [f for f in fields if f.name in where.columns]
    placed = PlacedColumns(context, split, tuple(dict.fromkeys(f for f in (*result, *tested) if f.id in PLACED_IDS)))
    placed.check_raw()
    view = _view(context, split, result, tested)
    late = None
    if where is not None and not where.columns <= view.schema.by_name.keys():
        late = where.bind(fields).to_arrow()
        request = replace(request, limit=None)  # rows that the filter leaves out do not count for the limit
        fixed = where.only(constant_names(placed.fields))
        placed = replace(placed, fixed=None if fixed is None else fixed.bind(fields))
    names = [f.name for f in (*result, *(tested if late is not None else ())) if f.id not in PLACED_IDS]
    stored = replace(
        request,
        columns=list(dict.fromkeys(names)) or [narrow_column(context).name],
        where=None if where is None else where.only(view.schema.by_name),
        position=placed.position,
    )
    for part, file in _parts(split, placed):
        if not placed.may_match(file):
            continue
        for rows in read_split(view, part, stored):
            rows = placed.added(rows, file)
            rows = rows if late is None else rows.filter(late)
            if len(rows):
                yield chosen(rows.select([f.name for f in result]), result)


def check_partition(context: TableContext, split: Split) -> None:
    """Raise InvalidRequest for a split whose partition does not fit the table."""
    try:
        decode_row(split.partition, [f.type for f in context.schema.partition_fields])
    except PaimonError as error:
        raise InvalidRequest(
            f"the split is not of table {context.name}: its partition does not decode: {error}"
        ) from None


def _parts(split: Split, placed: PlacedColumns) -> Iterator[tuple[Split, DataFile | None]]:
    """Yield a split and its file for each file, if a column depends on the file; otherwise the whole split and None."""
    if not placed.needs_file:
        yield split, None
        return
    for file in split.files:
        vectors = {name: vector for name, vector in split.vectors.items() if name == file.file_name}
        yield replace(split, files=(file,), vectors=vectors), file


def _view(
    context: TableContext, split: Split, result: Sequence[DataField], tested: Sequence[DataField]
) -> TableContext:
    """Return the table's context with a schema of the columns to read from the files of the split.

    A ROW column is read with all its fields when the filter tests it, or when the merge engine does not simply keep the
    last row. A ROW column is also read as a whole when a file has none of the requested fields: without a field, a file
    cannot show which ROW values are null.
    """
    schema = context.schema
    by_id = {f.id: f for f in schema.fields}
    parted = {f.id: f for f in result if f.id in by_id and f is not by_id[f.id]}
    for field in tested:
        parted.pop(field.id, None)
    if parted and not split.raw and not context.evolves and not merge_engine(schema, context.options).keeps_last:
        parted.clear()
    for number in {f.schema_id for f in split.files} if parted else ():
        for stored in context.schemas.read(number).fields:
            if stored.id in parted and not shares_members(stored.type, parted[stored.id].type):
                del parted[stored.id]
    added = dict.fromkeys(f for f in (*result, *tested) if f.id not in by_id and f.id not in PLACED_IDS)
    if not parted and not added:
        return context
    return replace(context, schema=replace(schema, fields=(*(parted.get(f.id, f) for f in schema.fields), *added)))
