"""TableOptions: the options of one table, parsed (format 18).

An option that is not in ``SUPPORTED`` or ``field_options`` is never accepted for a new table. A table made elsewhere
may carry others: those that only guide writers of another engine leave it readable but not writable; any option that
could change what a read returns refuses the table, by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from paimon_core.errors import InvalidOption, UnsupportedFeature
from paimon_core.options.field_options import FieldOptions, SequenceGroup, is_field_option, parse_field_option
from paimon_core.options.supported import SUPPORTED

_MOVED = ("primary-key", "partition", "path", "owner")
_TYPE = "type"
_ORDINARY = "table"
_MATERIALIZED = "materialized-table"
_READ_SAFE = re.compile(
    r"(sink|scan\.parallelism|write-buffer|write-manifest|sort-|local-sort|lookup|cache|compaction|full-compaction|"
    r"commit|tag|consumer|manifest|metadata\.stats|changelog|snapshot|num-|parquet|orc|avro|page-size|spill|local-merge|"
    r"file-index|file\.block-size|partition\.(expiration|timestamp|mark|idle)|record-level|async|delete|end-input|"
    r"metastore|precommit|target-file-row|write-max|streaming|continuous|dynamic-bucket|zorder|auto-create|"
    r"fields\.[^.]+\.stats-mode|data-file\.prefix|metadata\.iceberg|nextid|owner|materialized-table\.)"
)


@dataclass(frozen=True)
class TableOptions:
    """The parsed options of one table; ``options["bucket"]`` gives the value or the default."""

    values: Mapping[str, Any]
    fields: Mapping[str, FieldOptions] = field(default_factory=dict)
    """By column, as far as an option names it; under "" what holds for all columns."""
    sequence_groups: tuple[SequenceGroup, ...] = ()
    foreign: tuple[str, ...] = ()
    """Options that we do not obey but may read past; a write refuses them by name."""

    def __getitem__(self, key: str) -> Any:
        return self.values[key] if key in self.values else SUPPORTED[key].default

    def target_file_bytes(self, *, keyed: bool) -> int:
        """Option target-file-size, whose default is larger for tables without a primary key (format 7.6)."""
        return int(self["target-file-size"] or ((128 << 20) if keyed else (256 << 20)))

    def of_field(self, column: str) -> FieldOptions:
        """What the options say of one column alone."""
        return self.fields.get(column, FieldOptions())

    @property
    def default_function(self) -> str | None:
        """Option fields.default-aggregate-function."""
        return self.of_field("").aggregate_function

    def check_writable(self, table: str) -> None:
        """Raises UnsupportedFeature when the table carries an option that a writer must obey and we do not."""
        if self.foreign:
            raise UnsupportedFeature(
                f"table {table} can be read but not written here: option {self.foreign[0]!r} is not supported",
                table=table,
                option=self.foreign[0],
            )

    @staticmethod
    def parse(options: Mapping[str, str], *, table: str = "", creating: bool = False) -> TableOptions:
        """Read the options of a schema file, or (``creating``) those of a new table, strictly.

        Raises InvalidOption for a value outside its rule and for unknown names of a new table, UnsupportedFeature
        for an option of an existing table that could change what a read returns, and for a ``type`` other than table.
        """
        values: dict[str, Any] = {}
        fields: dict[str, FieldOptions] = {}
        groups: list[SequenceGroup] = []
        foreign = _check_type(options.get(_TYPE, _ORDINARY), table, creating=creating)
        for key, text in options.items():
            if key == _TYPE:
                continue
            try:
                if key in SUPPORTED:
                    values[key] = _parsed(key, text, SUPPORTED[key].parse)
                elif is_field_option(key):
                    found = _parsed(key, text, partial(parse_field_option, key))
                    if isinstance(found, SequenceGroup):
                        groups.append(found)
                    else:
                        column, attribute, value = found
                        fields[column] = replace(fields.get(column, FieldOptions()), **{attribute: value})
                elif creating or not (key in _MOVED or _READ_SAFE.match(key)):
                    raise InvalidOption(f"option {key!r} = {text!r} is not supported", option=key, value=text)
                elif key not in _MOVED:
                    foreign.append(key)
            except InvalidOption as error:
                if creating:
                    raise
                if not _READ_SAFE.match(key):
                    where = f"table {table}: {error}" if table else str(error)
                    raise UnsupportedFeature(where, option=key, value=text) from None
                foreign.append(key)
        return TableOptions(values, fields, tuple(groups), tuple(foreign))


def _check_type(text: str, table: str, *, creating: bool) -> list[str]:
    """What makes the table's ``type`` foreign to writers; raises UnsupportedFeature for types that are no Paimon table.

    A materialized table is an ordinary table for readers, in Java too. The engine that refreshes it writes it, by the
    options ``materialized-table.*``, so other writers are refused.
    """
    kind = text.lower()
    if kind == _MATERIALIZED and not creating:
        return [f"{_TYPE}={text}"]
    if kind != _ORDINARY:
        where = f"table {table}" if table else "this table"
        raise UnsupportedFeature(
            f"{where} is of type {text!r} (option {_TYPE!r}): only type {_ORDINARY!r} is supported"
            + (", and materialized-table to read" if not creating else ""),
            table=table,
            option=_TYPE,
            value=text,
        )
    return []


def _parsed(key: str, text: str, parse: Callable[[str], Any]) -> Any:
    try:
        return parse(text)
    except UnsupportedFeature:
        raise
    except ValueError as error:
        raise InvalidOption(
            f"option {key} = {text!r} is not supported: it must be {error}", option=key, value=text
        ) from None
