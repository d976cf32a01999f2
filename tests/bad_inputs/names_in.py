"""Bad names: databases, tables, tags, branches, consumers, groups and commit users."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from paimon_core.errors import (
    AlreadyExists,
    BranchNotFound,
    DatabaseNotFound,
    InvalidRequest,
    NotFound,
    TableNotFound,
    TagNotFound,
    UnsupportedFeature,
)
from tests.bad_inputs.case import Case, Cases, Lake, case
from tests.support.broken_tables import some_rows

SCHEMA = pa.schema([("k", pa.int64())])
ROWS = some_rows([1])

BAD: dict[str, tuple[str, str]] = {
    "empty": ("", "'database.table'|not blank"),
    "blank": (" \t", "not blank|control"),
    "parent": ("../x", "no '/'|'database.table'"),
    "deep": ("../../evilt", "no '/'|'database.table'"),
    "absolute": ("/abs", "no '/'"),
    "drive": ("C:\\x", "has no"),
    "colon": ("a:b", "':' at 1"),
    "glob": ("a*", r"'\*' at 1"),
    "dot": ("a.b", "dot|'database.table'"),
    "suffix": ("x.db", "dot|'database.table'"),
    "hidden": (".x", "dot|'database.table'"),
    "dollar": ("t$snapshots", r"'\$'|system table"),
    "long": ("a" * 256, "256 bytes, the limit is 200"),
    "long in bytes": ("ä" * 101, "202 bytes"),
    "1 MB": ("a" * 1_000_000, "1000000 bytes, the limit is 200"),
    "nul": ("a\0b", "control"),
    "newline": ("a\nb", "control"),
    "delete": ("a\x7fb", r"U\+007F at 1"),
    "bidi": ("abc\u202egpj", r"U\+202E at 3"),
    "no width": ("a\u200bb", r"U\+200B at 1"),
    "surrogate": ("a\ud800", "control|surrogate|not blank"),
    "reserved": ("CON", "not portable"),
    "reserved, small": ("lpt1", "not portable"),
    "space behind": ("a ", "not portable"),
    "space before": (" a", "not portable"),
}
"""Names that neither a database nor a table may have."""
BAD_FILES: dict[str, str] = {
    "empty": "",
    "blank": "  ",
    "parent": "../../../../evil",
    "slash": "a/b",
    "backslash": "a\\b",
    "hidden": ".x",
    "dots": "..",
    "nul": "a\0b",
    "newline": "a\nb",
    "surrogate": "a\ud800",
    "long": "a" * 201,
    "10 kB": "a" * 10_000,
}
"""Names that no tag, branch, consumer, quarantine or group may have: each becomes a part of a path."""


def _named(error: type[Exception], call: Callable[[Lake, str], Any]) -> dict[str, Case]:
    return {
        what: case(lambda lake, name=name: call(lake, name), error, "must be text|the limit is")
        for what, name in BAD_FILES.items()
    }


def _prefixed(what: str, cases: dict[str, Case]) -> dict[str, Case]:
    return {f"{what} {name}": one for name, one in cases.items()}


def _catalog_names() -> dict[str, Case]:
    found: dict[str, Case] = {}
    calls: dict[str, Callable[[Lake, str], Any]] = {
        "database": lambda lake, name: lake.catalog.create_database(name),
        "table": lambda lake, name: lake.catalog.create_table(f"db.{name}", SCHEMA),
        "renamed table": lambda lake, name: lake.catalog.rename_table("db.append", f"db.{name}"),
        "sql database": lambda lake, name: lake.sql.create_database(name),
        "sql table": lambda lake, name: lake.sql.create_table(f"db.{name}", SCHEMA),
    }
    for what, call in calls.items():
        for kind, (name, says) in BAD.items():
            found[f"{what} {kind}"] = case(lambda lake, c=call, n=name: c(lake, n), InvalidRequest, says)
    return found


CASES: Cases = {
    **_catalog_names(),
    "a table of no text": case(lambda lake: lake.catalog.table(7), InvalidRequest, "'database.table'"),
    "a table without database": case(lambda lake: lake.catalog.table("t"), InvalidRequest, "'t' must be 'database"),
    "a table of three names": case(lambda lake: lake.catalog.table("a.b.c"), InvalidRequest, "'a.b.c' must be"),
    "a table that is missing": case(lambda lake: lake.catalog.table("db.nosuch"), TableNotFound, "nosuch"),
    "a database that is missing": case(lambda lake: lake.catalog.table("no.t"), DatabaseNotFound, "no"),
    "a table in a missing database": case(
        lambda lake: lake.catalog.create_table("no.t", SCHEMA), DatabaseNotFound, "'no'|no"
    ),
    "a system table": case(lambda lake: lake.catalog.table("db.keyed$files"), UnsupportedFeature, "system table"),
    "a branch of a table to create": case(
        lambda lake: lake.catalog.create_table("db.keyed$branch_x", SCHEMA), InvalidRequest, "names a branch"
    ),
    "the database sys": case(lambda lake: lake.catalog.create_database("SYS"), InvalidRequest, "reserved"),
    "a database that exists": case(lambda lake: lake.catalog.create_database("db"), AlreadyExists, "db"),
    "a database of another case": case(lambda lake: lake.catalog.create_database("DB"), AlreadyExists, "'db'"),
    "a table that exists": case(lambda lake: lake.catalog.create_table("db.keyed", SCHEMA), AlreadyExists, "keyed"),
    "a table of another case": case(
        lambda lake: lake.catalog.create_table("db.KEYED", SCHEMA), AlreadyExists, "conflicts with the existing"
    ),
    "a database with tables to drop": case(
        lambda lake: lake.catalog.drop_database("db"), InvalidRequest, "'?db'?", "tables|empty"
    ),
    "a database to drop that is missing": case(lambda lake: lake.catalog.drop_database("no"), DatabaseNotFound, "no"),
    "a table to drop that is missing": case(lambda lake: lake.catalog.drop_table("db.no"), TableNotFound, "no"),
    "a table to rename that is missing": case(
        lambda lake: lake.catalog.rename_table("db.no", "db.other"), TableNotFound, "no"
    ),
    "a rename to a table that exists": case(
        lambda lake: lake.catalog.rename_table("db.append", "db.keyed"), AlreadyExists, "keyed"
    ),
    "a branch in the name of a table that is missing": case(
        lambda lake: lake.catalog.table("db.keyed$branch_no"), BranchNotFound, "'no'", "dev"
    ),
    **_prefixed("tag", _named(InvalidRequest, lambda lake, name: lake.table("keyed").tags.create(name))),
    **_prefixed("new tag", _named(InvalidRequest, lambda lake, name: lake.table("keyed").tags.rename("monday", name))),
    **_prefixed("branch", _named(InvalidRequest, lambda lake, name: lake.table("keyed").branches.create(name))),
    **_prefixed(
        "new branch", _named(InvalidRequest, lambda lake, name: lake.table("keyed").branches.rename("dev", name))
    ),
    **_prefixed("branch to open", _named(InvalidRequest, lambda lake, name: lake.table("keyed").branch(name))),
    **_prefixed("group", _named(InvalidRequest, lambda lake, name: lake.catalog.group(name).publish({}))),
    **_prefixed(
        "consumer", _named(InvalidRequest, lambda lake, name: lake.table("keyed").maintenance.reset_consumer(name, 1))
    ),
    "a tag of digits": case(
        lambda lake: lake.table("keyed").tags.create("123"), InvalidRequest, "'123'", "snapshot id"
    ),
    "a tag that exists": case(lambda lake: lake.table("keyed").tags.create("monday"), AlreadyExists, "'monday' exists"),
    "a tag that is no text": case(lambda lake: lake.table("keyed").tags.create(7), InvalidRequest, "tag name 7"),
    "a tag that is missing": case(lambda lake: lake.table("keyed").at(tag="no"), TagNotFound, "no tag 'no'"),
    "a tag to delete that is missing": case(lambda lake: lake.table("keyed").tags.delete("no"), TagNotFound, "'no'"),
    "a tag to rename that is missing": case(
        lambda lake: lake.table("keyed").tags.rename("no", "x"), TagNotFound, "'no'"
    ),
    "a tag of a missing snapshot": case(
        lambda lake: lake.table("keyed").tags.create("x", 77), NotFound, "77", "1 to 1|snapshots"
    ),
    "a tag to delete that is no text": case(
        lambda lake: lake.table("keyed").tags.delete(5), InvalidRequest, "tag name 5"
    ),
    "a branch with a dot": case(
        lambda lake: lake.table("keyed").branches.create("a.b"), InvalidRequest, "'a.b'", "dot"
    ),
    "a branch with a dollar": case(lambda lake: lake.table("keyed").branches.create("a$b"), InvalidRequest, r"'\$'"),
    "a branch renamed to main": case(
        lambda lake: lake.table("keyed").branches.rename("dev", "main"), InvalidRequest, "'main'"
    ),
    "a branch named main": case(lambda lake: lake.table("keyed").branches.create("main"), InvalidRequest, "'main'"),
    "a branch of digits": case(lambda lake: lake.table("keyed").branches.create("7"), InvalidRequest, "'7'", "digits"),
    "a branch that exists": case(lambda lake: lake.table("keyed").branches.create("dev"), AlreadyExists, "'dev'"),
    "a branch of another case": case(
        lambda lake: lake.table("keyed").branches.create("DEV"), InvalidRequest, "'DEV'", "'dev'", "case"
    ),
    "a branch to delete that is missing": case(
        lambda lake: lake.table("keyed").branches.delete("no"), BranchNotFound, "'no'"
    ),
    "the branch main to delete": case(lambda lake: lake.table("keyed").branches.delete("main"), InvalidRequest, "main"),
    "a branch of a missing tag": case(
        lambda lake: lake.table("keyed").branches.create("x", tag="no"), TagNotFound, "'no'"
    ),
    "a branch to fast-forward that is missing": case(
        lambda lake: lake.table("keyed").branches.fast_forward("no"), BranchNotFound, "'no'"
    ),
    "a user with a slash": case(
        lambda lake: lake.table("append").write(ROWS, user="a/b"), InvalidRequest, "'a/b'", "at position 1"
    ),
    "a user with a line end": case(
        lambda lake: lake.table("append").write(ROWS, user="a\nb"), InvalidRequest, "position 1"
    ),
    "a user of 10 kB": case(
        lambda lake: lake.table("append").write(ROWS, user="u" * 10_000), InvalidRequest, "10000 bytes", "200"
    ),
    "a blank user": case(lambda lake: lake.table("append").write(ROWS, user=" "), InvalidRequest, "not blank"),
    "a user that is no text": case(
        lambda lake: lake.table("append").write(ROWS, user=7), InvalidRequest, "commit user", "7"
    ),
    "a user of a surrogate": case(
        lambda lake: lake.table("append").write(ROWS, user="\ud800"), InvalidRequest, "commit user"
    ),
}
