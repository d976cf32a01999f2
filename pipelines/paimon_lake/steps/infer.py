"""Infer: find the columns of a table from its source, and write them into its declaration."""

from __future__ import annotations

import math
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from paimon_lake.declarations import Settings, SettingsError
from paimon_lake.declarations.sources.source import FilesSource, PostgresChangesSource
from paimon_lake.declarations.table import TableSpec
from paimon_lake.declarations.yaml_file import read_yaml
from paimon_lake.loads.files.chosen_buckets import chosen_buckets
from paimon_lake.loads.files.missing_files import missing_text
from paimon_lake.loads.files.source_files import fetch_files, file_kind, source_files
from paimon_lake.loads.postgres.inferred_columns import inferred_columns
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.database import open_database
from paimon_lake.sources.files.formats import FileFormat
from paimon_lake.sources.files.inference import sample_columns
from paimon_lake.sources.files.splits import plan_splits
from paimon_lake.steps.infer_sample import Sampled, sampled_of

_INFERRED_FROM = 3
"""The number of files that columns are inferred from."""


@dataclass(frozen=True)
class Inferred:
    """The columns that were written into a declaration, by name, and the columns that were left out, with the
    reasons.
    """

    columns: Mapping[str, str]
    left_out: Mapping[str, str] = field(default_factory=dict)
    sampled: Sampled | None = None
    """What was read of files; None for the tables of a database, whose catalog states the types."""
    buckets: str = ""
    """How many buckets the table will have, and why; "" for a source without files and a table without a key."""


def infer(settings: Settings, name: str) -> Inferred:
    """Infer the columns of a table from its source, write them into its declaration, and return them.

    The columns come from the first files of a source of files, or from the tables of PostgreSQL whose changes are
    followed. Raises PipelineError for a table that has declared columns, for another kind of source, and when no file
    exists.
    """
    spec = settings.table(name)
    if spec.columns:
        raise PipelineError(f"{name} has columns already: remove them, or write `columns: infer`")
    if isinstance(spec.source, PostgresChangesSource):
        database = open_database(spec.source.url, table=spec.source.name, query="", folder=settings.folder)
        found = Inferred(*inferred_columns(database, spec, spec.source))
    elif isinstance(spec.source, FilesSource):
        columns, sampled = _columns_of_files(settings, spec, spec.source)
        chosen = chosen_buckets(settings, spec)
        found = Inferred(columns, sampled=sampled, buckets="" if chosen is None else chosen.sentence())
    else:
        raise PipelineError(f"{name}: columns can be inferred from files and postgres_changes only; write them down")
    _write_columns(settings.folder / "tables" / f"{name}.yaml", dict(found.columns))
    return found


def _columns_of_files(settings: Settings, spec: TableSpec, source: FilesSource) -> tuple[dict[str, str], Sampled]:
    fetch_files(settings, spec, source, None)
    files = source_files(settings, source, None)
    if not files:
        raise PipelineError(f"{spec.name}: {missing_text(settings, source)}")
    kind, options = file_kind(source), settings.storage_for(source.path)
    columns: dict[str, str] = {}
    samples = []
    for split in plan_splits(files[:_INFERRED_FROM], kind):
        if split.start == 0:
            found = sample_columns(split, kind, options, unknown="")
            _check_delimiter(spec.name, split.file.path, kind, list(found.columns))
            columns |= {name: _common_type(columns.get(name, ""), text) for name, text in found.columns.items()}
            samples.append(found)
    if not columns:
        raise PipelineError(f"{spec.name}: its first files are empty, so they have no columns to infer")
    sampled = sampled_of(samples, files, columns, source.rename)
    columns = {source.rename.get(column, column): text or "STRING" for column, text in columns.items()}
    days = spec.partitions is not None and spec.partitions.by in ("day", "week")
    for column, what in source.add.items():
        columns.setdefault(column, "DATE" if days and what == "partition" else "STRING")
    return columns, sampled


def _common_type(one: str, other: str) -> str:
    """Return the common type for a column that has two types in two files; "" stands for a column with only nulls.

    BIGINT and DOUBLE become DOUBLE, a timestamp and a date or another timestamp become the longer timestamp, and all
    other pairs become STRING.
    """
    if one == other or not one or not other:
        return one or other
    if {one, other} == {"BIGINT", "DOUBLE"}:
        return "DOUBLE"
    times = [text for text in (one, other) if re.fullmatch(r"TIMESTAMP\(\d\)", text)]
    return max(times) if len(times) + [one, other].count("DATE") == 2 else "STRING"


