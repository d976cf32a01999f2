"""Source: the operations of a scan that the frames use; this module also imports optional packages."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Protocol

import pyarrow as pa

from paimon_core.errors import InvalidRequest
from paimon_core.predicate import Predicate


class Source(Protocol):
    """A scan, whose rows can be narrowed before they are read."""

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""

    def narrowed(
        self, columns: Sequence[str] | None = None, where: Predicate | None = None, limit: int | None = None
    ) -> Source:
        """Return a source with some of the columns, in this order, and at most ``limit`` rows.

        The source may still return rows for which ``where`` is not true. Columns of ``where`` that do not exist, and
        literals that do not fit, raise no error: the filter then has no effect.
        """

    def to_batches(self) -> pa.RecordBatchReader:
        """Return the rows as a stream; no file is opened before the first batch is taken."""


def optional_package(name: str, caller: str) -> Any:
    """Return an imported package; raises InvalidRequest, which names the extra, when it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise InvalidRequest(f"{caller} needs the package {name}: install paimon-core[{name}]") from None
