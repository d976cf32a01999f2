"""TableOptions: the options of one table, parsed (format 18).

An option of Paimon is obeyed, is ignored (if it changes no row), or is refused by an error (if it needs a feature that
is not supported). A key that is not an option of Paimon is ignored in an existing table, unless it differs from the
name of an option in one letter. A new table accepts such a key only if it begins with ``custom.`` or is in ``FACTS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

from paimon_core.errors import InvalidOption, UnsupportedFeature, names_a_secret
from paimon_core.options.field_options import FieldOptions, SequenceGroup, parse_field_option
from paimon_core.options.file_index_options import (
    FILE_INDEX_PREFIX,
    IndexedColumn,
    is_file_index_option,
    parse_file_indexes,
)
from paimon_core.options.names import Use, current_names
from paimon_core.options.option import Option, Stops, Support
from paimon_core.options.parsers import with_unit
from paimon_core.options.registry import (
    CUSTOM_PREFIX,
    FIELD_PREFIX,
    KNOWN,
    OPTIONS,
    current_name,
    is_for_new_tables,
    option_of,
)
from paimon_core.options.similar_names import nearest, resembled, similar

TYPE = "type"
_ORDINARY = "table"
_MATERIALIZED = "materialized-table"


@dataclass(frozen=True)
class TableOptions:
    """The parsed options of one table; ``options["bucket"]`` returns the value or the default."""

    values: Mapping[str, Any]
    fields: Mapping[str, FieldOptions] = field(default_factory=dict)
    """The column options, by column; the key "" holds the options for all columns."""
    sequence_groups: tuple[SequenceGroup, ...] = ()
    file_indexes: tuple[IndexedColumn, ...] = ()
    unwritable: tuple[str, ...] = ()
    """Options that a writer must obey and this library does not support; a write is refused with their name."""
    unscannable: tuple[str, ...] = ()
    """Unsupported options that select the result of reads; a read is refused unless the caller names a snapshot."""
    uses: Mapping[str, Use] = field(default_factory=dict)
    """How each option is used, under its name in the schema file."""

    def __getitem__(self, key: str) -> Any:
        return self.values[key] if key in self.values else OPTIONS[key].value

    def target_file_bytes(self, *, keyed: bool) -> int:
        """Return option target-file-size (bytes); its default is larger without a primary key (format 7.6)."""
        return int(self["target-file-size"] or ((128 << 20) if keyed else (256 << 20)))

    def of_field(self, column: str) -> FieldOptions:
        """Return the options of one column; options for all columns are not included."""
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

    def check_scannable(self, table: str) -> None:
        """Raise UnsupportedFeature when an option that is not supported selects the result of reads."""
        if self.unscannable:
            raise UnsupportedFeature(
                f"table {table} cannot be read as its option {self.unscannable[0]!r} requires: that is not supported. "
                "Read it at a snapshot, tag or time that you name",
                table=table,
                option=self.unscannable[0],
            )

    @property
    def ignored(self) -> tuple[str, ...]:
        """The ignored options, sorted: options for other engines, and keys that are not options of Paimon."""
        return tuple(sorted(k for k, use in self.uses.items() if use in (Use.IGNORED, Use.FOREIGN)))

    @staticmethod
    def parse(options: Mapping[str, str], *, table: str = "", creating: bool = False) -> TableOptions:
        """Parse the options of a schema file; with ``creating``, use the stricter rules for a new table.

        Older option names are accepted as in Paimon. Raises UnsupportedFeature for a ``type`` that is not supported.
        For a new table, raises InvalidOption for a bad value, for a size or duration without unit, and for a key that
        is not an option of Paimon, unless it begins with ``custom.`` or is in ``FACTS``. For an existing table, raises
        UnsupportedFeature for an unsupported value that could change the result of a read, and for a name that differs
        from an option in one letter or is an unknown ``fields.*``.
        """
        if creating:
            for key in options:
                _check_new_name(key, options)
        parser = _Parser(creating, table)
        unwritable_type = _check_type(options.get(TYPE, _ORDINARY), table, creating=creating)
        parser.stopped[Stops.WRITES] += unwritable_type
        for key, text in current_names(options).items():
            if key == TYPE:
                parser.uses[key] = Use.STOPS_WRITES if unwritable_type else Use.IDLE
            else:
                parser.take(key, text)
        parser.take_file_indexes()
        uses = {key: parser.uses.get(current_name(key), Use.FOREIGN) for key in options}
        stopped = parser.stopped
        return TableOptions(
            parser.values,
            parser.fields,
            tuple(parser.groups),
            parser.indexes,
            unwritable=tuple(stopped[Stops.WRITES]),
            unscannable=tuple(stopped[Stops.SCANS]),
            uses=uses,
        )


def _check_type(text: str, table: str, *, creating: bool) -> list[str]:
    """Return [``type=...``] when tables of this ``type`` can be read but not written; [] when they can be written.

    Raises UnsupportedFeature for unsupported types. A materialized table is an ordinary table for readers, as in Java.
    Only the engine that refreshes a materialized table may write to it (options ``materialized-table.*``).
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
        self.indexes: tuple[IndexedColumn, ...] = ()
        self.index_texts: dict[str, str] = {}
        self.stopped: dict[Stops, list[str]] = {Stops.WRITES: [], Stops.SCANS: []}
        self.uses: dict[str, Use] = {}

    def take(self, key: str, text: str) -> None:
        """Add one option; raises the errors of ``TableOptions.parse``."""
        option = option_of(key)
        if is_file_index_option(key):
            self.index_texts[key] = text
            self.uses[key] = Use.OBEYED
        elif option is None and key.startswith(FILE_INDEX_PREFIX):
            self.stopped[Stops.WRITES].append(key)
            self.uses[key] = Use.STOPS_WRITES
        elif option is None:
            self._check_foreign(key, text)
            self.uses[key] = Use.FOREIGN
        elif option.support is Support.OBEYED:
            self.uses[key] = self._take_obeyed(option, key, text)
        elif option.support is Support.REFUSED:
            self.uses[key] = self._take_refused(option, text)
        else:
            if self.creating:
                self._parse(key, text, option.parse)
            self.uses[key] = Use.IGNORED

    def take_file_indexes(self) -> None:
        """Parse the options of file indexes together; an unsupported value stops writes, but not reads."""
        try:
            self.indexes = parse_file_indexes(self.index_texts)
        except ValueError as error:
            if self.creating:
                raise InvalidOption(f"an option of a file index is not supported: it must be {error}") from None
            self.stopped[Stops.WRITES] += self.index_texts
            self.uses |= dict.fromkeys(self.index_texts, Use.STOPS_WRITES)

    def _take_obeyed(self, option: Option, key: str, text: str) -> Use:
        try:
            if key.startswith(FIELD_PREFIX):
                self._take_column_option(option, key, text)
            else:
                self.values[key] = self._parse(key, text, option.parse)
        except InvalidOption as error:
            if self.creating:
                raise
            return self._stopped(option.stops, key, text, str(error))
        return Use.OBEYED

    def _take_column_option(self, option: Option, key: str, text: str) -> None:
        found = self._parse(key, text, partial(parse_field_option, option, key))
        if isinstance(found, SequenceGroup):
            self.groups.append(found)
        else:
            column, attribute, value = found
            self.fields[column] = replace(self.fields.get(column, FieldOptions()), **{attribute: value})

    def _take_refused(self, option: Option, text: str) -> Use:
        try:
            option.parse(text)
        except ValueError:
            only = f", only its default {option.default!r} is" if option.default else ""
            message = f"option {option.key!r} = {text!r:.80} is not supported{only}"
            if self.creating:
                raise InvalidOption(message, option=option.key, value=text) from None
            return self._stopped(option.stops, option.key, text, message)
        return Use.IDLE

    def _stopped(self, stops: Stops, key: str, text: str, message: str) -> Use:
        """Record an unsupported value of an option, and return its use; raises UnsupportedFeature if it stops reads."""
        if stops is Stops.READS:
            raise self._unsupported_error(key, text, message)
        if stops is Stops.NOTHING:
            return Use.IGNORED
        self.stopped[stops].append(key)
        return Use.STOPS_WRITES if stops is Stops.WRITES else Use.STOPS_READS

    def _check_foreign(self, key: str, text: str) -> None:
        """Refuse an unknown column option, and a key that differs from an option in one letter: mistakes or damage."""
        if key.startswith(FIELD_PREFIX):
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