def _check_delimiter(table: str, path: str, kind: FileFormat, columns: list[str]) -> None:
    """Raise PipelineError when a file has only one column, and its name contains a usual delimiter."""
    if kind.kind != "csv" or not kind.header or len(columns) != 1:
        return
    for delimiter, shown_as in ((";", ";"), ("\t", "\\t"), ("|", "|"), (",", ",")):
        if delimiter in columns[0] and delimiter != kind.delimiter:
            raise PipelineError(
                f"{table}: file {path} has one column, {columns[0]!r:.80}: if it is several, set "
                f'source.options.delimiter: "{shown_as}"; if it is one, write it down'
            )


def _write_columns(path: Path, columns: dict[str, str]) -> None:
    """Write the columns under the key ``columns``, or before the other keys (after a first key ``comment``) if the key
    is missing; the file is replaced atomically.

    The new text is first parsed again: when anything except the columns differs, raises PipelineError and changes
    nothing.
    """
    path = path.resolve()
    text = path.read_bytes().decode("utf-8-sig")
    with tempfile.NamedTemporaryFile("wb", dir=path.parent, prefix=".columns-", delete=False) as file:
        changed = Path(file.name)
        try:
            file.write(_with_columns(text, columns).encode())
            file.flush()
            os.fsync(file.fileno())
            if read_yaml(changed).values != {**read_yaml(path).values, "columns": columns}:
                raise PipelineError(f"{path}: {_BY_HAND}")
            shutil.copymode(path, changed)
            os.replace(changed, path)
        except SettingsError:
            raise PipelineError(f"{path}: {_BY_HAND}") from None
        finally:
            changed.unlink(missing_ok=True)


_BY_HAND = "the columns cannot be written here: put the line `columns: infer` alone at its top, without aliases"


def _with_columns(text: str, columns: dict[str, str]) -> str:
    """Return the text of a declaration with the given columns in it; other lines do not change."""
    root = yaml.compose(text, yaml.SafeLoader)
    assert isinstance(root, yaml.MappingNode)
    pairs = [(key, value) for key, value in root.value if key.value == "columns"]
    start, end = (pairs[0][0].start_mark.index, pairs[0][1].end_mark.index) if pairs else (-1, -1)
    if root.flow_style:
        inside = "columns: {" + ", ".join(f"{_quoted(name)}: {_quoted(kind)}" for name, kind in columns.items()) + "}"
        first = root.start_mark.index + 1
        return text[:start] + inside + text[end:] if pairs else f"{text[:first]}{inside}, {text[first:]}"
    newline = "\r\n" if "\r\n" in text else "\n"
    indent = " " * root.start_mark.column
    lines = "".join(f"{newline}{indent}  {_plain(name)}: {_plain(kind)}" for name, kind in columns.items())
    if not pairs:
        key, value = root.value[0]
        if key.value != "comment":
            first = root.start_mark.index
            return f"{text[:first]}columns:{lines}{newline}{indent}{text[first:]}"
        end = value.end_mark.index
        end = end if text[end - 1] == "\n" else text.find("\n", end) + 1
        before = text[:end] if end else f"{text}{newline}"
        return f"{before}{indent}columns:{lines}{newline}{text[end:] if end else ''}"
    comment = re.match(r"[^\r\n]*", text[end:])
    assert comment is not None
    return f"{text[:start]}columns:{comment[0].rstrip()}{lines}{text[end + comment.end() :]}"


def _plain(text: str) -> str:
    """Return a name or type as YAML, in quotes if YAML could read it as another value."""
    if re.fullmatch(r"[A-Za-z_]\w*( ?[(<][\w, <>()]*)?( [A-Z ]+)?", text, re.ASCII) and text.lower() not in _WORDS:
        return text
    return _quoted(text)


def _quoted(text: str) -> str:
    return yaml.safe_dump(text, default_style='"', allow_unicode=True, width=math.inf).rstrip("\n")


_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
"""Texts that YAML reads as another value."""
