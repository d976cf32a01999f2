"""Bad alterations: changes of a table's columns, comments and options, as values and as text."""

from __future__ import annotations

from typing import Any

from paimon_core.alter import (
    AddColumn,
    DropColumn,
    RemoveOption,
    RenameColumn,
    SetOption,
    UpdateColumnComment,
    UpdateComment,
    UpdateDefault,
    UpdateNullability,
    UpdatePosition,
    UpdateType,
)
from paimon_core.errors import InvalidOption, InvalidRequest
from paimon_core.limits import COLUMN_NAME_BYTES, TEXT_BYTES
from tests.bad_inputs.case import SECRET, Case, Cases, case


def altered(
    *changes: Any, says: tuple[str, ...], error: type[Exception] = InvalidRequest, table: str = "keyed"
) -> Case:
    return case(lambda lake: lake.table(table).alter(*changes), error, *says)


def wide(change: Any, *says: str, error: type[Exception] = InvalidRequest) -> Case:
    return altered(change, says=says, error=error, table="wide")


def keyed(change: Any, *says: str, error: type[Exception] = InvalidRequest) -> Case:
    return altered(change, says=says, error=error)


VALUES: dict[str, Case] = {
    "no change": keyed(7, "7", "not a schema change"),
    "a text that is none": keyed("please add a column", "ADD COLUMN", "at character 1"),
    "an empty text": keyed("", "ADD COLUMN", "the end"),
    "a text with garbage behind": keyed("DROP COMMENT nonsense", "nonsense", "at character 14"),
    "a text that is open": keyed("COMMENT 'x", "'", "at character 9"),
    "a text of 1 MB": keyed("COMMENT '" + "x" * 1_000_000 + "'", "too long", "65536"),
    "an injection": keyed("DROP COLUMN v; DROP TABLE t", "';'|at character 14"),
    "a type that is none": keyed("ADD COLUMN x NOSUCH", "NOSUCH", "at character 14"),
    "a column that exists": keyed(AddColumn("v", "INT"), "'v' already exists"),
    "a reserved column": keyed(AddColumn("_LEVEL", "INT"), "'_LEVEL' is reserved"),
    "a blank column": keyed(AddColumn(" ", "INT"), "blank"),
    "a column with NUL": keyed(AddColumn("a\0", "INT"), r"U\+0000 at 1"),
    "a column of a surrogate": keyed(AddColumn("a\ud800", "INT"), "ud800|D800"),
    "a column of 1 MB": keyed(AddColumn("c" * 1_000_000, "INT"), "1000000 bytes", str(COLUMN_NAME_BYTES)),
    "a column of no name": keyed(AddColumn([], "INT"), "name", r"\[\]"),
    "a column that is a number": keyed(AddColumn(7, "INT"), "7"),
    "a column that is NOT NULL": keyed(AddColumn("x", "INT NOT NULL"), "'x'", "nullable"),
    "a column of an unknown type": keyed(AddColumn("x", "NOSUCH"), "'x'", "NOSUCH"),
    "a column of a type that is a number": keyed(AddColumn("x", 7), "'x'", "7"),
    "a column of 33 levels": keyed(AddColumn("x", "ARRAY<" * 32 + "INT" + ">" * 32), "'x'", "32"),
    "a column of two positions": keyed(AddColumn("x", "INT", first=True, after="k"), "position"),
    "a column after a missing one": keyed(AddColumn("x", "INT", after="zz"), "'zz'"),
    "a column with a default that is none": keyed(AddColumn("x", "INT", default="abc"), "'x'", "'abc'"),
    "a column with a default of 2 MB": keyed(AddColumn("x", "STRING", default="d" * (2 << 20)), "'x'", str(TEXT_BYTES)),
    "a column with a comment of 2 MB": keyed(AddColumn("x", "INT", "c" * (2 << 20)), "'x'", str(TEXT_BYTES)),
    "a field of a column that is no ROW": keyed(AddColumn(["v", "x"], "INT"), "v"),
    "a field of a missing column": keyed(AddColumn(["zz", "x"], "INT"), "'zz|zz'"),
    "a default of a nested field": wide(AddColumn(["r", "z"], "INT", default="1"), "r.z", "default"),
    "a missing column to drop": keyed(DropColumn("zz"), "'zz'", "k, v"),
    "a key to drop": keyed(DropColumn("k"), "'k'", "primary key"),
    "a partition key to drop": altered(DropColumn("day"), says=("'day'", "partition key"), table="days"),
    "an element to drop": wide(DropColumn(["arr", "element"]), "arr"),
    "all fields of a ROW to drop": altered(
        DropColumn(["r", "x"]), DropColumn(["r", "y"]), says=("r.y", "last"), table="wide"
    ),
    "all columns to drop": altered(DropColumn("name"), says=("'name'", "partition"), table="names"),
    "a missing column to rename": keyed(RenameColumn("zz", "x"), "'zz'"),
    "a rename to a column that exists": keyed(RenameColumn("v", "k"), "'v'", "'k' already exists"),
    "a rename to a reserved name": keyed(RenameColumn("v", "_ROW_ID"), "'_ROW_ID' is reserved"),
    "a rename to a number": keyed(RenameColumn("v", 7), "'v'", "7"),
    "a rename to nothing": keyed(RenameColumn("v", ""), "blank"),
    "a rename of a partition key": altered(RenameColumn("day", "d"), says=("'day'", "partition key"), table="days"),
    "a nested name that is blank": wide(RenameColumn(["r", "x"], " "), "blank"),
    "a text that becomes a ROW": keyed(UpdateType("v", "ROW<a INT>"), "'v'", "STRING", "ROW"),
    "a key that becomes wider": keyed(UpdateType("k", "BIGINT"), "'k'", "primary key"),
    "a MAP that becomes an ARRAY": wide(UpdateType("m", "ARRAY<INT>"), "'m'", "MAP", "ARRAY"),
    "a date that becomes a number": wide(UpdateType("day", "INT"), "'day'", "DATE", "INT"),
    "a type that changes the nullability": altered(
        UpdateType("v", "STRING NOT NULL"), says=("'v'", "nullability"), table="keyed"
    ),
    "NOT NULL for old rows": keyed(UpdateNullability("v", False), "'v'", "alter-column-null-to-not-null.disabled"),
    "a key that becomes nullable": keyed(UpdateNullability("k", True), "'k'", "nullable"),
    "a comment that is a number": keyed(UpdateColumnComment("v", 7), "'v'", "7"),
    "a comment of an element": wide(UpdateColumnComment(["arr", "element"], "x"), "arr.element", "comment"),
    "a comment of the table that is a number": keyed(UpdateComment(7), "comment", "7"),
    "a comment of the table of 2 MB": keyed(UpdateComment("c" * (2 << 20)), "comment", str(TEXT_BYTES)),
    "a default that is none": wide(UpdateDefault("i8", "300"), "'i8'", "300"),
    "a default that is a number": wide(UpdateDefault("i8", 3), "'i8'", "3"),
    "a default of a ROW": wide(UpdateDefault("r", "x"), "'r'", "form of type ROW"),
    "a position of nothing": keyed(UpdatePosition("v"), "first, last, after"),
    "a position next to itself": keyed(UpdatePosition("v", after="v"), "'v'", "itself"),
    "a position after a missing column": keyed(UpdatePosition("v", after="zz"), "'zz'"),
    "a position of a missing column": keyed(UpdatePosition("zz", first=True), "'zz'"),
}
OPTIONS: dict[str, Case] = {
    "a misspelt option": keyed(SetOption("write-onyl", "true"), "did you mean 'write-only'", error=InvalidOption),
    "an option that is a list": keyed(SetOption("write-only", ["true"]), "write-only", "text", error=InvalidOption),
    "a bad value": keyed(SetOption("write-only", "maybe"), "write-only", "maybe", error=InvalidOption),
    "a value of 2 MB": keyed(SetOption("commit.user-prefix", "u" * (2 << 20)), "commit.user-prefix", str(TEXT_BYTES)),
    "a secret": keyed(SetOption("fs.s3.secret.key", SECRET), "fs.s3.secret.key", error=InvalidOption),
    "a secret in a text": keyed(f"SET ('fs.s3.secret.key' = '{SECRET}')", "fs.s3.secret.key", error=InvalidOption),
    "0 buckets": keyed(SetOption("bucket", "0"), "bucket", "0", error=InvalidOption),
    "dynamic buckets": keyed(SetOption("bucket", "-1"), "bucket"),
    "no buckets": keyed(RemoveOption("bucket"), "bucket", "removed", error=InvalidOption),
    **{
        f"another {key}": keyed(SetOption(key, value), key, "cannot change once the table has a snapshot")
        for key, value in (
            ("bucket-key", "k"),
            ("merge-engine", "first-row"),
            ("rowkind.field", "v"),
        )
    },
    "another primary key": keyed(SetOption("primary-key", "v"), "primary-key", "never", error=InvalidOption),
    "another partition": keyed(SetOption("partition", "v"), "partition", "never", error=InvalidOption),
    "another path": keyed(SetOption("path", "/etc"), "path", error=InvalidOption),
    "another type": keyed(SetOption("type", "view"), "type", "never", error=InvalidOption),
    "the path to remove": keyed(RemoveOption("path"), "path", error=InvalidOption),
    "deletion vectors": keyed(SetOption("deletion-vectors.enabled", "true"), "deletion-vectors.enabled"),
    "a sequence field of no column": keyed(SetOption("sequence.field", "zz"), "sequence.field", "'zz'"),
    "a retention of less than the minimum": altered(
        SetOption("snapshot.num-retained.min", "5"),
        SetOption("snapshot.num-retained.max", "2"),
        says=("snapshot.num-retained.min = 5", "= 2"),
    ),
}
CASES: Cases = {**VALUES, **OPTIONS}
