"""The time field: the column by which rows of a table expire (format 16.5)."""

from __future__ import annotations

from paimon_core.errors import InvalidRequest
from paimon_core.metadata.context import TableContext
from paimon_core.schema import DataField
from paimon_core.types import TIMESTAMP_ROOTS, TypeRoot

TIME_ROOTS = frozenset({TypeRoot.INT, TypeRoot.BIGINT}) | TIMESTAMP_ROOTS
"""The types of a time field: INT (seconds), BIGINT (seconds, from 10^12 on milliseconds), and timestamps.

Timestamps without a time zone are UTC.
"""

_LIFETIME, _FIELD = "record-level.expire-time", "record-level.time-field"


def time_field(context: TableContext) -> DataField | None:
    """Return the column that contains the time of a row, or None for a table whose rows do not expire.

    Raises InvalidRequest naming the option when the column is missing or has an unsupported type.
    """
    name = context.options[_FIELD]
    if context.options[_LIFETIME] is None:
        return None
    if name is None:
        raise InvalidRequest(f"option {_LIFETIME} needs the option {_FIELD}", option=_FIELD)
    field = context.schema.by_name.get(name)
    if field is None:
        raise InvalidRequest(f"option {_FIELD} names {name!r}, which is no column", option=_FIELD)
    if field.type.root not in TIME_ROOTS:
        raise InvalidRequest(
            f"option {_FIELD} names {name!r}, which is {field.type} and not INT, BIGINT or TIMESTAMP", option=_FIELD
        )
    return field


def check_record_expiry(context: TableContext) -> None:
    """Check the options of record expiry of a new table; raises InvalidRequest naming the option.

    Either both options are set or neither option is set. With these options, the table must have a primary key and a
    time column of a supported type.
    """
    if _FIELD in context.options.values and _LIFETIME not in context.options.values:
        raise InvalidRequest(f"option {_FIELD} needs the option {_LIFETIME}", option=_LIFETIME)
    if time_field(context) is not None and not context.is_keyed:
        raise InvalidRequest(f"option {_LIFETIME} needs a table with a primary key", option=_LIFETIME)
