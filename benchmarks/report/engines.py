"""Engines: writes, merges on read and full compactions of tables with several keys and merge engines, beside Java."""

from __future__ import annotations

from benchmarks.report.cells import Cell
from benchmarks.report.libraries import LIMIT, OURS, Sides
from benchmarks.report.rounds import OPTIONS, Cells
from benchmarks.report.settings import Settings
from benchmarks.timing import log

RUNS = 5
AGGREGATES = {"a": "sum", "b": "max", "c": "sum", "d": "min", "name": "last_value", "city": "first_value", "ts": "max"}
TABLES: dict[str, tuple[list[str], dict[str, str]]] = {
    "deduplicate, BIGINT key": (["id"], {}),
    "partial-update": (["id"], {"merge-engine": "partial-update"}),
    "aggregation, 7 functions": (
        ["id"],
        {"merge-engine": "aggregation"} | {f"fields.{c}.aggregate-function": f for c, f in AGGREGATES.items()},
    ),
    "deduplicate, STRING key": (["name"], {}),
    "deduplicate, key of three columns": (["d", "name", "id"], {}),
}
"""By name: the primary key and the options."""
MEASURES = {"write": "write a batch", "merge": f"merge on read of {RUNS} runs", "compaction": "full compaction"}
MARKS = {"write": 8.0, "merge": 4.0, "compaction": 8.0}
"""How many times as fast as Java each measure should be."""


def engines(sides: Sides, settings: Settings) -> Cells:
    """Return the cells by table and measure, such as ``partial-update: write``."""
    running = {side: sides.running[side] for side in (OURS, "java", LIMIT) if side in sides.running}
    cells: Cells = {}
    rows = settings.engine_rows
    lives = 1 if settings.repeats == 1 else 3
    for number, (table, (key, options)) in enumerate(TABLES.items()):
        log(f"engines: {table}")
        of_table = {measure: {side: Cell() for side in running} for measure in MEASURES}
        cells |= {f"{table}: {measure}": found for measure, found in of_table.items()}
        holes = [True] if table == "partial-update" else []
        for life in range(lives):
            name = f"e{number}_{life}"
            for side, process in running.items():
                if side != LIMIT:
                    process.ask("make", name, key, {**OPTIONS, **options})
            for run in range(RUNS):
                for side, process in running.items():
                    batch = [run, rows, 2 * rows, *holes]
                    if side == LIMIT:
                        process.ask("prepare", name)
                        answer = process.ask("write", name, True, batch=batch)
                    else:
                        answer = process.ask("write", name, batch=batch)
                    _take(of_table["write"][side], answer)
            for _ in range(lives):
                for side, process in running.items():
                    if side == LIMIT:
                        process.ask("prepare", name)
                    _take(of_table["merge"][side], process.ask("scan", name, None))
            if LIMIT in running:
                _take(of_table["compaction"][LIMIT], running[LIMIT].ask("compact", name))
            for side, process in running.items():
                if side != LIMIT:
                    _take(of_table["compaction"][side], process.ask("compact", name))
    return cells


def _take(cell: Cell, answer: dict[str, object]) -> None:
    reason = answer.get("unsupported") or answer.get("failed")
    if reason is not None:
        cell.reason = str(reason)
    else:
        cell.add(answer)
