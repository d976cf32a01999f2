"""Times: the texts of times in statements, which are in the time zone of the session."""

from __future__ import annotations

import datetime

from pyspark.sql import SparkSession

from paimon_core.errors import InvalidRequest
from paimon_core.options.parsers import parse_zone

_SHORT = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
"""The short names of zones that Spark takes from Java (``ZoneId.SHORT_IDS``) and the time zone database lacks."""


def session_zone(spark: SparkSession) -> datetime.tzinfo:
    """Return the time zone of the session; raises InvalidRequest for one that only Java knows."""
    text = str(spark.conf.get("spark.sql.session.timeZone"))
    try:
        return parse_zone(_SHORT.get(text, text))
    except ValueError as error:
        raise InvalidRequest(f"spark.sql.session.timeZone is {text!r}, not {error}") from None


def moment(spark: SparkSession, text: str, name: str) -> datetime.datetime:
    """Return the time that a text states; without a time zone, in the time zone of the session.

    Raises InvalidRequest, which says ``name``, for another text, and for a time that the clock shows twice when summer
    time ends.
    """
    try:
        found = datetime.datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidRequest(
            f"{name} is a time in ISO format, such as '2026-01-31 12:00:00', not {text!r:.60}", name=name
        ) from None
    if found.tzinfo:
        return found
    first = found.replace(tzinfo=session_zone(spark))
    second = first.replace(fold=1)
    before, after = first.utcoffset(), second.utcoffset()
    if before is not None and after is not None and before > after:
        texts = " or ".join(f"'{one.isoformat(' ')}'" for one in (first, second))
        raise InvalidRequest(
            f"{name} = {text!r:.60} is twice in the time zone of the session, because summer time ends: write {texts}",
            name=name,
        )
    return first
