"""Random histories of alterations: what is altered, written and compacted, made from one number (the seed)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from paimon_core.alter import (
    AddColumn,
    DropColumn,
    RenameColumn,
    SchemaChange,
    SetOption,
    UpdateColumnComment,
    UpdateDefault,
    UpdateNullability,
    UpdatePosition,
    UpdateType,
)
from paimon_core.alter.allowed_casts import is_allowed
from paimon_core.alter.evolve import evolve
from paimon_core.schema import DataField, TableSchema, new_schema
from paimon_core.types import DataType, TypeRoot, parse_type

NUMBERS = (
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL(10, 2)",
    "DECIMAL(20, 4)",
    "DECIMAL(4, 0)",
)
TEXTS = ("STRING", "VARCHAR(3)", "CHAR(4)")
TIMES = ("DATE", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(0)")
BINARIES = ("BYTES", "VARBINARY(2)", "BINARY(3)")
SCALARS = (*NUMBERS, *TEXTS, *TIMES, *BINARIES, "BOOLEAN", "TIME(3)")
INTEGERS = (TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT, TypeRoot.BIGINT)
MORE = ("DECIMAL(38, 10)", "DECIMAL(19, 0)", "TIME(0)", "TIME(2)", "TIMESTAMP(1)", "TIMESTAMP(7)", "TIMESTAMP(9)")
ZONED = tuple(f"TIMESTAMP({p}) WITH LOCAL TIME ZONE" for p in (0, 3, 6, 9))
MORE_TYPES_FROM = 10_000
"""The seeds from here on choose from more types."""
STEPS = 20


def _scalars(seed: int, options: Mapping[str, str]) -> list[str]:
    """Return the types to choose from; Java records other bounds of CHAR in ORC than the values that it reads."""
    types = SCALARS if seed < MORE_TYPES_FROM else (*SCALARS, *MORE, *ZONED)
    left_out = {"orc": ("CHAR",), "avro": ("TIMESTAMP(7)", "TIMESTAMP(9)")}.get(options["file.format"], ())
    return [text for text in types if not text.startswith(left_out)]


@dataclass
class Evolution:
    """A table and its steps: changes of the schema, rows ``[kind, *values]`` in the form of the oracle, or "full"."""

    seed: int
    schema: TableSchema
    steps: list[Any] = field(default_factory=list)
    types: dict[int, list[DataType]] = field(default_factory=dict)
    """The types that each field id has had."""

    def __str__(self) -> str:
        columns = ", ".join(f"{f.name} {f.type}" for f in self.schema.fields)
        lines = [f"seed {self.seed}: ({columns}, key {self.schema.primary_keys})", f"  {dict(self.schema.options)}"]
        return "\n  ".join([*lines, *(f"{at}: {step}" for at, step in enumerate(self.steps))])


def evolution(seed: int) -> Evolution:
    """Return the history of a seed."""
    draw = random.Random(f"evolution/{seed}")
    engine = draw.choice(["append", "deduplicate", "partial-update", "aggregation"])
    options = {"write-only": "true", "file.format": draw.choice(["parquet", "parquet", "orc", "avro"])}
    names = [f"c{at}" for at in range(draw.randint(2, 4))]
    kinds = {name: parse_type(draw.choice(_scalars(seed, options))) for name in names}
    keys: list[str] = []
    if engine == "append":
        options["bucket"] = "-1"
    else:
        keys = ["k"]
        options |= {"bucket": draw.choice(["1", "2"]), "merge-engine": engine}
    if engine == "aggregation":
        kinds["total"] = parse_type(draw.choice(["INT", "BIGINT", "DOUBLE", "DECIMAL(10, 2)"]))
        options["fields.total.aggregate-function"] = draw.choice(["sum", "max", "last_non_null_value"])
    if engine == "deduplicate" and draw.random() < 0.4:
        kinds["seq"] = parse_type(draw.choice(["INT", "BIGINT"]))
        options["sequence.field"] = "seq"
    kinds |= {"r": parse_type(_row(0)), "l": parse_type({"type": "ARRAY", "element": _row(0)})}
    kinds["m"] = parse_type({"type": "MAP", "key": "STRING", "value": "INT"})
    columns = [pa.field("k", pa.int32(), not keys), *(pa.field(n, t.to_arrow()) for n, t in kinds.items())]
    schema = new_schema(
        pa.schema(columns),
        primary_key=keys,
        options=options,
        types={n: t.sql for n, t in kinds.items() if not t.children},
    )
    new = Evolution(seed, schema)
    _remember(new, schema)
    while len(new.steps) < STEPS:
        which = draw.random()
        if which < 0.45:
            changes, before = _changes(draw, new, schema), schema
            schema = evolve(schema, changes)
            if schema is before:
                continue  # Java creates a schema for that, and uses up the ids of columns that were added and dropped
            _remember(new, schema)
            new.steps.append(changes)
        elif which < 0.85:
            new.steps.append([_row_of(draw, schema, at) for at in range(draw.randint(1, 5))])
        else:
            new.steps.append("full")
    return new


def _row(first: int) -> dict[str, Any]:
    members = [("a", "INT"), ("b", "STRING"), ("d", "DOUBLE")]
    return {"type": "ROW", "fields": [{"id": first + at, "name": n, "type": t} for at, (n, t) in enumerate(members)]}


# -- values


def _row_of(draw: random.Random, schema: TableSchema, at: int) -> list[Any]:
    return ["+I", *(value_of(draw, f.type, key=f.name in schema.primary_keys) for f in schema.fields)]


def value_of(draw: random.Random, kind: DataType, *, key: bool = False) -> Any:
    """Return a value in the JSON form of the oracle; of a key, one of few."""
    if kind.nullable and draw.random() < 0.25:
        return None
    match kind.root:
        case TypeRoot.ROW:
            return [value_of(draw, c.type) for c in kind.children]
        case TypeRoot.ARRAY:
            return [value_of(draw, kind.children[0].type) for _ in range(draw.randint(0, 2))]
        case TypeRoot.MAP:
            return [[name, value_of(draw, kind.children[1].type)] for name in "xy"[: draw.randint(0, 2)]]
        case TypeRoot.DECIMAL:
            return (
                f"{draw.choice([-12, 0, 3, 99])}.{'5' * kind.scale}" if kind.scale else draw.choice(["-7", "0", "99"])
            )
        case TypeRoot.FLOAT | TypeRoot.DOUBLE:
            return draw.choice([-2.5, 0.0, 0.25, 1.0, 100.0])
        case TypeRoot.BOOLEAN:
            return draw.random() < 0.5
        case TypeRoot.DATE:
            return draw.choice(["1970-01-01", "2024-02-29", "2001-09-09"])
        case TypeRoot.TIME:
            return draw.choice(
                ["00:00", "10:20:30", f"23:59:59{'.999'[: kind.precision + 1] if kind.precision else ''}"]
            )
        case TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ:
            fraction = f".{'123456789'[: kind.precision]}" if kind.precision else ""
            zone = "Z" if kind.root is TypeRoot.TIMESTAMP_LTZ else ""
            return draw.choice([f"2024-02-29T10:20:30{fraction}{zone}", f"2001-09-09T01:46:40{zone}"])
        case TypeRoot.BINARY | TypeRoot.VARBINARY:
            return draw.choice(["61", "6162"]) if kind.root is TypeRoot.VARBINARY else "616263"
        case TypeRoot.CHAR | TypeRoot.VARCHAR:
            return draw.choice(["1", "-3", "12", "007"][: 3 if kind.length < 3 else 4])
    return draw.randint(0, 3) if key else draw.choice([-3, 0, 1, 7, 100])


# -- changes


def _changes(draw: random.Random, of: Evolution, schema: TableSchema) -> list[SchemaChange]:
    """Return one to three changes that are allowed and leave the table readable."""
    found: list[SchemaChange] = []
    for _ in range(draw.randint(1, 3)):
        for _ in range(20):
            change = _change(draw, of, schema)
            if isinstance(change, RenameColumn) and any(isinstance(other, RenameColumn) for other in found):
                continue  # Java fails at two renames of one column or inside of one
            if change is not None:
                found.append(change)
                schema = evolve(schema, [change])
                _remember(of, schema)
                break
    return found


def _change(draw: random.Random, of: Evolution, schema: TableSchema) -> SchemaChange | None:
    fixed = {*schema.primary_keys, *(schema.options.get("sequence.field", "").split(","))}
    fixed |= {key.split(".")[1] for key in schema.options if key.endswith(".aggregate-function")}
    free = [f for f in schema.fields if f.name not in fixed]
    paths = [p for p in _paths(schema.fields) if p[0] not in fixed]
    path = draw.choice(paths)
    new = f"n{draw.randint(0, 99)}"
    taken = {name for p in _paths(schema.fields) for name in p}
    match draw.choice(
        ["add", "add", "add nested", "drop", "drop", "rename", "rename key", "type", "type", "type", "rest"]
    ):
        case "add":
            name = draw.choice(["c0", "c1", new])
            place = draw.choice([{}, {"first": True}, {"after": schema.names[0]}, {"before": schema.names[-1]}])
            kind = draw.choice(_scalars(of.seed, schema.options))
            default = draw.choice([None, None, "7"]) if kind in NUMBERS else None
            return None if name in schema.names else AddColumn(name, kind, default=default, **place)
        case "add nested":
            rows = [p for p in _rows(schema.fields) if p[0] not in fixed]
            if not rows:
                return None
            inner = draw.choice(["a", "b", new])
            path = (*draw.choice(rows), inner)
            return None if path in set(_paths(schema.fields)) else AddColumn(list(path), draw.choice(["INT", "STRING"]))
        case "drop":
            if len(free) < 2 and len(path) == 1:
                return None
            return None if path[-1] in ("element", "value") or _is_last(schema, path) else DropColumn(list(path))
        case "rename":
            return None if path[-1] in ("element", "value") or new in taken else RenameColumn(list(path), new)
        case "rename key":
            name = draw.choice(sorted(fixed & set(schema.names)) or schema.names)
            return None if new in taken else RenameColumn(name, new)
        case "type":
            return _type_change(draw, of, schema, path)
    return draw.choice(
        [
            UpdateColumnComment(list(path), "c") if path[-1] not in ("element", "value") else None,
            UpdatePosition(schema.names[-1], first=True) if len(schema.names) > 1 else None,
            SetOption("snapshot.num-retained.min", str(draw.randint(1, 9))),
            UpdateNullability(list(path), True),
            UpdateDefault(draw.choice(free).name, None) if free else None,
        ]
    )


def _type_change(draw: random.Random, of: Evolution, schema: TableSchema, path: tuple[str, ...]) -> SchemaChange | None:
    kind = _kind_at(schema.fields, path)
    number = _id_at(schema.fields, path)
    held = of.types[number] if number is not None else of.types[_id_at(schema.fields, path[:-1]) or 0]
    if kind.children:
        becomes_text = number is not None and len(path) == 1 and draw.random() < 0.2
        return UpdateType(list(path), "STRING", lossy=True) if becomes_text else None
    if number is None:  # an element or a value
        wider = {"INT": "BIGINT", "BIGINT": "DOUBLE"}.get(kind.with_nullable(True).sql)
        return None if wider is None else UpdateType(list(path), wider, lossy=True)
    new = parse_type(draw.choice(_scalars(of.seed, schema.options)))
    default = next((f.default for f in schema.fields if f.id == number), None)
    if default is not None or not all(_is_safe(old, new) for old in held):
        return None
    padded = len(held) > 1 and any(old.root is TypeRoot.CHAR for old in held)
    if padded and new.root in (*INTEGERS, TypeRoot.DECIMAL):
        return None  # a 7 that a compaction cast to CHAR(4) has blanks after it, and is no number on either side
    return None if new == kind.with_nullable(True) else UpdateType(list(path), new.sql, lossy=True)


def _is_safe(old: DataType, new: DataType) -> bool:
    """Whether all values that are written here can be cast, and Java 1.4.2 and 2.1 cast them alike."""
    old = old.with_nullable(True)
    if old == new:
        return True
    if not is_allowed(old, new, explicit=True):
        return False
    if old.root in (TypeRoot.CHAR, TypeRoot.VARCHAR):
        return new.sql in (
            *TEXTS,
            *BINARIES,
            "INT",
            "BIGINT",
            "DOUBLE",
            "DECIMAL(10, 2)",
            "TINYINT",
            "SMALLINT",
            "FLOAT",
        )
    if old.root in (TypeRoot.BINARY, TypeRoot.VARBINARY):
        return new.sql in (*BINARIES, "STRING")
    return True


def _remember(of: Evolution, schema: TableSchema) -> None:
    for path in _paths(schema.fields):
        number = _id_at(schema.fields, path)
        if number is not None:
            held = of.types.setdefault(number, [])
            kind = _kind_at(schema.fields, path).with_nullable(True)
            if kind not in held:
                held.append(kind)


def _paths(fields: Sequence[Any]) -> Iterator[tuple[str, ...]]:
    """Yield the paths of all columns and nested members, without keys of maps."""
    for member in fields:
        yield (member.name,)
        for inner in _paths(
            [c for c in member.type.children if member.type.root is not TypeRoot.MAP or c.name != "key"]
        ):
            yield (member.name, *inner)


def _rows(fields: Sequence[Any]) -> Iterator[tuple[str, ...]]:
    for path in _paths(fields):
        if _kind_at(fields, path).root is TypeRoot.ROW:
            yield path


def _member_at(fields: Sequence[Any], path: Sequence[str]) -> Any:
    member = next(m for m in fields if m.name == path[0])
    return member if len(path) == 1 else _member_at(member.type.children, path[1:])


def _kind_at(fields: Sequence[Any], path: Sequence[str]) -> DataType:
    kind: DataType = _member_at(fields, path).type
    return kind


def _id_at(fields: Sequence[Any], path: Sequence[str]) -> int | None:
    member = _member_at(fields, path)
    return member.id if isinstance(member, DataField) or member.id >= 0 else None


def _is_last(schema: TableSchema, path: tuple[str, ...]) -> bool:
    siblings = schema.fields if len(path) == 1 else _kind_at(schema.fields, path[:-1]).children
    return len(siblings) == 1
