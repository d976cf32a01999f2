"""Times: the texts of times in statements."""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

from pyspark.sql import SparkSession

from paimon_core.errors import InvalidRequest


def moment(spark: SparkSession, text: str, name: str) -> datetime.datetime:
    """Return the time that a text states; without a time zone, in the time zone of the session."""
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise InvalidRequest(
            f"{name} is a time in ISO format, such as '2026-01-31 12:00:00', not {text!r:.60}", name=name
        ) from None
    return found if found.tzinfo else found.replace(tzinfo=ZoneInfo(str(spark.conf.get("spark.sql.session.timeZone"))))
