"""Columns: names of columns and literals as Spark reads them."""

from __future__ import annotations

import datetime
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F


def quoted(name: str) -> str:
    """Return the name in backticks, in which dots and backticks are parts of the name."""
    return "`" + name.replace("`", "``") + "`"


def column(name: str) -> Column:
    """Return the top-level column of this name."""
    return F.col(quoted(name))


def literal(value: Any) -> Column:
    """Return a literal; a datetime without a zone is TIMESTAMP_NTZ.

    ``F.lit`` is not used for dates and times: it would change those before 1582-10-15, which Java counts as Julian.
    """
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            return F.lit(value.isoformat(" ")).cast("timestamp_ntz")
        since = value - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
        return F.timestamp_micros(F.lit(since // datetime.timedelta(microseconds=1)).cast("bigint"))
    if isinstance(value, datetime.date):
        return F.date_from_unix_date(F.lit(value.toordinal() - datetime.date(1970, 1, 1).toordinal()))
    return F.lit(value)
