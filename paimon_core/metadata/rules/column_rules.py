"""Column rules: names, comments and defaults of the columns of a new or altered table, and their number."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from paimon_core.errors import InvalidRequest
from paimon_core.limits import COLUMN_NAME_BYTES, COLUMNS, TEXT_BYTES, check_limit
from paimon_core.schema import DataField, TableSchema
from paimon_core.types import Child, TypeRoot

_CONTROL = ("Cc", "Cs", "Zl", "Zp")
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def check_columns(schema: TableSchema) -> None:
    """Raise InvalidRequest, which names the column and the rule, for a schema that some reader or tool does not accept.

    Names must be text without control characters; names, comments, defaults and options must not be longer than
    ``paimon_core.limits`` allows.
    """
    check_limit("the table", len(schema.fields), COLUMNS, "columns")
    _check_text("the comment of the table", schema.comment)
    for key, value in schema.options.items():
        check_limit(f"option {key!r:.80}", _bytes(key) + _bytes(value), TEXT_BYTES, "bytes")
    for column in schema.fields:
        for path, field in _fields(column, ()):
            _check_name(path, field.name)
            what = f"column {'.'.join(path)!r:.80}"
            _check_text(f"the comment of {what}", field.description)
            _check_text(f"the default of {what}", field.default)


def _check_text(what: str, text: object) -> None:
    if text is None:
        return
    if not isinstance(text, str):
        raise InvalidRequest(f"{what} must be text, not {text!r:.60}")
    check_limit(what, _bytes(text), TEXT_BYTES, "bytes")


def _check_name(path: tuple[str, ...], name: str) -> None:
    what = f"the name of column {'.'.join(path)!r:.80}"
    for position, letter in enumerate(name[: COLUMN_NAME_BYTES + 1]):
        if unicodedata.category(letter) in _CONTROL or letter in _BIDI:
            raise InvalidRequest(
                f"{what} contains the control character U+{ord(letter):04X} at {position}", column=name[:80]
            )
    check_limit(what, _bytes(name), COLUMN_NAME_BYTES, "bytes")


def _fields(member: DataField | Child, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], DataField | Child]]:
    """Yield a column and all fields of the ROWs in its type, each with the list of names that leads from the column to
    the field.
    """
    path = (*above, member.name)
    yield path, member
    for child in member.type.listed:
        if member.type.root is TypeRoot.ROW:
            yield from _fields(child, path)
        else:
            yield from (found for found in _fields(child, path) if found[0] != (*path, child.name))


def _bytes(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))
