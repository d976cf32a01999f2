"""The database of the example: ``start`` a PostgreSQL server of its own, ``change`` its rows, ``stop`` it.

The server listens on 127.0.0.1 only. Its files are in a temporary directory, which ``stop`` removes. The password is
in the variable SHOP_PASSWORD, the port in SHOP_PORT (default 54329).
"""

from __future__ import annotations

import argparse
import os
import pwd
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psycopg

PORT = int(os.environ.get("SHOP_PORT", "54329"))
FOLDER = Path(tempfile.gettempdir()) / f"paimon-orders-{os.getuid()}-{PORT}"
CUSTOMERS, ORDERS = 1_000, 20_000
SCHEMA = f"""
CREATE TABLE customers (id bigint PRIMARY KEY, name text, country text, since timestamptz);
CREATE TABLE orders (
  id bigint PRIMARY KEY, customer_id bigint NOT NULL REFERENCES customers, status text NOT NULL, placed_at timestamptz);
CREATE TABLE order_items (
  order_id bigint REFERENCES orders ON DELETE CASCADE, line int, product text NOT NULL, quantity int NOT NULL,
  price numeric(10, 2) NOT NULL, PRIMARY KEY (order_id, line));
INSERT INTO customers SELECT k, 'customer ' || k, (ARRAY['DE', 'FR', 'US', 'JP'])[1 + k % 4], now()
  FROM generate_series(1, {CUSTOMERS}) AS k;
INSERT INTO orders SELECT k, 1 + k % {CUSTOMERS}, 'shipped', now() - k * interval '1 minute'
  FROM generate_series(1, {ORDERS}) AS k;
INSERT INTO order_items SELECT k, line, 'product ' || (k + line) % 50, 1 + k % 3, 10 + (k + line) % 90
  FROM generate_series(1, {ORDERS}) AS k, generate_series(1, 3) AS line;
"""


def start() -> str:
    """Make a cluster with the tables and some rows, and start its server; return what to print."""
    programs, owner, secret = _programs(), _owner(), _password()
    if FOLDER.exists():
        raise SystemExit(
            f"{FOLDER} exists: the database runs, or did not end well; `python database.py stop` removes it"
        )
    FOLDER.mkdir(mode=0o700)
    password = FOLDER / "password"
    password.write_text(secret)
    if owner is not None:
        for path in (FOLDER, password):
            shutil.chown(path, owner, owner)
    data = str(FOLDER / "data")
    _run(programs / "initdb", "-D", data, "-U", "lake", "-A", "scram-sha-256", f"--pwfile={password}", "-N")
    password.unlink()
    options = f"-p {PORT} -k {FOLDER} -c listen_addresses=127.0.0.1 -c wal_level=logical -c fsync=off"
    _run(programs / "pg_ctl", "-D", data, "-l", str(FOLDER / "log"), "-w", "-o", options, "start")
    with _connected("postgres") as server:
        server.execute("CREATE DATABASE shop")
    with _connected() as database:
        database.execute(SCHEMA)
    return f"PostgreSQL runs on port {PORT}, with {CUSTOMERS:,} customers and {ORDERS:,} orders"


def stop() -> str:
    """Stop the server and remove its files."""
    if not FOLDER.exists():
        return "the database does not run"
    if (FOLDER / "data" / "postmaster.pid").exists():
        _run(_programs() / "pg_ctl", "-D", str(FOLDER / "data"), "-m", "fast", "stop")
    shutil.rmtree(FOLDER)
    return "the database is stopped, and its files are removed"


def change(seconds: float, rate: float) -> str:
    """Run transactions as a shop does, about ``rate`` a second; return how many."""
    chosen, begin, done = random.Random(), time.monotonic(), 0
    with _connected() as database:
        ((newest,),) = database.execute("SELECT max(id) FROM orders").fetchall()
        while (passed := time.monotonic() - begin) < seconds:
            newest += _transaction(database, chosen, newest)
            done += 1
            time.sleep(max(0.0, done / rate - passed))
    return f"{done:,} transactions in {seconds:g} s"


def _transaction(database: psycopg.Connection, chosen: random.Random, newest: int) -> int:
    """Place an order, change one, cancel one, or change a customer; return the number of orders that were placed."""
    kind, order = chosen.random(), chosen.randint(max(1, newest - 500), newest)
    with database.transaction():
        if kind < 0.4:
            customer = chosen.randint(1, CUSTOMERS)
            database.execute("INSERT INTO orders VALUES (%s, %s, 'placed', now())", [newest + 1, customer])
            for line in range(1, chosen.randint(2, 5)):
                item = [
                    newest + 1,
                    line,
                    f"product {chosen.randint(0, 49)}",
                    chosen.randint(1, 3),
                    chosen.randint(10, 99),
                ]
                database.execute("INSERT INTO order_items VALUES (%s, %s, %s, %s, %s)", item)
            return 1
        if kind < 0.8:
            step = "CASE status WHEN 'placed' THEN 'paid' ELSE 'shipped' END"
            database.execute(f"UPDATE orders SET status = {step} WHERE id = %s", [order])
        elif kind < 0.9:
            database.execute("DELETE FROM orders WHERE id = %s AND status = 'placed'", [order])
        else:
            country, customer = chosen.choice(["DE", "FR", "US", "JP"]), chosen.randint(1, CUSTOMERS)
            database.execute("UPDATE customers SET country = %s WHERE id = %s", [country, customer])
    return 0


def _password() -> str:
    password = os.environ.get("SHOP_PASSWORD")
    if not password:
        raise SystemExit("choose a password of the database: export SHOP_PASSWORD=...")
    return password


def _connected(name: str = "shop") -> psycopg.Connection:
    try:
        return psycopg.connect(
            host="127.0.0.1", port=PORT, user="lake", password=_password(), dbname=name, autocommit=True
        )
    except psycopg.OperationalError as error:
        raise SystemExit(f"no connection to the database: `python database.py start` starts it ({error})") from None


def _programs() -> Path:
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not folders or not (folders[-1] / "pg_ctl").exists():
        raise SystemExit("no initdb and pg_ctl on the PATH or in /usr/lib/postgresql: install the server of PostgreSQL")
    return folders[-1]


def _owner() -> str | None:
    """Return the user that runs the server, because it refuses to run as root; None for any other user than root."""
    if os.getuid() != 0:
        return None
    names = {user.pw_name for user in pwd.getpwall()}
    for name in ("postgres", "nobody"):
        if name in names:
            return name
    raise SystemExit("PostgreSQL does not run as root: run this as another user")


def _run(*command: Path | str) -> None:
    owner = _owner()
    before = ["runuser", "-u", owner, "--"] if owner is not None else []
    with tempfile.TemporaryFile() as output:  # not a pipe, which the server would keep open
        done = subprocess.run([*before, *map(str, command)], stdout=output, stderr=output, cwd="/", check=False)
        output.seek(0)
        if done.returncode:
            raise SystemExit(f"{Path(command[0]).name} failed: {output.read().decode(errors='replace')[-2000:]}")


def main() -> None:
    """Run one command."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("start", help="start the server")
    commands.add_parser("stop", help="stop the server and remove its files")
    changing = commands.add_parser("change", help="run transactions as a shop does")
    changing.add_argument("--seconds", type=float, default=30.0, help="how long (30)")
    changing.add_argument("--rate", type=float, default=50.0, help="transactions a second (50)")
    asked = parser.parse_args()
    if asked.command == "change":
        print(change(asked.seconds, asked.rate))
    else:
        print(start() if asked.command == "start" else stop())


if __name__ == "__main__":
    sys.exit(main())
