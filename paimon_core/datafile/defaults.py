"""Default values: the text of a column's default as a value of its type (format 2.3)."""

from __future__ import annotations

import pyarrow as pa

from paimon_core.datafile.casts import find_cast
from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.types import STRING, DataType


def default_value(column: str, kind: DataType, text: str) -> pa.Scalar:
    """Return the default as a scalar of ``kind.to_arrow()``; a text in single quotes is taken without them.

    Raises InvalidRequest for a text that is no value of the type, UnsupportedFeature for a nested type.
    """
    plain = text[1:-1] if len(text) > 1 and text.startswith("'") and text.endswith("'") else text
    kind = kind.with_nullable(True)
    cast = find_cast(STRING, kind)
    if cast is None:
        raise UnsupportedFeature(
            f"column {column!r} is {kind}: a default of such a type is not supported", column=column
        )
    try:
        value = cast(pa.array([plain]), STRING, kind)[0]
    except (pa.ArrowInvalid, UnicodeEncodeError) as error:
        raise InvalidRequest(
            f"column {column!r}: the default {text!r:.60} is no value of type {kind}: {error}",
            column=column,
            value=text,
        ) from None
    if not value.is_valid:
        raise InvalidRequest(f"column {column!r}: the default {text!r:.60} is too large for {kind}", column=column)
    return value


def check_default(column: str, kind: DataType, text: str | None) -> None:
    """Raise InvalidRequest or UnsupportedFeature for a default that cannot be a value of ``kind``; None is allowed."""
    if text is None:
        return
    if not isinstance(text, str):
        raise InvalidRequest(f"column {column!r}: a default is given as text, not {text!r:.60}", column=column)
    default_value(column, kind, text)
