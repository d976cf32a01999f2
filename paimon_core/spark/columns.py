"""Columns: the names of columns as Spark reads them."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F


def quoted(name: str) -> str:
    """Return the name in backticks, in which dots and backticks are parts of the name."""
    return "`" + name.replace("`", "``") + "`"


def column(name: str) -> Column:
    """Return the top-level column of this name."""
    return F.col(quoted(name))
