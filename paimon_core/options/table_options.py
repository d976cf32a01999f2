"""TableOptions: the options of one table, parsed (format 18).

An option of Paimon is obeyed, or ignored when it changes no row, or refused by name when it needs a feature that is not
supported. A new table accepts options of Paimon only; a table that another engine created may have any options.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from paimon_core.errors import InvalidOption, UnsupportedFeature
from paimon_core.options.field_options import FieldOptions, SequenceGroup, is_field_option, parse_field_option
from paimon_core.options.ignored_options import IGNORED
from paimon_core.options.names import KNOWN, OLDER_NAMES, TYPE, Use, current_names, is_ignored, is_known
from paimon_core.options.parsers import KINDS, with_unit
from paimon_core.options.similar_names import nearest, suggested
from paimon_core.options.supported_options import SUPPORTED
from paimon_core.options.unsupported_options import UNSUPPORTED, Stops

_ORDINARY = "table"
_MATERIALIZED = "materialized-table"
_ARGUMENTS = {"primary-key": "argument primary_key", "partition": "argument partition_by", "path": "the catalog"}
"""Options of SQL statements that are arguments of ``create_table`` here; as options they would have no effect."""
_AFFECTS_READS = frozenset(
    {
        "bucket",
        "bucket-key",
        "bucket-function.type",
        "partition.default-name",
        "partition.legacy-name",
        "dynamic-partition-overwrite",
        "file.format",
        "file.format.per.level",
        "file.compression",
        "file.compression.per.level",
        "file.compression.zstd-level",
        "target-file-size",
        "merge-engine",
        "deletion-vectors.enabled",
        "deletion-vectors.merge-on-read",
        "ignore-delete",
        "ignore-update-before",
        "partial-update.remove-record-on-delete",
        "partial-update.remove-record-on-sequence-group",
        "aggregation.remove-record-on-delete",
        "sequence.field",
        "sequence.field.sort-order",
        "rowkind.field",
        "write-only",
        "force-lookup",
        "source.split.target-size",
        "source.split.open-file-cost",
    }
)
"""Options that decide what a read returns: a bad value stops reads and writes. For other options it stops writes."""
_IGNORED_WHEN_UNSUPPORTED = frozenset({"partition.mark-done-action", "snapshot.expire.execution-mode"})
"""Options that are ignored when their value is not supported here, because such values are for other engines."""
_FIELD_PREFIX = "fields."
_FIELD_INDEXES = ("pk-vector.", "pk-btree.", "pk-bitmap.", "pk-multivalue.", "pk-full-text.")


@dataclass(frozen=True)
class TableOptions:
    """The parsed options of one table; ``options["bucket"]`` returns the value or the default."""

    values: Mapping[str, Any]
    fields: Mapping[str, FieldOptions] = field(default_factory=dict)
    """The column options, by column; the key "" holds the options for all columns."""
    sequence_groups: tuple[SequenceGroup, ...] = ()
    unwritable: tuple[str, ...] = ()
    """Options that a writer must obey and this library does not support; a write is refused with their name."""
    uses: Mapping[str, Use] = field(default_factory=dict)
    """How each option is used, under its name in the schema file."""

    def __getitem__(self, key: str) -> Any:
        return self.values[key] if key in self.values else SUPPORTED[key].default

    def target_file_bytes(self, *, keyed: bool) -> int:
        """Return option target-file-size (bytes); its default is larger without a primary key (format 7.6)."""
        return int(self["target-file-size"] or ((128 << 20) if keyed else (256 << 20)))

    def of_field(self, column: str) -> FieldOptions:
        """Return the options of one column, without those for all columns."""
        return self.fields.get(column, FieldOptions())

    @property
    def default_function(self) -> str | None:
        """Option fields.default-aggregate-function."""
        return self.of_field("").aggregate_function

    def check_writable(self, table: str) -> None:
        """Raise UnsupportedFeature when the table has an option that writers must obey and that is not supported."""
        if self.unwritable:
            raise UnsupportedFeature(
                f"table {table} can be read but not written here: option {self.unwritable[0]!r} is not supported",
                table=table,
                option=self.unwritable[0],
            )

    @property
    def ignored(self) -> tuple[str, ...]:
        """The ignored options, sorted: options for other engines, and keys that are not options of Paimon."""
        return tuple(sorted(k for k, use in self.uses.items() if use in (Use.IGNORED, Use.FOREIGN)))

    @staticmethod
    def parse(options: Mapping[str, str], *, table: str = "", creating: bool = False) -> TableOptions:
        """Parse the options of a schema file, or with ``creating``, more strictly, those of a new table.

        Older option names are accepted as in Paimon. Raises UnsupportedFeature for a ``type`` that is not supported.
        For a new table, raises InvalidOption for an unknown name or a bad value. For an existing table, raises
        UnsupportedFeature for an unsupported value that could change what a read returns, and for a name that differs
        from an option in one letter.
        """
        if creating:
            for key in options:
                _check_new_name(key, options)
        parser = _Parser(creating, table)
        parser.unwritable += (unwritable_type := _check_type(options.get(TYPE, _ORDINARY), table, creating=creating))
        for key, text in current_names(options).items():
            if key == TYPE:
                parser.uses[key] = Use.STOPS_WRITES if unwritable_type else Use.IDLE
            else:
                parser.take(key, text)
        uses = {key: parser.uses.get(OLDER_NAMES.get(key, key), Use.FOREIGN) for key in options}
        return TableOptions(parser.values, parser.fields, tuple(parser.groups), tuple(parser.unwritable), dict(uses))


def _check_type(text: str, table: str, *, creating: bool) -> list[str]:
    """Return the reason why tables of this ``type`` cannot be written, as a list that may be empty.

    Raises UnsupportedFeature for unsupported types. A materialized table is an ordinary table for readers, in Java too.
    Only the engine that refreshes it may write it (options ``materialized-table.*``).
    """
    kind = text.lower()
    if kind == _MATERIALIZED and not creating:
        return [f"{TYPE}={text}"]
    if kind != _ORDINARY:
        where = f"table {table}" if table else "this table"
        raise UnsupportedFeature(
            f"{where} is of type {text!r} (option {TYPE!r}): only type {_ORDINARY!r} is supported"
            + (", and materialized-table to read" if not creating else ""),
            table=table,
            option=TYPE,
            value=text,
        )
    return []


class _Parser:
    """The options of one table that were parsed so far."""

    def __init__(self, creating: bool, table: str) -> None:
        self.creating = creating
        self.table = table
        self.values: dict[str, Any] = {}
        self.fields: dict[str, FieldOptions] = {}
        self.groups: list[SequenceGroup] = []
        self.unwritable: list[str] = []
        self.uses: dict[str, Use] = {}

    def take(self, key: str, text: str) -> None:
        """Add one option; raises the errors of ``TableOptions.parse``."""
        if key in SUPPORTED:
            self.uses[key] = self._take_supported(key, text)
        elif is_field_option(key):
            self.uses[key] = self._take_column_option(key, text)
        elif key in UNSUPPORTED:
            self.uses[key] = self._take_unsupported(key, text)
        elif is_ignored(key) or _is_column_index(key):
            if self.creating and key in IGNORED:
                self._parse(key, text, KINDS[IGNORED[key][0]])
            self.uses[key] = Use.IGNORED
        else:
            self._check_foreign(key, text)
            self.uses[key] = Use.FOREIGN

    def _take_supported(self, key: str, text: str) -> Use:
        try:
            self.values[key] = self._parse(key, text, SUPPORTED[key].parse)
        except InvalidOption as error:
            if self.creating:
                raise
            if key in _IGNORED_WHEN_UNSUPPORTED:
                return Use.IGNORED
            if key in _AFFECTS_READS:
                raise self._unsupported_error(key, text, str(error)) from None
            self.unwritable.append(key)
            return Use.STOPS_WRITES
        return Use.OBEYED

    def _take_column_option(self, key: str, text: str) -> Use:
        try:
            found = self._parse(key, text, partial(parse_field_option, key))
        except InvalidOption as error:
            if self.creating:
                raise
            if not key.endswith(".stats-mode"):
                raise self._unsupported_error(key, text, str(error)) from None
            self.unwritable.append(key)
            return Use.STOPS_WRITES
        if isinstance(found, SequenceGroup):
            self.groups.append(found)
        else:
            column, attribute, value = found
            self.fields[column] = replace(self.fields.get(column, FieldOptions()), **{attribute: value})
        return Use.OBEYED

    def _take_unsupported(self, key: str, text: str) -> Use:
        option = UNSUPPORTED[key]
        if option.is_idle(text):
            return Use.IDLE
        message = f"option {key!r} = {text!r:.80} is not supported" + (
            f", only its default {option.default!r} is" if option.default else ""
        )
        if self.creating:
            raise InvalidOption(message, option=key, value=text)
        if option.stops is Stops.READS:
            raise self._unsupported_error(key, text, message)
        self.unwritable.append(key)
        return Use.STOPS_WRITES

    def _check_foreign(self, key: str, text: str) -> None:
        """Refuse a key that differs from an option of Paimon in one letter: it is a mistake or a damaged file."""
        if key.startswith(_FIELD_PREFIX):
            message = f"option {key!r} = {text!r:.80} is not supported"
        elif (known := nearest(key, KNOWN)) is not None:
            message = f"option {key!r} = {text!r:.80} is not supported: it is one letter away from {known!r}"
        else:
            return
        raise self._unsupported_error(key, text, message)

    def _parse(self, key: str, text: str, parse: Callable[[str], Any]) -> Any:
        try:
            return (with_unit(parse) if self.creating else parse)(text)
        except UnsupportedFeature:
            raise
        except ValueError as error:
            raise InvalidOption(
                f"option {key} = {text!r} is not supported: it must be {error}", option=key, value=text
            ) from None

    def _unsupported_error(self, key: str, text: str, message: str) -> UnsupportedFeature:
        where = f"table {self.table}: {message}" if self.table else message
        return UnsupportedFeature(where, option=key, value=text)


def _check_new_name(key: str, options: Mapping[str, str]) -> None:
    """Raise InvalidOption for an option that a new table does not accept, whatever its value."""
    text = options[key]
    if key in _ARGUMENTS:
        raise InvalidOption(
            f"option {key!r} = {text!r} is not supported: {_ARGUMENTS[key]} sets it", option=key, value=text
        )
    if OLDER_NAMES.get(key) in options:
        raise InvalidOption(f"option {key!r} is an older name of {OLDER_NAMES[key]!r}: set one of them", option=key)
    if is_known(key) or _is_column_index(key):
        return
    meant = suggested(key, KNOWN)
    raise InvalidOption(
        f"option {key!r} = {text!r} is not supported" + (f": did you mean {meant!r}?" if meant else ""),
        option=key,
        value=text,
    )


def _is_column_index(key: str) -> bool:
    """Whether the key is an option of a column index; it has no effect where the table has no such index."""
    return key.startswith(_FIELD_PREFIX) and any(f".{index}" in key for index in _FIELD_INDEXES)
