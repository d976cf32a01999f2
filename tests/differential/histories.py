"""Random histories of one table: what both sides write and compact, made from one number (the seed)."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

KINDS = ("+I", "-U", "+U", "-D")
ADDS = ("+I", "+U")
VALUES: Mapping[str, Sequence[Any]] = {
    "INT": [-3, 0, 1, 2, 7, 40],
    "BIGINT": [-(10**12), -1, 0, 3, 5 * 10**10],
    "SMALLINT": [-9, 0, 1, 30],
    "DOUBLE": [-2.5, 0.0, 0.25, 1.0, 1024.0],
    "FLOAT": [-0.5, 0.0, 2.0],
    "BOOLEAN": [True, False],
    "STRING": [
        "a",
        "b",
        "a,b",
        "c;d",
        "中文",
        "a longer text",
    ],  # listagg of blanks is otherwise in Java 1.4 than in 2.1
    "DECIMAL(10, 2)": ["-1.50", "0.00", "2.25", "100.00"],
    "DECIMAL(30, 5)": ["-1234567890123.50000", "0.00001", "7.00000"],
    "DATE": ["1969-12-31", "2024-01-15"],
    "TIMESTAMP(3)": ["1960-02-29T00:00:00.001", "2024-01-15T10:30"],
    "ARRAY<INT>": [[], [1], [1, 2], [2, 2, 3], [None, 1]],
    "MAP<STRING, INT>": [[], [["a", 1]], [["a", 2], ["b", None]], [["c", 3]]],
}
NUMBERS = ("INT", "BIGINT", "SMALLINT", "DOUBLE", "FLOAT", "DECIMAL(10, 2)", "DECIMAL(30, 5)")
ORDERED = (*NUMBERS, "STRING", "DATE", "TIMESTAMP(3)")
SCALARS = (*ORDERED, "BOOLEAN")
FUNCTIONS: Mapping[str, Sequence[str]] = {
    "sum": NUMBERS,
    "product": ("INT", "DOUBLE"),
    "max": ORDERED,
    "min": ORDERED,
    "last_value": SCALARS,
    "last_non_null_value": SCALARS,
    "first_value": SCALARS,
    "first_non_null_value": SCALARS,
    "listagg": ("STRING",),
    "bool_and": ("BOOLEAN",),
    "bool_or": ("BOOLEAN",),
    "collect": ("ARRAY<INT>",),
    "merge_map": ("MAP<STRING, INT>",),
}
RETRACTABLE = ("sum", "last_value", "last_non_null_value", "collect", "merge_map")


@dataclass
class History:
    """A table and what happens to it; a step is a list of rows ``[kind, *values]``, or "full" or "minor"."""

    seed: int
    columns: list[tuple[str, str]]
    key: list[str]
    options: dict[str, str]
    kinds: Sequence[str] = KINDS
    """The kinds of rows that the table takes."""
    unordered: set[str] = field(default_factory=set)
    """Columns whose elements have no order of their own."""
    filled: set[str] = field(default_factory=set)
    """Columns that are never null."""
    steps: list[Any] = field(default_factory=list)

    def __str__(self) -> str:
        columns = ", ".join(f"{name} {text}" for name, text in self.columns)
        lines = [f"seed {self.seed}: ({columns}, key {self.key})", f"  {self.options}", *map(str, self.steps)]
        return "\n  ".join(lines)


def history(seed: int, engine: str | None = None, producer: str | None = None) -> History:
    """The history of a seed; ``engine`` and ``producer`` fix what is else drawn at random."""
    draw = random.Random(f"{seed}/{engine}/{producer}")
    engine = engine or draw.choice(list(ENGINES))
    keys = draw.choice(
        [[("k", "INT")], [("k", "STRING")], [("k", "BIGINT"), ("l", "STRING")], [("k", "DECIMAL(30, 5)")]]
    )
    options = {"bucket": draw.choice(["1", "2"]), "write-only": "true", "merge-engine": engine}
    new = History(seed, list(keys), [name for name, _ in keys], options)
    ENGINES[engine](draw, new)
    if producer is not None:
        _producer(draw, new, producer)
    if draw.random() < 0.3:
        options["num-sorted-run.compaction-trigger"] = draw.choice(["2", "3"])
    new.steps = [_rows(draw, new)]
    for _ in range(draw.randint(2, 6)):
        inline = options["write-only"] == "false"
        compactions = ["full"] if producer == "full-compaction" else ["full", "minor"]
        new.steps.append(draw.choice(compactions) if not inline and draw.random() < 0.35 else _rows(draw, new))
    return new


def _rows(draw: random.Random, of: History) -> list[list[Any]]:
    """Some rows; one of a key where Java 1.4 sorts its write buffer wrongly, by a descending sequence.field."""
    domain = 4
    rows: list[list[Any]] = []
    once = "sequence.field.sort-order" in of.options
    for _ in range(draw.randint(1, 9)):
        row: list[Any] = [draw.choice(of.kinds if draw.random() < 0.5 else ADDS)]
        for name, text in of.columns:
            values = VALUES[text]
            nullable = name not in of.key and name not in of.filled
            row.append(
                None if nullable and draw.random() < 0.3 else draw.choice(values[:domain] if name in of.key else values)
            )
        if not (once and any(r[1 : len(of.key) + 1] == row[1 : len(of.key) + 1] for r in rows)):
            rows.append(row)
    return rows


def _add(draw: random.Random, of: History, count: int, types: Sequence[str] = SCALARS) -> list[str]:
    names = [f"c{len(of.columns) + i}" for i in range(count)]
    of.columns += [(name, draw.choice(types)) for name in names]
    return names


def _sequence_fields(draw: random.Random, of: History) -> None:
    if draw.random() < 0.4:
        names = _add(draw, of, draw.randint(1, 2), ("INT", "TIMESTAMP(3)", "STRING", "DECIMAL(10, 2)"))
        of.options["sequence.field"] = ",".join(names)
        if draw.random() < 0.4:
            of.options["sequence.field.sort-order"] = "descending"


def _ignored(draw: random.Random, of: History) -> None:
    which = draw.choice([None, None, "ignore-delete", "ignore-update-before"])
    if which:
        of.options[which] = "true"


def _deduplicate(draw: random.Random, of: History) -> None:
    _add(draw, of, draw.randint(1, 3), (*SCALARS, "ARRAY<INT>", "MAP<STRING, INT>"))
    _sequence_fields(draw, of)
    _ignored(draw, of)


def _first_row(draw: random.Random, of: History) -> None:
    _add(draw, of, draw.randint(1, 3))
    of.options["write-only"] = "false"
    of.kinds = ADDS
    if draw.random() < 0.4:
        of.options["ignore-delete"] = "true"
        of.kinds = KINDS


def _partial_update(draw: random.Random, of: History) -> None:
    _add(draw, of, draw.randint(1, 4))
    if draw.random() < 0.5:
        _sequence_fields(draw, of)
        how = draw.choice(["ignore-delete", "partial-update.remove-record-on-delete", None])
        if how:
            of.options[how] = "true"
        else:
            of.kinds = ADDS
        return
    ordering = []
    for _ in range(draw.randint(1, 2)):
        by = _add(draw, of, draw.randint(1, 2), ("INT", "TIMESTAMP(3)", "STRING"))
        of.options[f"fields.{','.join(by)}.sequence-group"] = ",".join(_protected(draw, of))
        ordering += by
    if draw.random() < 0.3:
        of.options["ignore-delete"] = "true"
    elif draw.random() < 0.4:
        of.options["partial-update.remove-record-on-sequence-group"] = draw.choice(ordering)


def _protected(draw: random.Random, of: History) -> list[str]:
    names = _add(draw, of, 1)
    if draw.random() < 0.5:
        names.append(_aggregated(draw, of, draw.choice(["sum", "max", "last_non_null_value", "listagg", "collect"])))
    return names


def _aggregated(draw: random.Random, of: History, function: str) -> str:
    (name,) = _add(draw, of, 1, FUNCTIONS[function])
    of.options[f"fields.{name}.aggregate-function"] = function
    if function == "listagg" and draw.random() < 0.5:
        of.options[f"fields.{name}.list-agg-delimiter"] = draw.choice([";", "--"])
    if function in ("collect", "listagg") and draw.random() < 0.4:
        of.options[f"fields.{name}.distinct"] = "true"
        of.unordered |= {name} if function == "collect" else set()
    if function not in RETRACTABLE or draw.random() < 0.2:
        of.options[f"fields.{name}.ignore-retract"] = "true"
    return name


def _aggregation(draw: random.Random, of: History) -> None:
    for _ in range(draw.randint(1, 4)):
        _aggregated(draw, of, draw.choice(list(FUNCTIONS)))
    if draw.random() < 0.3:
        _add(draw, of, 1)
    _sequence_fields(draw, of)
    if draw.random() < 0.3:
        of.options["aggregation.remove-record-on-delete"] = "true"
        for key in [key for key in of.options if key.endswith(".ignore-retract")]:
            del of.options[key]  # Java refuses the pair
        of.kinds = ("+I", "+U", "-D")
    elif draw.random() < 0.3:
        of.options["ignore-delete"] = "true"


def _producer(draw: random.Random, of: History, producer: str) -> None:
    of.options["changelog-producer"] = producer
    nested = any("<" in text for _, text in of.columns)  # of a null inside Java says equal or not by its memory
    if producer in ("lookup", "full-compaction") and not nested and draw.random() < 0.4:
        of.options["changelog-producer.row-deduplicate"] = "true"
    if producer == "lookup":
        of.options["write-only"] = "false"
        # Of a lone row in an upgraded file, Java tells what the engine would make of it, not what the file holds.
        groups = [key for key in of.options if key.endswith(".sequence-group")]
        of.filled |= {name for key in groups for name in key.split(".")[1].split(",")}
        if groups or "sequence.field" in of.options or any("remove-record" in key for key in of.options):
            of.kinds = ADDS  # a delete acts on later rows until some compaction drops it, and sizes decide which
        for key in [key for key in of.options if key.endswith(".distinct")]:
            del of.options[key]


ENGINES: Mapping[str, Callable[[random.Random, History], None]] = {
    "deduplicate": _deduplicate,
    "partial-update": _partial_update,
    "aggregation": _aggregation,
    "first-row": _first_row,
}
