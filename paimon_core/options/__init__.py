"""Table options: their names, the parsers of their values, and `TableOptions`, the parsed options of one table.

`table_options` refuses unknown names and bad values; `unsupported_options` lists the features that are refused.
`metadata.rules` checks the options of a new table against each other and against its columns.
"""

from paimon_core.options.field_options import FieldOptions, SequenceGroup
from paimon_core.options.names import Use
from paimon_core.options.parsers import MAX_DYNAMIC_BUCKETS, parse_bytes, parse_millis
from paimon_core.options.supported_options import COMBINING_ENGINES, SUPPORTED
from paimon_core.options.table_options import TableOptions

__all__ = [
    "COMBINING_ENGINES",
    "MAX_DYNAMIC_BUCKETS",
    "SUPPORTED",
    "FieldOptions",
    "SequenceGroup",
    "TableOptions",
    "Use",
    "parse_bytes",
    "parse_millis",
]
