"""Operations of Spark on tables of every kind, for a session in local mode, on a cluster or of Spark Connect.

``python -m tests.cluster.operations SESSION WAREHOUSE`` prints what each operation gave, and the rows of all tables at
the end, as JSON; SESSION is ``local``, ``connect`` or ``submitted``, then ``spark-submit`` knows the master. With
``OPERATIONS=all`` in the environment there are more than sixty operations, on all tables instead of some.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import paimon_core as paimon
from paimon_core import Delete, Update, col
from paimon_core.spark import (
    PaimonDataSource,
    apply_spark,
    changes_spark,
    compact_spark,
    delete_spark,
    merge_spark,
    plan_orphan_removal_spark,
    read_spark,
    rescale_spark,
    rewrite_file_index_spark,
    session,
    sort_compact_spark,
    update_spark,
    write_spark,
)
from paimon_core.spark.sql.lake import SparkLake

COLUMNS = {"p": "STRING", "id": "BIGINT", "n": "INT", "v": "STRING"}
KEYED: dict[str, Any] = {"primary_key": ["p", "id"], "partition_by": ["p"]}
SUM = {"fields.n.aggregate-function": "sum"}
TABLES: dict[str, dict[str, Any]] = {
    "fixed": {**KEYED, "options": {"bucket": "2"}},
    "dynamic": {**KEYED, "options": {"bucket": "-1"}},
    "crossing": {"primary_key": ["id"], "partition_by": ["p"], "options": {"bucket": "-1"}},
    "postponed": {**KEYED, "options": {"bucket": "-2"}},
    "partial": {**KEYED, "options": {"bucket": "2", "merge-engine": "partial-update"}},
    "summed": {
        **KEYED,
        "options": {"bucket": "2", "merge-engine": "aggregation", "fields.n.aggregate-function": "sum"},
    },
    "first": {**KEYED, "options": {"bucket": "2", "merge-engine": "first-row"}},
    "vectors": {**KEYED, "options": {"bucket": "2", "deletion-vectors.enabled": "true"}},
    "append": {"partition_by": ["p"]},
    "bucketed": {"options": {"bucket": "3", "bucket-key": "id"}},
    "tracked": {"options": {"row-tracking.enabled": "true"}},
}
ALL = os.environ.get("OPERATIONS") == "all"
CHANGED = ("fixed", "dynamic", "append", "tracked") if ALL else ("fixed", "tracked")
"""Tables of which rows are changed."""
PLAYED = tuple(TABLES) if ALL else (*CHANGED, "append", "bucketed")
"""Tables that are written, read and compacted."""


@dataclass(frozen=True)
class Lake:
    """A session and a catalog with the tables."""

    spark: SparkSession
    catalog: Any
    warehouse: str

    @cached_property
    def statements(self) -> SparkLake:
        """The SQL of the catalog."""
        return session(self.spark, self.catalog)

    def table(self, name: str) -> Any:
        return self.catalog.table(f"db.{name}")

    def rows(self, first: int, end: int, version: int) -> DataFrame:
        columns = ("concat('p', id % 3) AS p", "id", f"CAST(id % 10 AS INT) + {version} AS n", f"'v{version}' AS v")
        return self.spark.range(first, end, 1, 3).selectExpr(*columns)

    def content(self, name: str) -> list[Any]:
        return sorted(map(list, zip(*self.table(name).scan().to_arrow().to_pydict().values(), strict=True)), key=str)


Operation = tuple[str, Callable[[Lake], Any]]


def written(lake: Lake, name: str, first: int, end: int, version: int) -> Any:
    return write_spark(lake.rows(first, end, version), lake.table(name)).total_record_count


def of_every_table(name: str) -> Iterator[Operation]:
    """Two writes, a read with a filter, and a compaction."""
    yield f"write {name}", lambda lake: written(lake, name, 0, 60, 0)
    yield f"write {name} again", lambda lake: written(lake, name, 40, 90, 1)
    if name != "postponed":
        yield (
            f"read {name}",
            lambda lake: sorted(
                map(list, read_spark(lake.spark, lake.table(name), ["id", "v"], col("p") == "p1").collect())
            ),
        )
    if name != "append":
        yield f"compact {name}", lambda lake: bool(compact_spark(lake.spark, lake.table(name), full=True))


def of_changed_table(name: str) -> Iterator[Operation]:
    """Update, delete and merge."""
    changed = {"n": 100} if name != "tracked" else {"v": "updated"}
    yield f"update {name}", lambda lake: update_spark(lake.spark, lake.table(name), changed, "id < 5") is not None
    yield f"delete {name}", lambda lake: delete_spark(lake.spark, lake.table(name), col("id") == 7) is not None
    yield (
        f"merge {name}",
        lambda lake: (
            merge_spark(
                lake.spark,
                lake.table(name),
                lake.rows(85, 95, 5),
                ["p", "id"],
                when_matched=[Delete(where="source.id = 86"), Update()],
            )
            is not None
        ),
    )


def repeated(lake: Lake) -> Any:
    """A write that is repeated with its user and identifier."""
    rows = lake.rows(200, 203, 0)
    return [write_spark(rows, lake.table("fixed"), user="u", identifier=1).id for _ in range(2)][1]


def by_format(lake: Lake) -> int:
    lake.spark.dataSource.register(PaimonDataSource)
    options = {"warehouse": lake.warehouse}
    lake.rows(300, 310, 0).write.format("paimon").options(**options).mode("append").save("db.bucketed")
    return lake.spark.read.format("paimon").options(**options).load("db.bucketed").count()


def expired(lake: Lake) -> Any:
    table = lake.table("fixed")
    plan = table.maintenance.plan_snapshot_expiry(keep_last=2, keep_max=2, older_than=datetime.timedelta(0))
    return bool(apply_spark(lake.spark, table, plan))


def of_single_tables() -> Iterator[Operation]:
    """Operations that are specific to one kind of table."""
    yield (
        "overwrite partitions",
        lambda lake: write_spark(lake.rows(0, 4, 7), lake.table("append"), overwrite="dynamic").total_record_count,
    )
    yield (
        "overwrite by a filter",
        lambda lake: (
            write_spark(lake.rows(1, 2, 8), lake.table("append"), overwrite=col("p") == "p1").total_record_count
        ),
    )
    yield (
        "row kinds",
        lambda lake: (
            write_spark(lake.rows(10, 20, 0).selectExpr("*", "'-D' AS kind"), lake.table("fixed"), kinds="kind").id
        ),
    )
    yield "the same identifier twice", repeated
    yield (
        "order of rows",
        lambda lake: (
            write_spark(lake.rows(50, 55, 3).union(lake.rows(50, 55, 2)), lake.table("fixed"), order_by=["n"]).id
        ),
    )
    yield (
        "a new column",
        lambda lake: (
            write_spark(
                lake.rows(55, 57, 3).selectExpr("*", "1.5D AS more"), lake.table("bucketed"), merge_schema=True
            ).schema_id
        ),
    )
    yield "sort", lambda lake: bool(sort_compact_spark(lake.spark, lake.table("append"), ["id"]))
    yield "rescale", lambda lake: rescale_spark(lake.spark, lake.table("fixed"), 3, col("p") == "p1") is not None
    yield "indexes", lambda lake: rewrite_file_index_spark(lake.spark, lake.table("fixed"))
    yield "changes", lambda lake: changes_spark(lake.spark, lake.table("fixed"), 1, 2).count()
    yield "format", by_format
    yield "orphans", lambda lake: len(plan_orphan_removal_spark(lake.spark, lake.table("fixed")).files)
    yield "expiry", expired


SQL = (
    "CREATE TABLE db.sqled (id BIGINT NOT NULL, v STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '2')",
    "INSERT INTO db.sqled SELECT id, v FROM db.fixed WHERE id < 30",
    "INSERT INTO db.sqled VALUES (1000, 'one'), (1001, '{two}'), (1002, DEFAULT)",
    "UPDATE db.sqled SET v = concat(v, '!') WHERE id > 1000",
    "DELETE FROM db.sqled WHERE id = 3",
    "DELETE FROM db.sqled WHERE id IN (SELECT f.id FROM db.fixed f WHERE f.id = db.sqled.id AND f.id > 27) OR v = '{'",
    "MERGE INTO db.sqled AS t USING (SELECT id, v FROM db.append) AS s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *",
    "WITH c AS (SELECT id, n FROM db.fixed), m AS (SELECT max(id) AS most FROM c) MERGE INTO db.sqled t "
    "USING (SELECT id FROM c WHERE id < 9 UNION ALL SELECT 2000) s ON t.id = s.id WHEN MATCHED AND s.id IN (SELECT id "
    "FROM c WHERE n > 0) THEN UPDATE SET v = (SELECT concat('n', max(n)) FROM c WHERE c.id = t.id) WHEN NOT MATCHED "
    "THEN INSERT (id, v) VALUES (s.id, (SELECT CAST(most AS STRING) FROM m))",
    "CREATE TEMPORARY VIEW few (ident, w) AS SELECT id, v FROM db.sqled WHERE id < 9 OR id = 2000",
    "UPDATE db.sqled SET v = (SELECT max(w) FROM few WHERE ident = id) WHERE id IN (SELECT ident FROM few)",
    "SELECT few.*, t.v FROM few JOIN db.sqled t ON t.id = few.ident ORDER BY 1",
    "DROP VIEW few",
    "SELECT v, count(*) AS c FROM db.sqled GROUP BY v ORDER BY v",
    "SELECT f.id, s.v FROM db.fixed AS f JOIN db.sqled VERSION AS OF 1 AS s ON f.id = s.id ORDER BY f.id LIMIT 5",
)


PARAMETERS: tuple[tuple[str, Any], ...] = (
    ("INSERT INTO db.sqled VALUES (:id, :v)", {"id": 3000, "v": '{it\'s} \\ "?"'}),
    ("UPDATE db.sqled SET v = concat(v, ?) WHERE id = ? AND v <> ?", ["!", 3000, ""]),
    ("SELECT v, :a FROM db.sqled WHERE id = :id AND v LIKE :like", {"a": [1, 2], "id": 3000, "like": "{it's}%"}),
)


def operations() -> list[Operation]:
    """All operations, in their order."""
    found = [operation for name in PLAYED for operation in of_every_table(name)]
    found += [operation for name in CHANGED for operation in of_changed_table(name)]
    found += list(of_single_tables())
    found += [(text, lambda lake, text=text: answer(lake, text)) for text in SQL]
    return found + [(text, lambda lake, text=text, args=args: answer(lake, text, args)) for text, args in PARAMETERS]


def answer(lake: Lake, text: str, args: Any = None) -> Any:
    rows = lake.statements.sql(text, args).collect()
    return sorted(map(list, rows), key=str) if text.startswith("SELECT") else len(rows)


SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    # The operations have few rows: generating and compiling Java code for them takes longer.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
DAEMON = {"spark.python.daemon.module": "paimon_core.spark.daemon"}
"""Where the machines have the package; a submitted job brings it in an archive."""


def started(where: str) -> SparkSession:
    builder = SparkSession.builder
    if where == "connect":
        builder = builder.remote("local[2]")
    elif where == "local":
        builder = builder.master("local[2]")
    for name, value in (SETTINGS if where == "submitted" else SETTINGS | DAEMON).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def main(where: str, warehouse: str) -> None:
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    for name in PLAYED:
        catalog.create_table(f"db.{name}", COLUMNS, **TABLES[name])
    spark = started(where)
    lake, gave = Lake(spark, catalog, warehouse), {}
    for name, operation in operations():
        found = operation(lake)
        gave[name] = found if isinstance(found, int | list | None) else True
        print(f"{name}: {str(gave[name])[:60]}", file=sys.stderr, flush=True)
    spark.stop()
    tables = {name: lake.content(name) for name in (*PLAYED, "sqled")}
    findings = {name: [str(one) for one in lake.table(name).maintenance.check(deep=True).findings] for name in tables}
    print(json.dumps({"gave": gave, "tables": tables, "findings": findings}, default=str))


if __name__ == "__main__":
    main(*sys.argv[1:])
