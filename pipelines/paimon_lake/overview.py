"""Overview: the tables of a lake as aligned text, from their metadata and row counts, for ``paimon-lake show``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from paimon_core.advice import advised
from paimon_core.errors import PaimonError
from paimon_core.table.table import Table
from paimon_lake.declarations import Settings
from paimon_lake.declarations.agreement.order import in_order
from paimon_lake.declarations.part_spec import followed_specs
from paimon_lake.loads.inputs.stale import stale_now
from paimon_lake.loads.inputs.stale_text import OTHERS
from paimon_lake.loads.lag import lags
from paimon_lake.loads.parts.part_states import part_states
from paimon_lake.protocol import LevelSize, PipelineError, size_text, some
from paimon_lake.sources.lag import Lag
from paimon_lake.steps.upkeep.rejects_upkeep import tables_beside
from paimon_lake.tables import counted_rows, open_lake, open_table, state_of


@dataclass(frozen=True)
class TableOverview:
    """The values that ``show`` prints about one table."""

    name: str
    row_count: int | None
    snapshots: int
    snapshot_id: int | None
    levels: Mapping[int, LevelSize]
    tags: tuple[str, ...]
    stale: tuple[str, ...] = ()
    """The stale partitions."""
    parts: tuple[str, ...] | None = None
    """A text such as ``prices behind`` for each part that is behind or was never loaded; None without parts."""
    problem: str = ""
    """Why the table cannot be read; "" when it can. With a problem, all numbers are 0 or None."""
    lag: str = ""
    """How far the table is behind its source of changes; "" when it has no such source or the lag was not asked for."""
    lag_problem: str = ""
    """Why the lag is not known; "" when it is known."""

    @property
    def files(self) -> int:
        """The number of live data files."""
        return sum(size.files for size in self.levels.values())

    @property
    def size_bytes(self) -> int:
        """The size of all live data files in bytes."""
        return sum(size.size_bytes for size in self.levels.values())


def existing(settings: Settings) -> list[str]:
    """Return the declared tables that are in the lake, each after its inputs and lookups, otherwise sorted by name."""
    catalog = open_lake(settings)
    return [name for group in in_order(settings.tables) for name in group if catalog.table_exists(name)]


def nothing_declared(settings: Settings) -> str:
    """Return a sentence that says what to do in a lake that declares no table."""
    return (
        f"no table is declared in {settings.folder / 'tables'}: write <database>.<table>.yaml there, or begin with the "
        "example of `paimon-lake new <folder>`"
    )


def overviews(settings: Settings, names: Collection[str] | None = None) -> list[TableOverview]:
    """Return the overviews of the tables ``names`` (None: all declared tables), if they exist.

    The overview of an unreadable table has a ``problem``. After a table come its tables of rejects and of waiting rows,
    if they have rows or cannot be read.
    """
    found = []
    for name in existing(settings):
        if names is not None and name not in names:
            continue
        found.append(_overview_or_problem(settings, name))
        declared, beside = tables_beside(settings, name)
        them = [_overview_or_problem(declared, table) for table in beside]
        found += [replace(one, name=f"  {one.name}") for one in them if one.row_count or one.problem]
    return found


def with_lags(settings: Settings, found: Sequence[TableOverview]) -> list[TableOverview]:
    """Return the overviews with the lags of tables with a source of changes. This asks the servers of the sources."""
    names = [one.name for one in found if one.name in settings.tables and followed_specs(settings.table(one.name))]
    answers = lags(settings, names)
    return [_with_lag(one, answers.get(one.name)) for one in found]


def _with_lag(one: TableOverview, found: Lag | Exception | None) -> TableOverview:
    if isinstance(found, Exception):
        return replace(one, lag="not known", lag_problem=str(found))
    return one if found is None else replace(one, lag=found.text(), lag_problem=found.problem)


def _overview_or_problem(settings: Settings, name: str) -> TableOverview:
    try:
        return overview(settings, name)
    except PaimonError as error:
        return TableOverview(name, None, 0, None, {}, (), problem=f"{error.kind}: {advised(error, name)}")


def overview(settings: Settings, name: str) -> TableOverview:
    """Return the overview of one table."""
    table = open_table(settings, name)
    state = state_of(table)
    return TableOverview(
        name=name,
        row_count=counted_rows(table, state),
        snapshots=table.inspect.snapshots().num_rows,
        snapshot_id=state.snapshot_id,
        levels=state.levels,
        tags=tuple(tag.name for tag in table.tags.list()),
        stale=_stale(settings, name),
        parts=_parts(settings, table),
    )


def _parts(settings: Settings, table: Table) -> tuple[str, ...] | None:
    spec = settings.table(table.name)
    if not spec.parts:
        return None
    try:
        states = part_states(settings, spec, table)
    except (PaimonError, PipelineError):  # loads report the reason
        return ("not known",)
    return tuple(f"{one.part} {'behind' if one.loaded_at else 'never loaded'}" for one in states if one.is_behind)


def _stale(settings: Settings, name: str) -> tuple[str, ...]:
    try:
        return tuple(sorted(stale_now(settings, name)))
    except (PaimonError, PipelineError):  # ``check`` and loads report the reason
        return ("not known",)


def levels_text(levels: Mapping[int, LevelSize]) -> str:
    """Return the number of files of each level, such as ``L0: 6, L5: 2``; ``-`` for a table without files."""
    return ", ".join(f"L{level}: {size.files}" for level, size in sorted(levels.items())) or "-"


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Return a text table with aligned columns; the columns with an index in ``right`` are right-aligned."""
    widths = [max(len(row[n]) for row in (header, *rows)) for n in range(len(header))]
    lines = [header, ["-" * w for w in widths], *rows]
    return "\n".join(
        "  ".join(
            c.rjust(w) if n in right else c.ljust(w) for n, (c, w) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def lake_text(overviews: Sequence[TableOverview]) -> str:
    """Return one line per table: visible rows, snapshots, files per level, size, tags, stale partitions, lag, parts.

    The text has the column ``lag`` only when an overview has a lag, and ``parts`` only when a table has parts.
    """
    rows = [
        [
            one.name,
            f"{one.row_count:,}" if one.row_count is not None else "-",
            "cannot be read"
            if one.problem
            else f"{one.snapshots} (last {one.snapshot_id})"
            if one.snapshot_id
            else "none",
            levels_text(one.levels),
            "-" if one.problem else size_text(one.size_bytes),
            ", ".join(one.tags) or "-",
            ("all" if OTHERS in one.stale else some(one.stale)) or "-",
        ]
        for one in overviews
    ]
    header = ["table", "visible rows", "snapshots", "files per level", "size", "tags", "stale"]
    if any(one.lag for one in overviews):
        header.append("lag")
        rows = [[*row, one.lag or "-"] for row, one in zip(rows, overviews, strict=True)]
    if any(one.parts is not None for one in overviews):
        header.append("parts")
        for row, one in zip(rows, overviews, strict=True):
            row.append("-" if one.parts is None else some(one.parts) or "all loaded")
    return aligned(header, rows, right=(1, 4))