@lru_cache(maxsize=1 << 10)
def _meant(key: str) -> str | None:
    """Return the option of Paimon that ``key`` resembles, or None. Cached, because comparing all names takes 5 ms."""
    return resembled(key, KNOWN)


def _check_new_name(key: str, options: Mapping[str, str]) -> None:
    """Raise InvalidOption for an option that a new table does not accept with any value."""
    text, option = options[key], option_of(key)
    if option is not None:
        if option.argument:
            raise InvalidOption(
                f"option {key!r} = {text!r:.80} is not supported: {option.argument} sets it", option=key, value=text
            )
        if option.key != key and option.key in options:
            raise InvalidOption(f"option {key!r} is an older name of {option.key!r}: set one of them", option=key)
        return
    if not key.strip():
        raise InvalidOption(f"option {key!r} = {text!r:.80}: its name is blank", option=key, value=text)
    if names_a_secret(key):
        raise InvalidOption(
            f"option {key!r} would be stored in the table, where every reader sees it: "
            "secrets are options of the catalog or of the storage",
            option=key,
            value=text,
        )
    if is_for_new_tables(key):
        return
    meant = _meant(key)
    if meant is not None and key.startswith(FIELD_PREFIX):
        meant = meant.replace("*", key.split(".")[1])
    if meant is None and not key.startswith(FIELD_PREFIX):
        near = similar(key, KNOWN)
        advice = f" (the most similar one is {near!r})" if near else ""
        advice += f", and would have no effect: a key of your own must begin with {CUSTOM_PREFIX!r}"
    else:
        advice = f": did you mean {meant!r}?" if meant else ""
    raise InvalidOption(
        f"option {key!r} = {text!r:.80} is not an option of Paimon{advice}",
        option=key,
        value=text,
    )
