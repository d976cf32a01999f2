"""Inference: propose the columns of a table from the first rows of a file; a person should review them.

Texts become BOOLEAN (``true`` and ``false`` only), BIGINT, DOUBLE, DATE, TIMESTAMP or STRING, in this order: the first
type that accepts all texts that are not null. Numbers with zeros at the left, such as postal codes, stay texts. Columns
without any value are STRING, unless the caller states another type. Columns of Parquet, ORC and Avro files have the
types of the file.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.errors import PaimonError
from paimon_core.types import DataType, from_arrow, parse_type
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files.columnar import guarded, open_columnar
from paimon_lake.sources.files.forcing_value import BOOLEANS, CODE, NUMBERS, ForcingValue, forcing_value
from paimon_lake.sources.files.formats import FileFormat
from paimon_lake.sources.files.row_builder import one_chunk
from paimon_lake.sources.files.sampled_file import Sample, SampledFile
from paimon_lake.sources.files.splits import FileSplit
from paimon_lake.sources.files.text.blocks import cut_lines
from paimon_lake.sources.files.text.csv_rows import read_csv, read_header
from paimon_lake.sources.files.text.json_document import elements
from paimon_lake.sources.files.text.json_records import plain_records
from paimon_lake.sources.files.text.lost_records import decoded
from paimon_lake.sources.files.text.text_values import TextRules, convert_text
from paimon_lake.sources.files.typed_values import plain_type

_BLOCK_BYTES = 1 << 20
_SHOWN = 60
_UNSIGNED = {"uint8": "SMALLINT", "uint16": "INT", "uint32": "BIGINT", "uint64": "DECIMAL(20, 0)"}
_TIMES = ("DATE", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)")


def infer_columns(
    split: FileSplit,
    file_format: FileFormat,
    storage_options: Mapping[str, str],
    *,
    rows: int = 10_000,
    unknown: str = "STRING",
) -> dict[str, str]:
    """Return the text of the Paimon type of each column, in the order of the file, as ``sample_columns`` finds it."""
    return dict(sample_columns(split, file_format, storage_options, rows=rows, unknown=unknown).columns)


def sample_columns(
    split: FileSplit,
    file_format: FileFormat,
    storage_options: Mapping[str, str],
    *,
    rows: int = 10_000,
    unknown: str = "STRING",
) -> Sample:
    """Return the columns of a file, from at most ``rows`` rows, and how much of the file was read.

    ``split`` must begin with the file. A column without a value has the type ``unknown``. Rows that cannot be read are
    left out. Raises PipelineError when the file has no columns or cannot be read, and for JSON members that have values
    of several kinds.
    """
    file = SampledFile(split, file_format, storage_options, _BLOCK_BYTES)
    if file_format.kind == "csv":
        found = _csv_columns(file, rows, unknown)
    elif file_format.kind in ("json", "jsonl"):
        found = _json_columns(file, rows, unknown)
    else:
        found = _typed_columns(file, unknown)
    if not found.columns:
        raise PipelineError(f"file {file.path} has no columns to infer")
    return found


def _rules(file_format: FileFormat) -> TextRules:
    form = file_format
    return TextRules(form.null_value, form.date_format, form.timestamp_format, form.decimal_point)


def _csv_columns(file: SampledFile, rows: int, unknown: str) -> Sample:
    names, _ = read_header(replace(file, file_format=replace(file.file_format, header=True)))
    if not file.file_format.header:
        names = [f"column_{at + 1}" for at in range(len(names))]
    schema = pa.schema([(name, pa.string()) for name in names])
    batches, count = [], 0
    with closing(_batches(file, schema)) as found:
        for batch in found:
            batches.append(batch)
            count += len(batch)
            if count > rows:
                break
    table = pa.Table.from_batches(batches, schema).slice(0, rows)
    candidates, rules = ("BOOLEAN", *NUMBERS, *_TIMES), _rules(file.file_format)
    texts = {name: one_chunk(table[name]) for name in names}
    types = {name: text_type(texts[name], candidates, rules, "") for name in names}
    forced = {name: forcing_value(texts[name], candidates, rules) for name, kind in types.items() if kind == "STRING"}
    return Sample(
        {name: kind or unknown for name, kind in types.items()},
        len(table),
        file.reached,
        count <= rows and file.split.end == file.split.file.size,
        tuple(name for name, kind in types.items() if not kind),
        {name: one.in_file(file.split.file.ledger_name) for name, one in forced.items() if one is not None},
        {name: _first(texts[name], kind, rules, file) for name, kind in types.items() if kind},
    )


def _first(texts: pa.Array, kind: str, rules: TextRules, file: SampledFile) -> ForcingValue:
    """Return the first text that is not null; there must be one."""
    is_null = pc.is_in(texts, value_set=pa.array([*rules.null_values, None], pa.string()))
    at = pc.index(is_null, pa.scalar(False)).as_py()
    return ForcingValue(texts[at].as_py(), at + 1, kind, file=file.split.file.ledger_name)


def _batches(file: SampledFile, schema: pa.Schema) -> Generator[pa.RecordBatch]:
    yield from (parsed.rows for parsed in read_csv(file, schema, ()))


def text_type(
    texts: pa.Array | pa.ChunkedArray, candidates: Iterable[str], rules: TextRules, unknown: str = "STRING"
) -> str:
    """Return the first candidate type that accepts all texts that are not null; STRING when no candidate does.

    Returns ``unknown`` when all texts are null.
    """
    texts = pa.concat_arrays(texts.chunks) if isinstance(texts, pa.ChunkedArray) else texts
    texts = pc.filter(texts, pc.invert(pc.is_in(texts, value_set=pa.array([*rules.null_values, None], pa.string()))))
    if not len(texts):
        return unknown
    is_code = pc.any(pc.match_substring_regex(texts, CODE)).as_py()
    for candidate in candidates:
        if candidate == "BOOLEAN" and not pc.all(pc.match_substring_regex(texts, BOOLEANS)).as_py():
            continue
        if candidate in NUMBERS and is_code:
            continue
        if convert_text(texts, parse_type(candidate), rules)[1] is None:
            return candidate
    return "STRING"


@dataclass
class _Seen:
    """The kinds, texts and inner members of all values of one JSON member."""

    kinds: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    """The row of each text, from 1."""
    firsts: dict[str, tuple[Any, int]] = field(default_factory=dict)
    """The first value of each kind, with its row."""
    members: dict[str, _Seen] = field(default_factory=dict)

    def add(self, value: Any, row: int) -> None:
        """Add a value of a row, and the values inside of this value."""
        if value is None:
            return
        kind = type(value).__name__
        self.kinds.add("large" if kind == "int" and not -(2**63) <= value < 2**63 else kind)
        self.firsts.setdefault(_WORDS[kind], (value, row))
        if isinstance(value, str):
            self.texts.append(value)
            self.rows.append(row)
        for name, inner in value.items() if isinstance(value, dict) else (("", item) for item in _items(value)):
            self.members.setdefault(name, _Seen()).add(inner, row)

    def type(self, column: str, rules: TextRules) -> str:
        """Return the type that accepts all values; raises PipelineError, which names the column, when none does."""
        match sorted(self.kinds):
            case []:
                return "STRING"
            case ["bool"]:
                return "BOOLEAN"
            case ["int"]:
                return "BIGINT"
            case ["large"] | ["int", "large"]:
                return "DECIMAL(38, 0)"
            case ["str"]:
                return text_type(pa.array(self.texts, pa.string()), _TIMES, rules)
            case ["list"]:
                item = self.members.get("", _Seen())
                return f"ARRAY<{item.type(f'{column}[]', rules)}>"
            case ["dict"] if self.members:
                inner = (f"{_name(n)} {seen.type(f'{column}.{n}', rules)}" for n, seen in self.members.items())
                return f"ROW<{', '.join(inner)}>"
            case ["dict"]:
                return "MAP<STRING, STRING>"
            case kinds if set(kinds) <= {"int", "large", "float"}:
                return "DOUBLE"
        both = " and ".join(f"{word} ({_short(value)} in row {row:,})" for word, (value, row) in self.firsts.items())
        raise PipelineError(f"the member {column!r} has {both}: no column type accepts both")

    def forced(self, column: str, rules: TextRules) -> Iterator[tuple[str, ForcingValue]]:
        """Yield the value that makes the column, or one of its members, STRING although most values fit a type."""
        if self.kinds == {"str"} and text_type(pa.array(self.texts, pa.string()), _TIMES, rules) == "STRING":
            found = forcing_value(pa.array(self.texts, pa.string()), _TIMES, rules)
            if found is not None:
                yield column, replace(found, row=self.rows[found.row - 1])
        for name, inner in self.members.items():
            yield from inner.forced(f"{column}.{name}" if name else f"{column}[]", rules)

    def nulls(self, column: str) -> Iterator[str]:
        """Yield the names of the values that are always null: the column, or its members as ``a.b`` and ``a[]``."""
        if not self.kinds:
            yield column
        if self.kinds == {"list"} and not self.members:
            yield f"{column}[]"
        for name, inner in self.members.items():
            yield from inner.nulls(f"{column}.{name}" if name else f"{column}[]")


_WORDS = {
    "str": "texts",
    "int": "numbers",
    "float": "numbers",
    "bool": "booleans",
    "list": "arrays",
    "dict": "objects",
}


def _short(value: Any) -> str:
    """Return a JSON value, cut after 60 characters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _name(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"


def _json_columns(file: SampledFile, rows: int, unknown: str) -> Sample:
    seen, count, is_whole = _Seen(), 0, True
    with closing(_objects(file)) as found:
        for raw in found:
            if count == rows:
                is_whole = False
                break
            count += 1
            try:
                value = json.loads(raw)
            except ValueError:
                continue
            if isinstance(value, dict):
                seen.add(value, count)
    rules = _rules(file.file_format)
    try:
        columns = {name: one.type(name, rules) if one.kinds else unknown for name, one in seen.members.items()}
    except PipelineError as error:
        raise PipelineError(f"file {file.path}: {error}") from None
    nulls = tuple(path for name, one in seen.members.items() for path in one.nulls(name))
    at = file.split.file.ledger_name
    forced = {path: found.in_file(at) for name, one in seen.members.items() for path, found in one.forced(name, rules)}
    firsts = {
        name: ForcingValue(str(value), row, columns[name], file=at)
        for name, one in seen.members.items()
        for value, row in list(one.firsts.values())[:1]
    }
    is_whole = is_whole and file.split.end == file.split.file.size
    return Sample(columns, count, file.reached, is_whole, nulls, forced, firsts)


def _objects(file: SampledFile) -> Generator[bytes]:
    if file.file_format.kind == "json":
        yield from (raw for raw, _ in elements(file))
        return
    for block in file.blocks(len(file.head(0, cut_lines)), cut_lines):
        records, _ = decoded(block.data, file.file_format)
        records = plain_records(block.data) if records is None else records
        yield from (records.raw(at) for at in range(len(records)))


def _typed_columns(file: SampledFile, unknown: str) -> Sample:
    with file.open() as stream:
        schema = guarded(file.path, lambda: open_columnar(file, stream)).schema
    found, nulls = {}, []
    for column in schema:
        try:
            arrow = plain_type(column.type)
            nulls += [column.name] if pa.types.is_null(arrow) else []
            found[column.name] = _UNSIGNED.get(str(arrow)) or (unknown if pa.types.is_null(arrow) else _sql(arrow))
        except PaimonError as error:
            raise PipelineError(f"file {file.path}: column {column.name!r}: {error}") from error
    return Sample(found, None, 0, True, tuple(nulls))


def _sql(arrow: pa.DataType) -> str:
    kind: DataType = from_arrow(arrow)
    return kind.with_nullable(True).sql
