"""Time of loads that follow PostgreSQL and Kafka, beside Spark's own read of the same table.

first copy   the rows of a table by ``postgres_changes``, and by Spark's JDBC source in the same ranges, as Parquet
slot         changes of that table (inserts, updates and deletes) from the log to the commit
messages     Debezium events of Kafka from the topic to the commit

Prints wall seconds, and processor seconds of this process, of Spark's JVM and of its Python workers; those of the
servers are left out. ``python -m benchmarks.changes --rows 5000000 --changes 500000 --messages 1000000``
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from confluent_kafka import Producer

from benchmarks.processes import Processes
from paimon_lake.session import start_session
from tests.support.kafka import KafkaServer
from tests.support.lakes import SmallLake, small_lake
from tests.support.postgres import PASSWORD, PostgresServer

DRIVER = "org.postgresql:postgresql:42.7.11"
PARTS = 4
PARTITIONS = 4
COLUMNS = "{id: BIGINT, a: INT, b: BIGINT, c: DOUBLE, d: STRING, e: STRING, f: TIMESTAMP(6), g: DATE}"
ROW = (
    "i, i % 1000, i * 7, i / 3.0, 'customer ' || i % 100000, md5(i::text), "
    "timestamp '2024-01-01' + i * interval '1 s', date '2024-01-01' + (i % 365)::int"
)


PROCESSES = Processes()


def timed(name: str, count: int, work: Callable[[], object]) -> None:
    """Run the work and print its seconds."""
    began, before = time.monotonic(), PROCESSES.used()
    work()
    wall, spent = time.monotonic() - began, PROCESSES.used().since(before)
    parts = f"driver {spent.driver:.1f}, JVM {spent.jvm:.1f}, workers {spent.workers:.1f}"
    print(
        f"{name:36} {wall:7.1f} s, {count / wall:9,.0f} a second; processor {spent.total:6.1f} s ({parts})", flush=True
    )


@contextmanager
def followed_server() -> Iterator[tuple[PostgresServer, str]]:
    """A PostgreSQL server, and the URL with its password."""
    server = PostgresServer()
    try:
        yield server, server.uri().replace("+psycopg", "")
    finally:
        server.close()


def jdbc_driver(folder: Path) -> Path:
    """Return the jar of PostgreSQL's driver, which Maven fetches."""
    goal = ["dependency:copy", f"-Dartifact={DRIVER}", f"-DoutputDirectory={folder}"]
    subprocess.run([str(shutil.which("mvn")), "-q", "-B", *goal], check=True)
    (jar,) = folder.glob("*.jar")
    return jar


def fill(connection: psycopg.Connection[Any], rows: int) -> None:
    """Create the table and its rows."""
    connection.execute("CREATE SCHEMA s")
    connection.execute(
        "CREATE TABLE s.o (id bigint PRIMARY KEY, a int, b bigint, c double precision, d text, e text, "
        "f timestamp, g date)"
    )
    connection.execute(f"INSERT INTO s.o SELECT {ROW} FROM generate_series(1, {rows}) AS i")
    connection.execute("VACUUM ANALYZE s.o")


def change(connection: psycopg.Connection[Any], rows: int, changes: int) -> None:
    """Insert, update and delete, a third of the changes each, in transactions of about 1,000 changes."""
    for first in range(1, changes // 3, 333):
        last = min(first + 332, changes // 3)
        with connection.transaction():
            connection.execute(f"INSERT INTO s.o SELECT {ROW} FROM generate_series({rows + first}, {rows + last}) AS i")
            connection.execute(f"UPDATE s.o SET a = -1, d = 'moved' WHERE id BETWEEN {first} AND {last}")
            connection.execute(f"DELETE FROM s.o WHERE id BETWEEN {rows - last} AND {rows - first}")


def of_postgresql(lake: SmallLake, folder: Path, rows: int, changes: int) -> None:
    """Time the first copy, beside Spark's JDBC source, and the changes of the log."""
    with followed_server() as (server, url), psycopg.connect(url, autocommit=True) as connection:
        fill(connection, rows)
        lake.declare(
            "shop.o",
            f"columns: {COLUMNS}\nprimary_key: id\nsource: {{type: postgres_changes, table: s.o, "
            f"url: '{url.replace(PASSWORD, '${DATABASE_PASSWORD}')}', split: id, parts: {PARTS}}}\n",
        )
        spark = lake.spark()
        options = {
            "url": f"jdbc:postgresql://127.0.0.1:{server.port}/postgres",
            "user": "lake",
            "password": PASSWORD,
            "driver": "org.postgresql.Driver",
            "dbtable": "s.o",
            "fetchsize": "10000",
            "partitionColumn": "id",
            "lowerBound": "1",
            "upperBound": str(rows),
            "numPartitions": str(PARTS),
        }
        read = spark.read.format("jdbc").options(**options)
        read.load().limit(1).collect()
        for number in range(2):
            path = str(folder / f"parquet-{number}")
            timed("first copy, Spark's JDBC, Parquet", rows, lambda path=path: read.load().write.parquet(path))
        timed("first copy, postgres_changes", rows, lambda: lake.load("shop.o"))
        change(connection, rows, changes)
        timed("changes from the slot", changes // 3 * 3, lambda: lake.load("shop.o"))


def event(number: int) -> bytes:
    """Return a Debezium event that changes a row."""
    row = {"id": number % 500_000, "t": f"customer {number}", "n": number, "e": f"{number * 2654435761 % 2**64:064x}"}
    source = {"db": "shop", "schema": "s", "table": "o", "lsn": number, "ts_ms": 1_700_000_000_000 + number}
    value = {"before": None, "after": row, "source": source, "op": "c", "ts_ms": 1_700_000_000_000 + number}
    return json.dumps(value).encode()


def of_kafka(lake: SmallLake, messages: int) -> None:
    """Time the messages of a topic."""
    server = KafkaServer()
    try:
        server.create("orders", PARTITIONS)
        producer = Producer({"bootstrap.servers": server.servers, "linger.ms": 50, "log_level": 0})
        for number in range(messages):
            key = number % 500_000
            while True:
                with suppress(BufferError):
                    producer.produce("orders", event(number), str(key).encode(), key % PARTITIONS)
                    break
                producer.poll(0.1)
        producer.flush()
        lake.declare(
            "shop.m",
            "columns: {id: BIGINT, t: STRING, n: BIGINT, e: STRING}\nprimary_key: id\n"
            f"source: {{type: kafka, servers: '{server.servers}', topic: orders, format: debezium-json}}\n",
        )
        timed("messages of Kafka", messages, lambda: lake.load("shop.m"))
    finally:
        server.close()


def main() -> None:
    """Time what the arguments ask for; 0 leaves a part out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--changes", type=int, default=500_000)
    parser.add_argument("--messages", type=int, default=1_000_000)
    asked = parser.parse_args()
    os.environ["DATABASE_PASSWORD"] = PASSWORD
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lake = small_lake(folder / "lake")
        os.environ["PYSPARK_SUBMIT_ARGS"] = f"--driver-class-path {jdbc_driver(folder)} pyspark-shell"
        lake.session = start_session(lake.settings)
        if asked.rows:
            of_postgresql(lake, folder, asked.rows, asked.changes)
        if asked.messages:
            of_kafka(lake, asked.messages)
        lake.session.stop()


if __name__ == "__main__":
    main()
