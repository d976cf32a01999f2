"""Hidden columns: columns that a query reads only if it names them, because no star has them."""

from __future__ import annotations

from collections.abc import Collection

from paimon_core.read.columns import BUCKET, FILE_PATH, PARTITION, ROW_INDEX
from paimon_core.schema import ROW_ID, SEQUENCE_NUMBER
from paimon_core.table.view import TableView

_PLACES = (FILE_PATH, ROW_INDEX, PARTITION, BUCKET)
_TRACKED = (ROW_ID, SEQUENCE_NUMBER)


def hidden_columns(view: TableView, words: Collection[str]) -> list[str]:
    """Return the hidden columns of a table whose names are among ``words``, the words of a query in lower case."""
    names = (*_PLACES, *(_TRACKED if view.options["row-tracking.enabled"] else ()))
    return [name for name in names if name.casefold() in words and name not in view.schema.by_name]


def hidden_problem(name: str) -> str:
    """Return why Spark does not find a hidden column; an empty text for another name."""
    if name.casefold() not in map(str.casefold, (*_PLACES, *_TRACKED)):
        return ""
    needed = "" if name.casefold() in _PLACES else " of a table with row-tracking.enabled"
    return (
        f"column {name}{needed} is hidden: name it and the other columns, without *, in the SELECT that reads the table"
    )
