"""JSON rows: reads JSON files, which have one object on each line, with the parser of Arrow."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.json as pa_json

from paimon_core.errors import InvalidRequest, SchemaMismatch
from paimon_core.files.columns import Piece
from paimon_core.files.file_format import FileFormat
from paimon_core.files.json_members import check_case, has_member
from paimon_core.files.lines import line_blocks, row_count
from paimon_core.files.text import TextSplit
from paimon_core.files.text_types import converted, parsed_types
from paimon_core.schema import DataField

_NO_OBJECT = re.compile(rb"^(?!\r?\n|\r?\Z)[ \t\r]*+(?!\{)([^\n]{0,20})", re.MULTILINE)
"""A line that is not empty and does not begin with an object."""


def read_json(text: TextSplit, fields: Sequence[DataField], *, ignores: bool) -> Iterator[Piece]:
    """Yield the rows of a split of a JSON file; ``ignores``: whether members that are not in ``fields`` are left out.

    A column is null in the row of an object that lacks its member. Raises SchemaMismatch when no object of the file has
    the member of a column; only the read of the first split of a file checks this.
    """
    types = parsed_types(fields, text.file_format)
    options = pa_json.ParseOptions(
        explicit_schema=pa.schema(list(types.items())), unexpected_field_behavior="ignore" if ignores else "error"
    )

    def parse(block: bytes) -> pa.Table:
        _check_objects(block)
        read = pa_json.ReadOptions(use_threads=False, block_size=len(block) + 1)
        rows = pa_json.read_json(io.BytesIO(block), read, options).select(list(types))
        if ignores:
            check_case(block, [name for name in types if rows[name].null_count])
        return converted(rows, fields, text.file_format)

    def explain(line: bytes, message: str) -> str:
        return _member_problem(line, types, fields, text.file_format, ignores=ignores) or message

    unseen = list(types) if text.split.start == 0 else []
    for piece in text.pieces(parse, explain=explain):
        unseen = [name for name in unseen if piece.rows[name].null_count == len(piece.rows)]
        yield piece
    if unseen:
        _check_members(text, unseen)


def _member_problem(
    line: bytes, types: Mapping[str, pa.DataType], fields: Sequence[DataField], form: FileFormat, *, ignores: bool
) -> str | None:
    """Return which member of an object does not fit, and its value; None when the line is not a valid object.

    Arrow names only some of these members.
    """
    try:
        members = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(members, dict):
        return None
    if not ignores and (other := next((name for name in members if name not in types), None)) is not None:
        return f"the object has the member {other!r}, which is no column; columns=[...] names the columns to write"
    for field in fields:
        schema = pa.schema([(field.name, types[field.name])])
        options = pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
        try:
            converted(pa_json.read_json(io.BytesIO(line), parse_options=options), [field], form)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            shown, head = f"{json.dumps(members.get(field.name), ensure_ascii=False)}", f"column {field.name!r}: "
            return f"{head}{str(error).removeprefix(head).partition(' in row ')[0]}; the value is {shown:.120}"
    return None


def _check_objects(block: bytes) -> None:
    """Raise InvalidRequest for a line that does not begin with an object.

    Arrow takes a line ``null`` as a row of nulls, and ends the process when a block has no other line.
    """
    if block.count(b"\n{") + block.startswith(b"{") == row_count(block):
        return
    if found := _NO_OBJECT.search(block):
        start = found[1].strip().decode(errors="replace")
        shown = "is a JSON array" if start[:1] == "[" else f"begins with {start!r}" if start else "has only spaces"
        raise InvalidRequest(f"the line {shown}: each line must be one object")


def _check_members(text: TextSplit, unseen: Sequence[str]) -> None:
    """Raise SchemaMismatch when a member is missing in every object of the file; a member with the value null is not
    missing.
    """
    has_rows = False
    with text.open() as stream:
        for block in line_blocks(stream, text.split, is_divided=False):
            has_rows = has_rows or row_count(block) > 0
            unseen = [name for name in unseen if not has_member(block, name)]
            if not unseen:
                return
    if has_rows:
        raise SchemaMismatch(
            f"file {text.split.file.path} has no column {unseen[0]!r}: no object has this member; columns=[...] names "
            "the columns to write",
            column=unseen[0],
        )
