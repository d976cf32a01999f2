"""Random histories of tables with dynamic buckets, deletion vectors, file indexes and appends, made from a seed.

The merge engines are drawn as in ``histories``, with rows whose result does not depend on when a compaction runs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.differential.histories import ADDS, ENGINES, KINDS, SCALARS, VALUES, History

PARTITIONS = (1, -7)
KEYS = 60
INDEXABLE = {
    "bloom-filter": ("INT", "BIGINT", "SMALLINT", "DOUBLE", "FLOAT", "STRING", "DATE", "TIMESTAMP(3)"),
    "bitmap": ("INT", "BIGINT", "SMALLINT", "BOOLEAN", "STRING", "DATE", "TIMESTAMP(3)"),
    "bsi": ("INT", "BIGINT", "SMALLINT", "DATE", "TIMESTAMP(3)", "DECIMAL(10, 2)"),
    "range-bitmap": ("INT", "BIGINT", "DOUBLE", "BOOLEAN", "STRING", "DATE", "DECIMAL(10, 2)"),
}
FORMATS = ("parquet", "parquet", "orc", "avro")
LATE_DO_NOT_MATTER = ("sum", "max", "collect")


@dataclass
class Layout(History):
    """A history whose steps are ``(name, rows or keys)``; both sides must give rows the same places."""

    layout: str = ""
    partition_by: list[str] = field(default_factory=list)
    places: bool = True
    """Whether the bucket of each row is decided by its key alone, or by the rows before it in a fixed way."""
    assigners: int | None = None
    """The number of assigners of a write of Java to dynamic buckets."""


def layout_history(seed: int, layout: str | None = None) -> Layout:
    """Return the history of a seed; ``layout`` fixes what is else drawn."""
    draw = random.Random(f"layout/{seed}/{layout}")
    layout = layout or draw.choice(list(LAYOUTS))
    new = Layout(seed, [("p", "INT"), ("k", "STRING")], [], {"file.format": draw.choice(FORMATS)}, layout=layout)
    LAYOUTS[layout](draw, new)
    if layout != "postpone" and draw.random() < (1.0 if layout == "indexes" else 0.3):
        _indexes(draw, new)
    new.steps = [("write", _rows(draw, new))]
    kinds = _steps(new)
    for _ in range(draw.randint(4, 8)):
        step = draw.choice(kinds)
        if step in ("delete", "update"):
            new.steps.append((step, draw.sample([f"k{n}" for n in range(KEYS)], draw.choice([1, 5, 30]))))
        else:
            new.steps.append((step, _rows(draw, new) if step in ("write", "overwrite", "hide") else None))
    return new


def _steps(of: Layout) -> list[str]:
    steps = ["write"] * 5 + ["full", "minor"]
    match of.layout:
        case "append":
            steps += ["delete", "delete", "update"]
        case "dynamic":
            steps += ["overwrite"]
        case "postpone":
            steps += ["spread", "spread"]
        case "vectors":
            steps += ["hide"]
    return steps


def _rows(draw: random.Random, of: Layout) -> list[list[Any]]:
    rows = []
    for _ in range(draw.choice([1, 8, 40])):
        row: list[Any] = [draw.choice(of.kinds if draw.random() < 0.5 else ADDS) if of.key else "+I"]
        for name, text in of.columns:
            if name == "p":
                row.append(draw.choice(PARTITIONS))
            elif name == "k":
                row.append(f"k{draw.randrange(KEYS)}")
            else:
                null = name not in of.filled and draw.random() < 0.2
                row.append(None if null else draw.choice(VALUES[text]))
        rows.append(row)
    return rows


# -- the kinds of tables


def _with_engine(draw: random.Random, of: Layout, engines: tuple[str, ...] = tuple(ENGINES)) -> None:
    """Add the columns and options of a merge engine whose result does not depend on when compactions run."""
    plain, columns = dict(of.options), list(of.columns)
    engine = draw.choice(engines)
    while True:
        of.options, of.columns, of.kinds = dict(plain), list(columns), KINDS
        of.unordered, of.filled = set(), set()
        of.options["merge-engine"] = engine
        ENGINES[engine](draw, of)
        functions = [text for key, text in of.options.items() if key.endswith(".aggregate-function")]
        grouped = any(key.endswith(".sequence-group") for key in of.options)
        # Java sorts its write buffer wrongly by a descending sequence.field, and acts on late rows by compaction.
        if engine == "deduplicate" and "sequence.field.sort-order" not in of.options:
            break
        if "sequence.field" not in of.options and not (grouped and set(functions) - set(LATE_DO_NOT_MATTER)):
            break
    if engine != "deduplicate" or "sequence.field" in of.options:
        of.kinds = ADDS
    of.options.pop("write-only", None)
    # Of a lone row, Java keeps what the engine would remove, unless the levels make a compaction rewrite its file.
    groups = [key for key in of.options if key.endswith(".sequence-group")]
    of.filled |= {name for key in groups for name in key.split(".")[1].split(",")}
    for key in [key for key in of.options if key.endswith(".distinct")]:
        del of.options[key]
        of.unordered.discard(key.split(".")[1])


def _in_partitions(draw: random.Random, of: Layout) -> None:
    if draw.random() < 0.5:
        of.partition_by, of.key = ["p"], ["p", "k"]
    else:
        of.key = ["k"]


def _with_vectors(draw: random.Random, of: Layout) -> None:
    of.options["deletion-vectors.enabled"] = "true"
    if draw.random() < 0.5:
        of.options["deletion-vectors.bitmap64"] = "true"


def _dynamic(draw: random.Random, of: Layout) -> None:
    _in_partitions(draw, of)
    _with_engine(draw, of)
    groups = draw.choice([1, 1, 2, 3])
    of.assigners = groups
    of.options |= {"bucket": "-1", "dynamic-bucket.target-row-num": draw.choice(["2", "5", "13", "40"])}
    if groups > 1:
        of.options["dynamic-bucket.initial-buckets"] = str(groups)
    if draw.random() < 0.25:
        of.options["dynamic-bucket.max-buckets"] = draw.choice(["3", "5"])
        of.places = False  # of full buckets, Java chooses at random
    if {"ignore-delete", "ignore-update-before"} & of.options.keys():
        of.places = False  # Java also assigns buckets to the keys of rows that it then ignores
    if draw.random() < 0.3 and of.options["merge-engine"] != "first-row":
        _with_vectors(draw, of)


def _cross(draw: random.Random, of: Layout) -> None:
    of.partition_by, of.key = ["p"], ["k"]
    while True:
        _with_engine(draw, of)
        if not {"sequence.field", "ignore-delete", "ignore-update-before"} & of.options.keys():
            break
        of.columns = of.columns[:2]
        of.options = {"file.format": of.options["file.format"]}
    if of.options["merge-engine"] == "deduplicate":
        of.kinds = ("+I", "+U", "-D")
        of.places = False  # which buckets have room depends on when the keys that leave them are counted out
    of.options |= {"bucket": "-1", "dynamic-bucket.target-row-num": draw.choice(["3", "8", "50"])}


def _vectors(draw: random.Random, of: Layout) -> None:
    _in_partitions(draw, of)
    _with_engine(draw, of, ("deduplicate", "partial-update", "aggregation"))
    _with_vectors(draw, of)
    of.options |= {"bucket": draw.choice(["1", "2"]), "num-levels": draw.choice(["3", "6"])}
    of.options["target-file-size"] = draw.choice(["128 mb", "1 kb"])
    if draw.random() < 0.3:
        of.options["changelog-producer"] = draw.choice(["lookup", "input"])


def _postpone(draw: random.Random, of: Layout) -> None:
    _in_partitions(draw, of)
    _with_engine(draw, of)
    of.options |= {"bucket": "-2", "postpone.default-bucket-num": draw.choice(["1", "3"])}
    of.options["postpone.batch-write-fixed-bucket"] = "false"


def _append(draw: random.Random, of: Layout) -> None:
    _values(draw, of)
    if draw.random() < 0.4:
        of.options |= {"bucket": "2", "bucket-key": "k"}
    if draw.random() < 0.7:
        _with_vectors(draw, of)
        of.options["deletion-vector.index-file.target-size"] = draw.choice(["1 b", "2 mb"])
    of.options["compaction.min.file-num"] = draw.choice(["2", "4"])


def _indexed(draw: random.Random, of: Layout) -> None:
    if draw.random() < 0.5:
        _append(draw, of)
    else:
        _vectors(draw, of)
    _values(draw, of)


def _values(draw: random.Random, of: Layout) -> None:
    of.columns += [(f"c{len(of.columns) + i}", draw.choice(SCALARS)) for i in range(draw.randint(1, 4))]
    if not of.key and draw.random() < 0.5:
        of.partition_by = ["p"]


def _indexes(draw: random.Random, of: Layout) -> None:
    for kind, types in INDEXABLE.items():
        names = [n for n, text in of.columns if text in types and draw.random() < 0.5 and n not in of.partition_by]
        if names:
            of.options[f"file-index.{kind}.columns"] = ",".join(names)
    if any(key.startswith("file-index.") for key in of.options):
        of.options["file-index.in-manifest-threshold"] = draw.choice(["0 b", "300 b", "1 mb"])


LAYOUTS: Mapping[str, Callable[[random.Random, Layout], None]] = {
    "dynamic": _dynamic,
    "cross-partition": _cross,
    "vectors": _vectors,
    "append": _append,
    "postpone": _postpone,
    "indexes": _indexed,
}
