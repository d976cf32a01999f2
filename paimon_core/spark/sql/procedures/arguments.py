"""Arguments: converts the values of a CALL to the arguments that the methods of the library take."""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any

from pyspark.sql import SparkSession

from paimon_core.catalog.catalog import Catalog
from paimon_core.errors import InvalidRequest
from paimon_core.metadata import clock
from paimon_core.options.parsers import lacks_unit, parse_millis
from paimon_core.predicate import Where
from paimon_core.spark.sql.partitions import partition_predicate, typed_value
from paimon_core.spark.sql.times import moment
from paimon_core.table.table import Table


@dataclass(frozen=True)
class Arguments:
    """The values of the arguments that were given, by name.

    The methods raise InvalidRequest, which names the argument, for a wrong value.
    """

    spark: SparkSession
    catalog: Catalog
    values: Mapping[str, Any]
    named: Table | None = field(repr=False)

    @property
    def table(self) -> Table:
        """The table that the argument ``table`` names."""
        assert self.named is not None
        return self.named

    def get(self, name: str) -> Any:
        """Return the value, None when it was not given."""
        return self.values.get(name)

    def text(self, name: str, default: str) -> str:
        """Return the text in lower case."""
        return str(self.values.get(name, default)).lower()

    def count(self, name: str) -> int | None:
        """Return a number of 1 or more; None when it was not given."""
        number: int | None = self.values.get(name)
        if number is not None and number < 1:
            raise InvalidRequest(f"argument {name} is a number of 1 or more, not {number}", name=name)
        return number

    def required(self, name: str) -> str:
        """Return the text, which must be given."""
        if not self.values.get(name):
            raise InvalidRequest(f"the argument {name} is needed", name=name)
        return str(self.values[name])

    def one_of(self, name: str, value: str, known: Collection[str]) -> None:
        """Raise InvalidRequest unless the value is one of the known values."""
        if value not in known:
            raise InvalidRequest(
                f"argument {name} is one of {', '.join(known) or 'none'}, not {value!r:.60}", name=name
            )

    def without(self, name: str, other: str) -> None:
        """Raise InvalidRequest if the argument was given, because ``other`` excludes it."""
        if name in self.values:
            raise InvalidRequest(f"argument {name} cannot be given with {other}", name=name)

    def pattern(self, name: str, default: str) -> re.Pattern[str]:
        """Return a regular expression."""
        text = self.values.get(name, default)
        try:
            return re.compile(text)
        except re.error as error:
            raise InvalidRequest(f"argument {name} is no regular expression: {error}", name=name) from None

    def duration(self, name: str) -> datetime.timedelta | None:
        """Return a duration such as ``1 d``; None when it was not given."""
        text = self.values.get(name)
        if text is None:
            return None
        try:
            if not lacks_unit(text):
                return datetime.timedelta(milliseconds=parse_millis(text))
        except (ValueError, OverflowError):
            pass
        raise InvalidRequest(f"argument {name} is a duration with a unit such as '7 d', not {text!r:.60}", name=name)

    def age(self, name: str) -> datetime.timedelta | None:
        """Return how long ago a time was; a text without a time zone is in the time zone of the session."""
        text = self.values.get(name)
        if text is None:
            return None
        now = datetime.datetime.fromtimestamp(clock.now_millis() / 1000, datetime.UTC)
        found = moment(self.spark, text, name)
        if found > now:
            raise InvalidRequest(f"argument {name} is in the future: {text!r:.60}", name=name)
        return now - found

    def table_with_options(self, more: Mapping[str, str] | None = None) -> Table:
        """Return the table with the options of the argument ``options`` and with ``more``."""
        found = {**(more or {}), **self.options()}
        return self.table.with_options(found) if found else self.table

    def options(self) -> dict[str, str]:
        """Return the options of the argument ``options`` (``a=1,b=2``)."""
        found: dict[str, str] = {}
        for part in filter(None, (self.values.get("options") or "").split(",")):
            key, equals, value = part.partition("=")
            if not equals:
                raise InvalidRequest(f"argument options is like 'a=1,b=2', not {part!r:.60}", name="options")
            found[key.strip()] = value.strip()
        return found

    def partition_values(self, text: str) -> list[dict[str, Any]]:
        """Return the partitions of a text such as ``dt=1,hh=2;dt=3,hh=4``, with values of the columns' types."""
        found = []
        for part in filter(None, (part.strip() for part in text.split(";"))):
            spec: dict[str, Any] = {}
            for pair in part.split(","):
                name, equals, value = (word.strip() for word in pair.partition("="))
                if not equals or name in spec:
                    raise InvalidRequest(f"argument partitions is like 'dt=1,hh=2;dt=3,hh=4', not {part!r:.60}")
                spec[name] = typed_value(self.table, name, value)
            found.append(spec)
        if not found:
            raise InvalidRequest("argument partitions is empty", name="partitions")
        return found

    def partitions(self) -> Where | None:
        """Return the filter of the argument ``partitions`` or ``where``; None when neither is given.

        Raises InvalidRequest when both are given.
        """
        if "partitions" not in self.values:
            where: Where | None = self.values.get("where")
            return where
        self.without("where", "partitions")
        specs = self.partition_values(self.values["partitions"])
        return reduce(or_, [p for spec in specs if (p := partition_predicate(self.table, spec)) is not None])
