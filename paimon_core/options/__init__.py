"""Table options: every option of Paimon, the parsers of values, and `TableOptions`, the parsed options of one table.

`registry` has every option with its type, default, meaning and support (see `option`); `known` lists the options by
subject. `table_options` refuses misspelled names and bad values. `metadata.rules` checks the options of a new table
against each other and against its columns.

Core types and functions:

- ``Option``: an option: name, type, default, meaning, support
- ``TableOptions``: the parsed options of one table
- ``FieldOptions``: the parsed options of one column
- ``option_of``: returns the option of a key
"""

from paimon_core.options.field_options import FieldOptions, SequenceGroup
from paimon_core.options.names import Use
from paimon_core.options.parsers import MAX_DYNAMIC_BUCKETS, parse_bytes, parse_millis
from paimon_core.options.registry import OPTIONS
from paimon_core.options.table_options import TableOptions
from paimon_core.options.values import OptionValue, option_text, option_texts

COMBINING_ENGINES = ("partial-update", "aggregation")
"""Merge engines that may combine values of several rows; the other engines select one row of each key."""

__all__ = [
    "COMBINING_ENGINES",
    "MAX_DYNAMIC_BUCKETS",
    "OPTIONS",
    "FieldOptions",
    "OptionValue",
    "SequenceGroup",
    "TableOptions",
    "Use",
    "option_text",
    "option_texts",
    "parse_bytes",
    "parse_millis",
]
