"""Bad commands: arguments of ``paimon-core``; each prints one line and exits with a code other than 0."""

from __future__ import annotations

from tests.bad_inputs.case import SECRET, Case, Cases, CommandRefused, case


def run(*arguments: str, says: tuple[str, ...]) -> Case:
    return case(lambda lake: lake.command(*arguments), CommandRefused, "^paimon-core", *says)


DIGITS = "9" * 5000
LONG_NUMBERS: Cases = {
    f"5,000 digits of {' '.join(words)}": run(words[0], "db.keyed", *words[1:-1], DIGITS, says=("99999", words[-1]))
    for words in (
        ("head", "--snapshot", "40 digits"),
        ("head", "-n", "40 digits"),
        ("head", "--tag", "tag name"),
        ("head", "--time", "is not a time"),
        ("changes", "--start", "64 bits"),
        ("diff", "1", "64 bits"),
        ("tail", "--follow", "--from", "64 bits"),
        ("rollback", "--snapshot", "40 digits"),
        ("rescale", "--buckets", "40 digits"),
        ("history", "-n", "40 digits"),
    )
}
CASES: Cases = {
    **LONG_NUMBERS,
    "5,000 digits in SQL": run("sql", f"SELECT * FROM db.keyed AT (VERSION => {DIGITS})", says=("keyed", "64 bits")),
    "a command that is unknown": run("nosuch", says=("nosuch",)),
    "a table without database": run("snapshots", "t", says=("'t' must be 'database.table'",)),
    "a table that is missing": run("snapshots", "db.no", says=("no table db.no",)),
    "a database that is missing": run("tables", "no", says=("no database no",)),
    "a branch that is missing": run("snapshots", "db.keyed", "--branch", "no", says=("'no'",)),
    "a branch that is a path": run("snapshots", "db.keyed", "--branch", "../x", says=("branch name",)),
    "an option of no value": run("tables", "--option", "x", says=("KEY=VALUE",)),
    "an option that is unknown": run("tables", "--option", "nosuch=1", says=("nosuch",)),
    "a secret in an option": run("tables", "--option", f"s3.secret-key={SECRET}", says=("s3.secret-key", "secret")),
    "a password in a URI": run("tables", "--uri", f"postgresql://u:{SECRET}@h/d", says=("--uri", "password")),
    "a catalog that is unknown": run("tables", "--catalog", "hive", says=("hive",)),
    "a change that is none": run("alter", "db.keyed", "ADD nothing", says=("ADD COLUMN",)),
    "a change of a key": run("alter", "db.keyed", "DROP COLUMN k", says=("'k'", "primary key")),
    "a tag of digits": run("tags", "create", "db.keyed", "7", says=("'7'", "digits")),
    "a tag that exists": run("tags", "create", "db.keyed", "monday", says=("'monday'",)),
    "a tag of a missing snapshot": run("tags", "create", "db.keyed", "x", "--snapshot", "9", says=("9",)),
    "a tag of a snapshot that is a word": run(
        "tags", "create", "db.keyed", "x", "--snapshot", "last", says=("'last'",)
    ),
    "a tag kept without unit": run("tags", "create", "db.keyed", "x", "--keep-for", "7", says=("'7'", "7 d", "7 ms")),
    "a tag kept for a word": run("tags", "create", "db.keyed", "x", "--keep-for", "1 fortnight", says=("fortnight",)),
    "a tag kept for ages": run("tags", "create", "db.keyed", "x", "--keep-for", "9" * 30 + " d", says=("duration",)),
    "a tag at a time that is a word": run("tags", "create", "db.keyed", "x", "--time", "noon", says=("'noon'",)),
    "a tag to delete that is missing": run("tags", "delete", "db.keyed", "no", "--apply", says=("'no'",)),
    "a tag to rename that is missing": run("tags", "rename", "db.keyed", "no", "x", says=("'no'",)),
    "a branch named main": run("branches", "create", "db.keyed", "main", says=("'main'",)),
    "a branch of a missing tag": run("branches", "create", "db.keyed", "x", "--tag", "no", says=("'no'",)),
    "a branch to delete that is missing": run("branches", "delete", "db.keyed", "no", "--apply", says=("'no'",)),
    "a rollback to nothing": run("rollback", "db.keyed", "--apply", says=("--snapshot",)),
    "a rollback to two targets": run("rollback", "db.keyed", "--snapshot", "1", "--tag", "monday", says=("--tag",)),
    "a rollback to a missing snapshot": run("rollback", "db.keyed", "--snapshot", "9", "--apply", says=("9",)),
    "an age without unit": run("expire", "snapshots", "db.keyed", "--older-than", "7", says=("'7'", "no unit")),
    "a negative age": run("expire", "snapshots", "db.keyed", "--older-than=-1 d", says=("-1 d",)),
    "no snapshots to keep": run("expire", "snapshots", "db.keyed", "--keep-last", "0", "--apply", says=("keep_last",)),
    "a strategy that is unknown": run("expire", "partitions", "db.days", "--strategy", "random", says=("random",)),
    "partitions of a table without": run(
        "expire", "partitions", "db.keyed", "--older-than", "1 d", says=("partition",)
    ),
    "a partition that is none": run("mark-done", "db.days", "day", says=("'day' is not a partition",)),
    "a partition twice": run("mark-done", "db.days", "day=1,day=2", says=("twice",)),
    "a partition of another column": run("mark-done", "db.days", "k=1", says=("day",)),
    "a plan that is missing": run("apply", "/nosuch/plan", says=("/nosuch/plan",)),
    "a plan that is none": run("apply", "/dev/null", says=("plan",)),
    "a plan to apply and to write": run(
        "expire", "snapshots", "db.keyed", "--apply", "--plan-out", "x", says=("--plan-out",)
    ),
    "a quarantine that is missing": run("orphans", "undo", "db.keyed", "nosuch", says=("nosuch",)),
    "a mode that is unknown": run("orphans", "remove", "db.keyed", "--mode", "burn", says=("burn",)),
}
