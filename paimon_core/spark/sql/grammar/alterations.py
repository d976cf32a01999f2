"""Alterations: reads ALTER TABLE and COMMENT ON TABLE as the changes that ``Table.alter`` takes."""

from __future__ import annotations

from paimon_core.alter.changes import (
    AddColumn,
    DropColumn,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetOption,
    UpdateColumnComment,
    UpdateComment,
    UpdateDefault,
    UpdateNullability,
    UpdatePosition,
    UpdateType,
)
from paimon_core.spark.sql.grammar import parts
from paimon_core.spark.sql.grammar.cursor import Cursor
from paimon_core.spark.sql.grammar.statements import AlterTable, ChangeTag, RemovePartitions, RenameTable, TableName
from paimon_core.spark.sql.grammar.tags import tag_change

_COMMENT = "comment"
"""The property that is the comment of the table."""


def alter(cursor: Cursor) -> AlterTable | RenameTable | RemovePartitions | ChangeTag:
    """Read the rest of a statement after ALTER TABLE."""
    name = parts.table_name(cursor)
    if cursor.skip("RENAME", "TO"):
        to = parts.table_name(cursor)
        cursor.end()
        return RenameTable(name, to)
    if cursor.peek("DROP", "PARTITION") or cursor.peek("DROP", "IF", "EXISTS", "PARTITION"):
        return _partitions(cursor, name)
    if (change := tag_change(cursor, name)) is not None:
        return change
    found = _changes(cursor, name)
    cursor.end()
    return found


def comment_on(cursor: Cursor) -> AlterTable:
    """Read the rest of a statement after COMMENT."""
    cursor.need("ON", "TABLE")
    name = parts.table_name(cursor)
    cursor.need("IS")
    comment = None if cursor.skip("NULL") else cursor.text("a comment")
    cursor.end()
    return AlterTable(name, (UpdateComment(comment),))


def _changes(cursor: Cursor, name: TableName) -> AlterTable:
    if cursor.skip("ADD", "COLUMNS") or cursor.skip("ADD", "COLUMN"):
        added = cursor.listed(lambda: _added(cursor)) if cursor.peek("(") else _separated(cursor)
        return AlterTable(name, tuple(added))
    if cursor.skip("DROP", "COLUMNS") or cursor.skip("DROP", "COLUMN"):
        optional = cursor.skip("IF", "EXISTS")
        in_parentheses = cursor.skip("(")
        paths = [cursor.path("a column")]
        while cursor.skip(","):
            paths.append(cursor.path("a column"))
        if in_parentheses:
            cursor.need(")")
        missing = frozenset(".".join(path) for path in paths) if optional else frozenset()
        return AlterTable(name, tuple(DropColumn(list(path)) for path in paths), missing)
    if cursor.skip("RENAME", "COLUMN"):
        path = list(cursor.path("a column"))
        cursor.need("TO")
        return AlterTable(name, (RenameColumn(path, cursor.name("the new name")),))
    if cursor.choose("ALTER", "CHANGE"):
        cursor.skip("COLUMN")
        return AlterTable(name, (_altered(cursor, cursor.path("a column")),))
    if cursor.skip("SET", "TBLPROPERTIES"):
        found = parts.properties(cursor)
        return AlterTable(name, tuple(_set(key, value) for key, value in found.items()))
    if cursor.skip("UNSET", "TBLPROPERTIES"):
        optional = cursor.skip("IF", "EXISTS")
        keys = cursor.listed(lambda: parts.property_key(cursor))
        return AlterTable(name, tuple(map(_unset, keys)), frozenset(keys) if optional else frozenset())
    _refuse_others(cursor)
    return cursor.refuse(
        "ADD, DROP, RENAME or ALTER COLUMN, SET or UNSET TBLPROPERTIES, RENAME TO, DROP PARTITION, or "
        "CREATE, REPLACE, DELETE or RENAME TAG"
    )


