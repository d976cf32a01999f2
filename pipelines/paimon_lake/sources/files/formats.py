"""File formats: the kind of a source's files, its options, and the compression that a file name states."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from paimon_core.files.file_format import COMPRESSIONS, UNREADABLE
from paimon_lake.declarations.sources.source import EVENT_FORMATS
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files.text.source_time_format import SourceTimeFormat

KINDS = ("csv", "json", "jsonl", "parquet", "orc", "avro", *EVENT_FORMATS)
TEXT_KINDS = frozenset({"csv", "json", "jsonl", *EVENT_FORMATS})
_CSV_ONLY = ("delimiter", "header", "quote", "escape", "null_value", "multiline", "skip_lines", "decimal_point")
_TEXT_ONLY = ("encoding", "date_format", "timestamp_format")
_EVENTS_ONLY = ("database", "table")
_DEBEZIUM_ONLY = ("timestamp_unit",)
OPTIONS = {
    "delimiter": "One ASCII character between two cells.",
    "header": "Whether the first line has the names of the columns; if not, columns are matched by position.",
    "quote": "One ASCII character around cells; an empty text: no quotes.",
    "escape": "One ASCII character; the character after it has no special meaning.",
    "null_value": "The text, or list of texts, that means null.",
    "encoding": "The encoding; it must contain ASCII.",
    "multiline": "Whether quoted cells may contain line ends; such a file is read by one task.",
    "skip_lines": "The number of lines before the header.",
    "date_format": "The form of dates, in the codes of strftime such as `%d.%m.%Y`; default: ISO 8601.",
    "timestamp_format": "The form of timestamps, in the same codes; default: ISO 8601.",
    "decimal_point": "`.` or `,`.",
    "ignore_extra_columns": "Whether columns that the table does not have are left out; otherwise they are an error.",
    "allow_missing_columns": "Whether a column that a file does not have is null; otherwise it is an error. A JSON "
    "file has a member when one of its objects has the member, even with the value null; the member is null in the "
    "other objects.",
    "database": "The database whose events are applied, or a pattern such as `shop_*`; events of other databases are "
    "skipped.",
    "table": "The table whose events are applied, as `table` or, where the events name a schema, `schema.table`, or a "
    "pattern such as `orders_*`; events of other tables are skipped. Without a pattern, the events of a load must be "
    "of one table.",
    "timestamp_unit": "The unit of an integer for a TIMESTAMP in events without a schema that states the unit: `ms`, "
    "`us` or `ns`; without this option, such an integer is rejected.",
}
"""Maps each option to its meaning."""


@dataclass(frozen=True)
class FileFormat:
    """The kind of a source's files and its options; see ``OPTIONS`` for their meaning.

    The constructor raises PipelineError, which names the option, for a value that breaks the rule of its option.
    """

    kind: str
    delimiter: str = ","
    header: bool = True
    quote: str = '"'
    escape: str = ""
    null_value: tuple[str, ...] = ("",)
    encoding: str = "utf-8"
    multiline: bool = False
    skip_lines: int = 0
    date_format: str = ""
    timestamp_format: str = ""
    decimal_point: str = "."
    ignore_extra_columns: bool = False
    allow_missing_columns: bool = False
    database: str = ""
    table: str = ""
    timestamp_unit: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise PipelineError(f"file format {self.kind!r} is not one of {', '.join(KINDS)}")
        for name in _foreign(self.kind):
            if getattr(self, name) != _DEFAULTS[name]:
                raise _not_an_option(self.kind, name)
        for name in ("delimiter", "quote", "escape"):
            _check_character(name, getattr(self, name))
        special = [c for c in (self.delimiter, self.quote, self.escape) if c]
        if len(set(special)) < len(special):
            raise PipelineError("format options delimiter, quote and escape must be three different characters")
        if self.decimal_point not in (".", ",") or self.decimal_point == self.delimiter != ",":
            raise PipelineError(f"format option decimal_point must be '.' or ',', not {self.decimal_point!r}")
        if type(self.skip_lines) is not int or self.skip_lines < 0:
            raise PipelineError(f"format option skip_lines must be a number of lines, not {self.skip_lines!r}")
        if self.timestamp_unit not in ("", "ms", "us", "ns"):
            raise PipelineError(f"format option timestamp_unit must be ms, us or ns, not {self.timestamp_unit!r}")
        _check_encoding(self.encoding)
        if self.date_format:
            SourceTimeFormat.parse("date_format", self.date_format)
        if self.timestamp_format:
            SourceTimeFormat.parse("timestamp_format", self.timestamp_format)

    @property
    def is_splittable(self) -> bool:
        """Whether an uncompressed file can be cut into byte ranges, because each line is one row."""
        return self.kind in ("jsonl", *EVENT_FORMATS) or (self.kind == "csv" and not self.multiline)

    @property
    def has_patterns(self) -> bool:
        """Whether the events may be of several tables."""
        return "*" in self.database or "*" in self.table

    @property
    def is_utf8(self) -> bool:
        """Whether the files are UTF-8 or ASCII, so that their bytes need no conversion."""
        return codecs.lookup(self.encoding).name in ("utf-8", "ascii", "utf-8-sig")


def option_kinds(name: str) -> list[str]:
    """Return the kinds of files for which an option exists."""
    return [kind for kind in KINDS if name not in _foreign(kind)]


def default_of(name: str) -> Any:
    """Return the default value of an option."""
    return _DEFAULTS[name]


def file_format(kind: str, options: Mapping[str, Any] | None = None) -> FileFormat:
    """Return the format for the kind and the options in a declaration.

    Raises PipelineError for an option that the kind does not have and for a value of a wrong type.
    """
    if kind not in KINDS:
        raise PipelineError(f"file format {kind!r} is not one of {', '.join(KINDS)}")
    values: dict[str, Any] = {}
    for name, value in (options or {}).items():
        if name == "kind" or name not in _DEFAULTS or name in _foreign(kind):
            raise _not_an_option(kind, name)
        if name == "null_value":
            value = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list | tuple) else value
        wanted = type(_DEFAULTS[name])
        if type(value) is not wanted or (wanted is tuple and not all(isinstance(item, str) for item in value)):
            kinds = {tuple: "a text or a list of texts", bool: "true or false", int: "a whole number", str: "a text"}
            raise PipelineError(f"format option {name} must be {kinds[wanted]}, not {value!r}")
        values[name] = value
    return replace(FileFormat(kind), **values)


def compression_of(path: str, kind: str) -> str | None:
    """Return the compression of a file by the end of its name; None for an uncompressed file.

    Raises PipelineError for a compression that cannot be read as a stream, and for a compressed Parquet, ORC or Avro
    file, because such formats compress their content themselves.
    """
    name = path.rsplit("/", 1)[-1].lower()
    for ending, compression in COMPRESSIONS.items():
        if name.endswith(ending):
            if kind not in TEXT_KINDS:
                raise PipelineError(
                    f"file {path}: a {kind} file that is compressed as a whole cannot be read, unpack it"
                )
            return compression
    for ending in UNREADABLE:
        if name.endswith(ending):
            raise PipelineError(f"file {path}: {ending} files cannot be read; use {', '.join(COMPRESSIONS)} or none")
    return None


_DEFAULTS: dict[str, Any] = {f.name: f.default for f in fields(FileFormat)}


def _foreign(kind: str) -> tuple[str, ...]:
    foreign: tuple[str, ...] = () if kind == "csv" else _CSV_ONLY if kind in TEXT_KINDS else (*_CSV_ONLY, *_TEXT_ONLY)
    foreign += () if kind in EVENT_FORMATS else _EVENTS_ONLY
    return foreign if kind == "debezium-json" else (*foreign, *_DEBEZIUM_ONLY)


def _not_an_option(kind: str, name: str) -> PipelineError:
    known = [n for n in _DEFAULTS if n != "kind" and n not in _foreign(kind)]
    return PipelineError(f"format option {name!r} is not an option of {kind}; the options are {', '.join(known)}")


def _check_character(name: str, value: str) -> None:
    if (not value and name != "delimiter") or (len(value) == 1 and value.isascii() and value not in "\r\n\0"):
        return
    raise PipelineError(f"format option {name} must be one ASCII character, not {value!r}")


def _check_encoding(name: str) -> None:
    try:
        codec = codecs.lookup(name)
        same = all(
            bytes([b]).decode(codec.name) == chr(b) and chr(b).encode(codec.name) == bytes([b]) for b in range(128)
        )
    except (LookupError, UnicodeError, AssertionError, TypeError):
        same = False
    if not same and name.lower().replace("_", "-") != "utf-8-sig":
        raise PipelineError(f"format option encoding: {name!r} is not a known encoding that contains ASCII; use utf-8")
