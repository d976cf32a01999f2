"""SystemTable: a read-only table that describes a table or a catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import pyarrow as pa

from paimon_core.display import Displayed, Summary, named
from paimon_core.errors import InvalidRequest, SchemaMismatch, UnsupportedFeature
from paimon_core.frames.source import optional_package
from paimon_core.predicate import BoundPredicate, Predicate, Where, parse_where
from paimon_core.schema import DataField

_PART_ROWS = 50_000
if TYPE_CHECKING:
    import pandas
    import polars

_WRITES = frozenset(
    {"write", "writer", "delete", "update", "merge", "compact", "rescale", "alter", "analyze", "commit", "maintenance"}
)
"""Names of members of ``Table`` that a system table does not have: each raises an error that says that a system table
can only be read."""


class Rows(Protocol):
    """The rows of a system table, in parts that can be read in different processes."""

    def parts(self) -> Iterable[bytes]:
        """Return the parts as bytes; all parts together have all rows."""

    def read(self, part: bytes) -> Iterator[pa.Table]:
        """Yield the rows of one part."""


@dataclass(frozen=True)
class MetadataRows:
    """Rows that one call of ``make`` computes, table by table; each part is an Arrow stream of some of these rows."""

    make: Callable[[], Iterable[pa.Table]]

    def parts(self) -> Iterator[bytes]:
        """Yield the rows, up to 50,000 in one part."""
        for table in self.make():
            for start in range(0, len(table), _PART_ROWS):
                sink = pa.BufferOutputStream()
                with pa.ipc.new_stream(sink, table.schema) as writer:
                    writer.write_table(table.slice(start, _PART_ROWS))
                yield sink.getvalue().to_pybytes()

    def read(self, part: bytes) -> Iterator[pa.Table]:
        """Yield the rows of one part."""
        return self.read_part(part)

    @staticmethod
    def read_part(part: bytes) -> Iterator[pa.Table]:
        """Yield the rows of one part; the part contains the rows, so that no table is needed."""
        yield pa.ipc.open_stream(part).read_all()

    def tables(self) -> Iterator[pa.Table]:
        """Yield all rows."""
        yield from self.make()


@dataclass(frozen=True, repr=False)
class SystemScan(Displayed):
    """A read of some columns of a system table, with a filter and a limit."""

    fields: tuple[DataField, ...]
    """The columns of the result."""
    rows: Rows
    """Rows with at least the requested columns and the columns of the filter."""
    where: BoundPredicate | None = None
    limit: int | None = None

    name: str = ""
    """The name of the system table."""

    def _summary(self) -> Summary:
        rows = [(f.name, f.type) for f in self.fields]
        facts = (("columns", named([f.name for f in self.fields])), ("limit", self.limit))
        return Summary(self.name, facts, header=("column", "type"), rows=rows)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the result."""
        return pa.schema([f.arrow for f in self.fields])

    def parts(self) -> list[bytes]:
        """Return the rows in parts that ``read`` takes, even in another process; ``limit`` is not applied."""
        return list(self.rows.parts())

    def read(self, part: bytes) -> Iterator[pa.Table]:
        """Yield the rows of one part that match the filter."""
        return self._kept(self.rows.read(part))

    def _kept(self, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        expression = None if self.where is None else self.where.to_arrow()
        for table in tables:
            kept = table if expression is None else table.filter(expression)
            yield kept.select([f.name for f in self.fields]).cast(self.schema)

    def _tables(self) -> Iterator[pa.Table]:
        if isinstance(self.rows, MetadataRows):
            found = self._kept(self.rows.tables())
        else:
            found = (table for part in self.rows.parts() for table in self.read(part))
        left = self.limit
        for table in found:
            if left is None:
                yield table
                continue
            yield table.slice(0, min(left, len(table)))
            left -= min(left, len(table))
            if not left:  # the next table is not computed
                return

    def to_batches(self) -> pa.RecordBatchReader:
        """Return the rows as a stream."""
        batches = (batch for table in self._tables() for batch in table.to_batches())
        return pa.RecordBatchReader.from_batches(self.schema, batches)

    def to_arrow(self) -> pa.Table:
        """Return the rows as one Arrow table."""
        return self.to_batches().read_all()

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a pandas DataFrame; raises InvalidRequest when pandas is not installed."""
        optional_package("pandas", "to_pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """Return the rows as a polars DataFrame; raises InvalidRequest when polars is not installed."""
        return optional_package("polars", "to_polars").from_arrow(self.to_arrow())

    def count(self) -> int:
        """Return the number of rows."""
        return sum(len(table) for table in self._tables())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_batches().__arrow_c_stream__(requested_schema)


@dataclass(frozen=True, repr=False)
class SystemTable(Displayed):
    """A system table; ``scan`` reads it. Any method that would write raises UnsupportedFeature."""

    name: str
    """``database.table$name`` or ``sys.name``."""
    fields: tuple[DataField, ...]
    rows: Callable[[tuple[DataField, ...], Predicate | None], Rows]
    """Returns the rows with these columns; the filter may leave out rows, and the scan applies it again."""

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns as an Arrow schema."""
        return pa.schema([f.arrow for f in self.fields])

    def scan(
        self, columns: Sequence[str] | None = None, where: Where | None = None, limit: int | None = None
    ) -> SystemScan:
        """Describe a read, which runs later, of all columns or of ``columns``.

        ``where`` also decides which metadata are read: a filter on ``bucket``, ``level`` or the text of ``partition``
        leaves out manifests. Raises SchemaMismatch for unknown columns and literals of a wrong type, InvalidRequest for
        other wrong arguments.
        """
        keep = parse_where(where, self.fields)
        if columns is not None and (isinstance(columns, str) or not all(isinstance(c, str) for c in columns)):
            raise InvalidRequest(f"columns must be a list of names, not {columns!r:.60}")
        if limit is not None and (type(limit) is not int or limit < 0):
            raise InvalidRequest(f"limit must be a whole number of rows from 0, not {limit!r}", limit=limit)
        known = {f.name: f for f in self.fields}
        names = list(known) if columns is None else list(columns)
        for name in names:
            if name not in known:
                raise SchemaMismatch(
                    f"{self.name} has no column {name!r:.80}; its columns are {', '.join(known)}", column=name
                )
        if not names or len(set(names)) < len(names):
            raise InvalidRequest(f"columns must name at least one column, and none twice, not {names}")
        bound = None if keep is None else keep.bind(self.fields)
        needed = {*names, *(() if bound is None else bound.columns)}
        fields = tuple(f for f in self.fields if f.name in needed)
        return SystemScan(tuple(known[name] for name in names), self.rows(fields, keep), bound, limit, self.name)

    def to_arrow(self) -> pa.Table:
        """Return all rows and columns."""
        return self.scan().to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """Return all rows and columns as a pandas DataFrame; see ``SystemScan.to_pandas``."""
        return self.scan().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """Return all rows and columns as a polars DataFrame; see ``SystemScan.to_polars``."""
        return self.scan().to_polars()

    def refuse(self, change: str) -> NoReturn:
        """Raise UnsupportedFeature for a change, such as "write"."""
        raise UnsupportedFeature(f"{self.name} is a system table, which can only be read: {change}() is not possible")

    def __getattr__(self, name: str) -> NoReturn:
        if name in _WRITES:
            self.refuse(name)
        raise AttributeError(f"a system table has no attribute {name!r}")

    def _summary(self) -> Summary:
        return Summary(self.name, header=("column", "type"), rows=[(f.name, f.type) for f in self.fields])