def _refuse_others(cursor: Cursor) -> None:
    """Raise SqlError, which says what to use instead, for clauses of Spark that are not supported."""
    for words, instead in (
        (("ADD", "PARTITION"), "a partition exists when it has rows: insert them"),
        (("ADD", "IF", "NOT", "EXISTS", "PARTITION"), "a partition exists when it has rows: insert them"),
        (("PARTITION",), "insert the rows into the new partition, then DROP PARTITION"),
        (("SET", "LOCATION"), "a table is in the folder that its catalog chooses"),
        (("RECOVER", "PARTITIONS"), "partitions are found without it"),
        (("REPLACE", "COLUMNS"), "use ADD COLUMNS and DROP COLUMNS"),
        (("CLUSTER", "BY"), "use SET TBLPROPERTIES ('clustering.columns' = 'id')"),
    ):
        if cursor.peek(*words):
            cursor.fail(f"ALTER TABLE ... {' '.join(words)} is not supported: {instead}")


def _separated(cursor: Cursor) -> list[SchemaChange]:
    found: list[SchemaChange] = [_added(cursor)]
    while cursor.skip(","):
        found.append(_added(cursor))
    return found


def _added(cursor: Cursor) -> SchemaChange:
    path = list(cursor.path("the name of a column"))
    kind = parts.type_text(cursor)
    comment = default = None
    place: dict[str, str | bool] = {}
    while True:
        if cursor.peek("NOT", "NULL"):
            cursor.fail("a new column is null in the rows that exist: leave out NOT NULL")
        if cursor.skip("COMMENT"):
            comment = cursor.text("a comment")
        elif cursor.skip("DEFAULT"):
            default = _default(cursor)
        elif cursor.peek("FIRST") or cursor.peek("AFTER"):
            place = _place(cursor)
        else:
            return AddColumn(path, kind, comment, default, **place)  # type: ignore[arg-type]


def _place(cursor: Cursor) -> dict[str, str | bool]:
    if cursor.skip("FIRST"):
        return {"first": True}
    cursor.need("AFTER")
    return {"after": cursor.name("a column")}


def _default(cursor: Cursor) -> str | None:
    value = cursor.literal("a default")
    return str(value).lower() if isinstance(value, bool) else None if value is None else str(value)


def _altered(cursor: Cursor, path: tuple[str, ...]) -> SchemaChange:
    column = list(path)
    if cursor.skip("TYPE"):
        return UpdateType(column, parts.type_text(cursor))
    if cursor.skip("COMMENT"):
        return UpdateColumnComment(column, cursor.text("a comment"))
    if cursor.skip("SET", "NOT", "NULL"):
        return UpdateNullability(column, nullable=False)
    if cursor.skip("DROP", "NOT", "NULL"):
        return UpdateNullability(column, nullable=True)
    if cursor.skip("SET", "DEFAULT"):
        return UpdateDefault(column, _default(cursor))
    if cursor.skip("DROP", "DEFAULT"):
        return UpdateDefault(column, None)
    if cursor.peek("FIRST") or cursor.peek("AFTER"):
        if len(path) > 1:
            cursor.fail(f"{'.'.join(path)} is a field of a column: only columns can be moved")
        return UpdatePosition(path[0], **_place(cursor))  # type: ignore[arg-type]
    return cursor.refuse("TYPE, COMMENT, SET or DROP NOT NULL, SET or DROP DEFAULT, FIRST or AFTER")


def _set(key: str, value: str) -> SchemaChange:
    return UpdateComment(value) if key == _COMMENT else SetOption(key, value)


def _unset(key: str) -> SchemaChange:
    return UpdateComment(None) if key == _COMMENT else RemoveOption(key)


def _partitions(cursor: Cursor, name: TableName) -> RemovePartitions:
    cursor.need("DROP")
    optional = cursor.skip("IF", "EXISTS")
    specs = []
    while True:
        cursor.need("PARTITION")
        specs.append(parts.static_partition(cursor))
        if not cursor.skip(","):
            break
    if cursor.peek("PURGE"):
        cursor.fail("PURGE is not supported: older snapshots keep the files until CALL sys.expire_snapshots")
    cursor.end()
    return RemovePartitions(name, tuple(specs), must_exist=not optional)
